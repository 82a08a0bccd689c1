//! Splits the lateness of one iteration of a marked loop: what its own work took before it slept, and what came after.

use howlate_model::{CauseKind, MonotonicTime, Part, Segment, TracedSleep, Wakeup, WakeupBreakdown};

use super::decompose::{Decomposed, decompose_since};
use super::past::{Past, PastSleep, cut_past_sleep};
use super::time_line::{Charge, TimeLine};

/// What is known of an iteration besides its clock readings.
#[derive(Clone, Copy, Debug, Default)]
pub struct TurnContext<'a> {
    /// Start and end of the previous iteration's work, if the program reports its end.
    pub work: Option<(MonotonicTime, MonotonicTime)>,
    /// The sleep before that work, and those within it.
    pub slept: &'a [PastSleep],
    /// Whether it is certain that it did not sleep since.
    pub awake: bool,
    /// Causes of the previous iteration's lateness: while a loop catches up, its next iterations are late for that reason too.
    pub stall: &'a [Segment],
}

impl TurnContext<'_> {
    /// The cause of the time in which it ran is filled in afterwards.
    fn past(&self) -> Past<'_> {
        Past { sleeps: self.slept, ..Past::NONE }
    }
}

/// Splits the lateness of an iteration by `seen`, its traced sleeps, if any.
///
/// Up to the end of the previous iteration's work, that work was too long, except while others had the CPU or it waited for
/// something.
pub fn decompose_turn(wakeup: Wakeup, before: TurnContext<'_>, seen: &[TracedSleep]) -> Decomposed {
    let decomposed = decompose_since(wakeup, before.past(), seen, false);
    match decomposed {
        Some(decomposed) => Decomposed { wakeup: charge_work(decomposed.wakeup, before), ..decomposed },
        None => without_sleep(wakeup, before),
    }
}

/// For an iteration whose wait was not traced, or that did not wait.
fn without_sleep(wakeup: Wakeup, before: TurnContext<'_>) -> Decomposed {
    let mut line = TimeLine::from_wakeup(wakeup);
    let until = match before.awake {
        true => wakeup.ran,
        false => before.work.map_or(wakeup.expected, |(_, done)| done.min(wakeup.ran)),
    };
    let mut past = TimeLine::between(wakeup.expected, until);
    before.slept.iter().for_each(|sleep| cut_past_sleep(&mut past, sleep, CauseKind::LateArming));
    // Others had its CPU as well, at unknown times.
    let is_unknown = before.slept.last().is_some_and(|last| last.sleep.lost_more > 0);
    let rest_kind = if is_unknown { CauseKind::Undetermined } else { CauseKind::LateArming };
    for piece in past.parts_until_end(Charge::from_wakeup(Part::Arming, rest_kind)) {
        let end = piece.from.plus(piece.ns);
        match piece.cause.kind {
            CauseKind::LateArming => cut_running(&mut line, end, before),
            _ => line.cut_as_far(end, Charge::of(&piece).within(Part::Arming)),
        }
    }
    cut_running(&mut line, wakeup.ran, before);
    let (wakeup, clamped) = line.end(wakeup, None, rest(before));
    Decomposed { wakeup, clamped }
}

