//! What JSON says of the machine and the run.

use std::fs;

use howlate_cyclictest::RunFacts;
use rustix::system::uname;

/// Now, RFC 2822, in local time.
pub(crate) fn now() -> String {
    jiff::Zoned::now().strftime("%a, %d %b %Y %H:%M:%S %z").to_string()
}

/// A run that began at `started` and ends now, with its threads on `cpus`.
pub(crate) fn of_run(started: String, cpus: &[Option<u32>]) -> RunFacts {
    let system = uname();
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
        realtime: fs::read_to_string("/sys/kernel/realtime").is_ok_and(|text| text.trim() == "1"),
        nodes: cpus.iter().map(|cpu| cpu.map_or(-1, node)).collect(),
    }
}

/// The NUMA node of a CPU; 0 where the kernel knows of none.
fn node(cpu: u32) -> i32 {
    let entries = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}"));
    let names =
        entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut nodes = names.filter_map(|name| name.strip_prefix("node").and_then(|node| node.parse().ok()));
    nodes.next().unwrap_or(0)
}
