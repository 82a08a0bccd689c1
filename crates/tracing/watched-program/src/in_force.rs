//! What threads of others are subject to.

use howlate_linux::sched;
use howlate_model::{CpuSet, InForce, Policy, Span};
use howlate_procfs::{Root, Status};

use crate::threads::ThreadStart;

/// What a thread of somebody else's is subject to, as far as the kernel tells; one that has ended, what was told of it.
pub fn in_force(tid: u32, told: Option<&ThreadStart>) -> InForce {
    let root = Root::live();
    let nanos = root.read(&format!("/proc/{tid}/timerslack_ns")).ok().and_then(|nanos| nanos.parse().ok());
    let policy = sched::policy(tid).ok().or(told.and_then(|told| told.policy));
    let slack = nanos.map(Span::from_nanos).or(told.map(|told| told.slack));
    InForce {
        tid,
        policy: policy.unwrap_or(Policy::OTHER),
        slack: slack.unwrap_or_default(),
        cpus: sched::affinity_of(tid).unwrap_or_else(|_| CpuSet::default()),
        memory_locked: Status::read(&root, tid).is_memory_locked(),
        dma_latency_us: None,
        slice: None,
    }
}
