//! From options to what howlate's measuring engine does.

use howlate_model::{
    Condition, CpuSet, Latency, Load, Policy, Priority, Sleeper, Span, Task, Turn, Wait, Work,
};

use crate::cyclictest::affinity::{CpuMasks, cpu_of};
use crate::cyclictest::options::{Affinity, Align, Options, PolicyName, Unit};

/// Without `-A`, each thread starts this much after the one before: about the time that
/// starting a thread takes, which is what sets the original's threads apart.
const STAGGER_US: i64 = 50;

/// The tasks of all threads, side by side.
pub fn turn(options: &Options, masks: &CpuMasks) -> Turn {
    let set = match &options.affinity {
        Affinity::Unset => CpuSet::default(),
        Affinity::All => masks.allowed.clone(),
        Affinity::Set(set) => set.clone(),
    };
    let tasks: Vec<Task> = (0..options.threads).map(|thread| task(options, thread, &set)).collect();
    let loops = options.loops.map(|loops| micros(options.interval_us).times(loops));
    let estimate = loops.into_iter().chain(options.duration).min().unwrap_or_default();
    let duration = options.duration.map(|duration| duration.plus(GRACE));
    Turn { tasks, load: Load::IDLE, duration, cut_after: None, estimate }
}

/// Threads that miss nothing end by themselves, with the wake-up that reaches the duration; the
/// others are ended this much later.
const GRACE: Span = Span::from_millis(10);

fn task(options: &Options, thread: usize, set: &CpuSet) -> Task {
    let interval = micros(options.interval_of(thread));
    Task {
        condition: u32::try_from(thread).unwrap_or(u32::MAX),
        policy: policy(options, thread),
        clock: options.clock,
        cpu: cpu_of(thread, set),
        samples: samples(options, interval),
        phase: interval.plus(phase(options, thread)),
        ..Task::new(work(options, interval))
    }
}

/// `-r` and `-s` sleep for a length from now, which is another kind of work than waiting for a time.
fn work(options: &Options, interval: Span) -> Work {
    let cyclic = |mechanism| Work::Cyclic { mechanism, period_ns: interval };
    let sleep = |wait| Work::Sleep { mechanism: Sleeper::Wait(wait), target_ns: interval };
    match options {
        Options { posix_timers: true, .. } => cyclic(Wait::PosixTimer),
        Options { system: true, .. } => sleep(Wait::Nanosleep),
        Options { relative: true, .. } => sleep(Wait::ClockNanosleep),
        _ => cyclic(Wait::ClockNanosleep),
    }
}

fn policy(options: &Options, thread: usize) -> Policy {
    let priority = Priority::new(options.priority_of(thread)).unwrap_or(Priority::USUAL);
    match options.policy {
        PolicyName::Other => Policy::OTHER,
        PolicyName::Batch => Policy::Batch,
        PolicyName::Idle => Policy::Idle,
        PolicyName::Fifo => Policy::Fifo { priority },
        PolicyName::Rr => Policy::Rr { priority },
    }
}

/// A thread ends with the wake-up that reaches the duration; one that misses none knows which that is.
fn samples(options: &Options, interval: Span) -> Option<u64> {
    let last = options.duration.map(|duration| duration.as_nanos().div_ceil(interval.as_nanos().max(1)));
    options.loops.into_iter().chain(last).min()
}

fn phase(options: &Options, thread: usize) -> Span {
    let number = i64::try_from(thread).unwrap_or(i64::MAX);
    micros(match options.align {
        Align::No => STAGGER_US.saturating_mul(number),
        Align::Together(each) => each.saturating_mul(number),
        Align::FullSecond(after) => after,
    })
}

fn micros(count: i64) -> Span {
    Span::from_nanos(u64::try_from(count).unwrap_or(0).saturating_mul(1_000))
}

/// The latency above which the run stops, as the engine compares it. A latency counts in whole
/// units, so that one of 20.9 µs does not exceed 20.
pub fn break_threshold(options: &Options) -> Option<Span> {
    let above = u64::try_from(options.break_above?).ok()?;
    Some(match options.unit {
        Unit::Micros => Span::from_nanos(above.saturating_mul(1_000).saturating_add(999)),
        Unit::Nanos => Span::from_nanos(above),
    })
}

/// What `--tracemark` writes into the kernel's trace.
pub fn trace_mark(options: &Options, latency: Latency) -> String {
    let value = options.unit.of_nanos(latency.as_nanos());
    format!("hit latency threshold ({value} > {})", options.break_above.unwrap_or(0))
}

/// What each thread measures, for a recording.
pub fn conditions(turn: &Turn, kernel: &str) -> Vec<Condition> {
    let condition = |task: &Task| Condition {
        policy: task.policy,
        clock: task.clock,
        slack_ns: task.slack,
        cpu: task.cpu,
        thread: task.condition,
        load: turn.load.clone(),
        ..Condition::new(task.work, kernel)
    };
    turn.tasks.iter().map(condition).collect()
}
