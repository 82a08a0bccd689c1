//! Signals that ask the program to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};

use howlate_model::{Caveat, Span};
use signal_hook::low_level::{emulate_default_handler, register};

use crate::clock;
use crate::signal_set::SignalSet;

/// Signals that come within this time are one request: `timeout`, shells and supervisors signal a
/// process and then its group, and a terminal that closes does so more than once.
pub const ONE_REQUEST: Span = Span::from_secs(1);

/// The first signal that asked this process to end; 0: none has.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// Whether such a signal ends it there and then.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Whether this process goes before others because it was asked to end: what it starts from then on inherits that.
static FIRST: AtomicBool = AtomicBool::new(false);

/// The nice value that it has then.
const NICE_TO_END: i32 = -20;

/// Whether a thread has this nice value only because the process that starts it was asked to end meanwhile: nobody had started
/// howlate like that.
pub fn is_inherited_from_ending(caveat: &Caveat) -> bool {
    let is_it = matches!(caveat, Caveat::NiceInherited { nice } if nice.get() == NICE_TO_END);
    is_it && FIRST.load(Ordering::SeqCst)
}

/// Does what takes long while there is nothing to keep or to undo: whoever was asked to end by [`on_request_to_end`], or is
/// meanwhile, is ended by that signal, as a program that does not handle it. The kernel takes programs for its events within a
/// tenth of a second of a CPU, but that can be seconds beside two hundred busy threads.
pub fn while_nothing_is_kept<T>(begin: impl FnOnce() -> T) -> T {
    AT_ONCE.store(true, Ordering::SeqCst);
    match ASKED.load(Ordering::SeqCst) {
        0 => {}
        signal => end_by(signal),
    }
    let begun = begin();
    AT_ONCE.store(false, Ordering::SeqCst);
    begun
}

/// `sigaction(2)`: from now on each of `signals` sets `requested`. One that comes later than
/// [`ONE_REQUEST`] after the first ends the process at once with `status`, whatever it does.
///
/// Source: <https://man7.org/linux/man-pages/man2/sigaction.2.html>
///
/// # Errors
///
/// When a signal cannot be handled, such as `SIGKILL`.
pub fn on_request_to_end(signals: &[i32], requested: &Arc<AtomicBool>, status: i32) -> io::Result<()> {
    // Between the handler's installation and its action's, signal-hook takes a signal and does nothing.
    SignalSet::of_all(signals).while_blocked(|| handle(signals, requested, status))
}

/// The same without an end at once: each of `signals` sets `requested`, however often it comes.
///
/// # Errors
///
/// When a signal cannot be handled, such as `SIGKILL`.
pub fn on_every_request_to_end(signals: &[i32], requested: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in signals {
        let requested = Arc::clone(requested);
        let handle = move || {
            requested.store(true, Ordering::Relaxed);
            go_first();
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
            let _earlier = ASKED.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
            if AT_ONCE.load(Ordering::SeqCst) {
                end_by(number);
            }
            go_first();
            if is_another(&first, clock::now().as_nanos()) {
                end(status);
            }
        };
        // SAFETY: a signal handler may do this at any moment: it reads a clock, uses atomics, makes system calls and
        // ends the process; it neither allocates nor locks nor panics.
        unsafe { register(*signal, handle) }?;
    }
    Ok(())
}

/// No request has come yet.
const NONE: i64 = i64::MIN;

/// Whether a signal at `now` is a request of its own, rather than the first or a repeat of it.
fn is_another(first: &AtomicI64, now: i64) -> bool {
    match first.compare_exchange(NONE, now, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => false,
        Err(then) => now.saturating_sub(then).unsigned_abs() > ONE_REQUEST.as_nanos(),
    }
}

/// `setpriority(2)`: from now on this process's first thread goes before others, where that is allowed. Somebody waits for
/// it to end, which beside two hundred busy threads would else take a minute.
///
/// Source: <https://man7.org/linux/man-pages/man2/setpriority.2.html>; on Linux it is of a thread.
pub fn go_first() {
    // SAFETY: passes three integers. Without permission it refuses, and everything stays as it is.
    let refused = unsafe { libc::setpriority(libc::PRIO_PROCESS, std::process::id(), NICE_TO_END) };
    if refused == 0 {
        FIRST.store(true, Ordering::SeqCst);
    }
}

/// As a program ends that does not handle it: whoever waits for it sees which signal it was.
fn end_by(signal: i32) {
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
    fn a_signal_that_comes_while_it_is_kept_away_is_taken_afterwards() {
        let taken = Arc::new(AtomicBool::new(false));
        let signal = signal_hook::consts::SIGUSR2;
        signal_hook::flag::register(signal, Arc::clone(&taken)).unwrap();
        let before = SignalSet::of_all(&[signal]).while_blocked(|| {
            signal_hook::low_level::raise(signal).unwrap();
            taken.load(Ordering::Relaxed)
        });
        assert!(!before);
        assert!(taken.load(Ordering::Relaxed));
    }

    #[test]
    fn who_is_asked_to_end_goes_before_others() {
        let requested = Arc::new(AtomicBool::new(false));
        let signal = signal_hook::consts::SIGUSR1;
        on_request_to_end(&[signal], &requested, 9).unwrap();
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
        assert!(![0, 300, 1_000].into_iter().any(|millis| is_another(&first, at(millis))));
        assert!(is_another(&first, at(1_100)));
    }
}
