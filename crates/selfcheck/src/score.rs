//! What a tracer saw, held against the causes that were made.

use howlate_analyse::cause::Judged;
use howlate_model::{CauseKind, Explained, InjectedCause, Part, Score, Segment, Span, Stamp, Wakeup};

/// A cause hits a wake-up when it was at it for this long while the thread was late. Less does not stand out from what
/// the kernel takes for any wake-up, which lies within the stamps as well.
const HIT: Span = Span::from_micros(30);

/// Holds what was found against what was made.
pub(crate) fn score(made: &[InjectedCause], judged: &[Judged]) -> Score {
    let mut score = Score::default();
    let mut errors = Vec::new();
    let mut left: Vec<&[Stamp]> = made.iter().map(|known| known.stamps.as_slice()).collect();
    for one in judged {
        count(&mut score, one);
        let mut is_hit = false;
        for (known, left) in made.iter().zip(&mut left) {
            let stamped = stamped(known.kind, left, one.wakeup);
            if stamped >= HIT {
                is_hit = true;
                errors.extend(hit(&mut score, known, stamped, one.explained.as_ref()));
            }
        }
        if is_hit {
            late(&mut score, one);
        }
    }
    errors.sort_unstable();
    let at = |percent: usize| errors.get((errors.len() * percent / 100).min(errors.len().saturating_sub(1)));
    (score.error_p50_ns, score.error_p95_ns) = (at(50).copied(), at(95).copied());
    score
}

fn count(score: &mut Score, one: &Judged) {
    score.wakeups += 1;
    if let Some(explained) = &one.explained {
        score.decomposed += 1;
        score.not_adding_up += u64::from(!adds_up(explained));
    }
}

/// A wake-up that came early has no parts.
fn adds_up(explained: &Explained) -> bool {
    let sum: u64 = explained.parts.iter().map(|part| part.ns.as_nanos()).sum();
    i64::try_from(sum) == Ok(explained.latency.as_nanos().max(0))
}

/// How long a cause was at it while the thread was late. Stamps that ended before are left behind: both are in order.
fn stamped(kind: CauseKind, left: &mut &[Stamp], wakeup: Wakeup) -> Span {
    let past = left.iter().take_while(|stamp| stamp.until <= wakeup.expected).count();
    *left = &left[past..];
    let near = left.iter().take_while(|stamp| stamp.from < wakeup.ran);
    let at_it = near.filter(|stamp| kind != CauseKind::Softirq || had_begun(**stamp, wakeup));
    at_it.map(|stamp| stamp.within(wakeup)).fold(Span::ZERO, Span::plus)
}

/// Whether a softirq had begun. Its stamp is that of the call that brings it about; and as it gives way to no thread, one that
/// runs soon after the call was made has come before it.
fn had_begun(stamp: Stamp, wakeup: Wakeup) -> bool {
    let half = Span::from_nanos(stamp.until.since(stamp.from).as_nanos() / 2);
    wakeup.ran >= stamp.from.plus(half)
}

/// Judges one hit; returns how far off it was, if it was found.
fn hit(
    score: &mut Score,
    known: &InjectedCause,
    stamped: Span,
    explained: Option<&Explained>,
) -> Option<u64> {
    score.hits += 1;
    let Some(explained) = explained else {
        score.not_seen += 1;
        return None;
    };
    let charged = total(explained, |segment| is_right(known, segment));
    let half = Span::from_nanos(stamped.as_nanos().div_ceil(2));
    if charged >= half {
        score.found += 1;
        return Some(charged.as_nanos().abs_diff(stamped.as_nanos()));
    }
    let not_come = total(explained, |segment| {
        segment.cause.part == Part::InterruptDelivery && segment.cause.kind == CauseKind::Undetermined
    });
    if not_come >= half {
        score.interrupt_late += 1;
        return None;
    }
    let to_others = total(explained, |segment| {
        segment.cause.kind.is_named() && segment.cause.kind != CauseKind::Kernel && !is_right(known, segment)
    });
    score.blamed_wrongly += u64::from(to_others >= half);
    None
}

