//! The rhythm of a watched thread, as a recording tells it.

use std::time::Duration;

use howlate_model::{
    CauseKind, Distribution, Drift, EventLoopBlock, HandoffCount, IterationTime, IterationWait,
    IterationsBlock, LongIteration, LongestIteration, LoopWait, Span, SpanBlock, StallReason, StallSite,
    StallTotal, TimerLoopBlock, WakerCount, WatchedBlock,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Summary;

/// The rhythm of a watched thread, and who woke it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rhythm {
    all: WatchedBlock,
}

/// The same as it is published under `results[].rhythm`. Names are added to, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RhythmNumbers {
    /// Threads that were counted here, one after the other or together; absent in recordings that do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// The usual time from one activation to the next; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "period_ns")]
    pub period: Option<Span>,
    /// The spread of the time from one run to the next: its 99th percentile less its first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "jitter_ns")]
    pub jitter: Option<Span>,
    /// From one time at which it was to run to the next.
    pub steps_ns: Option<Summary>,
    /// From one time at which it ran to the next.
    pub intervals_ns: Option<Summary>,
    /// Times of a strict rhythm at which it did not wake; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<u64>,
    /// Who woke it, the most frequent first.
    pub woken_by: Vec<WakerCount>,
    /// The ways that its deadlines were handed on, the most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handed_on: Vec<HandoffCount>,
    /// The work of its iterations; absent where its program has not marked them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<TurnsNumbers>,
    /// What it got of CPUs; absent where each of its wake-ups was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_queue: Option<RunQueueNumbers>,
    /// The iterations of its event loop; absent where it has none, or none was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_loop: Option<EventLoopNumbers>,
    /// Its iterations, from timer to timer; absent where no timer of its own wakes it, or nobody saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_loop: Option<TimerLoopNumbers>,
}

/// The iterations of a thread that its own timer wakes, as they are published. Names are added to, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimerLoopNumbers {
    /// From the time that its timer was set to until it slept on its timer again.
    pub iteration_ns: Option<Summary>,
    /// What it was blocked in meanwhile, whatever took the most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<IterationWaitNumbers>,
    /// What it sleeps until, where its times show that it sleeps for a length; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleeps_for_length: Option<LengthSleeps>,
}

/// What a thread was blocked in within its iterations, as it is published.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IterationWaitNumbers {
    /// A lock, another system call, or page faults.
    pub kind: CauseKind,
    /// The system call; absent for page faults, and where it was not seen.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The thread that ended those waits; absent where none did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Its id, where it was always the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// Whether that is a thread of its own program.
    pub own: bool,
    /// In how many iterations.
    pub iterations: u64,
    /// How long in each of those.
    pub time_ns: Option<Summary>,
    /// How long in all.
    #[serde(rename = "total_ns")]
    pub total: Span,
}

/// A loop that sleeps for a length instead of until a time: each delay moves all later iterations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LengthSleeps {
    /// The mean time from one activation to the next,
    #[serde(rename = "step_ns")]
    pub step: Span,
    /// and what it would be if no delay were added.
    #[serde(rename = "without_delay_ns")]
    pub without_delay: Span,
}

/// The iterations of an event loop, each from the return of the call in which it waits for events until it calls it again, as
/// they are published. Names are added to, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EventLoopNumbers {
    /// The call in which it waits.
    pub wait: LoopWait,
    /// Iterations of the loop that were seen whole.
    pub iterations: u64,
    /// How long the loop did not come back, of each iteration.
    pub iteration_ns: Option<Summary>,
    /// What the thread did within all of them.
    pub spent: IterationTime,
    /// Iterations that are longer than this count as long.
    #[serde(rename = "above_ns")]
    pub above: Span,
    /// How many were.
    pub long: u64,
    /// What the thread did within those.
    pub long_spent: IterationTime,
    /// The functions that it was in when those were long already, the most frequent first.
    pub functions: Vec<StallSite>,
    /// The calls that it slept in for most of those.
    pub blocked_in: Vec<StallSite>,
    /// What took the time of those, what took most first; empty in recordings of earlier versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub long_reasons: Vec<LongReasonNumbers>,
    /// The longest ones.
    pub longest: Vec<LongIteration>,
    /// Threads that wait on the same events, this one with them; absent where it is alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<u64>,
}

/// What one reason took of long iterations, as it is published. Names are added to, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LongReasonNumbers {
    /// What kept the loop.
    pub reason: StallReason,
    /// The call that it was blocked in; absent where it was not, or in several, or nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Long iterations of which this took more than anything else.
    pub iterations: u64,
    /// The time that it took in all long iterations.
    #[serde(rename = "total_ns")]
    pub total: Span,
    /// How long it took in each of those of which it took most.
    pub each_ns: Option<Summary>,
}

