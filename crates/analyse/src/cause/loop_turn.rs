//! A turn of a marked loop, split into its parts: what its own work took before it slept, and what came after.

use howlate_model::{Cause, CauseKind, Explained, MonotonicTime, Part, Segment, TracedSleep, Wakeup};

use super::decompose::{Decomposed, decompose, lost_to};
use super::time_line::{Charge, TimeLine};

/// What is known of a turn besides its readings of the clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beforehand<'a> {
    /// From when to when the turn before was at work, where the program said so.
    pub work: Option<(MonotonicTime, MonotonicTime)>,
    /// The sleep before that work, since which the thread may have lost its CPU.
    pub slept: Option<&'a TracedSleep>,
    /// Whether it is known that it did not sleep since.
    pub awake: bool,
}

/// Splits the lateness of a turn by `seen`, the sleeps of its wait, as far as a tracer saw any.
///
/// Up to the time at which the work of the iteration before was done, it is that which was long, but for where others had the CPU.
pub fn turn(wakeup: Wakeup, before: Beforehand<'_>, seen: &[TracedSleep]) -> Decomposed {
    let decomposed = decompose(wakeup, before.slept, seen, false);
    match decomposed {
        Some(all) => Decomposed { wakeup: worked(all.wakeup, before.work), ..all },
        None => without_sleep(wakeup, before),
    }
}

/// The wait was not seen, or there was none.
fn without_sleep(wakeup: Wakeup, before: Beforehand<'_>) -> Decomposed {
    let mut line = TimeLine::from_wakeup(wakeup);
    let all = before.slept.map_or(&[][..], |slept| &slept.lost);
    for lost in all {
        own(&mut line, lost.from, before);
        line.cut_as_far(lost.until, Charge { part: Part::Arming, ..lost_to(lost, all) });
    }
    // Others had its CPU as well, and nobody knows when.
    if before.slept.is_some_and(|slept| slept.lost_more > 0) {
        let until = if before.awake { Some(wakeup.ran) } else { before.work.map(|(_, done)| done) };
        if let Some(until) = until {
            line.cut_as_far(
                until.min(wakeup.ran),
                Charge::from_wakeup(Part::Arming, CauseKind::Undetermined),
            );
        }
    }
    own(&mut line, wakeup.ran, before);
    let (wakeup, clamped) = line.end(wakeup, None, rest(before));
    Decomposed { wakeup, clamped }
}