fn is_right(known: &InjectedCause, segment: &Segment) -> bool {
    segment.cause.kind == known.kind
        && (known.name.is_empty() || segment.cause.name == known.name)
        && (known.pid.is_none() || segment.pid == known.pid)
}

fn total(explained: &Explained, wanted: impl Fn(&Segment) -> bool) -> Span {
    explained.parts.iter().filter(|segment| wanted(segment)).map(|one| one.ns).fold(Span::ZERO, Span::plus)
}

fn late(score: &mut Score, one: &Judged) {
    score.late_ns += one.wakeup.latency().as_nanos().max(0).unsigned_abs();
    if let Some(explained) = &one.explained {
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

    /// A wake-up asked for at `number` ms that was 400 µs late.
    fn judged(number: i64, parts: Option<Vec<Segment>>) -> Judged {
        let wakeup = Wakeup { expected: at(number * 1_000), ran: at(number * 1_000 + 400) };
        let (at, latency, cpu) = (wakeup.ran, Latency::from_nanos(400_000), Some(0));
        Judged { wakeup, explained: parts.map(|parts| Explained { at, latency, cpu, parts }) }
    }

    /// A hog that takes the CPU from 50 µs before each of `count` wake-ups, for 350 µs of their 400 µs.
    fn hog(count: i64) -> InjectedCause {
        let stamp = |number: i64| Stamp { from: at(number * 1_000 - 50), until: at(number * 1_000 + 350) };
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
    ) -> Score {
        let all: Vec<Judged> = (0..100).map(|number| judged(number, parts(number))).collect();
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
        // Nobody is blamed, but nothing is found either.
        let score = check(|_| Some(of(CauseKind::Undetermined, "", 0)), 0, 0, Detection::Missed);
        assert!((score.share_named() - 0.13).abs() < 1e-9);
    }

    #[test]
    fn nineteen_of_twenty_are_enough_and_fewer_are_not() {
        let but = |few: i64| move |number: i64| (number >= few).then(right);
        assert_eq!(check(but(5), 95, 0, Detection::Found).not_seen, 5);
        check(but(6), 94, 0, Detection::Missed);
    }

    #[test]
    fn an_interrupt_that_came_late_tells_nothing_of_the_tracer() {
        let late = |kind, micros| {
            let mut parts =
                vec![segment(kind, "hog", 0, micros), segment(CauseKind::Thread, "hog", HOG, 400 - micros)];
            parts[0].cause.part = Part::InterruptDelivery;
            Some(parts)
        };
        let score = check(
            |number| if number < 50 { late(CauseKind::Undetermined, 250) } else { Some(right()) },
            50,
            0,
            Detection::Found,
        );
        assert_eq!((score.interrupt_late, score.judged()), (50, 50));
        check(
            |number| if number < 90 { late(CauseKind::Undetermined, 250) } else { Some(right()) },
            10,
            0,
            Detection::TooFew,
        );
        // What a tracer knows better is its to be judged by.
        check(
            |number| if number < 50 { late(CauseKind::Interrupt, 250) } else { Some(right()) },
            50,
            50,
            Detection::Missed,
        );
    }

    #[test]
    fn a_thread_that_runs_soon_has_come_before_the_softirq() {
        // 0         500        1000       asked for at 1000, ran at 1400
        //                 900  |----|     950 to 1350: over by then
        //                        1100 |---------| to 2100: only its call had begun
        for (from, until, hits) in [(950, 1_350, 1), (1_100, 2_100, 0), (1_100, 1_700, 1)] {
            let stamps = vec![Stamp { from: at(from), until: at(until) }];
            let made = InjectedCause { kind: CauseKind::Softirq, name: "NET_RX".into(), pid: None, stamps };
            assert_eq!(score(std::slice::from_ref(&made), &[judged(1, Some(right()))]).hits, hits, "{from}");
            let thread = InjectedCause { kind: CauseKind::Thread, ..made };
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
        let all: Vec<Judged> = (0..100).map(|number| judged(number, Some(right()))).collect();
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
        let all: Vec<Judged> = (0..50).map(|number| judged(number, both(number))).collect();
        let score = score(&[hog(50), other], &all);
        assert_eq!((score.hits, score.found, score.wakeups, score.late_ns), (100, 100, 50, 20_000_000));
    }
}