/// What a thread got of CPUs, as it is published. Names are added to, never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunQueueNumbers {
    /// Times that it got a CPU.
    pub switch_ins: u64,
    /// Times that its CPU was taken from it between two sleeps; absent where that was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempted: Option<u64>,
    /// Ready to run, and waiting for a CPU, in all.
    #[serde(rename = "waited_ns")]
    pub waited: Span,
    /// The mean of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "mean_wait_ns")]
    pub mean_wait: Option<Span>,
}

/// The work of a marked loop's iterations, as it is published. Names are added to, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TurnsNumbers {
    /// The period that the loop is to have; 0 where it has none.
    #[serde(rename = "period_ns")]
    pub period: Span,
    /// How long the work of each turn took, of those that said when it was done.
    pub work_ns: Option<Summary>,
    /// Turns whose work took longer than the period.
    pub long: u64,
    /// Turns whose time was inferred from the loop's own rhythm.
    pub inferred: u64,
    /// Spans that its program has named, in their order; absent where it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SpanNumbers>,
    /// The turn whose work took longest; absent where its program has named no spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<LongestIteration>,
}

/// A part of a loop's turns that its program has named, as it is published. Names are added to, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SpanNumbers {
    /// What the program calls it.
    pub name: String,
    /// Turns in which it occurred.
    pub count: u64,
    /// How much of each of those lay in it.
    pub time_ns: Option<Summary>,
}

/// Fewer pairs do not show what a step depends on.
const PAIRS: u64 = 50;
/// Each microsecond of delay moves the next time by so many, or it is not what moves it.
const SLOPE: std::ops::RangeInclusive<f64> = 0.8..=1.2;
/// So many standard errors below what was found, the slope is still above this, or nothing is shown.
const ERRORS: f64 = 3.0;
const LEAST_SLOPE: f64 = 0.5;
/// A loop that runs so much too slowly is told of.
const MUCH: f64 = 0.005;
/// Who sleeps for a length has sleeps of the same length: they differ by less than this share of it,
const SAME: f64 = 0.01;
/// and from one time to the next it is as much as its work differs: so many times more than that.
const MORE: f64 = 3.0;

/// Fewer steps are no rhythm.
const ENOUGH: u64 = 8;

impl Rhythm {
    pub(crate) fn add(&mut self, block: &WatchedBlock) {
        self.all.merge(block);
    }

    /// Threads that were counted here; `None` in recordings that do not say.
    pub fn threads(&self) -> Option<u64> {
        Some(self.all.threads).filter(|threads| *threads > 0)
    }

    /// The usual time from one activation to the next: the median of the half of the steps that are the most alike, where all
    /// of these are within a tenth of it. Whatever a busy machine does to the other half does not matter.
    pub fn period(&self) -> Option<Span> {
        let at = |percent: u32| nanos(&self.all.steps, f64::from(percent) / 100.0);
        let halves = (0..=50).step_by(5).filter_map(|from| Some((at(from)?, at(from + 25)?, at(from + 50)?)));
        let (low, median, high) = halves.min_by_key(|(low, _, high)| high.saturating_sub(*low))?;
        let is_regular = high - median <= median / 10 && median - low <= median / 10;
        (self.all.steps.count() >= ENOUGH && is_regular).then_some(Span::from_nanos(median))
    }

    /// The spread of the time from one run to the next: its 99th percentile less its first.
    pub fn jitter(&self) -> Option<Span> {
        let (low, high) = (nanos(&self.all.intervals, 0.01)?, nanos(&self.all.intervals, 0.99)?);
        (self.all.intervals.count() >= ENOUGH).then(|| Span::from_nanos(high.saturating_sub(low)))
    }

    /// Times of a strict rhythm at which it did not wake; `None` where it has none.
    pub const fn missed(&self) -> Option<u64> {
        self.all.missed
    }

    /// Who woke it, the most frequent first.
    pub fn woken_by(&self) -> &[WakerCount] {
        &self.all.woken_by
    }

    /// The ways that its deadlines were handed on, the most frequent first.
    pub fn handed_on(&self) -> &[HandoffCount] {
        &self.all.handed_on
    }

    /// The work of its iterations; `None` where its program has not marked them.
    pub const fn turns(&self) -> Option<&IterationsBlock> {
        self.all.turns.as_ref()
    }

    /// Whether its program marked iterations, which may have no time at which they were to begin.
    pub fn has_turned(&self) -> bool {
        self.all.has_turned()
    }

    /// What it got of CPUs; `None` where each of its wake-ups was seen.
    pub fn run_queue(&self) -> Option<RunQueueNumbers> {
        let all = self.all.run_queue?;
        let mean = all.waited.as_nanos().checked_div(all.switch_ins);
        Some(RunQueueNumbers {
            switch_ins: all.switch_ins,
            preempted: all.preempted,
            waited: all.waited,
            mean_wait: mean.map(Span::from_nanos),
        })
    }

