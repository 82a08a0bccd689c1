//! Compares what a tracer found with the causes that were injected.

use howlate_analyse::cause::ExplainedWakeup;
use howlate_model::{
    CauseKind, CheckScore, InjectedCause, MISSES_KEPT, Miss, MissReason, MonotonicInterval, Part, Segment,
    Span, Wakeup, WakeupBreakdown,
};

/// A cause hits a wake-up when it was active for this long while the thread was late. Shorter times are lost in the kernel's usual work for a
/// wake-up, which lies within the stamps as well.
const HIT: Span = Span::from_micros(30);

pub(crate) fn score(injected: &[InjectedCause], judged: &[ExplainedWakeup]) -> CheckScore {
    let mut score = CheckScore::default();
    let mut errors = Vec::new();
    let mut left: Vec<&[MonotonicInterval]> = injected.iter().map(|cause| cause.stamps.as_slice()).collect();
    for wakeup in judged {
        count_wakeup(&mut score, wakeup);
        let mut is_hit = false;
        for (cause, left) in injected.iter().zip(&mut left) {
            let active = active_stamps(cause.kind, left, wakeup.wakeup);
            if length(&active) >= HIT {
                is_hit = true;
                score.hits += 1;
                match judge_hit(cause, &active, wakeup.explained.as_ref()) {
                    Ok(error) => errors.push(error),
                    Err(reason) => count_miss(&mut score, reason, &active, wakeup),
                }
            }
        }
        if is_hit {
            add_late(&mut score, wakeup);
        }
    }
    errors.sort_unstable();
    score.found = errors.len() as u64;
    let at = |percent: usize| errors.get((errors.len() * percent / 100).min(errors.len().saturating_sub(1)));
    (score.error_p50_ns, score.error_p95_ns) = (at(50).copied(), at(95).copied());
    score
}

fn count_wakeup(score: &mut CheckScore, wakeup: &ExplainedWakeup) {
    score.wakeups += 1;
    if let Some(explained) = &wakeup.explained {
        score.decomposed += 1;
        score.not_adding_up += u64::from(!adds_up(explained));
    }
}

/// An early wake-up has no parts.
fn adds_up(explained: &WakeupBreakdown) -> bool {
    let sum: u64 = explained.parts.iter().map(|part| part.ns.as_nanos()).sum();
    i64::try_from(sum) == Ok(explained.latency.as_nanos().max(0))
}

/// When a cause was active while the thread was late. Stamps that ended before are dropped from `left`: stamps and wake-ups are sorted.
fn active_stamps(kind: CauseKind, left: &mut &[MonotonicInterval], wakeup: Wakeup) -> Vec<MonotonicInterval> {
    let past = left.iter().take_while(|stamp| stamp.until <= wakeup.expected).count();
    *left = &left[past..];
    let near = left.iter().take_while(|stamp| stamp.from < wakeup.ran);
    let at_it = near.filter(|stamp| kind != CauseKind::Softirq || softirq_started(**stamp, wakeup));
    let clip = |stamp: &MonotonicInterval| MonotonicInterval {
        from: stamp.from.max(wakeup.expected),
        until: stamp.until.min(wakeup.ran),
    };
    at_it.map(clip).collect()
}

fn length(stamps: &[MonotonicInterval]) -> Span {
    stamps.iter().map(|stamp| stamp.until.since(stamp.from)).fold(Span::ZERO, Span::plus)
}

/// Whether a softirq had started. Its stamp is that of the call that raises it; as a softirq is not preempted by a thread, a thread that
/// runs in the first half of the call has run before the softirq.
fn softirq_started(stamp: MonotonicInterval, wakeup: Wakeup) -> bool {
    let half = Span::from_nanos(stamp.until.since(stamp.from).as_nanos() / 2);
    wakeup.ran >= stamp.from.plus(half)
}

/// Judges one hit: the error in nanoseconds, or why the cause was not found. Time before the timer interrupt, for an unknown reason, can be
/// attributed to no cause and is not judged.
fn judge_hit(
    cause: &InjectedCause,
    active: &[MonotonicInterval],
    explained: Option<&WakeupBreakdown>,
) -> Result<u64, MissReason> {
    let explained = explained.ok_or(MissReason::NotSeen)?;
    if cause.kind == CauseKind::Hypervisor {
        return judge_standstill(active, explained);
    }
    let judged = length(active).minus(missing_interrupt(active, explained));
    if judged < HIT {
        return Err(MissReason::InterruptLate);
    }
    let half = Span::from_nanos(judged.as_nanos().div_ceil(2));
    let attributed = total(explained, |segment| is_cause(cause, segment));
    if attributed >= half {
        return Ok(attributed.as_nanos().abs_diff(judged.as_nanos()));
    }
    let to_other_causes = total(explained, |segment| {
        segment.cause.kind.is_named() && segment.cause.kind != CauseKind::Kernel && !is_cause(cause, segment)
    });
    Err(if to_other_causes >= half { MissReason::BlamedWrongly } else { MissReason::Undetermined })
}

