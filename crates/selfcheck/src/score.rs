//! What a tracer made of causes that were made on purpose.

use howlate_model::{CauseKind, Explained, InjectedCause, Part, Segment, Span, Wakeup};
use schemars::JsonSchema;
use serde::Serialize;

use super::Judged;

/// A cause hits a wake-up when it was at it for this long while the thread was late. Less does not stand out from what
/// the kernel takes for any wake-up, which lies within the stamps as well.
const HIT: Span = Span::from_micros(30);

/// With fewer hits a class cannot be judged: one that was missed would decide.
pub const HITS_NEEDED: u64 = 20;

/// The share of the hits that has to be found.
pub const SHARE_NEEDED: f64 = 0.95;

/// How well the causes of a class were found. Names are public: add, never rename.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    /// Wake-ups of the measured thread.
    pub wakeups: u64,
    /// Those whose parts are known.
    pub decomposed: u64,
    /// Those whose parts do not add up to their lateness: none, or attribution is broken.
    pub not_adding_up: u64,
    /// How often a cause that was made hit a wake-up.
    pub hits: u64,
    /// Hits of which at least half was charged to the right kind, name and process.
    pub found: u64,
    /// Hits of which at least half was charged to somebody else by name.
    pub blamed_wrongly: u64,
    /// Hits on wake-ups whose parts are not known.
    pub not_seen: u64,
    /// Hits that are not judged: for at least half of what was stamped the timer's interrupt had not come yet, and no event tells
    /// why. No class keeps it off; a hypervisor does.
    pub interrupt_late: u64,
    /// The median of |charged − stamped| over the hits that were found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_p50_ns: Option<u64>,
    /// Its 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_p95_ns: Option<u64>,
    /// The lateness of the wake-ups that were hit, together.
    pub late_ns: u64,
    /// What of it was charged to causes that are named.
    pub named_ns: u64,
}

/// Whether a class was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Enough of it.
    Found,
    /// Too little of it.
    Missed,
    /// There were too few hits to tell.
    TooFew,
}

impl Score {
    /// Whether enough of the hits were found, and every sum is right.
    pub fn verdict(&self) -> Verdict {
        match self.judged() {
            _ if self.not_adding_up > 0 => Verdict::Missed,
            few if few < HITS_NEEDED => Verdict::TooFew,
            _ if self.share_found() >= SHARE_NEEDED => Verdict::Found,
            _ => Verdict::Missed,
        }
    }

    /// The hits that tell whether the tracer is right.
    pub const fn judged(&self) -> u64 {
        self.hits - self.interrupt_late
    }

    /// The share of them that was found, 0 to 1.
    pub fn share_found(&self) -> f64 {
        share(self.found, self.judged())
    }

    /// The share of the wake-ups whose parts are known, 0 to 1.
    pub fn share_decomposed(&self) -> f64 {
        share(self.decomposed, self.wakeups)
    }

