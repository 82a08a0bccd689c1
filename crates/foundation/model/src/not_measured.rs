//! What of a plan cannot be measured, and why.

use crate::{AsText, CpuSet, Load, Notifier, OsError, Policy, Runtime, Sleeper, Span, Wait, WaitClock};

/// A combination that was asked for and is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Combination {
    /// Whatever sleeps in this way.
    #[error("{0}")]
    Sleeper(Sleeper),
    /// Whatever is notified in this way.
    #[error("{0}")]
    Notifier(Notifier),
    /// Whatever runs under this load.
    #[error("load {0}")]
    Load(Load),
    /// A sleep of a call or runtime.
    #[error("{sleeper} for {length} under {policy}")]
    Sleep {
        /// The call or runtime that sleeps.
        sleeper: Sleeper,
        /// Length of the sleep.
        length: Span,
        /// How it is scheduled.
        policy: Policy,
    },
    /// A periodic thread.
    #[error("{wait} every {period} under {policy}")]
    Cyclic {
        /// How it waits.
        wait: Wait,
        /// For how long.
        period: Span,
        /// How it is scheduled.
        policy: Policy,
    },
    /// A way of notifying.
    #[error("{notifier} under {policy}")]
    Notify {
        /// How they are sent.
        notifier: Notifier,
        /// How their receiver is scheduled.
        policy: Policy,
    },
    /// Notifications whose two sides have one CPU.
    #[error("{0} on one CPU")]
    OnOneCpu(Notifier),
    /// Notifications whose two sides have a CPU each.
    #[error("notification from CPU to CPU")]
    AcrossCpus,
}

/// Why a combination is left out. What this machine lacks, such as a language, is known in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CombinationRefusal {
    /// The kernel, or what stands between, lacks the call.
    #[error("the kernel or the container refuses it ({0})")]
    Refused(AsText<OsError>),
    /// A call for relative sleeps, of a thread whose sleeps all are.
    #[error("sleeps are relative already; use clock_nanosleep")]
    RelativeAlready,
    /// A call that has no timers of this clock.
    #[error("{wait} cannot wait on {}; use clock_nanosleep", .clock.constant())]
    NotOnClock {
        /// How it waits.
        wait: Wait,
        /// The clock that it has no timer of.
        clock: WaitClock,
    },
    /// A program that waits on the clock of its own choice.
    #[error("{runtime} chooses the clock that it waits on itself; use clock_nanosleep, or leave --clock out")]
    OwnClock {
        /// The runtime whose program it is.
        runtime: Runtime,
    },
    /// A clock that the kernel has not.
    #[error("{}", no_clock(*.0))]
    NoClock(WaitClock),
    /// sched(7): fork(2) of a deadline thread fails.
    #[error("{runtime} starts threads or programs, which a deadline thread must not; use fifo")]
    StartsThreads {
        /// The runtime that starts them.
        runtime: Runtime,
    },
    /// A thread that never sleeps and runs before all normal ones.
    #[error("busy-waiting under {policy} never lets other threads run; use other, or sleep_then_spin")]
    NeverSleeps {
        /// How it is scheduled.
        policy: Policy,
    },
    /// A thread that spins too long before each of its times.
    #[error("it would spin for {spin} of every {period} under {policy}; use at least {proposed}")]
    SpinsTooLong {
        /// For how long.
        spin: Span,
        /// Of how long.
        period: Span,
        /// How it is scheduled.
        policy: Policy,
        /// A period that leaves enough to others.
        proposed: Span,
    },
    /// A thread that wakes too often.
    #[error(
        "a wake-up costs {cost} here, so a period of {period} under {policy} would leave no CPU time to others; use at least {proposed}"
    )]
    PeriodTooShort {
        /// What a wake-up costs.
        cost: Span,
        /// What was asked for.
        period: Span,
        /// How it is scheduled.
        policy: Policy,
        /// A period that leaves enough to others.
        proposed: Span,
    },
    /// Sleeps too short, for too long.
    #[error("sleeps of {length} under {policy} hardly leave the CPU; use at most {most} samples")]
    SleepsTooShort {
        /// What was asked for.
        length: Span,
        /// How they are scheduled.
        policy: Policy,
        /// How many may be taken.
        most: u64,
    },
    /// Threads that together keep a CPU busy.
    #[error(
        "{threads} such threads would keep {} busy for {percent} % of the time, as a wake-up costs {cost} here; use fewer threads, or longer periods, so that it is at most {most_percent} %",
        cpu.map_or_else(|| "every CPU".to_owned(), |cpu| format!("CPU {cpu}"))
    )]
    BusyTogether {
        /// Number of such threads on the CPU.
        threads: u32,
        /// Which CPU; `None`: all of them.
        cpu: Option<u32>,
        /// How much of the time.
        percent: u64,
        /// What a wake-up costs.
        cost: Span,
        /// How much may be.
        most_percent: u64,
    },
    /// A receiver that spins where the sender is to run.
    #[error(
        "the receiver would spin on CPU {cpu}, where the sender must run too; choose two CPUs with --pair"
    )]
    SpinsBesideSender {
        /// Where both would run.
        cpu: u32,
    },
    /// A receiver that keeps its CPU for too long.
    #[error(
        "the receiver would keep CPU {cpu} from everyone else for {longest} at a time; use fewer --samples, shorter gaps or more --rounds, so that it is at most {most}"
    )]
    ReceiverKeepsCpu {
        /// CPU of the receiver.
        cpu: u32,
        /// For how long.
        longest: Span,
        /// For how long it may.
        most: Span,
    },
    /// This process may use one CPU.
    #[error(
        "this process was started on CPU {usable} only, so both sides take turns on it{}",
        if bindable.len() > 1 { format!("; `--cpus {bindable}` takes the others too") } else { String::new() }
    )]
    OneCpu {
        /// The CPUs on which the process was started.
        usable: CpuSet,
        /// Those that threads could be bound to.
        bindable: CpuSet,
    },
}

/// What the kernel lacks for a clock, and what would bring it.
fn no_clock(clock: WaitClock) -> String {
    let name = clock.constant();
    match clock {
        WaitClock::Aux(number) => format!(
            "{name} is not available: it needs Linux 6.17 with CONFIG_POSIX_AUX_CLOCKS, and `echo 1 >/sys/kernel/time/aux_clocks/{number}/aux_clock_enable` as root"
        ),
        _ => format!("{name} is not available in this kernel"),
    }
}