/// A stopped machine takes time from everything alike: at least 95 % of it has to be attributed to the hypervisor, the machine or be
/// undetermined, and at most 5 % to threads and interrupts.
fn judge_standstill(active: &[MonotonicInterval], explained: &WakeupBreakdown) -> Result<u64, MissReason> {
    let stood = length(active);
    let has = |part: Span, percent: u64| part.as_nanos() * 100 >= stood.as_nanos() * percent;
    let below = attributed_during(active, explained, |segment| {
        matches!(segment.cause.kind, CauseKind::Hypervisor | CauseKind::Machine | CauseKind::Undetermined)
    });
    let named = attributed_during(active, explained, |segment| {
        matches!(segment.cause.kind, CauseKind::Thread | CauseKind::Interrupt | CauseKind::Softirq)
    });
    match () {
        () if has(below, 95) => Ok(stood.minus(below).as_nanos()),
        () if has(named, 5) => Err(MissReason::BlamedWrongly),
        () => Err(MissReason::Undetermined),
    }
}

/// How long the timer interrupt was missing while a cause was active, for an unknown reason.
fn missing_interrupt(active: &[MonotonicInterval], explained: &WakeupBreakdown) -> Span {
    attributed_during(active, explained, |segment| {
        segment.cause.part == Part::InterruptDelivery && segment.cause.kind == CauseKind::Undetermined
    })
}

/// How much of these parts lies within the stamps.
fn attributed_during(
    active: &[MonotonicInterval],
    explained: &WakeupBreakdown,
    parts: impl Fn(&Segment) -> bool,
) -> Span {
    let overlaps = explained.parts.iter().filter(|segment| parts(segment)).flat_map(|segment| {
        let lasted = Wakeup { expected: segment.from, ran: segment.from.plus(segment.ns) };
        active.iter().map(move |stamp| stamp.within(lasted))
    });
    overlaps.fold(Span::ZERO, Span::plus)
}

/// Counts a hit that was not found, and keeps the first ones.
fn count_miss(
    score: &mut CheckScore,
    reason: MissReason,
    active: &[MonotonicInterval],
    wakeup: &ExplainedWakeup,
) {
    match reason {
        MissReason::NotSeen => score.not_seen += 1,
        MissReason::InterruptLate => score.interrupt_late += 1,
        MissReason::BlamedWrongly => score.blamed_wrongly += 1,
        MissReason::Undetermined => {}
    }
    let is_judged = reason != MissReason::InterruptLate;
    if is_judged && score.misses.len() < MISSES_KEPT {
        score.misses.push(Miss {
            reason,
            made_ns: length(active),
            late_ns: Span::from_nanos(wakeup.wakeup.latency().as_nanos().max(0).unsigned_abs()),
            made: active.to_vec(),
            parts: wakeup.explained.iter().flat_map(|explained| explained.parts.clone()).collect(),
        });
    }
}

fn is_cause(cause: &InjectedCause, segment: &Segment) -> bool {
    segment.cause.kind == cause.kind
        && (cause.name.is_empty() || segment.cause.name == cause.name)
        && (cause.pid.is_none() || segment.pid == cause.pid)
}

fn total(explained: &WakeupBreakdown, selected: impl Fn(&Segment) -> bool) -> Span {
    explained
        .parts
        .iter()
        .filter(|segment| selected(segment))
        .map(|segment| segment.ns)
        .fold(Span::ZERO, Span::plus)
}

