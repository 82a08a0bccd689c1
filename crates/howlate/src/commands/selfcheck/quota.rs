//! A control group whose quota is used up again and again.

use howlate_guard::{Group, Guard};
use howlate_model::Span;
use howlate_procfs::Root;
use howlate_system::cpu_groups;

/// Four tenths of one CPU, in periods short enough for many of them.
const QUOTA: Span = Span::from_millis(4);
const PERIOD: Span = Span::from_millis(10);

/// The group; it goes again, however the program ends.
pub(super) struct Quota(Group);

impl Quota {
    pub(super) fn make() -> Result<Self, String> {
        let name = format!("howlate-selfcheck-{}", std::process::id());
        Guard::default().group(&cpu_groups(&Root::live()), &name, QUOTA, PERIOD).map(Self)
    }

    /// Moves a process into it.
    pub(super) fn take_in(&self, process: u32) -> Result<(), String> {
        self.0.add(process).map_err(|error| format!("a process cannot be moved into the group: {error}"))
    }

    /// Where the kernel counts its stops.
    pub(super) fn stat(&self) -> String {
        self.0.file("cpu.stat")
    }

    /// What the group is to be called: its path, as the kernel has it of a process in it.
    pub(super) fn name_of(&self, process: u32) -> Option<String> {
        let groups = Root::live().read(&format!("/proc/{process}/cgroup")).ok()?;
        let paths = groups.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        let of_this = |path: &&str| path.len() > 1 && self.stat().ends_with(&format!("{path}/cpu.stat"));
        paths.filter(of_this).map(str::to_owned).next()
    }
}
