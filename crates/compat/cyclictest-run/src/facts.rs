//! What JSON says of the machine and the run.

use howlate_cyclictest::{Options, RunFacts};
use howlate_procfs::{Root, numa_node};
use rustix::system::uname;

/// Now, RFC 2822, in local time.
pub fn now() -> String {
    jiff::Zoned::now().strftime("%a, %d %b %Y %H:%M:%S %z").to_string()
}

/// A run that began at `started` and ends now, with its threads on `cpus`.
pub(crate) fn of_run(started: String, cpus: &[Option<u32>], options: &Options) -> RunFacts {
    let root = Root::live();
    RunFacts {
        nodes: cpus.iter().map(|cpu| named_node(&root, *cpu, options)).collect(),
        ..run_facts(started)
    }
}

/// A run that began at `started` and ends now.
pub fn run_facts(started: String) -> RunFacts {
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

/// The node that the original names: that of the thread's CPU, 0 for a thread that is not bound, −1 with `-S`.
fn named_node(root: &Root, cpu: Option<u32>, options: &Options) -> i32 {
    if options.smp { -1 } else { cpu.map_or(0, |cpu| node(root, cpu)) }
}

/// The NUMA node of a CPU; 0 where the kernel knows of none.
fn node(root: &Root, cpu: u32) -> i32 {
    numa_node(root, cpu).and_then(|node| node.try_into().ok()).unwrap_or(0)
}
