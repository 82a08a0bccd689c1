//! Sums over the wake-ups of one thread of a watched program.

use std::mem::{replace, take};

use howlate_model::{
    Activation, Block, CauseBlock, EventLoopBlock, Iteration, IterationsBlock, Latency, Ledger, Line,
    LoopIteration, MonotonicTime, OmittedAnswers, RunQueueBlock, Span, SpanTime, Wakeup, WatchedBlock,
};

use super::grid::RhythmGrid;
use super::{AnsweredRequest, Awakening, CompletedTurn, TimerIteration};

/// The wake-ups of one thread by one kind of activation, as one condition of a recording has them.
#[derive(Debug)]
pub struct ThreadSummary {
    block: Block,
    ledger: Ledger,
    rhythm: WatchedBlock,
    grid: RhythmGrid,
    last_run: Option<MonotonicTime>,
    /// The last time that its timer was due, and how late it ran then.
    due: Option<(MonotonicTime, Span)>,
    /// The step from the time before to that one.
    step: Option<Span>,
    /// Wake-ups so far; switch-ins where wake-ups are not traced.
    pub count: u64,
    /// The largest latency so far.
    pub worst: Latency,
    /// Time that it waited for CPUs so far; `None` where its wake-ups are traced.
    pub waited: Option<Span>,
    /// Iterations of its event loop so far, those that were long, and the longest.
    pub iterations: (u64, u64, Span),
    /// Whether other threads wait on the same events: then an iteration delays no event for certain.
    pub shares_events: bool,
}

impl ThreadSummary {
    /// The thread of this condition, watched from `from` on.
    pub fn new(condition: u32, from: MonotonicTime) -> Self {
        Self {
            block: Block { condition, from, until: from, ..Block::default() },
            ledger: Ledger::default(),
            rhythm: WatchedBlock { condition, from, until: from, ..WatchedBlock::default() },
            grid: RhythmGrid::default(),
            last_run: None,
            due: None,
            step: None,
            count: 0,
            worst: Latency::from_nanos(0),
            waited: None,
            iterations: (0, 0, Span::ZERO),
            shares_events: false,
        }
    }

    /// Number of the condition that its wake-ups count under.
    pub const fn condition(&self) -> u32 {
        self.block.condition
    }

    /// Adds a thread that counts here.
    pub fn add_thread(&mut self) {
        self.rhythm.threads += 1;
    }

    /// Another thread continues in its place: the time in between is unknown.
    pub fn switch_thread(&mut self) {
        (self.grid, self.last_run, self.due, self.step) = (RhythmGrid::default(), None, None, None);
    }

    /// Marks it as a loop marked by its program, with this period.
    pub fn set_loop_period(&mut self, period: Span) {
        self.rhythm.turns = Some(IterationsBlock { period, ..IterationsBlock::default() });
    }

    /// Takes its next wake-up.
    pub fn record_wakeup(&mut self, wakeup: &Awakening) {
        self.record_latency(wakeup);
        self.record_run(wakeup.wakeup.ran);
        wakeup.by.iter().for_each(|who| self.rhythm.record_waker(who));
        if !wakeup.through.is_empty() {
            let through: Vec<String> = wakeup.through.iter().map(|who| who.name.clone()).collect();
            self.rhythm.record_handoff(&through, 1);
        }
        if wakeup.activation == Activation::Timer && wakeup.sleeps_by_call {
            self.record_timer(wakeup.wakeup);
        }
        let (step, missed) = self.grid.next(wakeup.wakeup.expected);
        step.into_iter().for_each(|step| self.rhythm.steps.record(length(step)));
        self.add_missed(missed);
    }

    /// Records how far the next timer lies from the one before, against how late that wake-up was. Left out are pairs in which a
    /// timer may have been skipped: late by more than half the step, or a step that differs from the one before by half or more.
    fn record_timer(&mut self, wakeup: Wakeup) {
        let late = wakeup.ran.since(wakeup.expected);
        if let Some((before, late)) = self.due.replace((wakeup.expected, late)) {
            let step = wakeup.expected.since(before);
            let is_alike = |previous: Span| {
                let [previous, step] = [previous, step].map(Span::as_nanos);
                step * 2 < previous * 3 && previous * 2 < step * 3
            };
            let is_usual = self.step.replace(step).is_some_and(is_alike);
            if wakeup.expected > before && is_usual && late.as_nanos() * 2 < step.as_nanos() {
                self.rhythm.timer_loop.get_or_insert_default().drift.add(late, step);
            }
        }
    }

