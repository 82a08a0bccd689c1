//! The rhythm of a watched thread, as recorded.

use howlate_model::{
    CauseKind, Distribution, EventLoopBlock, HandoffCount, IterationTime, IterationWait, IterationsBlock,
    Ledger, LongIteration, LongestIteration, LoopWait, OmittedAnswers, Span, SpanBlock, StallReason,
    StallSite, StallTotal, TimerLoopBlock, WakerCount, WatchedBlock,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::length_sleeps::LengthSleeps;
use crate::Summary;
use crate::cause::{WhyCause, WhyLate};

/// The rhythm of a watched thread, and who woke it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rhythm {
    block: WatchedBlock,
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
    /// Of requests: answers that are not among them; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_answers: Option<OmittedAnswers>,
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
    /// What the longest iterations went to; absent in recordings of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest: Option<SlowestIterations>,
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
    /// What the longest iterations went to; absent in recordings of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest: Option<SlowestIterations>,
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
    /// What the work of the longest turns went to; absent where no tracer saw the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest: Option<SlowestIterations>,
}

/// What the longest iterations of a loop went to. Names are added to, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SlowestIterations {
    /// Iterations that are known part by part.
    pub decomposed: u64,
    /// Iterations that are not.
    pub not_decomposed: u64,
    /// The longest ones: their lengths stand for lateness.
    pub late: WhyLate,
    /// What these spent their time with, the most first; together all of it. They stand for wake-ups.
    pub causes: Vec<WhyCause>,
}

impl SlowestIterations {
    /// Of iterations that went to what `ledger` says; `None` where nothing was traced.
    pub fn of(ledger: &Ledger) -> Option<Self> {
        let (decomposed, not_decomposed) = (ledger.decomposed, ledger.undecomposed());
        let slowest = ledger.slowest();
        let (late, causes) = (WhyLate::of(&slowest), WhyCause::all_of(&slowest));
        (decomposed > 0).then_some(Self { decomposed, not_decomposed, late, causes })
    }
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

/// Fewer iterations are no loop.
const LEAST_ITERATIONS: u64 = 20;
/// A wait is notable that took at least this share of the usual time of all iterations,
const NOTABLE_SHARE: f64 = 0.05;
/// and was met in at least this many of them.
const NOTABLE_TIMES: u64 = 3;
/// Fewer steps are no rhythm.
const LEAST_STEPS: u64 = 8;

impl Rhythm {
    pub(crate) fn add(&mut self, block: &WatchedBlock) {
        self.block.merge(block);
    }

    /// Number of threads that counted here; `None` in recordings that do not say.
    pub fn threads(&self) -> Option<u64> {
        Some(self.block.threads).filter(|threads| *threads > 0)
    }

    /// The usual time from one activation to the next: the median of the half of the steps that are most alike, if all of those
    /// are within a tenth of it. What a busy machine does to the other half does not matter.
    pub fn period(&self) -> Option<Span> {
        let at = |percent: u32| nanos(&self.block.steps, f64::from(percent) / 100.0);
        let halves = (0..=50).step_by(5).filter_map(|from| Some((at(from)?, at(from + 25)?, at(from + 50)?)));
        let (low, median, high) = halves.min_by_key(|(low, _, high)| high.saturating_sub(*low))?;
        let is_regular = high - median <= median / 10 && median - low <= median / 10;
        (self.block.steps.count() >= LEAST_STEPS && is_regular).then_some(Span::from_nanos(median))
    }

    /// The spread of the time from one run to the next: its 99th percentile less its first.
    pub fn jitter(&self) -> Option<Span> {
        let (low, high) = (nanos(&self.block.intervals, 0.01)?, nanos(&self.block.intervals, 0.99)?);
        (self.block.intervals.count() >= LEAST_STEPS).then(|| Span::from_nanos(high.saturating_sub(low)))
    }

    /// Times of a strict rhythm at which it did not wake; `None` where it has none.
    pub const fn missed(&self) -> Option<u64> {
        self.block.missed
    }

    /// Who woke it, the most frequent first.
    pub fn woken_by(&self) -> &[WakerCount] {
        &self.block.woken_by
    }

    /// The chains of threads that its deadlines were passed along, the most frequent first.
    pub fn handed_on(&self) -> &[HandoffCount] {
        &self.block.handed_on
    }

    /// The work of its iterations; `None` if its program has not marked them.
    pub const fn turns(&self) -> Option<&IterationsBlock> {
        self.block.turns.as_ref()
    }

    /// Whether its program marked iterations, even if without a time at which they were due.
    pub fn has_turned(&self) -> bool {
        self.block.has_iterations()
    }

    /// Its time on the run queue; `None` where each of its wake-ups was traced.
    pub fn run_queue(&self) -> Option<RunQueueNumbers> {
        let block = self.block.run_queue?;
        let mean = block.waited.as_nanos().checked_div(block.switch_ins);
        Some(RunQueueNumbers {
            switch_ins: block.switch_ins,
            preempted: block.preempted,
            waited: block.waited,
            mean_wait: mean.map(Span::from_nanos),
        })
    }

    /// The iterations of its event loop; `None` where it has none, or none was seen.
    pub const fn event_loop(&self) -> Option<&EventLoopBlock> {
        self.block.event_loop.as_ref()
    }

    /// Its iterations from timer to timer; `None` if no timer of its own wakes it, or that was not traced.
    pub const fn timer_loop(&self) -> Option<&TimerLoopBlock> {
        self.block.timer_loop.as_ref()
    }