    /// The share of the late time that went to named causes, 0 to 1.
    pub fn share_named(&self) -> f64 {
        share(self.named_ns, self.late_ns)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Holds what was found against what was made.
pub fn score(made: &[InjectedCause], judged: &[Judged]) -> Score {
    let mut score = Score::default();
    let mut errors = Vec::new();
    let mut left: Vec<&[howlate_model::Stamp]> = made.iter().map(|known| known.stamps.as_slice()).collect();
    for one in judged {
        count(&mut score, one);
        let mut is_hit = false;
        for (known, left) in made.iter().zip(&mut left) {
            let stamped = stamped(left, one.wakeup);
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
    i64::try_from(sum) == Ok(explained.latency_ns.as_nanos().max(0))
}

/// How long a cause was at it while the thread was late. Stamps that ended before are left behind: both are in order.
fn stamped(left: &mut &[howlate_model::Stamp], wakeup: Wakeup) -> Span {
    let past = left.iter().take_while(|stamp| stamp.until <= wakeup.expected).count();
    *left = &left[past..];
    let near = left.iter().take_while(|stamp| stamp.from < wakeup.ran);
    near.map(|stamp| stamp.within(wakeup)).fold(Span::ZERO, Span::plus)
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
    use howlate_model::{Cause, Latency, MonotonicTime, Stamp};

    use super::*;

    const HOG: u32 = 77;

    fn at(micros: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(micros * 1_000)
    }

    fn segment(kind: CauseKind, name: &str, pid: u32, micros: u64) -> Segment {
        let part = Part::Waiting;
        let cause = Cause { part, kind, name: name.into() };
        Segment { cause, pid: (pid > 0).then_some(pid), from_ns: at(0), ns: Span::from_micros(micros) }
    }

    /// A wake-up asked for at `number` ms that was 400 µs late.
    fn judged(number: i64, parts: Option<Vec<Segment>>) -> Judged {
        let wakeup = Wakeup { expected: at(number * 1_000), ran: at(number * 1_000 + 400) };
        let (at_ns, latency_ns, cpu) = (wakeup.ran, Latency::from_nanos(400_000), Some(0));
        Judged { wakeup, explained: parts.map(|parts| Explained { at_ns, latency_ns, cpu, parts }) }
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
        verdict: Verdict,
    ) -> Score {
        let all: Vec<Judged> = (0..100).map(|number| judged(number, parts(number))).collect();
        let score = score(&[hog(100)], &all);
        assert_eq!((score.hits, score.found, score.blamed_wrongly), (100, found, wrongly), "{score:?}");
        assert_eq!(score.verdict(), verdict);
        score
    }

    #[test]
    fn right_blame_is_found_with_its_error() {
        let score = check(|_| Some(right()), 100, 0, Verdict::Found);
        assert_eq!((score.error_p50_ns, score.error_p95_ns), (Some(2_000), Some(2_000)));
        assert_eq!((score.late_ns, score.named_ns, score.not_adding_up), (40_000_000, 40_000_000, 0));
    }

    #[test]
    fn wrong_blame_fails_a_class() {
        let of = |kind, name, pid| vec![segment(kind, name, pid, 348), segment(CauseKind::Kernel, "", 0, 52)];
        check(|_| Some(of(CauseKind::Thread, "another", 99)), 0, 100, Verdict::Missed);
        check(|_| Some(of(CauseKind::Thread, "hog", 99)), 0, 100, Verdict::Missed);
        check(|_| Some(of(CauseKind::Softirq, "hog", HOG)), 0, 100, Verdict::Missed);
        // Nobody is blamed, but nothing is found either.
        let score = check(|_| Some(of(CauseKind::Undetermined, "", 0)), 0, 0, Verdict::Missed);
        assert!((score.share_named() - 0.13).abs() < 1e-9);
    }

    #[test]
    fn nineteen_of_twenty_are_enough_and_fewer_are_not() {
        let but = |few: i64| move |number: i64| (number >= few).then(right);
        assert_eq!(check(but(5), 95, 0, Verdict::Found).not_seen, 5);
        check(but(6), 94, 0, Verdict::Missed);
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
            Verdict::Found,
        );
        assert_eq!((score.interrupt_late, score.judged()), (50, 50));
        check(
            |number| if number < 90 { late(CauseKind::Undetermined, 250) } else { Some(right()) },
            10,
            0,
            Verdict::TooFew,
        );
        // What a tracer knows better is its to be judged by.
        check(
            |number| if number < 50 { late(CauseKind::Interrupt, 250) } else { Some(right()) },
            50,
            50,
            Verdict::Missed,
        );
    }

    #[test]
    fn parts_that_do_not_add_up_fail_a_class() {
        let short = |number| Some(if number == 3 { right()[..1].to_vec() } else { right() });
        assert_eq!(check(short, 100, 0, Verdict::Missed).not_adding_up, 1);
    }

    #[test]
    fn a_class_that_hardly_hit_is_not_judged() {
        let all: Vec<Judged> = (0..100).map(|number| judged(number, Some(right()))).collect();
        assert_eq!(score(&[hog(19)], &all).verdict(), Verdict::TooFew);
        assert_eq!(score(&[hog(20)], &all).verdict(), Verdict::Found);
        assert_eq!(score(&[], &all).verdict(), Verdict::TooFew);
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