    /// Takes its next iteration from timer to timer.
    pub fn record_iteration(&mut self, iteration: TimerIteration) {
        let timer_loop = self.rhythm.timer_loop.get_or_insert_default();
        timer_loop.drift.record_sleep(iteration.slept);
        iteration.parts.iter().for_each(|parts| parts.count_in(&mut timer_loop.ledger));
        timer_loop.record_iteration(iteration.length, iteration.waits);
    }

    /// Takes the next iteration of its marked loop.
    pub fn record_turn(&mut self, turn: &CompletedTurn) {
        self.record_run(turn.woke);
        if let Some(turns) = &mut self.rhythm.turns {
            turn.worked.into_iter().for_each(|length| turns.record_work(length));
            turns.inferred += u64::from(turn.inferred);
            turn.parts_before.iter().for_each(|parts| parts.count_in(&mut turns.ledger));
        }
        if let Some(awakening) = &turn.awakening {
            self.record_latency(awakening);
            let (step, _) = self.grid.next(awakening.wakeup.expected);
            step.into_iter().for_each(|step| self.rhythm.steps.record(length(step)));
            self.add_missed(Some(turn.missed));
        }
    }

    /// Takes the named spans of an iteration of its marked loop, if the iteration's end is known.
    pub fn record_spans(&mut self, turn: LoopIteration, spans: &[SpanTime]) {
        if let (Some(turns), Some(done)) = (&mut self.rhythm.turns, turn.done) {
            turns.record_spans(done.since(turn.woke), spans);
        }
    }

    /// Takes the next request that was answered.
    pub fn record_request(&mut self, request: &AnsweredRequest) {
        self.block.record(Wakeup { expected: request.arrived, ran: request.answered }, None);
        match &request.parts {
            Ok(breakdown) => self.ledger.add(breakdown),
            Err(reason) => self.ledger.add_undecomposed(request.latency(), *reason),
        }
        (self.count, self.worst) = (self.count + 1, self.worst.max(request.latency()));
    }

    /// Answers that are not among its requests.
    pub fn record_omitted_answers(&mut self, omitted: &OmittedAnswers) {
        self.rhythm.omitted_answers.get_or_insert_default().merge(omitted);
    }

    /// Takes the next iteration of its event loop. One longer than `above` counts as long, and `function` is where it was then;
    /// `shared_by` threads wait on the same events.
    pub fn record_loop_iteration(
        &mut self,
        iteration: &Iteration,
        above: Span,
        function: Option<String>,
        shared_by: u64,
    ) {
        let event_loop = self.rhythm.event_loop.get_or_insert_with(|| EventLoopBlock::with_threshold(above));
        event_loop.add(iteration, function);
        event_loop.shared_by = Some(shared_by).filter(|threads| *threads > 1).max(event_loop.shared_by);
        self.shares_events |= shared_by > 1;
        let (all, long, longest) = self.iterations;
        let is_long = u64::from(iteration.length() > above);
        self.iterations = (all + 1, long + is_long, longest.max(iteration.length()));
    }

    /// Takes what iterations of its event loop went to, of which those longer than `above` count as long.
    pub fn record_loop_ledger(&mut self, ledger: &Ledger, above: Span) {
        let event_loop = self.rhythm.event_loop.get_or_insert_with(|| EventLoopBlock::with_threshold(above));
        event_loop.ledger.merge(ledger);
    }

    /// A sleep whose waker was not traced: it ran again `at` that time, and was preempted so often before the next sleep.
    pub fn record_untraced_sleep(&mut self, at: MonotonicTime, preempted: u64) {
        if let Some(before) = self.last_run {
            self.rhythm.steps.record(length(at.since(before)));
        }
        self.record_run(at);
        *self.run_queue().preempted.get_or_insert(0) += preempted;
    }

    /// It got a CPU `switch_ins` times, and waited so long for them in all.
    pub fn record_run_queue(&mut self, switch_ins: u64, waited: Span) {
        self.run_queue().merge(&RunQueueBlock { switch_ins, preempted: None, waited });
        self.count += switch_ins;
        self.waited = Some(self.waited.unwrap_or_default().plus(waited));
    }

    fn run_queue(&mut self) -> &mut RunQueueBlock {
        self.rhythm.run_queue.get_or_insert_default()
    }

    fn record_latency(&mut self, observed: &Awakening) {
        self.block.record(observed.wakeup, None);
        self.ledger.add(&observed.parts.wakeup);
        self.ledger.clamped += observed.parts.clamped;
        (self.count, self.worst) = (self.count + 1, self.worst.max(observed.wakeup.latency()));
    }

    fn record_run(&mut self, at: MonotonicTime) {
        if let Some(before) = self.last_run.replace(at) {
            self.rhythm.intervals.record(length(at.since(before)));
        }
    }

