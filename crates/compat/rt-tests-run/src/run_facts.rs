//! Facts of the run and the machine for the JSON files.

use howlate_procfs::Root;
use howlate_rt_tests::RunFacts;
use rustix::system::uname;

/// Now, RFC 2822, in local time.
pub(crate) fn now() -> String {
    jiff::Zoned::now().strftime("%a, %d %b %Y %H:%M:%S %z").to_string()
}

/// A run that began at `started` and ends now.
pub(crate) fn run_facts(started: String) -> RunFacts {
    let (system, root) = (uname(), Root::live());
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    RunFacts {
        command_line: std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(" "),
        started,
        ended: now(),
        return_code: 0,
        sysname: text(system.sysname()),
        nodename: text(system.nodename()),
        release: text(system.release()),
        version: text(system.version()),
        machine: text(system.machine()),
        realtime: root.read("/sys/kernel/realtime").as_deref() == Ok("1"),
        nodes: Vec::new(),
    }
}
