//! One thread of a watched program, summed up as it goes.

use std::mem::{replace, take};

use howlate_model::{
    Activation, Block, CauseBlock, EventLoopBlock, Iteration, IterationsBlock, Latency, Ledger, Line,
    LoopIteration, MonotonicTime, RunQueueBlock, Span, SpanTime, Wakeup, WatchedBlock,
};

use super::grid::Grid;
use super::{Awakening, CompletedTurn, TimerIteration};

/// The wake-ups of one thread by one kind of activation: what a condition of a recording is about.
#[derive(Debug)]
pub struct ThreadSummary {
    block: Block,
    ledger: Ledger,
    rhythm: WatchedBlock,
    grid: Grid,
    ran: Option<MonotonicTime>,
    /// The last time at which its timer was to wake it, and how late it ran then.
    due: Option<(MonotonicTime, Span)>,
    /// And how long after the one before that was.
    step: Option<Span>,
    /// Wake-ups so far; times that it got a CPU where those are not seen.
    pub count: u64,
    /// The latest of them all.
    pub worst: Latency,
    /// Time that it waited for CPUs so far; `None` where its wake-ups are seen.
    pub waited: Option<Span>,
    /// Iterations of its event loop so far, those that were long, and the longest.
    pub iterations: (u64, u64, Span),
    /// Whether other threads wait on the same events: then nobody waits for it alone.
    pub shares_events: bool,
}

impl ThreadSummary {
    /// The thread of this condition, watched from `from` on.
    pub fn new(condition: u32, from: MonotonicTime) -> Self {
        Self {
            block: Block { condition, from, until: from, ..Block::default() },
            ledger: Ledger::default(),
            rhythm: WatchedBlock { condition, from, until: from, ..WatchedBlock::default() },
            grid: Grid::default(),
            ran: None,
            due: None,
            step: None,
            count: 0,
            worst: Latency::from_nanos(0),
            waited: None,
            iterations: (0, 0, Span::ZERO),
            shares_events: false,
        }
    }

    /// Number of the condition under which it is counted.
    pub const fn condition(&self) -> u32 {
        self.block.condition
    }

    /// One more thread is counted here.
    pub fn begins(&mut self) {
        self.rhythm.threads += 1;
    }

    /// Another thread goes on in its place: nothing is known of the time in between.
    pub fn is_another(&mut self) {
        (self.grid, self.ran, self.due, self.step) = (Grid::default(), None, None, None);
    }

    /// It is a loop that its program has marked, and that is to turn every `period`.
    pub fn turns_every(&mut self, period: Span) {
        self.rhythm.turns = Some(IterationsBlock { period, ..IterationsBlock::default() });
    }

    /// Takes its next wake-up.
    pub fn woke(&mut self, one: &Awakening) {
        self.was_late(one);
        self.ran(one.wakeup.ran);
        one.by.iter().for_each(|who| self.rhythm.woken(who));
        if !one.through.is_empty() {
            let through: Vec<String> = one.through.iter().map(|who| who.name.clone()).collect();
            self.rhythm.handed_on(&through, 1);
        }
        if one.activation == Activation::Timer && one.sleeps_by_call {
            self.was_due(one.wakeup);
        }
        let (step, missed) = self.grid.next(one.wakeup.expected);
        step.into_iter().for_each(|step| self.rhythm.steps.record(length(step)));
        self.missed(missed);
    }

    /// How far its next time lies behind, against how late it was. Who is late by more than half of that may leave times out, and so
    /// has who takes half as long again as the time before, or less.
    fn was_due(&mut self, one: Wakeup) {
        let late = one.ran.since(one.expected);
        if let Some((before, late)) = self.due.replace((one.expected, late)) {
            let step = one.expected.since(before);
            let is_alike = |known: Span| {
                let [known, step] = [known, step].map(Span::as_nanos);
                step * 2 < known * 3 && known * 2 < step * 3
            };
            let is_usual = self.step.replace(step).is_some_and(is_alike);
            if one.expected > before && is_usual && late.as_nanos() * 2 < step.as_nanos() {
                self.rhythm.timer_loop.get_or_insert_default().drift.add(late, step);
            }
        }
    }

    /// Takes its next iteration, from timer to timer.
    pub fn completed(&mut self, one: TimerIteration) {
        let of = self.rhythm.timer_loop.get_or_insert_default();
        of.drift.slept(one.slept);
        of.completed(one.length, one.waits);
    }

    /// Takes the next turn of its loop.
    pub fn turned(&mut self, one: &CompletedTurn) {
        self.ran(one.woke);
        if let Some(turns) = &mut self.rhythm.turns {
            one.worked.into_iter().for_each(|length| turns.worked(length));
            turns.inferred += u64::from(one.inferred);
        }
        if let Some(awakening) = &one.awakening {
            self.was_late(awakening);
            let (step, _) = self.grid.next(awakening.wakeup.expected);
            step.into_iter().for_each(|step| self.rhythm.steps.record(length(step)));
            self.missed(Some(one.missed));
        }
    }

    /// Takes where a turn of its loop was, of those whose end is known.
    pub fn spent(&mut self, turn: LoopIteration, spans: &[SpanTime]) {
        if let (Some(turns), Some(done)) = (&mut self.rhythm.turns, turn.done) {
            turns.spent(done.since(turn.woke), spans);
        }
    }

    /// Takes the next iteration of its event loop. One that is longer than `above` is long; `function` is where it was then.
    /// So many threads wait on the same events.
    pub fn iterated(&mut self, one: &Iteration, above: Span, function: Option<String>, shared_by: u64) {
        let of = self.rhythm.event_loop.get_or_insert_with(|| EventLoopBlock::above(above));
        of.add(one, function);
        of.shared_by = Some(shared_by).filter(|threads| *threads > 1).max(of.shared_by);
        self.shares_events |= shared_by > 1;
        let (all, long, longest) = self.iterations;
        let is_long = u64::from(one.length() > above);
        self.iterations = (all + 1, long + is_long, longest.max(one.length()));
    }