/// Cuts up to `until`, in which the thread had its CPU: by what delayed the previous iteration, before its work, in it, and after.
fn cut_running(line: &mut TimeLine, until: MonotonicTime, before: TurnContext<'_>) {
    for delay in before.stall {
        let end = delay.from.plus(delay.ns);
        // Most of a long stall is over by then, and its strings need not be copied.
        if end > line.cursor() {
            line.cut_as_far(delay.from.min(until), Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
            line.cut_as_far(end.min(until), Charge::of(delay));
        }
    }
    if let Some((began, done)) = before.work {
        line.cut_as_far(began.min(until), Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
        line.cut_as_far(done.min(until), Charge::from_wakeup(Part::Arming, CauseKind::LongWork));
    }
    line.cut_as_far(until, rest(before));
}

const fn rest(before: TurnContext<'_>) -> Charge {
    if before.awake {
        Charge::from_wakeup(Part::Arming, CauseKind::LateArming)
    } else {
        Charge::from_wakeup(Part::NotSeen, CauseKind::Unexplained)
    }
}

/// Charges the time before it slept to what delayed the previous iteration, and then to its work as long as that went on.
fn charge_work(all: WakeupBreakdown, before: TurnContext<'_>) -> WakeupBreakdown {
    let cut = |part: Segment| match part.cause.kind {
        CauseKind::LateArming => split_late_arming(&part, before),
        _ => vec![part],
    };
    let parts = all.parts.into_iter().flat_map(cut).collect();
    WakeupBreakdown { parts, ..all }
}

/// The pieces of `part`, in which the thread asked too late, by why it did.
fn split_late_arming(part: &Segment, before: TurnContext<'_>) -> Vec<Segment> {
    let end = part.from.plus(part.ns);
    let mut line = TimeLine::from_wakeup(Wakeup { expected: part.from, ran: end });
    cut_running(&mut line, end, TurnContext { awake: true, ..before });
    let (cut, _) = line.end(Wakeup { expected: part.from, ran: end }, None, Charge::of(part));
    cut.parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Cause, CpuHolder, CpuLoss, HolderKind, Span, WakeSource};

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
        let long = TurnContext { work: Some((at(0), at(3_000))), ..TurnContext::default() };
        let found = parts(&decompose_turn(late(1_000, 3_050), long, &[]));
        assert_eq!(
            found,
            [(Part::Arming, CauseKind::LongWork, 2_000), (Part::NotSeen, CauseKind::Unexplained, 50)]
        );
        let short = TurnContext { work: Some((at(0), at(200))), ..TurnContext::default() };
        let found = parts(&decompose_turn(late(1_000, 1_400), short, &[]));
        assert_eq!(found, [(Part::NotSeen, CauseKind::Unexplained, 400)]);
    }

    // 1000   1500      2500   3000   3050
    // |------|---------|------|------|
    // due    the hog had the CPU     woke, and had not slept
    #[test]
    fn who_made_the_work_long_is_named() {
        let hog = CpuHolder { holder: HolderKind::Thread, pid: Some(9), name: "hog".to_owned() };
        let lost = vec![CpuLoss {
            from: at(1_500),
            until: at(2_500),
            to: hog.clone(),
            throttled: false,
            merged: false,
        }];
        let mut slept = TracedSleep { lost, ..TracedSleep::new(7, at(0), WakeSource::Other(hog)) };
        let found = |slept: &TracedSleep| {
            let work = Some((at(0), at(3_000)));
            let slept = [PastSleep::from_sleep(slept.clone())];
            let before = TurnContext { work, slept: &slept, awake: true, ..TurnContext::default() };
            parts(&decompose_turn(late(1_000, 3_050), before, &[]))
        };
        let long = [(Part::Arming, CauseKind::LongWork, 500), (Part::Arming, CauseKind::Thread, 1_000)];
        let rest = [(Part::Arming, CauseKind::LongWork, 500), (Part::Arming, CauseKind::LateArming, 50)];
        assert_eq!(found(&slept), [long, rest].concat());
        slept.lost_more = 1;
        assert_eq!(found(&slept), [&long[..], &[(Part::Arming, CauseKind::Undetermined, 550)]].concat());
    }

    // 1000              1500  1700      2000     2400   2420
    // |-----------------|-----|---------|--------|------|
    // due, the previous iteration had not begun: its    runs
    // asleep            hog   returns   began    work
    #[test]
    fn a_turn_that_catches_up_is_late_by_what_kept_the_turn_before() {
        let cause = |part, kind, name: &str| Cause::new(part, kind, name.to_owned());
        let piece = |cause, from, until: i64| Segment::new(cause, None, at(from), at(until).since(at(from)));
        let stall = [
            piece(cause(Part::Blocked, CauseKind::Unexplained, ""), 500, 1_500),
            piece(cause(Part::Waiting, CauseKind::Thread, "hog"), 1_500, 1_700),
            piece(cause(Part::Return, CauseKind::Kernel, ""), 1_700, 2_000),
        ];
        let work = Some((at(2_000), at(2_400)));
        let before = TurnContext { work, awake: true, stall: &stall, ..TurnContext::default() };
        let expected = [
            (Part::Blocked, CauseKind::Unexplained, 500),
            (Part::Waiting, CauseKind::Thread, 200),
            (Part::Return, CauseKind::Kernel, 300),
            (Part::Arming, CauseKind::LongWork, 400),
            (Part::Arming, CauseKind::LateArming, 20),
        ];
        assert_eq!(parts(&decompose_turn(late(1_000, 2_420), before, &[])), expected);
        // Also if it slept for the last 20, as a loop does that calls its timer in any case.
        let by = WakeSource::Other(CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() });
        let seen = TracedSleep {
            asleep_since: Some(at(2_400)),
            switched_in: Some(at(2_420)),
            ..TracedSleep::new(7, at(2_410), by)
        };
        assert_eq!(parts(&decompose_turn(late(1_000, 2_420), before, &[seen]))[..4], expected[..4]);
    }

    // 1000   1300       1800    1900          2000   2060
    // |------|----------|-------|-------------|------|
    // due    the previous one   went to sleep  woken  runs
    #[test]
    fn what_it_did_before_it_slept_was_work_until_that_was_done() {
        let by = WakeSource::Other(CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() });
        let seen = TracedSleep {
            asleep_since: Some(at(1_900)),
            switched_in: Some(at(2_060)),
            ..TracedSleep::new(7, at(2_000), by)
        };
        let before = TurnContext { work: Some((at(1_300), at(1_800))), ..TurnContext::default() };
        let all = decompose_turn(late(1_000, 2_060), before, &[seen]);
        let found = parts(&all);
        assert_eq!(found[0], (Part::Arming, CauseKind::LateArming, 300), "the turn before had not begun");
        assert_eq!(found[1], (Part::Arming, CauseKind::LongWork, 500));
        assert_eq!(found[2], (Part::Arming, CauseKind::LateArming, 100));
        assert_eq!(all.wakeup.parts[2].from, at(1_800));
        assert_eq!(Span::from_nanos(found.iter().map(|part| part.2).sum()), Span::from_nanos(1_060));
    }
}
