//! Iterations of a marked loop that miss their deadline: the work was not done when the next iteration was due.

use std::collections::VecDeque;

use howlate_model::{Cause, CauseKind, LoopIteration, MonotonicTime, Part, Segment, Span, SpanTime};

use super::loop_turns::{CompletedTurn, LoopTurns};

/// The iterations of one loop, in their order.
#[derive(Debug)]
pub struct Deadlines {
    period: Span,
    turns: LoopTurns,
    /// Time in named spans, of iterations that are not settled yet.
    spans: VecDeque<Vec<SpanTime>>,
    /// When the last iteration that missed its deadline was done.
    late_until: Option<MonotonicTime>,
}

/// An iteration that was not done in time.
#[derive(Clone, Debug, PartialEq)]
pub struct MissedDeadline {
    pub deadline: MonotonicTime,
    /// When its work ended; when it began, if the program does not report the end.
    pub done: MonotonicTime,
    /// Causes of the time from the deadline on, without a gap: why it began late, and its own work.
    pub parts: Vec<Segment>,
    /// How much of it lay in spans that the program has named.
    pub spans: Vec<SpanTime>,
}

impl Deadlines {
    /// For a loop with this period, by whose end each iteration must be done. Zero: no deadlines.
    pub fn every(period: Span) -> Self {
        Self { period, turns: LoopTurns::new(period, false), spans: VecDeque::new(), late_until: None }
    }

    /// Takes the next iteration.
    pub fn record_turn(&mut self, turn: LoopIteration, spans: &[SpanTime]) {
        if !self.period.is_zero() {
            self.turns.record_turn(turn);
            self.spans.push_back(spans.to_vec());
        }
    }

    /// The missed deadlines that are certain by `now`.
    pub fn settle(&mut self, now: MonotonicTime) -> Vec<MissedDeadline> {
        let settled = self.turns.settle(now);
        settled.into_iter().filter_map(|turn| self.judge(turn)).collect()
    }

    /// The missed deadlines among the remaining iterations, when nothing more will come.
    pub fn end(&mut self) -> Vec<MissedDeadline> {
        let settled = self.turns.end();
        settled.into_iter().filter_map(|turn| self.judge(turn)).collect()
    }

    fn judge(&mut self, turn: CompletedTurn) -> Option<MissedDeadline> {
        let spans = self.spans.pop_front().unwrap_or_default();
        let awakening = turn.awakening?;
        let due = awakening.wakeup.expected;
        let worked = turn.worked.unwrap_or(Span::ZERO);
        let (deadline, done) = (due.plus(self.period), turn.woke.plus(worked));
        if done <= deadline {
            return None;
        }
        let before = self.late_until.replace(done);
        // An iteration due before the previous one was done could not begin in time: that lateness is already reported.
        if before.is_some_and(|before| due < before) && worked <= self.period {
            return None;
        }
        let parts = beyond(deadline, awakening.parts.wakeup.parts, turn.woke, done);
        Some(MissedDeadline { deadline, done, parts, spans })
    }
}

