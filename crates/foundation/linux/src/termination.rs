//! Termination signals such as `SIGINT` and `SIGTERM`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};

use howlate_model::{Caveat, Span};
use signal_hook::low_level::{emulate_default_handler, register};

use crate::clock;
use crate::signal_set::SignalSet;

/// Signals that arrive within this time are one request: `timeout`, shells and supervisors signal a
/// process and then its group, and a closing terminal signals more than once.
const REPEAT_WINDOW: Span = Span::from_secs(1);

/// The first termination signal that arrived; 0 if none has.
static FIRST_SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Whether a termination signal ends the process immediately.
static END_IMMEDIATELY: AtomicBool = AtomicBool::new(false);

/// Whether [`raise_termination_priority`] succeeded: threads and processes started from then on inherit its nice value.
static PRIORITY_RAISED: AtomicBool = AtomicBool::new(false);

/// Nice value of [`raise_termination_priority`].
const TERMINATION_NICE: i32 = -20;

/// Whether the caveat's inherited nice value comes from [`raise_termination_priority`], rather than from how howlate was
/// started.
pub fn is_termination_nice(caveat: &Caveat) -> bool {
    let is_raised = matches!(caveat, Caveat::NiceInherited { nice } if nice.get() == TERMINATION_NICE);
    is_raised && PRIORITY_RAISED.load(Ordering::SeqCst)
}

/// Runs `start`, which may take long and leaves nothing to save or to undo: a signal of [`on_termination_signal`] that arrived
/// before or arrives meanwhile ends the process with the signal's default action. The kernel loads BPF programs within a
/// tenth of a second of CPU time, but beside two hundred busy threads that can take seconds.
pub fn with_immediate_termination<T>(start: impl FnOnce() -> T) -> T {
    END_IMMEDIATELY.store(true, Ordering::SeqCst);
    match FIRST_SIGNAL.load(Ordering::SeqCst) {
        0 => {}
        signal => end_by_default_action(signal),
    }
    let started = start();
    END_IMMEDIATELY.store(false, Ordering::SeqCst);
    started
}

/// `sigaction(2)`: from now on each of `signals` sets `requested`. One that arrives later than
/// `REPEAT_WINDOW` after the first ends the process immediately with `status`, whatever it does.
///
/// Source: <https://man7.org/linux/man-pages/man2/sigaction.2.html>
///
/// # Errors
///
/// When a signal cannot be handled, such as `SIGKILL`.
pub fn on_termination_signal(signals: &[i32], requested: &Arc<AtomicBool>, status: i32) -> io::Result<()> {
    // Between the handler's installation and its action's, signal-hook swallows a signal.
    SignalSet::of_all(signals).while_blocked(|| handle(signals, requested, status))
}

/// Each of `signals` sets `requested`, however often it arrives; none ends the process.
///
/// # Errors
///
/// When a signal cannot be handled, such as `SIGKILL`.
pub fn on_every_termination_signal(signals: &[i32], requested: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in signals {
        let requested = Arc::clone(requested);
        let handle = move || {
            requested.store(true, Ordering::Relaxed);
            raise_termination_priority();
        };
        // SAFETY: a signal handler may do this at any moment: it uses an atomic and makes a system call.
        unsafe { register(*signal, handle) }?;
    }
    Ok(())
}

fn handle(signals: &[i32], requested: &Arc<AtomicBool>, status: i32) -> io::Result<()> {
    let first = Arc::new(AtomicI64::new(NONE));
    for signal in signals {
        let (first, requested) = (Arc::clone(&first), Arc::clone(requested));
        let number = *signal;
        let handle = move || {
            requested.store(true, Ordering::Relaxed);
            let _earlier = FIRST_SIGNAL.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
            if END_IMMEDIATELY.load(Ordering::SeqCst) {
                end_by_default_action(number);
            }
            raise_termination_priority();
            if is_second_request(&first, clock::now().as_nanos()) {
                end(status);
            }
        };
        // SAFETY: a signal handler may do this at any moment: it reads a clock, uses atomics, makes system calls and
        // ends the process; it neither allocates nor locks nor panics.
        unsafe { register(*signal, handle) }?;
    }
    Ok(())
}

/// No request has arrived yet.
const NONE: i64 = i64::MIN;

/// Whether a signal at `now` is a request of its own, rather than the first or a repeat of it.
fn is_second_request(first: &AtomicI64, now: i64) -> bool {
    match first.compare_exchange(NONE, now, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => false,
        Err(then) => now.saturating_sub(then).unsigned_abs() > REPEAT_WINDOW.as_nanos(),
    }
}

/// `setpriority(2)`: lowers the nice value of this process's first thread, where that is permitted. Beside two hundred busy
/// threads the process would otherwise take a minute to end.
///
/// Source: <https://man7.org/linux/man-pages/man2/setpriority.2.html>; on Linux it applies to one thread.
pub fn raise_termination_priority() {
    // SAFETY: passes three integers. Without permission it changes nothing.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, std::process::id(), TERMINATION_NICE) };
    if result == 0 {
        PRIORITY_RAISED.store(true, Ordering::SeqCst);
    }
}

/// The signal's default action, so that the parent's `wait(2)` reports the signal.
fn end_by_default_action(signal: i32) {
    drop(emulate_default_handler(signal));
    end(128 + signal);
}

fn end(status: i32) {
    // SAFETY: async-signal-safe, as `signal-safety(7)` lists it.
    unsafe { libc::_exit(status) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_arrives_while_blocked_is_delivered_afterwards() {
        let delivered = Arc::new(AtomicBool::new(false));
        let signal = signal_hook::consts::SIGUSR2;
        signal_hook::flag::register(signal, Arc::clone(&delivered)).unwrap();
        let before = SignalSet::of_all(&[signal]).while_blocked(|| {
            signal_hook::low_level::raise(signal).unwrap();
            delivered.load(Ordering::Relaxed)
        });
        assert!(!before);
        assert!(delivered.load(Ordering::Relaxed));
    }

    #[test]
    fn a_termination_signal_raises_the_priority() {
        let requested = Arc::new(AtomicBool::new(false));
        let signal = signal_hook::consts::SIGUSR1;
        on_termination_signal(&[signal], &requested, 9).unwrap();
        // SAFETY: passes three integers.
        let set_nice = |nice: i32| unsafe { libc::setpriority(libc::PRIO_PROCESS, std::process::id(), nice) };
        // SAFETY: passes two integers.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, std::process::id()) };
        let before = nice();
        let may = set_nice(before - 1) == 0;
        signal_hook::low_level::raise(signal).unwrap();
        assert!(requested.load(Ordering::Relaxed));
        assert_eq!(nice(), if may { -20 } else { before }, "what is refused changes nothing");
        set_nice(before);
    }

    // 0     0.3   1.0   1.1 s
    // |------|-----|-----|
    // first  same  same  another
    #[test]
    fn repeats_within_a_second_are_one_request() {
        let first = AtomicI64::new(NONE);
        let at = |millis: i64| 5_000_000_000 + millis * 1_000_000;
        assert!(![0, 300, 1_000].into_iter().any(|millis| is_second_request(&first, at(millis))));
        assert!(is_second_request(&first, at(1_100)));
    }
}