fn add_late(score: &mut CheckScore, wakeup: &ExplainedWakeup) {
    score.late_ns += wakeup.wakeup.latency().as_nanos().max(0).unsigned_abs();
    if let Some(explained) = &wakeup.explained {
        score.named_ns += total(explained, |segment| segment.cause.kind.is_named()).as_nanos();
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Cause, Detection, Latency, MonotonicTime};

    use super::*;

    const HOG: u32 = 77;

    fn at(micros: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(micros * 1_000)
    }

    fn segment(kind: CauseKind, name: &str, pid: u32, micros: u64) -> Segment {
        let part = Part::Waiting;
        let cause = Cause::new(part, kind, name.into());
        Segment::new(cause, (pid > 0).then_some(pid), at(0), Span::from_micros(micros))
    }

    /// A wake-up expected at `number` ms that was 400 µs late.
    fn judged(number: i64, parts: Option<Vec<Segment>>) -> ExplainedWakeup {
        let wakeup = Wakeup { expected: at(number * 1_000), ran: at(number * 1_000 + 400) };
        let (at, latency, cpu) = (wakeup.ran, Latency::from_nanos(400_000), Some(0));
        ExplainedWakeup { wakeup, explained: parts.map(|parts| WakeupBreakdown { at, latency, cpu, parts }) }
    }

    /// A CPU hog from 50 µs before each of `count` wake-ups, for 350 of their 400 µs.
    fn hog(count: i64) -> InjectedCause {
        let stamp = |number: i64| MonotonicInterval {
            from: at(number * 1_000 - 50),
            until: at(number * 1_000 + 350),
        };
        InjectedCause {
            kind: CauseKind::Thread,
            name: "hog".into(),
            pid: Some(HOG),
            stamps: (0..count).map(stamp).collect(),
        }
    }

    fn right() -> Vec<Segment> {
        vec![segment(CauseKind::Thread, "hog", HOG, 348), segment(CauseKind::Kernel, "", 0, 52)]
    }

    #[track_caller]
    fn check(
        parts: impl Fn(i64) -> Option<Vec<Segment>>,
        found: u64,
        wrongly: u64,
        detection: Detection,
    ) -> CheckScore {
        let all: Vec<ExplainedWakeup> = (0..100).map(|number| judged(number, parts(number))).collect();
        let score = score(&[hog(100)], &all);
        assert_eq!((score.hits, score.found, score.blamed_wrongly), (100, found, wrongly), "{score:?}");
        assert_eq!(score.detection(), detection);
        score
    }

    #[test]
    fn right_blame_is_found_with_its_error() {
        let score = check(|_| Some(right()), 100, 0, Detection::Found);
        assert_eq!((score.error_p50_ns, score.error_p95_ns), (Some(2_000), Some(2_000)));
        assert_eq!((score.late_ns, score.named_ns, score.not_adding_up), (40_000_000, 40_000_000, 0));
    }

    #[test]
    fn wrong_blame_fails_a_class() {
        let of = |kind, name, pid| vec![segment(kind, name, pid, 348), segment(CauseKind::Kernel, "", 0, 52)];
        check(|_| Some(of(CauseKind::Thread, "another", 99)), 0, 100, Detection::Missed);
        check(|_| Some(of(CauseKind::Thread, "hog", 99)), 0, 100, Detection::Missed);
        check(|_| Some(of(CauseKind::Softirq, "hog", HOG)), 0, 100, Detection::Missed);
        // No wrong cause, but nothing is found either.
        let score = check(|_| Some(of(CauseKind::Undetermined, "", 0)), 0, 0, Detection::Missed);
        assert!((score.share_named() - 0.13).abs() < 1e-9);
    }

    #[test]
    fn nineteen_of_twenty_are_enough_and_fewer_are_not() {
        let without = |few: i64| move |number: i64| (number >= few).then(right);
        assert_eq!(check(without(5), 95, 0, Detection::Found).not_seen, 5);
        check(without(6), 94, 0, Detection::Missed);
    }

    // 0         100       200       300       400
    // |---------|---------|---------|---------|   late
    // |============== hog ==============|         350 by its stamps
    // |-- no interrupt yet --|                    220 of it: 130 are judged
    #[test]
    fn time_without_the_interrupt_is_judged_by_nobody_and_the_rest_is() {
        let parts_of = |kind, micros: u64, number: i64| {
            let expected = at(number * 1_000);
            let mut parts = right();
            parts[0].ns = Span::from_micros(348 - micros);
            let cause = Cause::new(Part::InterruptDelivery, kind, "hog".into());
            parts.insert(0, Segment::new(cause, None, expected, Span::from_micros(micros)));
            Some(parts)
        };
        let score = check(|number| parts_of(CauseKind::Undetermined, 220, number), 100, 0, Detection::Found);
        assert_eq!(score.error_p50_ns, Some(2_000));
        let some =
            |number| if number < 50 { parts_of(CauseKind::Undetermined, 325, number) } else { Some(right()) };
        let score = check(some, 50, 0, Detection::Found);
        assert_eq!((score.interrupt_late, score.judged(), score.misses.len()), (50, 50, 0));
        let most =
            |number| if number < 90 { parts_of(CauseKind::Undetermined, 325, number) } else { Some(right()) };
        check(most, 10, 0, Detection::TooFew);
        // A cause that the tracer does name is judged.
        let interrupt_known =
            |number| if number < 50 { parts_of(CauseKind::Interrupt, 220, number) } else { Some(right()) };
        check(interrupt_known, 50, 50, Detection::Missed);
    }

    // 0         100       200       300       400
    // |---------|---------|---------|---------|   late
    // |======== stood still ============|         350 by its stamps
    // |--- below the kernel ---|-- hog--|
    #[test]
    fn of_a_machine_that_stood_still_nobody_who_was_under_way_may_have_more_than_a_twentieth() {
        let stopped =
            InjectedCause { kind: CauseKind::Hypervisor, name: String::new(), pid: None, ..hog(100) };
        let judge = |kind, below: u64| {
            let part = |kind, name: &str, from: u64, until: u64, number: i64| Segment {
                from: at(number * 1_000).plus(Span::from_micros(from)),
                ..segment(kind, name, 0, until - from)
            };
            let parts = |number| {
                vec![
                    part(kind, "", 0, below, number),
                    part(CauseKind::Thread, "hog", below, 350, number),
                    part(CauseKind::Kernel, "", 350, 400, number),
                ]
            };
            let all: Vec<ExplainedWakeup> =
                (0..100).map(|number| judged(number, Some(parts(number)))).collect();
            let score = score(std::slice::from_ref(&stopped), &all);
            assert_eq!((score.hits, score.interrupt_late), (100, 0));
            (score.found, score.blamed_wrongly)
        };
        for kind in [CauseKind::Hypervisor, CauseKind::Machine, CauseKind::Undetermined] {
            assert_eq!(judge(kind, 345), (100, 0), "{kind:?}");
            assert_eq!(judge(kind, 300), (0, 100), "{kind:?}");
        }
        assert_eq!(judge(CauseKind::IdleExit, 345), (0, 0), "that is nobody, and not right either");
    }

    #[test]
    fn what_was_missed_is_kept_with_its_reason_and_its_parts() {
        let elsewhere = vec![segment(CauseKind::Thread, "another", 99, 400)];
        let score = check(|number| (number >= 30).then(|| elsewhere.clone()), 0, 70, Detection::Missed);
        assert_eq!(score.misses.len(), MISSES_KEPT);
        let first = &score.misses[0];
        assert_eq!((first.reason, first.parts.len()), (MissReason::NotSeen, 0));
        assert_eq!((first.made_ns, first.late_ns), (Span::from_micros(350), Span::from_micros(400)));
        assert_eq!(first.made, [MonotonicInterval { from: at(0), until: at(350) }]);
        let score = check(|_| Some(elsewhere.clone()), 0, 100, Detection::Missed);
        assert_eq!((score.misses[0].reason, &score.misses[0].parts), (MissReason::BlamedWrongly, &elsewhere));
    }

    #[test]
    fn a_thread_that_runs_soon_has_come_before_the_softirq() {
        // 0         500        1000       asked for at 1000, ran at 1400
        //                 900  |----|     950 to 1350: over by then
        //                        1100 |---------| to 2100: only its call had begun
        for (from, until, hits) in [(950, 1_350, 1), (1_100, 2_100, 0), (1_100, 1_700, 1)] {
            let stamps = vec![MonotonicInterval { from: at(from), until: at(until) }];
            let injected =
                InjectedCause { kind: CauseKind::Softirq, name: "NET_RX".into(), pid: None, stamps };
            assert_eq!(
                score(std::slice::from_ref(&injected), &[judged(1, Some(right()))]).hits,
                hits,
                "{from}"
            );
            let thread = InjectedCause { kind: CauseKind::Thread, ..injected };
            assert_eq!(score(&[thread], &[judged(1, Some(right()))]).hits, 1, "a thread gives way");
        }
    }

    #[test]
    fn parts_that_do_not_add_up_fail_a_class() {
        let short = |number| Some(if number == 3 { right()[..1].to_vec() } else { right() });
        assert_eq!(check(short, 100, 0, Detection::Missed).not_adding_up, 1);
    }

    #[test]
    fn a_class_that_hardly_hit_is_not_judged() {
        let all: Vec<ExplainedWakeup> = (0..100).map(|number| judged(number, Some(right()))).collect();
        assert_eq!(score(&[hog(19)], &all).detection(), Detection::TooFew);
        assert_eq!(score(&[hog(20)], &all).detection(), Detection::Found);
        assert_eq!(score(&[], &all).detection(), Detection::TooFew);
    }

    #[test]
    fn several_makers_are_told_apart() {
        let other = InjectedCause { name: "other".into(), pid: Some(78), ..hog(50) };
        let both = |_| {
            Some(vec![
                segment(CauseKind::Thread, "hog", HOG, 200),
                segment(CauseKind::Thread, "other", 78, 200),
            ])
        };
        let all: Vec<ExplainedWakeup> = (0..50).map(|number| judged(number, both(number))).collect();
        let score = score(&[hog(50), other], &all);
        assert_eq!((score.hits, score.found, score.wakeups, score.late_ns), (100, 100, 50, 20_000_000));
    }
}
