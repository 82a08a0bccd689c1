//! Combinations of a plan that cannot be measured or traced, and why.

use crate::{AsText, CpuSet, Load, Notifier, OsError, Policy, Runtime, Sleeper, Span, Wait, WaitClock};

/// A requested combination that is left out of the plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Combination {
    /// All conditions with this sleeper.
    #[error("{0}")]
    Sleeper(Sleeper),
    /// All conditions with this notifier.
    #[error("{0}")]
    Notifier(Notifier),
    /// All conditions under this load.
    #[error("load {0}")]
    Load(Load),
    /// Sleeps of one length.
    #[error("{sleeper} for {length} under {policy}")]
    Sleep {
        /// The call or runtime that sleeps.
        sleeper: Sleeper,
        /// Length of the sleep.
        length: Span,
        policy: Policy,
    },
    /// A periodic thread.
    #[error("{wait} every {period} under {policy}")]
    Cyclic { wait: Wait, period: Span, policy: Policy },
    /// Notifications.
    #[error("{notifier} under {policy}")]
    Notify {
        notifier: Notifier,
        /// Policy of the receiver.
        policy: Policy,
    },
    /// Notifications within one CPU.
    #[error("{0} on one CPU")]
    OnOneCpu(Notifier),
    /// Notifications between two CPUs.
    #[error("notification from CPU to CPU")]
    AcrossCpus,
}

/// Why a combination is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CombinationRefusal {
    /// The kernel lacks the call, or a filter forbids it.
    #[error("the kernel or the container refuses it ({0})")]
    Refused(AsText<OsError>),
    /// The relative variant of a call, for sleeps, which are all relative.
    #[error("sleeps are relative already; use clock_nanosleep")]
    RelativeAlready,
    /// The call has no timers on this clock.
    #[error("{wait} cannot wait on {}; use clock_nanosleep", .clock.constant())]
    NotOnClock { wait: Wait, clock: WaitClock },
    /// The runtime chooses its clock.
    #[error("{runtime} chooses the clock that it waits on itself; use clock_nanosleep, or leave --clock out")]
    OwnClock { runtime: Runtime },
    /// The kernel does not have this clock.
    #[error("{}", no_clock(*.0))]
    NoClock(WaitClock),
    /// sched(7): fork(2) of a deadline thread fails.
    #[error("{runtime} starts threads or programs, which a deadline thread must not; use fifo")]
    StartsThreads { runtime: Runtime },
    /// A real-time thread that never sleeps.
    #[error("busy-waiting under {policy} never lets other threads run; use other, or sleep_then_spin")]
    NeverSleeps { policy: Policy },
    /// A real-time thread that spins for too much of each period.
    #[error("it would spin for {spin} of every {period} under {policy}; use at least {proposed}")]
    SpinsTooLong {
        /// Spinning time per period.
        spin: Span,
        period: Span,
        policy: Policy,
        /// A period that leaves enough CPU time to other threads.
        proposed: Span,
    },
    /// A real-time thread that wakes too often.
    #[error(
        "a wake-up costs {cost} here, so a period of {period} under {policy} would leave no CPU time to others; use at least {proposed}"
    )]
    PeriodTooShort {
        /// CPU time of a wake-up.
        cost: Span,
        period: Span,
        policy: Policy,
        /// A period that leaves enough CPU time to other threads.
        proposed: Span,
    },
    /// Too many real-time sleeps that are too short to leave the CPU.
    #[error("sleeps of {length} under {policy} hardly leave the CPU; use at most {most} samples")]
    SleepsTooShort {
        length: Span,
        policy: Policy,
        /// Maximum number of samples.
        most: u64,
    },
    /// Real-time threads that together keep a CPU too busy.
    #[error(
        "{threads} such threads would keep {} busy for {percent} % of the time, as a wake-up costs {cost} here; use fewer threads, or longer periods, so that it is at most {most_percent} %",
        cpu.map_or_else(|| "every CPU".to_owned(), |cpu| format!("CPU {cpu}"))
    )]
    BusyTogether {
        /// Number of such threads on the CPU.
        threads: u32,
        /// Which CPU; `None`: all of them.
        cpu: Option<u32>,
        /// CPU time of the threads, percent.
        percent: u64,
        /// CPU time of a wake-up.
        cost: Span,
        /// Maximum, percent.
        most_percent: u64,
    },
    /// The receiver would spin on the sender's CPU.
    #[error(
        "the receiver would spin on CPU {cpu}, where the sender must run too; choose two CPUs with --pair"
    )]
    SpinsBesideSender { cpu: u32 },
    /// A real-time receiver would keep its CPU busy for too long.
    #[error(
        "the receiver would keep CPU {cpu} from everyone else for {longest} at a time; use fewer --samples, shorter gaps or more --rounds, so that it is at most {most}"
    )]
    ReceiverKeepsCpu {
        cpu: u32,
        longest: Span,
        /// Maximum.
        most: Span,
    },
    /// The process may use only one CPU.
    #[error(
        "this process was started on CPU {usable} only, so both sides take turns on it{}",
        if bindable.len() > 1 { format!("; `--cpus {bindable}` takes the others too") } else { String::new() }
    )]
    OneCpu {
        /// Affinity at the start of the process.
        usable: CpuSet,
        /// CPUs that threads could be bound to.
        bindable: CpuSet,
    },
}

/// What the kernel lacks for a clock, and what would provide it.
fn no_clock(clock: WaitClock) -> String {
    let name = clock.constant();
    match clock {
        WaitClock::Aux(number) => format!(
            "{name} is not available: it needs Linux 6.17 with CONFIG_POSIX_AUX_CLOCKS, and `echo 1 >/sys/kernel/time/aux_clocks/{number}/aux_clock_enable` as root"
        ),
        _ => format!("{name} is not available in this kernel"),
    }
}

/// Why work has no wake-ups that a tracer can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UntraceableReason {
    /// Another thread sleeps than the one that comes back.
    #[error("its runtime decides anew which thread, or process, sleeps and which one comes back")]
    RuntimeDecides,
    /// It is no work of ours.
    #[error("no engine starts it")]
    NotStarted,
    /// It was read from a file.
    #[error("another program measured it")]
    OfAnother,
    /// What is measured is no wake-up.
    #[error("a round trip is two wake-ups of two threads; measure one way")]
    RoundTrip,
    /// A thread that spins.
    #[error("it never sleeps, so that nothing wakes it")]
    NeverSleeps,
    /// A thread that spins at the end.
    #[error("it is awake already when its time comes")]
    AwakeAlready,
    /// A receiver that spins.
    #[error("its receiver never sleeps, so that nothing wakes it")]
    ReceiverNeverSleeps,
}