    /// The iterations of its event loop; `None` where it has none, or none was seen.
    pub const fn event_loop(&self) -> Option<&EventLoopBlock> {
        self.all.event_loop.as_ref()
    }

    /// Its iterations, from timer to timer; `None` where no timer of its own wakes it, or nobody saw.
    pub const fn timer_loop(&self) -> Option<&TimerLoopBlock> {
        self.all.timer_loop.as_ref()
    }

    /// That it sleeps for a length instead of until a time; `None` where it does not, or its times do not show it.
    pub fn sleeps_for_length(&self) -> Option<LengthSleeps> {
        let is_strict = self.missed().is_some();
        self.timer_loop().filter(|_| !is_strict).and_then(|of| sleeps_for_length(&of.drift))
    }

    /// All of it, as it is published.
    pub fn numbers(&self) -> RhythmNumbers {
        RhythmNumbers {
            threads: self.threads(),
            period: self.period(),
            jitter: self.jitter(),
            steps_ns: Summary::from_distribution(&self.all.steps),
            intervals_ns: Summary::from_distribution(&self.all.intervals),
            missed: self.missed(),
            woken_by: self.all.woken_by.clone(),
            handed_on: self.all.handed_on.clone(),
            turns: self.turns().map(turns),
            run_queue: self.run_queue(),
            event_loop: self.event_loop().map(event_loop),
            timer_loop: self.timer_loop().map(|of| timer_loop(of, self.sleeps_for_length())),
        }
    }
}

