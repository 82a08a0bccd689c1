//! `RLIMIT_RTTIME`: how long a real-time thread may compute before the kernel signals its process.

use howlate_model::Span;
use howlate_procfs::{Limits, Root, UNLIMITED};
use rustix::process::Signal;

const LIMIT: &str = "Max realtime timeout";
/// A shell's exit status of a child that was ended by a signal is the signal plus this.
const BY_SIGNAL: i32 = 128;

/// `RLIMIT_RTTIME` of a process; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RealtimeLimit {
    soft: Option<Span>,
    hard: Option<Span>,
}

impl RealtimeLimit {
    /// Also of a zombie; `None` where it cannot be read.
    pub(crate) fn read(root: &Root, pid: u32) -> Option<Self> {
        let limits = Limits::of(root, pid);
        let finite = |micros: u64| (micros != UNLIMITED).then(|| Span::from_micros(micros));
        Some(Self { soft: finite(limits.soft(LIMIT)?), hard: finite(limits.hard(LIMIT)?) })
    }

    /// Explains a signal that this limit may have caused: `SIGXCPU` at the soft limit, `SIGKILL` at the hard one.
    ///
    /// Source: `getrlimit(2)`.
    pub(crate) fn explain(self, signal: i32) -> Option<String> {
        let describe =
            |limit: Option<Span>| limit.map(|limit| format!("RLIMIT_RTTIME of {}", format_limit(limit)));
        let computed = "of its real-time threads one computed that long without sleeping";
        if signal == Signal::XCPU.as_raw() {
            return describe(self.soft.map(original_limit)).map(|limit| format!("{limit}: {computed}"));
        }
        if signal == Signal::KILL.as_raw() {
            return describe(self.hard).map(|limit| format!("{limit} (hard limit), if {computed}"));
        }
        None
    }
}

/// The soft limit as it was set: with each `SIGXCPU` the kernel raises it by a second.
///
/// Source: `check_thread_timers` in kernel/time/posix-cpu-timers.c.
fn original_limit(soft: Span) -> Span {
    const RAISED_BY: Span = Span::from_secs(1);
    if soft > RAISED_BY { soft.minus(RAISED_BY) } else { soft }
}

/// As in `200 ms`.
fn format_limit(span: Span) -> String {
    match span.as_nanos() {
        nanos if nanos % 1_000_000 == 0 => format!("{} ms", nanos / 1_000_000),
        nanos => format!("{} µs", nanos / 1_000),
    }
}

/// The signal that a shell's exit status stands for.
pub(crate) fn signal_of_status(code: i32) -> Option<i32> {
    let signal = code - BY_SIGNAL;
    signal_name(signal).map(|_| signal)
}

/// As in `signal 24 (SIGXCPU)`.
pub(crate) fn describe_signal(signal: i32) -> String {
    signal_name(signal).map_or_else(|| format!("signal {signal}"), |name| format!("signal {signal} ({name})"))
}

/// Name as in `signal(7)`.
fn signal_name(signal: i32) -> Option<&'static str> {
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
    NAMES.iter().find(|(candidate, _)| candidate.as_raw() == signal).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_its_name_and_the_limit_that_may_have_sent_it() {
        let limit =
            RealtimeLimit { soft: Some(Span::from_millis(200)), hard: Some(Span::from_micros(250_500)) };
        assert_eq!(describe_signal(24), "signal 24 (SIGXCPU)");
        assert_eq!(describe_signal(40), "signal 40");
        assert!(limit.explain(24).unwrap().starts_with("RLIMIT_RTTIME of 200 ms: "));
        let raised = RealtimeLimit { soft: Some(Span::from_millis(1_200)), hard: None };
        assert!(
            raised.explain(24).unwrap().starts_with("RLIMIT_RTTIME of 200 ms: "),
            "with the signal it went up"
        );
        assert!(limit.explain(9).unwrap().starts_with("RLIMIT_RTTIME of 250500 µs (hard limit), if "));
        assert_eq!((limit.explain(15), RealtimeLimit::default().explain(24)), (None, None));
        assert_eq!((signal_of_status(152), signal_of_status(137)), (Some(24), Some(9)));
        assert_eq!((signal_of_status(24), signal_of_status(255)), (None, None));
    }

    #[test]
    fn the_limit_of_a_process_is_read() {
        let line =
            "Limit  Soft Limit  Hard Limit  Units\nMax realtime timeout      200000   unlimited   us\n";
        let folder = howlate_testing::tree(&[("proc/7/limits", line)]);
        let root = Root::at(folder.path());
        let soft = Some(Span::from_millis(200));
        assert_eq!(RealtimeLimit::read(&root, 7), Some(RealtimeLimit { soft, hard: None }));
        assert_eq!(RealtimeLimit::read(&root, 8), None);
    }
}
