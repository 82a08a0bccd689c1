//! The task of a helper process, its report, and what all tasks are made of.

use std::io;

use howlate_linux::clock;
use howlate_model::{InjectedCause, MonotonicTime, Span, Wakeup};
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use serde::{Deserialize, Serialize};

use super::class::CauseClass;

/// Role of a helper process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HelperRole {
    /// The thread that sleeps, and is late.
    Measured,
    /// One of those that inject the cause, by number.
    Injector(u32),
}

/// Task of a helper process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HelperTask {
    pub(crate) class: CauseClass,
    pub(crate) role: HelperRole,
    /// CPU of the measured thread and of the cause.
    pub(crate) cpu: u32,
    /// Duration of the injection.
    pub(crate) lasts: Span,
    /// For injectors: the measured process.
    pub(crate) measured: Option<u32>,
    /// For injectors of `throttled`: the directory of the cgroup whose quota they use up.
    pub(crate) group: Option<String>,
}

impl HelperTask {
    /// Thread name of the helper; at most 15 bytes.
    pub(crate) fn thread_name(&self) -> String {
        match (self.role, self.class) {
            (HelperRole::Measured, _) => "howlate-late".to_owned(),
            (HelperRole::Injector(number), class) => {
                let kind = match class {
                    CauseClass::Thread => "hog",
                    CauseClass::Competitors => "rival",
                    CauseClass::Stopped => "stop",
                    CauseClass::Throttled => "spend",
                    CauseClass::OtherTimers => "herd",
                    CauseClass::MachineStopped => "halt",
                    _ => "flood",
                };
                format!("howlate-{kind}{number}")
            }
        }
    }

    /// The cause that this process injects, without stamps: its own thread where a thread is the cause.
    pub(crate) fn cause(&self) -> InjectedCause {
        let (name, pid) = match self.class {
            CauseClass::Thread | CauseClass::Competitors | CauseClass::Stopped => {
                (self.thread_name(), Some(std::process::id()))
            }
            CauseClass::Softirq => ("NET_RX".to_owned(), None),
            _ => (String::new(), None),
        };
        InjectedCause { kind: self.class.kind(), name, pid, stamps: Vec::new() }
    }
}

/// Answer of a helper process before the start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum HelperStatus {
    Ready,
    /// Why the class cannot be injected here.
    Impossible(String),
}

/// Report of a helper process at the end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct InjectorReport {
    /// Of the measured thread, in order: expected time, and the time at which it ran.
    pub(crate) wakeups: Vec<(MonotonicTime, MonotonicTime)>,
    /// The injected cause, with its stamps.
    #[serde(rename = "known")]
    pub(crate) cause: Option<InjectedCause>,
}

impl InjectorReport {
    pub(crate) fn wakeups(&self) -> impl Iterator<Item = Wakeup> {
        self.wakeups.iter().map(|(expected, ran)| Wakeup { expected: *expected, ran: *ran })
    }
}

/// Start and end of an injection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InjectionWindow {
    pub(crate) start: MonotonicTime,
    pub(crate) end: MonotonicTime,
}

impl InjectionWindow {
    /// Times every `every`, the first one `after` the start.
    pub(crate) fn grid(self, every: Span, after: Span) -> impl Iterator<Item = MonotonicTime> {
        let times = (0_u64..).map(move |number| self.start.plus(after).plus(every.times(number)));
        times.take_while(move |time| *time < self.end)
    }
}

/// A prepared task.
pub(crate) type PreparedTask = Box<dyn FnOnce(InjectionWindow) -> io::Result<InjectorReport>>;

/// An error with the kernel's reason, without its number.
pub(crate) fn with_reason(context: &str, error: &io::Error) -> io::Error {
    let text = error.to_string();
    io::Error::other(format!("{context}: {}", text.split(" (os error").next().unwrap_or_default()))
}

/// Sleeps until `time`, also if signals arrive.
pub(crate) fn sleep_until(time: MonotonicTime) {
    while clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(time)).is_err() {}
}