/// Who sleeps for a length: by its sleeps, which are all as long, while its steps are not; or by its delays, which move its steps.
fn sleeps_for_length(of: &Drift) -> Option<LengthSleeps> {
    let pairs = of.pairs as f64;
    let (mean, delay) = (of.step_us / pairs, of.late_us / pairs);
    let span = |micros: f64| {
        let length = Duration::try_from_secs_f64(micros / 1e6).unwrap_or_default();
        Span::from_nanos(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
    };
    (of.pairs >= PAIRS && (has_equal_sleeps(of) || is_moved(of)) && delay >= MUCH * (mean - delay))
        .then(|| LengthSleeps { step: span(mean), without_delay: span(mean - delay) })
}

fn has_equal_sleeps(of: &Drift) -> bool {
    let deviation = |count: u64, sum: f64, squares: f64| {
        let mean = sum / count as f64;
        (mean, (squares / count as f64 - mean * mean).max(0.0).sqrt())
    };
    let (length, of_sleeps) = deviation(of.sleeps, of.slept_us, of.slept_squared_us2);
    let (_, of_steps) = deviation(of.pairs, of.step_us, of.step_squared_us2);
    of.sleeps >= PAIRS && of_sleeps < SAME * length && MORE * of_sleeps < of_steps
}

/// Least squares of the step over the lateness before it.
fn is_moved(of: &Drift) -> bool {
    let pairs = of.pairs as f64;
    let covered = |product: f64, one: f64, other: f64| product / pairs - one / pairs * (other / pairs);
    let late = covered(of.late_squared_us2, of.late_us, of.late_us);
    let step = covered(of.step_squared_us2, of.step_us, of.step_us);
    let both = covered(of.late_step_us2, of.late_us, of.step_us);
    let slope = both / late;
    let error = ((step - slope * both).max(0.0) / (pairs - 2.0) / late).sqrt();
    SLOPE.contains(&slope) && slope - ERRORS * error > LEAST_SLOPE
}

fn timer_loop(all: &TimerLoopBlock, sleeps_for_length: Option<LengthSleeps>) -> TimerLoopNumbers {
    let wait = |one: &IterationWait| IterationWaitNumbers {
        kind: one.kind,
        call: one.call.clone(),
        by: one.by.clone(),
        tid: one.tid,
        own: one.own,
        iterations: one.time.count(),
        time_ns: Summary::from_distribution(&one.time),
        total: one.total,
    };
    let waits = all.waits.iter().map(wait).collect();
    TimerLoopNumbers { iteration_ns: Summary::from_distribution(&all.length), waits, sleeps_for_length }
}

fn turns(all: &IterationsBlock) -> TurnsNumbers {
    let (period, work_ns) = (all.period, Summary::from_distribution(&all.work));
    let (spans, longest) = (all.spans.iter().map(span).collect(), all.longest.clone());
    TurnsNumbers { period, work_ns, long: all.long, inferred: all.inferred, spans, longest }
}

fn span(all: &SpanBlock) -> SpanNumbers {
    let (name, count) = (all.name.clone(), all.time.count());
    SpanNumbers { name, count, time_ns: Summary::from_distribution(&all.time) }
}

fn event_loop(all: &EventLoopBlock) -> EventLoopNumbers {
    EventLoopNumbers {
        wait: all.wait,
        iterations: all.iterations.count(),
        iteration_ns: Summary::from_distribution(&all.iterations),
        spent: all.spent,
        above: all.above,
        long: all.long,
        long_spent: all.long_spent,
        functions: all.functions.clone(),
        blocked_in: all.blocked_in.clone(),
        long_reasons: all.reasons.iter().map(long_reason).collect(),
        longest: all.longest.clone(),
        shared_by: all.shared_by,
    }
}

fn long_reason(one: &StallTotal) -> LongReasonNumbers {
    let (call, each_ns) = (one.call.clone(), Summary::from_distribution(&one.each));
    LongReasonNumbers { reason: one.reason, call, iterations: one.iterations, total: one.total, each_ns }
}

fn nanos(all: &Distribution, quantile: f64) -> Option<u64> {
    all.quantile(quantile).map(|value| value.as_nanos().max(0).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::Latency;

    fn rhythm(steps: impl IntoIterator<Item = i64>) -> Rhythm {
        let mut block = WatchedBlock::default();
        for step in steps {
            block.steps.record(Latency::from_nanos(step));
            block.intervals.record(Latency::from_nanos(step));
        }
        let mut rhythm = Rhythm::default();
        rhythm.add(&block);
        rhythm
    }

    /// A loop of 1 ms that is late by up to 200 µs, a little differently each time.
    fn drifting(moves: impl Fn(i64) -> i64) -> Option<LengthSleeps> {
        let mut drift = Drift::default();
        for turn in 0..200 {
            let late = 20_000 + turn * 7_919 % 180_000;
            let step = 1_000_000 + moves(late) + turn * 31 % 2_000;
            drift.add(Span::from_nanos(late.unsigned_abs()), Span::from_nanos(step.unsigned_abs()));
        }
        sleeps_for_length(&drift)
    }

    #[test]
    fn whose_delays_move_all_later_times_sleeps_for_a_length() {
        let found = drifting(|late| late).unwrap();
        assert_eq!(found.without_delay.as_nanos() / 10_000, 100);
        assert!((1_100_000..1_120_000).contains(&found.step.as_nanos()), "{found:?}");
        assert_eq!(drifting(|_| 0), None, "until a time");
        assert_eq!(drifting(|late| late * 77_777 % 900_000), None, "work moves it");
        assert_eq!(drifting(|late| late / 3), None);
    }

    /// A loop of 10 ms that is late by 100 µs, a little differently each time, and works for 1 ms or so; whose sleeps end at a time, or
    /// after a length.
    fn working(until_a_time: bool) -> Option<LengthSleeps> {
        let (mut drift, mut due) = (Drift::default(), 0_i64);
        for turn in 0..200 {
            let (late, work) = (100_000 + turn * 7_919 % 40_000, 900_000 + turn * 60_013 % 300_000);
            let asleep = due + late + work + 3_000 + turn * 977 % 2_000;
            let next = if until_a_time { due + 10_000_000 } else { asleep - 4_000 + 10_000_000 };
            let nanos = |length: i64| Span::from_nanos(length.unsigned_abs());
            drift.add(nanos(late), nanos(next - due));
            drift.slept(nanos(next - asleep));
            due = next;
        }
        sleeps_for_length(&drift)
    }

    #[test]
    fn whose_sleeps_are_all_as_long_sleeps_for_a_length_whatever_its_work_takes() {
        let found = working(false).unwrap();
        assert!((11_000_000..11_300_000).contains(&found.step.as_nanos()), "{found:?}");
        assert_eq!(working(true), None);
    }

    #[test]
    fn a_period_is_what_most_steps_have_in_common() {
        let drifting =
            rhythm((0..100).map(|turn| if turn == 50 { 90_000_000 } else { 5_060_000 + turn * 100 }));
        let period = drifting.period().unwrap().as_nanos();
        // Distributions have two digits.
        assert!((5_015_000..5_115_000).contains(&period), "{period}");
        assert!(drifting.jitter().is_some());
        assert_eq!(rhythm((0..100).map(|turn| 1_000_000 + turn * 100_000)).period(), None);
        let busy =
            rhythm((0..100).map(|turn| if turn % 5 < 2 { 5_100_000 + turn * 700_000 } else { 5_060_000 }));
        let period = busy.period().unwrap().as_nanos();
        assert!((5_015_000..5_115_000).contains(&period), "two in five steps are late: {period}");
        assert_eq!(rhythm([1_000_000; 4]).period(), None, "too few to tell");
        assert_eq!(drifting.missed(), None);
    }
}
