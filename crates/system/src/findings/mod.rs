//! What on this machine bears on punctuality, one finding for each property.

mod clocksource;
mod container;
mod devices;
mod draft;
mod frequency;
mod grants;
mod idle;
mod interrupts;
pub(crate) mod isolation;
mod kernel_threads;
mod memory;
mod mitigations;
mod period;
mod permissions;
mod preemption;
mod pressure;
mod quota;
mod rt_group;
mod running;
mod slack;
mod smt;
mod throttling;
mod tick;
mod timers;
mod virtualisation;
mod watchdogs;

use howlate_model::Finding;
use howlate_procfs::Root;

pub use running::for_running;

/// Looks at one property; `None` where it makes no sense on this machine.
type Examiner = fn(&Root) -> Option<Finding>;

/// Every examiner, in the order in which findings of equal verdict are shown: first what
/// decides whether real-time work is possible, then what costs most, then the rest.
const EXAMINERS: [Examiner; 40] = [
    permissions::realtime,
    rt_group::examine,
    permissions::seccomp,
    grants::service,
    grants::rtkit,
    quota::examine,
    pressure::examine,
    timers::resolution,
    clocksource::examine,
    slack::examine,
    idle::states,
    idle::latency_request,
    preemption::realtime_kernel,
    preemption::model,
    throttling::sysctl,
    throttling::fair_server,
    frequency::governor,
    frequency::preference,
    frequency::turbo,
    isolation::isolated,
    isolation::tickless,
    interrupts::examine,
    kernel_threads::new_interrupts,
    kernel_threads::threads,
    smt::examine,
    permissions::memory_lock,
    permissions::nice,
    memory::huge_pages,
    memory::swap,
    memory::numa_balancing,
    timers::migration,
    tick::examine,
    watchdogs::examine,
    devices::links,
    devices::graphics,
    mitigations::examine,
    virtualisation::hypervisor,
    virtualisation::steal,
    container::examine,
    permissions::capabilities,
];

/// Examines the machine: one finding for each property, the worst first.
pub fn examine(root: &Root) -> Vec<Finding> {
    let mut findings: Vec<Finding> = EXAMINERS.iter().filter_map(|examine| examine(root)).collect();
    if crate::container::container(root).is_some() {
        findings.iter_mut().for_each(container::send_to_host);
    }
    findings.sort_by_key(|finding| finding.verdict);
    findings
}
