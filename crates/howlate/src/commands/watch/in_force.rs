//! What threads of others are subject to.

use howlate_linux::sched;
use howlate_model::{CpuSet, InForce, Policy, Span};
use howlate_procfs::Root;
use howlate_watch::Told;

/// What a thread of somebody else's is subject to, as far as the kernel tells; one that has ended, what was told of it.
pub(in crate::commands) fn in_force(tid: u32, told: Option<&Told>) -> InForce {
    let root = Root::live();
    let nanos = root.read(&format!("/proc/{tid}/timerslack_ns")).ok().and_then(|nanos| nanos.parse().ok());
    let policy = sched::policy(tid).ok().or(told.and_then(|told| told.policy));
    let slack = nanos.map(Span::from_nanos).or(told.map(|told| told.slack));
    InForce {
        tid,
        policy: policy.unwrap_or(Policy::OTHER),
        slack_ns: slack.unwrap_or_default(),
        cpus: sched::affinity_of(tid).unwrap_or_else(|_| CpuSet::default()),
        memory_locked: is_locked(&root.read(&format!("/proc/{tid}/status")).unwrap_or_default()),
        dma_latency_us: None,
        slice_ns: None,
    }
}

/// Whether all memory of a process is locked that it has.
fn is_locked(status: &str) -> bool {
    let kilobytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse().ok()
    };
    kilobytes("VmLck")
        .zip(kilobytes("VmRSS"))
        .is_some_and(|(locked, resident)| locked >= resident && locked > 0)
}
