//! Findings: one for each property of the machine that affects wake-up latency.

mod boot_parameters;
mod clocksource;
mod command_user;
mod container;
mod devices;
mod diagnostics;
mod draft;
mod frequency;
mod grants;
mod heat;
mod idle;
mod interrupts;
mod isolation;
mod kernel_threads;
mod memory;
mod mitigations;
mod permissions;
mod preemption;
mod pressure;
mod quota;
mod realtime_time;
mod rt_group;
mod running;
mod schedulers;
mod shell;
mod smt;
mod throttling;
mod timers;
mod virtualisation;

use howlate_model::Finding;
use howlate_procfs::Root;

pub use rt_group::group_without_realtime;
pub use running::for_running;

/// Examines one property; `None` where it does not apply to this machine.
type Examiner = fn(&Root) -> Option<Finding>;

/// All examiners. Findings of equal verdict are shown in this order, in which one would fix them: permissions for real-time
/// work, what slows everything down, the kernel, CPUs and idle states, interference on isolated CPUs, memory and devices,
/// and what affects normal threads only.
const EXAMINERS: [Examiner; 56] = [
    permissions::realtime,
    realtime_time::examine,
    rt_group::examine,
    permissions::seccomp,
    quota::examine,
    heat::examine,
    frequency::limit,
    diagnostics::debug_kernel,
    diagnostics::tracer,
    clocksource::examine,
    timers::resolution,
    virtualisation::steal,
    idle::very_deep_states,
    preemption::realtime_kernel,
    preemption::model,
    throttling::sysctl,
    throttling::fair_server,
    idle::states,
    idle::latency_request,
    boot_parameters::examine,
    boot_parameters::machine_checks,
    isolation::isolated,
    smt::examine,
    isolation::tickless,
    interrupts::examine,
    frequency::governor,
    frequency::preference,
    kernel_threads::new_interrupts,
    kernel_threads::threads,
    kernel_threads::packets,
    kernel_threads::callbacks,
    timers::migration,
    frequency::turbo,
    frequency::profile,
    schedulers::daemons,
    pressure::examine,
    grants::service,
    grants::rtkit,
    permissions::memory_lock,
    memory::huge_pages,
    memory::numa_balancing,
    memory::swap,
    memory::same_page_merging,
    devices::serial,
    devices::usb,
    devices::links,
    devices::graphics,
    virtualisation::hypervisor,
    permissions::nice,
    schedulers::sched_ext,
    timers::slack,
    timers::tick,
    diagnostics::watchdogs,
    mitigations::examine,
    container::examine,
    permissions::capabilities,
];

/// Examines the machine: one finding for each property, the worst first.
pub fn examine(root: &Root) -> Vec<Finding> {
    let mut findings: Vec<Finding> = EXAMINERS.iter().filter_map(|examine| examine(root)).collect();
    if howlate_procfs::container(root).is_some() {
        findings.iter_mut().for_each(container::mark_for_host);
    }
    let user = command_user::CommandUser::read(root);
    findings.iter_mut().for_each(|finding| user.adapt(finding));
    if shell::is_fish(root) {
        findings.iter_mut().for_each(shell::adapt_to_fish);
    }
    findings.sort_by_key(|finding| finding.verdict);
    findings
}
