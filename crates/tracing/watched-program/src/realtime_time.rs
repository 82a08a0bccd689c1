//! How long real-time threads of a program may compute before the kernel ends it, and how that looks.

use howlate_model::Span;
use howlate_procfs::{Limits, Root, UNLIMITED};
use rustix::process::Signal;

const LIMIT: &str = "Max realtime timeout";
/// A shell's status of a program that a signal ended: more by so much.
const BY_SIGNAL: i32 = 128;

/// `RLIMIT_RTTIME` of a process; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RealtimeTime {
    soft: Option<Span>,
    hard: Option<Span>,
}

impl RealtimeTime {
    /// That of a process, also of one that has ended while nobody has asked how; `None` where it is not told.
    pub(crate) fn of(root: &Root, pid: u32) -> Option<Self> {
        let limits = Limits::of(root, pid);
        let finite = |micros: u64| (micros != UNLIMITED).then(|| Span::from_micros(micros));
        Some(Self { soft: finite(limits.soft(LIMIT)?), hard: finite(limits.hard(LIMIT)?) })
    }

    /// Why such a signal came, where this limit may be the reason: `SIGXCPU` at the soft one, `SIGKILL` at the hard one.
    ///
    /// Source: `getrlimit(2)`.
    pub(crate) fn why(self, signal: i32) -> Option<String> {
        let of = |limit: Option<Span>| limit.map(|limit| format!("RLIMIT_RTTIME of {}", whole(limit)));
        let computed = "of its real-time threads one computed that long without sleeping";
        if signal == Signal::XCPU.as_raw() {
            return of(self.soft.map(before_the_signal)).map(|limit| format!("{limit}: {computed}"));
        }
        if signal == Signal::KILL.as_raw() {
            return of(self.hard).map(|limit| format!("{limit} (hard limit), if {computed}"));
        }
        None
    }
}

/// The soft limit that was reached: with each `SIGXCPU` the kernel raises it by a second.
///
/// Source: `check_thread_timers` in kernel/time/posix-cpu-timers.c.
fn before_the_signal(soft: Span) -> Span {
    const RAISED_BY: Span = Span::from_secs(1);
    if soft > RAISED_BY { soft.minus(RAISED_BY) } else { soft }
}

/// `200 ms`: such limits are whole numbers of something.
fn whole(span: Span) -> String {
    match span.as_nanos() {
        nanos if nanos % 1_000_000 == 0 => format!("{} ms", nanos / 1_000_000),
        nanos => format!("{} µs", nanos / 1_000),
    }
}

/// The signal that a shell's status stands for.
pub(crate) fn signal_of_status(code: i32) -> Option<i32> {
    let signal = code - BY_SIGNAL;
    name(signal).map(|_| signal)
}

/// `signal 24 (SIGXCPU)`.
pub(crate) fn signal_in_words(signal: i32) -> String {
    name(signal).map_or_else(|| format!("signal {signal}"), |name| format!("signal {signal} ({name})"))
}

/// What `signal(7)` calls it.
fn name(signal: i32) -> Option<&'static str> {
    const NAMES: [(Signal, &str); 20] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::VTALARM, "SIGVTALRM"),
        (Signal::PROF, "SIGPROF"),
        (Signal::SYS, "SIGSYS"),
    ];
    NAMES.iter().find(|(one, _)| one.as_raw() == signal).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_its_name_and_the_limit_that_may_have_sent_it() {
        let limit =
            RealtimeTime { soft: Some(Span::from_millis(200)), hard: Some(Span::from_micros(250_500)) };
        assert_eq!(signal_in_words(24), "signal 24 (SIGXCPU)");
        assert_eq!(signal_in_words(40), "signal 40");
        assert!(limit.why(24).unwrap().starts_with("RLIMIT_RTTIME of 200 ms: "));
        let raised = RealtimeTime { soft: Some(Span::from_millis(1_200)), hard: None };
        assert!(
            raised.why(24).unwrap().starts_with("RLIMIT_RTTIME of 200 ms: "),
            "with the signal it went up"
        );
        assert!(limit.why(9).unwrap().starts_with("RLIMIT_RTTIME of 250500 µs (hard limit), if "));
        assert_eq!((limit.why(15), RealtimeTime::default().why(24)), (None, None));
        assert_eq!((signal_of_status(152), signal_of_status(137)), (Some(24), Some(9)));
        assert_eq!((signal_of_status(24), signal_of_status(255)), (None, None));
    }

    #[test]
    fn it_is_read_of_a_process() {
        let line =
            "Limit  Soft Limit  Hard Limit  Units\nMax realtime timeout      200000   unlimited   us\n";
        let folder = howlate_testing::tree(&[("proc/7/limits", line)]);
        let root = Root::at(folder.path());
        let soft = Some(Span::from_millis(200));
        assert_eq!(RealtimeTime::of(&root, 7), Some(RealtimeTime { soft, hard: None }));
        assert_eq!(RealtimeTime::of(&root, 8), None);
    }
}
