//! Checks before the run: the precision of the clock, and the permission to use the scheduling policy.

use std::io;

use howlate_linux::process::limit;
use howlate_linux::{clock, sched};
use howlate_measure::measure_instrument;
use howlate_model::{Policy, Span};
use howlate_procfs::Root;
use howlate_rt_tests::cyclictest::CyclictestOptions;
use howlate_session as session;
use howlate_system::examine;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::cyclictest::error::CyclictestError;
use crate::output::Streams;

/// `clock_getres(2)` with high-resolution timers; without them it is the length of a tick.
const HIGH_RESOLUTION: Span = Span::from_nanos(1);

/// Warns of a clock without high resolution, or coarser than it reports.
pub(crate) fn check_clock(options: &CyclictestOptions, streams: Streams) {
    let reported = clock::resolution();
    if reported != HIGH_RESOLUTION {
        streams.say("WARN: High resolution timers not available\n");
    }
    if options.resolution {
        let measured = measure_instrument().clock_precision;
        if options.verbose || measured > reported {
            let (reported, measured) = (reported.as_nanos(), measured.as_nanos());
            streams.say(&format!(
                "WARN: reported clock resolution: {reported} nsec\n\
                 WARN: measured clock resolution approximately: {measured} nsec\n"
            ));
        }
    }
}

/// Offset of the timers' clock from `CLOCK_MONOTONIC`, in nanoseconds.
pub(crate) fn clock_offset(options: &CyclictestOptions) -> i64 {
    if options.clock.is_monotonic() { 0 } else { clock::offset_from_monotonic(options.clock) }
}

/// Sets `policy` in a separate thread, if it has a priority: other policies need no permission.
pub(crate) fn check_policy(policy: Policy) -> Result<(), CyclictestError> {
    let Some(priority) = policy.priority() else { return Ok(()) };
    raise_soft_limit(u64::from(priority.get()));
    let thread = std::thread::Builder::new().spawn(move || sched::set_policy(sched::THIS_THREAD, policy));
    let result = thread.and_then(|thread| thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())));
    result.map_err(|reason| {
        let remedy = howlate_render::policy_remedy(&session::for_policy(policy, &examine(&Root::live())));
        CyclictestError::Policy { policy, reason, remedy }
    })
}

/// Raises the soft limit on priorities to the hard limit if only the hard one permits `priority`.
fn raise_soft_limit(priority: u64) {
    let Ok(limit) = limit(Resource::Rtprio) else { return };
    // `None` is unlimited.
    let permits = |limit: Option<u64>| limit.is_none_or(|limit| limit >= priority);
    if !permits(limit.current) && permits(limit.maximum) {
        // If this fails, setting the policy fails and is reported.
        let _ = setrlimit(Resource::Rtprio, Rlimit { current: limit.maximum, ..limit });
    }
}