/// The parts after the deadline: of the late start, and of the work.
fn beyond(
    deadline: MonotonicTime,
    late: Vec<Segment>,
    woke: MonotonicTime,
    done: MonotonicTime,
) -> Vec<Segment> {
    let cut = |part: Segment| {
        let (from, until) = (part.from.max(deadline), part.from.plus(part.ns));
        (until > from).then(|| Segment { from, ns: until.since(from), ..part })
    };
    let mut parts: Vec<Segment> = late.into_iter().filter_map(cut).collect();
    let from = woke.max(deadline);
    if done > from {
        let work = Cause::new(Part::Arming, CauseKind::LongWork, String::new());
        parts.push(Segment::new(work, None, from, done.since(from)));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: i64 = 1_000_000;

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    /// Number of the deadline, by how much it was missed, and the parts.
    type Missed = (i64, u64, Vec<(CauseKind, u64)>);

    /// Iterations are due each period; `odd` lists those that began late and worked long: (number, late, work) in thousandths of a period.
    fn missed(odd: &[(i64, i64, i64)], is_stated: bool) -> Vec<Missed> {
        let mut deadlines = Deadlines::every(Span::from_nanos(PERIOD.unsigned_abs()));
        for number in 1..60 {
            let skipped =
                odd.iter().any(|(of, late, work)| number > *of && number * 1_000 < of * 1_000 + late + work);
            let (late, work) =
                odd.iter().find(|(of, ..)| *of == number).map_or((1, 100), |(_, late, work)| (*late, *work));
            let woke = number * PERIOD + late * 1_000;
            let turn = LoopIteration {
                expected: is_stated.then(|| at(number * PERIOD)),
                woke: at(woke),
                done: Some(at(woke + work * 1_000)),
            };
            if !skipped {
                let spans = [SpanTime { name: number.to_string(), spent: Span::from_nanos(5) }];
                deadlines.record_turn(turn, &spans);
            }
        }
        let all = deadlines.settle(at(i64::MAX));
        all.iter()
            .map(|missed| {
                let sum: u64 = missed.parts.iter().map(|part| part.ns.as_nanos()).sum();
                assert_eq!(missed.done.since(missed.deadline).as_nanos(), sum, "{missed:?}");
                assert_eq!(missed.parts[0].from, missed.deadline);
                assert_eq!(missed.spans[0].name, (missed.deadline.as_nanos() / PERIOD - 1).to_string());
                let parts =
                    missed.parts.iter().map(|part| (part.cause.kind, part.ns.as_nanos() / 1_000)).collect();
                (missed.deadline.as_nanos() / PERIOD, sum / 1_000, parts)
            })
            .collect()
    }

    // 29    30    31    32    33    34
    // |-----|-----|-----|-----|-----|
    // x     xxxxxxxxxxxxxxxxxxx     x       to be done at 31; 31, 32 and 33 are left out
    #[test]
    fn work_that_is_too_long_is_told_once() {
        for is_stated in [true, false] {
            let found = missed(&[(30, 1, 3_000)], is_stated);
            let long = (CauseKind::LongWork, if is_stated { 2_001 } else { 2_000 });
            assert_eq!(found, [(31, long.1, vec![long])], "is_stated: {is_stated}");
        }
        assert_eq!(missed(&[(30, 1, 999)], true), [], "done when the next was due");
    }

    // 29    30    31    32    33
    // |-----|-----|-----|-----|
    // x                  x    x       began at 32.5
    #[test]
    fn one_that_begins_too_late_has_nobody_seen_why() {
        let found = missed(&[(30, 2_500, 100)], true);
        let parts = vec![(CauseKind::Unexplained, 1_500), (CauseKind::LongWork, 100)];
        assert_eq!(found, [(31, 1_600, parts)]);
        assert_eq!(missed(&[(30, 800, 100)], true), [], "it is done in time all the same");
    }

    // 30    31    32    33    34
    // |-----|-----|-----|-----|
    // xxxxxxxxxxxxxxxxxxx^^^   x       those due at 31, 32 and 33 follow at once
    #[test]
    fn turns_that_are_caught_up_with_are_of_the_one_that_was_late() {
        let mut deadlines = Deadlines::every(Span::from_nanos(PERIOD.unsigned_abs()));
        let mut turn = |due: i64, woke: i64, work: i64| {
            let [expected, woke, done] = [due, woke, woke + work].map(|time| at(time * 1_000));
            deadlines.record_turn(LoopIteration { expected: Some(expected), woke, done: Some(done) }, &[]);
        };
        turn(30_000, 30_000, 3_000);
        (0..3).for_each(|number| turn(31_000 + number * 1_000, 33_000 + number * 100, 100));
        (34..50).for_each(|number| turn(number * 1_000, number * 1_000, 100));
        // One among those that are made up for is itself too long.
        turn(50_000, 50_000, 3_000);
        turn(51_000, 53_000, 1_500);
        let all = deadlines.settle(at(i64::MAX));
        let lengths: Vec<u64> =
            all.iter().map(|missed| missed.done.since(missed.deadline).as_nanos() / 1_000).collect();
        assert_eq!(lengths, [2_000, 2_000, 2_500]);
    }

    #[test]
    fn without_a_period_there_is_no_deadline() {
        let mut deadlines = Deadlines::every(Span::ZERO);
        deadlines
            .record_turn(LoopIteration { expected: Some(at(5)), woke: at(9), done: Some(at(PERIOD)) }, &[]);
        assert_eq!(deadlines.settle(at(i64::MAX)), []);
        assert!(deadlines.spans.is_empty());
    }
}
