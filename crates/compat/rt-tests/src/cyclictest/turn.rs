//! Converts options to a [`Turn`] of howlate's measuring engine.

use howlate_model::{
    Condition, CpuSet, Latency, Load, Policy, Priority, Sleeper, Span, Task, Turn, Wait, Work,
};

use crate::cyclictest::affinity::{CpuMasks, cpu_of};
use crate::cyclictest::options::{Affinity, Align, CyclictestOptions, LatencyUnit, PolicyName};

/// Without `-A`, the start of each thread after the previous one: about the time to create a thread, which separates the
/// original's threads.
const STAGGER_US: i64 = 50;

/// The turn that runs all measuring threads at once.
pub fn turn(options: &CyclictestOptions, masks: &CpuMasks) -> Turn {
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

/// Threads that miss no wake-up end by themselves at the wake-up that reaches the duration; the others are stopped this
/// much later.
const GRACE: Span = Span::from_millis(10);

fn task(options: &CyclictestOptions, thread: usize, set: &CpuSet) -> Task {
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

/// `-r` and `-s` sleep for an interval ([`Work::Sleep`]); otherwise threads wait until an absolute time.
fn work(options: &CyclictestOptions, interval: Span) -> Work {
    let cyclic = |mechanism| Work::Cyclic { mechanism, period_ns: interval };
    let sleep = |wait| Work::Sleep { mechanism: Sleeper::Wait(wait), target_ns: interval };
    match options {
        CyclictestOptions { posix_timers: true, .. } => cyclic(Wait::PosixTimer),
        CyclictestOptions { system: true, .. } => sleep(Wait::Nanosleep),
        CyclictestOptions { relative: true, .. } => sleep(Wait::ClockNanosleep),
        _ => cyclic(Wait::ClockNanosleep),
    }
}

fn policy(options: &CyclictestOptions, thread: usize) -> Policy {
    let priority = Priority::new(options.priority_of(thread)).unwrap_or(Priority::USUAL);
    match options.policy {
        PolicyName::Other => Policy::OTHER,
        PolicyName::Batch => Policy::Batch,
        PolicyName::Idle => Policy::Idle,
        PolicyName::Fifo => Policy::Fifo { priority },
        PolicyName::Rr => Policy::Rr { priority },
    }
}

/// Number of wake-ups: `-l`, or as many as reach the duration if none is missed.
fn samples(options: &CyclictestOptions, interval: Span) -> Option<u64> {
    let last = options.duration.map(|duration| duration.as_nanos().div_ceil(interval.as_nanos().max(1)));
    options.loops.into_iter().chain(last).min()
}

fn phase(options: &CyclictestOptions, thread: usize) -> Span {
    let number = i64::try_from(thread).unwrap_or(i64::MAX);
    micros(match options.align {
        Align::No => STAGGER_US.saturating_mul(number),
        Align::Together(distance) => distance.saturating_mul(number),
        Align::FullSecond(after) => after,
    })
}

fn micros(count: i64) -> Span {
    Span::from_nanos(u64::try_from(count).unwrap_or(0).saturating_mul(1_000))
}

/// `-b` as the engine compares it. Latencies are truncated to whole units, so 20.9 µs does not exceed 20.
pub fn break_threshold(options: &CyclictestOptions) -> Option<Span> {
    let above = u64::try_from(options.break_above?).ok()?;
    Some(match options.unit {
        LatencyUnit::Micros => Span::from_nanos(above.saturating_mul(1_000).saturating_add(999)),
        LatencyUnit::Nanos => Span::from_nanos(above),
    })
}

/// The mark that `--tracemark` writes into the kernel's trace.
pub fn trace_mark(options: &CyclictestOptions, latency: Latency) -> String {
    let value = options.unit.convert_nanos(latency.as_nanos());
    format!("hit latency threshold ({value} > {})", options.break_above.unwrap_or(0))
}

/// The measuring conditions of each thread, for a recording.
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