    /// The same, where these are enough for a loop: what a thread waits for that sleeps now and then is what it is there for, such as
    /// the end of another thread.
    pub fn repeated_timer_loop(&self) -> Option<&TimerLoopBlock> {
        self.timer_loop().filter(|timer_loop| timer_loop.length.count() >= LEAST_ITERATIONS)
    }

    /// The waits that took a good part of its loop's time.
    pub fn notable_waits(&self) -> impl Iterator<Item = &IterationWait> {
        self.repeated_timer_loop().into_iter().flat_map(|timer_loop| {
            let usual = timer_loop.length.quantile(0.5).map_or(0.0, |length| length.as_nanos() as f64);
            let all = timer_loop.length.count() as f64 * usual;
            timer_loop.waits.iter().filter(move |wait| {
                let is_long = wait.total.as_nanos() as f64 >= NOTABLE_SHARE * all && all > 0.0;
                wait.time.count() >= NOTABLE_TIMES && is_long
            })
        })
    }

    /// Of requests: answers that are not among them.
    pub const fn omitted_answers(&self) -> Option<&OmittedAnswers> {
        self.block.omitted_answers.as_ref()
    }

    /// The drift of a loop that sleeps for a length instead of until a time; `None` if it does not, or its times do not show it.
    pub fn sleeps_for_length(&self) -> Option<LengthSleeps> {
        let is_strict = self.missed().is_some();
        self.timer_loop().filter(|_| !is_strict).and_then(|timer_loop| LengthSleeps::of(&timer_loop.drift))
    }

    /// All numbers, as published.
    pub fn numbers(&self) -> RhythmNumbers {
        RhythmNumbers {
            threads: self.threads(),
            period: self.period(),
            jitter: self.jitter(),
            steps_ns: Summary::from_distribution(&self.block.steps),
            intervals_ns: Summary::from_distribution(&self.block.intervals),
            missed: self.missed(),
            woken_by: self.block.woken_by.clone(),
            handed_on: self.block.handed_on.clone(),
            turns: self.turns().map(turns),
            run_queue: self.run_queue(),
            event_loop: self.event_loop().map(event_loop),
            timer_loop: self.timer_loop().map(|block| timer_loop(block, self.sleeps_for_length())),
            omitted_answers: self.omitted_answers().copied(),
        }
    }
}

fn timer_loop(block: &TimerLoopBlock, sleeps_for_length: Option<LengthSleeps>) -> TimerLoopNumbers {
    let numbers = |wait: &IterationWait| IterationWaitNumbers {
        kind: wait.kind,
        call: wait.call.clone(),
        by: wait.by.clone(),
        tid: wait.tid,
        own: wait.own,
        iterations: wait.time.count(),
        time_ns: Summary::from_distribution(&wait.time),
        total: wait.total,
    };
    let waits = block.waits.iter().map(numbers).collect();
    TimerLoopNumbers {
        iteration_ns: Summary::from_distribution(&block.length),
        waits,
        sleeps_for_length,
        slowest: SlowestIterations::of(&block.ledger),
    }
}

fn turns(block: &IterationsBlock) -> TurnsNumbers {
    let (period, work_ns) = (block.period, Summary::from_distribution(&block.work));
    let (spans, longest) = (block.spans.iter().map(span).collect(), block.longest.clone());
    let slowest = SlowestIterations::of(&block.ledger);
    TurnsNumbers { period, work_ns, long: block.long, inferred: block.inferred, spans, longest, slowest }
}

fn span(block: &SpanBlock) -> SpanNumbers {
    let (name, count) = (block.name.clone(), block.time.count());
    SpanNumbers { name, count, time_ns: Summary::from_distribution(&block.time) }
}

fn event_loop(block: &EventLoopBlock) -> EventLoopNumbers {
    EventLoopNumbers {
        wait: block.wait,
        iterations: block.iterations.count(),
        iteration_ns: Summary::from_distribution(&block.iterations),
        spent: block.spent,
        above: block.above,
        long: block.long,
        long_spent: block.long_spent,
        functions: block.functions.clone(),
        blocked_in: block.blocked_in.clone(),
        long_reasons: block.reasons.iter().map(long_reason).collect(),
        longest: block.longest.clone(),
        shared_by: block.shared_by,
        slowest: SlowestIterations::of(&block.ledger),
    }
}

fn long_reason(reason: &StallTotal) -> LongReasonNumbers {
    let (call, each_ns) = (reason.call.clone(), Summary::from_distribution(&reason.each));
    LongReasonNumbers {
        reason: reason.reason,
        call,
        iterations: reason.iterations,
        total: reason.total,
        each_ns,
    }
}

fn nanos(distribution: &Distribution, quantile: f64) -> Option<u64> {
    distribution.quantile(quantile).map(|value| value.as_nanos().max(0).unsigned_abs())
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

    #[test]
    fn a_period_is_what_most_steps_have_in_common() {
        let drifting =
            rhythm((0..100).map(|number| if number == 50 { 90_000_000 } else { 5_060_000 + number * 100 }));
        let period = drifting.period().unwrap().as_nanos();
        // Distributions have two digits.
        assert!((5_015_000..5_115_000).contains(&period), "{period}");
        assert!(drifting.jitter().is_some());
        assert_eq!(rhythm((0..100).map(|number| 1_000_000 + number * 100_000)).period(), None);
        let busy = rhythm(
            (0..100).map(|number| if number % 5 < 2 { 5_100_000 + number * 700_000 } else { 5_060_000 }),
        );
        let period = busy.period().unwrap().as_nanos();
        assert!((5_015_000..5_115_000).contains(&period), "two in five steps are late: {period}");
        assert_eq!(rhythm([1_000_000; 4]).period(), None, "too few to tell");
        assert_eq!(drifting.missed(), None);
    }
}