    /// It slept, ran again `at` that time, and was preempted so often before the next sleep; nobody saw what woke it.
    pub fn slept(&mut self, at: MonotonicTime, preempted: u64) {
        if let Some(before) = self.ran {
            self.rhythm.steps.record(length(at.since(before)));
        }
        self.ran(at);
        *self.run_queue().preempted.get_or_insert(0) += preempted;
    }

    /// It got so many CPUs, and waited so long for them.
    pub fn got(&mut self, switch_ins: u64, waited: Span) {
        self.run_queue().merge(&RunQueueBlock { switch_ins, preempted: None, waited });
        self.count += switch_ins;
        self.waited = Some(self.waited.unwrap_or_default().plus(waited));
    }

    fn run_queue(&mut self) -> &mut RunQueueBlock {
        self.rhythm.run_queue.get_or_insert_default()
    }

    fn was_late(&mut self, one: &Awakening) {
        self.block.record(one.wakeup, None);
        self.ledger.add(&one.parts.wakeup);
        self.ledger.clamped += one.parts.clamped;
        (self.count, self.worst) = (self.count + 1, self.worst.max(one.wakeup.latency()));
    }

    fn ran(&mut self, at: MonotonicTime) {
        if let Some(before) = self.ran.replace(at) {
            self.rhythm.intervals.record(length(at.since(before)));
        }
    }

    fn missed(&mut self, more: Option<u64>) {
        self.rhythm.missed = more.map(|more| self.rhythm.missed.unwrap_or(0) + more).or(self.rhythm.missed);
    }

    /// How late it was since the last block; `None` where it did not wake.
    pub fn block(&mut self, now: MonotonicTime) -> Option<Line> {
        if self.block.latency.is_empty() {
            // The stretch in which it slept belongs to what comes next.
            return None;
        }
        let condition = self.block.condition;
        let next = Block { condition, from: now, until: now, ..Block::default() };
        let block = replace(&mut self.block, next);
        Some(Line::Block(Box::new(Block { until: now, ..block })))
    }

    /// Why, and its rhythm, since the last time; nothing where it did not wake.
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
            let is_known = rhythm.run_queue.is_some() || rhythm.has_turned() || rhythm.event_loop.is_some();
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
            ..TracedSleep::woken(tid, at(waking), WakeSource::Other(who))
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

    fn watched(turns: &[(i64, i64)]) -> Analysis {
        let mut analysis = analysis_of(&[]);
        let condition =
            analysis_of(&[Work::Watch { mechanism: Activation::Timer }]).header.conditions[0].clone();
        analysis.add(&Line::Condition(Box::new(condition)));
        let mut thread = ThreadSummary::new(0, at(0));
        for (expected, late) in turns {
            thread
                .woke(&Awakening::from_sleep(&by_timer(7, *expected, expected + late), Past::NONE).unwrap());
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
        let turns: Vec<(i64, i64)> =
            (0..20).filter(|turn| *turn != 13).map(|turn| (turn * 1_000_000, 5_000)).collect();
        let analysis = watched(&turns);
        let outcome = &analysis.outcomes()[0];
        assert_eq!((outcome.count(), outcome.known_missed()), (19, Some(1)));
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
        (1..=20).for_each(|turn| thread.slept(at(turn * 5_000_000), u64::from(turn % 10 == 0)));
        thread.got(23, Span::from_micros(46));
        assert_eq!((thread.count, thread.waited), (23, Some(Span::from_micros(46))));
        assert_eq!(thread.block(at(100_000_000)), None, "nobody knows how late it was");
        let lines = thread.reasons(at(100_000_000), "none");
        let [Line::Watched(block)] = lines.as_slice() else { panic!("{lines:?}") };
        let mut rhythm = crate::watch::Rhythm::default();
        rhythm.add(block);
        assert!(rhythm.period().unwrap().as_nanos().abs_diff(5_000_000) <= 50_000);
        let got = rhythm.run_queue().unwrap();
        assert_eq!((got.switch_ins, got.preempted), (23, Some(2)));
        assert_eq!(got.mean_wait, Some(Span::from_micros(2)));
        thread.got(5, Span::ZERO);
        thread.reasons(at(200_000_000), "none").iter().for_each(|line| match line {
            Line::Watched(block) => rhythm.add(block),
            other => panic!("{other:?}"),
        });
        assert_eq!(rhythm.run_queue().map(|got| (got.switch_ins, got.preempted)), Some((28, Some(2))));
        assert_eq!(thread.reasons(at(300_000_000), "none"), vec![]);
    }

    #[test]
    fn turns_that_no_time_was_set_for_have_their_work() {
        let mut thread = ThreadSummary::new(0, at(0));
        thread.turns_every(Span::ZERO);
        let turn = |number: i64| CompletedTurn {
            awakening: None,
            woke: at(number * 1_000),
            worked: Some(Span::from_nanos(700)),
            missed: 0,
            inferred: false,
        };
        (1..=20).for_each(|number| thread.turned(&turn(number)));
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
            let one = Iteration {
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
            thread.iterated(&one, Span::from_nanos(10), Some("handler".to_owned()), 1);
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
        let turns: Vec<(i64, i64)> =
            (0..20).map(|turn| (turn * 1_000_000 + turn * turn * 999, 5_000)).collect();
        assert_eq!(watched(&turns).outcomes()[0].known_missed(), None);
    }
}