    fn add_missed(&mut self, more: Option<u64>) {
        self.rhythm.missed = more.map(|more| self.rhythm.missed.unwrap_or(0) + more).or(self.rhythm.missed);
    }

    /// Its latencies since the last block; `None` if it did not wake.
    pub fn block(&mut self, now: MonotonicTime) -> Option<Line> {
        if self.block.latency.is_empty() {
            // The time in which it slept belongs to the next block.
            return None;
        }
        let condition = self.block.condition;
        let next = Block { condition, from: now, until: now, ..Block::default() };
        let block = replace(&mut self.block, next);
        Some(Line::Block(Box::new(Block { until: now, ..block })))
    }

    /// Causes and rhythm since the last call; empty if it did not wake.
    pub fn reasons(&mut self, now: MonotonicTime, tracer: &str) -> Vec<Line> {
        let condition = self.block.condition;
        let turns = self
            .rhythm
            .turns
            .as_ref()
            .map(|turns| IterationsBlock { period: turns.period, ..IterationsBlock::default() });
        let next = WatchedBlock { condition, from: now, until: now, turns, ..WatchedBlock::default() };
        let rhythm = WatchedBlock { until: now, ..replace(&mut self.rhythm, next) };
        if self.ledger.is_empty() {
            let is_known =
                rhythm.run_queue.is_some() || rhythm.has_iterations() || rhythm.event_loop.is_some();
            let is_known = is_known || rhythm.omitted_answers.is_some();
            return is_known.then(|| Line::Watched(Box::new(rhythm))).into_iter().collect();
        }
        let why = CauseBlock {
            condition,
            round: 0,
            beside: 0,
            from: rhythm.from,
            until: now,
            tracer: tracer.to_owned(),
            ledger: take(&mut self.ledger),
        };
        vec![Line::Why(Box::new(why)), Line::Watched(Box::new(rhythm))]
    }
}