/// Up to `until` the thread had its CPU: before its work, at it, and after.
fn own(line: &mut TimeLine, until: MonotonicTime, before: Beforehand<'_>) {
    if let Some((began, done)) = before.work {
        line.cut_as_far(began.min(until), Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
        line.cut_as_far(done.min(until), Charge::from_wakeup(Part::Arming, CauseKind::LongWork));
    }
    line.cut_as_far(until, rest(before));
}

const fn rest(before: Beforehand<'_>) -> Charge {
    if before.awake {
        Charge::from_wakeup(Part::Arming, CauseKind::LateArming)
    } else {
        Charge::from_wakeup(Part::NotSeen, CauseKind::Unexplained)
    }
}

/// What it did before it slept was its work as long as that went on.
fn worked(all: Explained, work: Option<(MonotonicTime, MonotonicTime)>) -> Explained {
    let Some((began, done)) = work else { return all };
    let parts = all.parts.into_iter().flat_map(|part| apart(part, began, done)).collect();
    Explained { parts, ..all }
}

/// The pieces of `part` before, in and after the work; only what is charged to the thread itself is cut.
fn apart(part: Segment, began: MonotonicTime, done: MonotonicTime) -> Vec<Segment> {
    if part.cause.kind != CauseKind::LateArming {
        return vec![part];
    }
    let end = part.from.plus(part.ns);
    let within = |time: MonotonicTime| time.clamp(part.from, end);
    let (began, done) = (within(began), within(done));
    let piece = |from: MonotonicTime, until: MonotonicTime, kind: CauseKind| {
        let cause = Cause { kind, ..part.cause.clone() };
        Segment { cause, from, ns: until.since(from), ..part.clone() }
    };
    let pieces = [
        piece(part.from, began, CauseKind::LateArming),
        piece(began, done, CauseKind::LongWork),
        piece(done, end, CauseKind::LateArming),
    ];
    pieces.into_iter().filter(|piece| !piece.ns.is_zero()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Holder, Lost, Span, Who, WokenBy};

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    fn parts(all: &Decomposed) -> Vec<(Part, CauseKind, u64)> {
        let parts = &all.wakeup.parts;
        assert_eq!(
            i64::try_from(parts.iter().map(|part| part.ns.as_nanos()).sum::<u64>()).unwrap(),
            all.wakeup.latency.as_nanos()
        );
        parts.iter().map(|part| (part.cause.part, part.cause.kind, part.ns.as_nanos())).collect()
    }

    fn late(expected: i64, ran: i64) -> Wakeup {
        Wakeup { expected: at(expected), ran: at(ran) }
    }

    // 1000               3000      3050
    // |------------------|---------|
    // due                done      woke
    #[test]
    fn without_a_tracer_work_and_the_rest_are_told_apart() {
        let long = Beforehand { work: Some((at(0), at(3_000))), ..Beforehand::default() };
        let found = parts(&turn(late(1_000, 3_050), long, &[]));
        assert_eq!(
            found,
            [(Part::Arming, CauseKind::LongWork, 2_000), (Part::NotSeen, CauseKind::Unexplained, 50)]
        );
        let short = Beforehand { work: Some((at(0), at(200))), ..Beforehand::default() };
        let found = parts(&turn(late(1_000, 1_400), short, &[]));
        assert_eq!(found, [(Part::NotSeen, CauseKind::Unexplained, 400)]);
    }

    // 1000   1500      2500   3000   3050
    // |------|---------|------|------|
    // due    the hog had the CPU     woke, and had not slept
    #[test]
    fn who_made_the_work_long_is_named() {
        let hog = Who { holder: Holder::Thread, pid: Some(9), name: "hog".to_owned() };
        let lost = vec![Lost {
            from: at(1_500),
            until: at(2_500),
            to: hog.clone(),
            throttled: false,
            merged: false,
        }];
        let mut slept = TracedSleep { lost, ..TracedSleep::woken(7, at(0), WokenBy::Other(hog)) };
        let found = |slept: &TracedSleep| {
            let before = Beforehand { work: Some((at(0), at(3_000))), slept: Some(slept), awake: true };
            parts(&turn(late(1_000, 3_050), before, &[]))
        };
        let known = [(Part::Arming, CauseKind::LongWork, 500), (Part::Arming, CauseKind::Thread, 1_000)];
        let rest = [(Part::Arming, CauseKind::LongWork, 500), (Part::Arming, CauseKind::LateArming, 50)];
        assert_eq!(found(&slept), [known, rest].concat());
        slept.lost_more = 1;
        assert_eq!(found(&slept), [&known[..], &[(Part::Arming, CauseKind::Undetermined, 550)]].concat());
    }

    // 1000   1300       1800    1900          2000   2060
    // |------|----------|-------|-------------|------|
    // due    the turn before    went to sleep  woken  runs
    #[test]
    fn what_it_did_before_it_slept_was_work_until_that_was_done() {
        let by = WokenBy::Other(Who { holder: Holder::Idle, pid: None, name: String::new() });
        let seen = TracedSleep {
            asleep_since: Some(at(1_900)),
            switched_in: Some(at(2_060)),
            ..TracedSleep::woken(7, at(2_000), by)
        };
        let before = Beforehand { work: Some((at(1_300), at(1_800))), ..Beforehand::default() };
        let all = turn(late(1_000, 2_060), before, &[seen]);
        let found = parts(&all);
        assert_eq!(found[0], (Part::Arming, CauseKind::LateArming, 300), "the turn before had not begun");
        assert_eq!(found[1], (Part::Arming, CauseKind::LongWork, 500));
        assert_eq!(found[2], (Part::Arming, CauseKind::LateArming, 100));
        assert_eq!(all.wakeup.parts[2].from, at(1_800));
        assert_eq!(Span::from_nanos(found.iter().map(|part| part.2).sum()), Span::from_nanos(1_060));
    }
}
