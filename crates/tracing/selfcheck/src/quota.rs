//! A control group whose quota is used up again and again.

use howlate_guard::{Guard, QuotaCgroup};
use howlate_model::Span;
use howlate_procfs::{Cgroup, CpuCgroups, Root, SELF};

/// Four tenths of one CPU, in periods short enough for many of them.
const QUOTA: Span = Span::from_millis(4);
const PERIOD: Span = Span::from_millis(10);

/// The group; it goes again, however the program ends.
pub(crate) struct Quota(QuotaCgroup);

impl Quota {
    pub(crate) fn make() -> Result<Self, String> {
        let name = format!("howlate-selfcheck-{}", std::process::id());
        let above: Vec<String> =
            CpuCgroups::read(&Root::live(), SELF).upwards().iter().map(Cgroup::folder).collect();
        Guard::default().create_quota_cgroup(&above, &name, QUOTA, PERIOD).map(Self)
    }

    /// Moves a process into it.
    pub(crate) fn take_in(&self, process: u32) -> Result<(), String> {
        self.0.add(process).map_err(|error| format!("a process cannot be moved into the group: {error}"))
    }

    /// Where the group's files are.
    pub(crate) fn folder(&self) -> String {
        self.0.path().to_owned()
    }

    /// What the group is to be called: its path, as the kernel has it of a process in it.
    pub(crate) fn name_of(&self, process: u32) -> Option<String> {
        let groups = CpuCgroups::read(&Root::live(), process).upwards();
        groups.iter().find(|group| group.folder() == self.0.path()).map(|group| group.name().to_owned())
    }
}
