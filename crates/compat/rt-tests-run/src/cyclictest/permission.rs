//! Whether the policy can be had, found out before anything is measured.

use std::io;

use howlate_linux::process::limit;
use howlate_linux::sched;
use howlate_model::Policy;
use howlate_procfs::Root;
use howlate_system::examine;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::cyclictest::failure::Failure;
use howlate_session as session;

/// Tries `policy` on a thread of its own, where priorities need a right.
pub(crate) fn check(policy: Policy) -> Result<(), Failure> {
    let Some(priority) = policy.priority() else { return Ok(()) };
    raise_soft_limit(u64::from(priority.get()));
    let tried = std::thread::Builder::new().spawn(move || sched::set_policy(sched::THIS_THREAD, policy));
    let result = tried.and_then(|tried| tried.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())));
    result.map_err(|reason| {
        let remedy = howlate_render::policy_remedy(&session::for_policy(policy, &examine(&Root::live())));
        Failure::Policy { policy, reason, remedy }
    })
}

/// Raises the soft limit on priorities to the hard one where that is enough. `None` is unlimited.
fn raise_soft_limit(priority: u64) {
    let Ok(limit) = limit(Resource::Rtprio) else { return };
    let reaches = |limit: Option<u64>| limit.is_none_or(|limit| limit >= priority);
    if !reaches(limit.current) && reaches(limit.maximum) {
        // Without it the policy is refused, which is said then.
        let _ = setrlimit(Resource::Rtprio, Rlimit { current: limit.maximum, ..limit });
    }
}