fn length(span: Span) -> Latency {
    Latency::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
pub(super) mod testing {
    use howlate_model::{CpuHolder, Expiry, HolderKind, MonotonicTime, TracedSleep, WakeSource};

    pub(in crate::watch) fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    /// Woken by its timer, which was set to `expected` and served 100 ns later.
    pub(in crate::watch) fn by_timer(tid: u32, expected: i64, ran: i64) -> TracedSleep {
        let idle = CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() };
        let expiry = Expiry {
            soft: at(expected),
            hard: at(expected),
            interrupt: Some(at(expected + 40)),
            interrupted: idle.clone(),
            idle_since: None,
            rearmed: None,
            first_served: at(expected + 50),
            served: at(expected + 50),
            deferred: None,
        };
        TracedSleep { woken_by: WakeSource::Timer(expiry), ..woken(tid, idle, expected + 100, ran) }
    }

    /// Woken by `who`.
    pub(in crate::watch) fn woken(tid: u32, who: CpuHolder, waking: i64, ran: i64) -> TracedSleep {
        TracedSleep {
            asleep_since: Some(at(0)),
            switched_in: Some(at(ran)),
            ..TracedSleep::new(tid, at(waking), WakeSource::Other(who))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{at, by_timer};
    use super::*;
    use crate::Analysis;
    use crate::cause::Past;
    use crate::testing::analysis_of;
    use howlate_model::Work;

    fn watched(wakeups: &[(i64, i64)]) -> Analysis {
        let mut analysis = analysis_of(&[]);
        let condition =
            analysis_of(&[Work::Watch { mechanism: Activation::Timer }]).header.conditions[0].clone();
        analysis.add(&Line::Condition(Box::new(condition)));
        let mut thread = ThreadSummary::new(0, at(0));
        for (expected, late) in wakeups {
            thread.record_wakeup(
                &Awakening::from_sleep(&by_timer(7, *expected, expected + late), Past::NONE).unwrap(),
            );
        }
        thread.block(at(1_000_000_000)).iter().for_each(|line| analysis.add(line));
        thread.reasons(at(1_000_000_000), "bpf").iter().for_each(|line| analysis.add(line));
        assert_eq!(
            (thread.block(at(2_000_000_000)), thread.reasons(at(2_000_000_000), "bpf")),
            (None, vec![])
        );
        analysis
    }

    #[test]
    fn a_condition_that_comes_later_has_all_of_its_thread() {
        let wakeups: Vec<(i64, i64)> =
            (0..20).filter(|number| *number != 13).map(|number| (number * 1_000_000, 5_000)).collect();
        let analysis = watched(&wakeups);
        let outcome = &analysis.outcomes()[0];
        assert_eq!((outcome.count(), outcome.missed()), (19, Some(1)));
        let rhythm = outcome.rhythm.as_deref().unwrap();
        // Distributions have two digits.
        assert!(rhythm.period().unwrap().as_nanos().abs_diff(1_000_000) <= 10_000);
        let why = outcome.why_late(None).unwrap();
        assert_eq!((why.decomposed, why.not_decomposed), (19, 0));
        assert_eq!(why.probe_effect_ns, None);
    }

    #[test]
    fn where_nobody_saw_what_woke_it_its_runs_and_waits_are_known() {
        let mut thread = ThreadSummary::new(0, at(0));
        (1..=20).for_each(|number| {
            thread.record_untraced_sleep(at(number * 5_000_000), u64::from(number % 10 == 0))
        });
        thread.record_run_queue(23, Span::from_micros(46));
        assert_eq!((thread.count, thread.waited), (23, Some(Span::from_micros(46))));
        assert_eq!(thread.block(at(100_000_000)), None, "nobody knows how late it was");
        let lines = thread.reasons(at(100_000_000), "none");
        let [Line::Watched(block)] = lines.as_slice() else { panic!("{lines:?}") };
        let mut rhythm = crate::watch::Rhythm::default();
        rhythm.add(block);
        assert!(rhythm.period().unwrap().as_nanos().abs_diff(5_000_000) <= 50_000);
        let run_queue = rhythm.run_queue().unwrap();
        assert_eq!((run_queue.switch_ins, run_queue.preempted), (23, Some(2)));
        assert_eq!(run_queue.mean_wait, Some(Span::from_micros(2)));
        thread.record_run_queue(5, Span::ZERO);
        thread.reasons(at(200_000_000), "none").iter().for_each(|line| match line {
            Line::Watched(block) => rhythm.add(block),
            other => panic!("{other:?}"),
        });
        assert_eq!(
            rhythm.run_queue().map(|run_queue| (run_queue.switch_ins, run_queue.preempted)),
            Some((28, Some(2)))
        );
        assert_eq!(thread.reasons(at(300_000_000), "none"), vec![]);
    }

    #[test]
    fn turns_that_no_time_was_set_for_have_their_work() {
        let mut thread = ThreadSummary::new(0, at(0));
        thread.set_loop_period(Span::ZERO);
        let turn = |number: i64| CompletedTurn {
            awakening: None,
            woke: at(number * 1_000),
            worked: Some(Span::from_nanos(700)),
            missed: 0,
            inferred: false,
            parts_before: None,
        };
        (1..=20).for_each(|number| thread.record_turn(&turn(number)));
        assert_eq!(thread.block(at(30_000)), None, "nobody knows how late they were");
        let lines = thread.reasons(at(30_000), "bpf");
        let [Line::Watched(block)] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(block.turns.as_ref().map(|turns| (turns.work.count(), turns.long)), Some((20, 0)));
        assert_eq!(thread.reasons(at(40_000), "bpf"), vec![]);
    }

    #[test]
    fn iterations_of_an_event_loop_are_told_though_it_never_slept() {
        let mut thread = ThreadSummary::new(0, at(0));
        for number in 0..40i64 {
            let length = if number % 10 == 9 { 30 } else { 1 };
            let iteration = Iteration {
                tid: 7,
                wait: howlate_model::LoopWait::Epoll,
                file: Some(3),
                from: at(number * 1_000),
                until: at(number * 1_000 + length),
                blocked: Span::from_nanos(0),
                ready: Span::from_nanos(0),
                quota: Span::ZERO,
                longest_sleep: None,
                stack: Vec::new(),
            };
            thread.record_loop_iteration(&iteration, Span::from_nanos(10), Some("handler".to_owned()), 1);
        }
        assert_eq!(thread.iterations, (40, 4, Span::from_nanos(30)));
        let lines = thread.reasons(at(50_000), "bpf");
        let [Line::Watched(block)] = lines.as_slice() else { panic!("{lines:?}") };
        let found = block.event_loop.as_ref().unwrap();
        assert_eq!((found.iterations.count(), found.long, found.shared_by), (40, 4, None));
        assert_eq!(found.functions[0].count, 4);
        assert_eq!(thread.reasons(at(60_000), "bpf"), vec![]);
    }

    #[test]
    fn without_a_strict_rhythm_nobody_knows_what_was_missed() {
        let wakeups: Vec<(i64, i64)> =
            (0..20).map(|number| (number * 1_000_000 + number * number * 999, 5_000)).collect();
        assert_eq!(watched(&wakeups).outcomes()[0].missed(), None);
    }
}
