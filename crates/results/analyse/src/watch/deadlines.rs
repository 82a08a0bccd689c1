//! Turns of a marked loop that miss their deadline: whose work was not done when the next turn was due.

use std::collections::VecDeque;

use howlate_model::{Cause, CauseKind, LoopIteration, MonotonicTime, Part, Segment, Span, SpanTime};

use super::loop_turns::{CompletedTurn, Turns};

/// The turns of one loop, in their order.
#[derive(Debug)]
pub struct Deadlines {
    period: Span,
    turns: Turns,
    /// Of turns that are not judged yet.
    spans: VecDeque<Vec<SpanTime>>,
    /// When the last of those was done that missed theirs.
    late_until: Option<MonotonicTime>,
}

/// A turn that was not done in time.
#[derive(Clone, Debug, PartialEq)]
pub struct MissedDeadline {
    /// When it was to be done,
    pub deadline: MonotonicTime,
    /// and when it was; began, where the program does not say that it was done.
    pub done: MonotonicTime,
    /// From the deadline on, without a gap: why it began late, and its work.
    pub parts: Vec<Segment>,
    /// How much of it lay in spans that the program has named.
    pub spans: Vec<SpanTime>,
}

impl Deadlines {
    /// Of a loop with this period, by which each turn is to be done. Without one there is no deadline.
    pub fn every(period: Span) -> Self {
        Self { period, turns: Turns::new(period, false), spans: VecDeque::new(), late_until: None }
    }

    /// Takes the next turn.
    pub fn turned(&mut self, turn: LoopIteration, spans: &[SpanTime]) {
        if !self.period.is_zero() {
            self.turns.turned(turn);
            self.spans.push_back(spans.to_vec());
        }
    }

    /// Those that are known by now to have missed it.
    pub fn settle(&mut self, now: MonotonicTime) -> Vec<MissedDeadline> {
        let settled = self.turns.settle(now);
        settled.into_iter().filter_map(|turn| self.judge(turn)).collect()
    }

    /// The same of those that are left: nothing more will come.
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
        // Due before the one before was done, it could not begin in time: that one's lateness is told already.
        if before.is_some_and(|before| due < before) && worked <= self.period {
            return None;
        }
        let parts = beyond(deadline, awakening.parts.wakeup.parts, turn.woke, done);
        Some(MissedDeadline { deadline, done, parts, spans })
    }
}

/// What lies after the deadline: of why it began late, and of its work.
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

    /// Which deadline, by how much it was missed, and by what parts.
    type Missed = (i64, u64, Vec<(CauseKind, u64)>);

    /// Of turns that are due each period: those that began so much later, and worked so long, in thousandths of a period.
    fn missed(odd: &[(i64, i64, i64)], told: bool) -> Vec<Missed> {
        let mut deadlines = Deadlines::every(Span::from_nanos(PERIOD.unsigned_abs()));
        for number in 1..60 {
            let skipped =
                odd.iter().any(|(of, late, work)| number > *of && number * 1_000 < of * 1_000 + late + work);
            let (late, work) =
                odd.iter().find(|(of, ..)| *of == number).map_or((1, 100), |(_, late, work)| (*late, *work));
            let woke = number * PERIOD + late * 1_000;
            let turn = LoopIteration {
                expected: told.then(|| at(number * PERIOD)),
                woke: at(woke),
                done: Some(at(woke + work * 1_000)),
            };
            if !skipped {
                let spans = [SpanTime { name: number.to_string(), spent: Span::from_nanos(5) }];
                deadlines.turned(turn, &spans);
            }
        }
        let all = deadlines.settle(at(i64::MAX));
        all.iter()
            .map(|one| {
                let sum: u64 = one.parts.iter().map(|part| part.ns.as_nanos()).sum();
                assert_eq!(one.done.since(one.deadline).as_nanos(), sum, "{one:?}");
                assert_eq!(one.parts[0].from, one.deadline);
                assert_eq!(one.spans[0].name, (one.deadline.as_nanos() / PERIOD - 1).to_string());
                let parts =
                    one.parts.iter().map(|part| (part.cause.kind, part.ns.as_nanos() / 1_000)).collect();
                (one.deadline.as_nanos() / PERIOD, sum / 1_000, parts)
            })
            .collect()
    }

    // 29    30    31    32    33    34
    // |-----|-----|-----|-----|-----|
    // x     xxxxxxxxxxxxxxxxxxx     x       to be done at 31; 31, 32 and 33 are left out
    #[test]
    fn work_that_is_too_long_is_told_once() {
        for told in [true, false] {
            let found = missed(&[(30, 1, 3_000)], told);
            let long = (CauseKind::LongWork, if told { 2_001 } else { 2_000 });
            assert_eq!(found, [(31, long.1, vec![long])], "told: {told}");
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
            deadlines.turned(LoopIteration { expected: Some(expected), woke, done: Some(done) }, &[]);
        };
        turn(30_000, 30_000, 3_000);
        (0..3).for_each(|number| turn(31_000 + number * 1_000, 33_000 + number * 100, 100));
        (34..50).for_each(|number| turn(number * 1_000, number * 1_000, 100));
        // One among those that are made up for is itself too long.
        turn(50_000, 50_000, 3_000);
        turn(51_000, 53_000, 1_500);
        let all = deadlines.settle(at(i64::MAX));
        let lengths: Vec<u64> =
            all.iter().map(|one| one.done.since(one.deadline).as_nanos() / 1_000).collect();
        assert_eq!(lengths, [2_000, 2_000, 2_500]);
    }

    #[test]
    fn without_a_period_there_is_no_deadline() {
        let mut deadlines = Deadlines::every(Span::ZERO);
        deadlines.turned(LoopIteration { expected: Some(at(5)), woke: at(9), done: Some(at(PERIOD)) }, &[]);
        assert_eq!(deadlines.settle(at(i64::MAX)), []);
        assert!(deadlines.spans.is_empty());
    }
}
