//! The machine as a recording contains it.

pub(crate) mod cpus;

use howlate_model::{CpuSet, Span, System};
use howlate_procfs::{
    CpuInfo, Isolation, Kernel, Root, Status, board, container, hypervisor, os_release, read_cpu_list,
};

use crate::kernel::preemption;
use crate::kernel_config::KernelConfig;

/// Describes the machine. What cannot be read is left empty.
pub fn describe(root: &Root) -> System {
    let kernel = Kernel::read(root);
    let online = read_cpu_list(root, "/sys/devices/system/cpu/online");
    System {
        preemption: preemption(root),
        scheduler: bpf_scheduler(root),
        realtime_kernel: Kernel::is_realtime(root),
        tick_hz: tick_hz(root),
        architecture: architecture(root),
        processor: processor(root),
        allowed: allowed(root),
        bindable: CpuSet::default(),
        isolated: Isolation::read(root).isolated,
        cpus: online.iter().map(|number| cpus::cpu(root, number)).collect(),
        online,
        memory_bytes: memory_bytes(root),
        clocksource: root.read(CLOCKSOURCE).unwrap_or_default(),
        hypervisor: hypervisor(root).map(|found| found.name),
        guest_halt_poll_ns: guest_halt_poll(root),
        container: container(root).map(|found| found.runtime),
        distribution: distribution(root),
        command_line: root.read("/proc/cmdline").unwrap_or_default(),
        kernel: kernel.release,
        kernel_build: kernel.build,
    }
}

/// The name of the BPF scheduler that has the normal threads, if any: Documentation/scheduler/sched-ext.rst.
fn bpf_scheduler(root: &Root) -> Option<String> {
    root.read("/sys/kernel/sched_ext/state").ok().filter(|state| state == "enabled")?;
    // Schedulers need a name, but it may be gone by now.
    root.read("/sys/kernel/sched_ext/root/ops")
        .ok()
        .filter(|name| !name.is_empty())
        .or_else(|| Some("sched_ext".into()))
}

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

fn tick_hz(root: &Root) -> Option<u32> {
    KernelConfig::read(root).value("CONFIG_HZ")?.parse().ok()
}

/// Source: Documentation/virt/guest-halt-polling.rst.
fn guest_halt_poll(root: &Root) -> Option<Span> {
    let driver = root.read("/sys/devices/system/cpu/cpuidle/current_driver").ok()?;
    let window = root.read("/sys/module/haltpoll/parameters/guest_halt_poll_ns").ok()?;
    (driver == "haltpoll").then(|| window.parse().ok().map(Span::from_nanos))?
}

/// The architecture by the kernel, since Linux 6.1; before, that of this program.
fn architecture(root: &Root) -> String {
    Kernel::architecture(root).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn allowed(root: &Root) -> CpuSet {
    Status::read_own(root).cpus_allowed()
}

/// `MemTotal` is in KiB, though its unit reads kB: `proc_meminfo(5)`.
fn memory_bytes(root: &Root) -> u64 {
    let memory = root.read("/proc/meminfo").unwrap_or_default();
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0).saturating_mul(1024)
}

/// `PRETTY_NAME` of `os-release(5)`.
fn distribution(root: &Root) -> Option<String> {
    os_release(root, "PRETTY_NAME")
}

/// The `model name` of x86 processors, or the name of an Arm board.
fn processor(root: &Root) -> String {
    let model = CpuInfo::read(root).field("model name").map(str::to_owned);
    model.or_else(|| board(root)).unwrap_or_default()
}
