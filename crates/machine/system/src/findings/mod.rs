//! What on this machine bears on punctuality, one finding for each property.

mod boot_parameters;
mod clocksource;
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
mod period;
mod permissions;
mod preemption;
mod pressure;
mod quota;
mod realtime_time;
mod rt_group;
mod running;
mod schedulers;
mod shell;
mod slack;
mod smt;
mod throttling;
mod tick;
mod timers;
mod typed_by;
mod virtualisation;
mod watchdogs;

use howlate_model::Finding;
use howlate_procfs::Root;

pub use rt_group::group_without_realtime;
pub use running::for_running;

/// Looks at one property; `None` where it makes no sense on this machine.
type Examiner = fn(&Root) -> Option<Finding>;

/// Every examiner, in the order in which findings of equal verdict are shown, as somebody would mend them: what decides whether
/// real-time work is possible, what makes everything late, then the kernel, the CPUs and their sleep, what comes to isolated CPUs,
/// memory and devices, and what only ordinary threads meet.
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
    schedulers::of_bpf,
    slack::examine,
    tick::examine,
    watchdogs::examine,
    mitigations::examine,
    container::examine,
    permissions::capabilities,
];

/// Examines the machine: one finding for each property, the worst first.
pub fn examine(root: &Root) -> Vec<Finding> {
    let mut findings: Vec<Finding> = EXAMINERS.iter().filter_map(|examine| examine(root)).collect();
    if howlate_procfs::container(root).is_some() {
        findings.iter_mut().for_each(container::send_to_host);
    }
    let typed_by = typed_by::TypedBy::read(root);
    findings.iter_mut().for_each(|finding| typed_by.alter(finding));
    if shell::is_fish(root) {
        findings.iter_mut().for_each(shell::for_fish);
    }
    findings.sort_by_key(|finding| finding.verdict);
    findings
}
