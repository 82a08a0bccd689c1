//! Groups causes of one kind: the threads of a pool, whose names differ in a number at the end.

use howlate_model::CauseKind;

use super::{Why, WhyCause};

/// Stands for the number in which the names differ.
const ANY: &str = "*";

/// Causes of one kind whose names differ only in the number at their end: `opt cgu.04` and `opt cgu.11`.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Sum of all of them. Its name has a `*` for the number if they are several; a late wake-up in which two of them took part counts
    /// twice, but the count is limited to the number of late wake-ups.
    pub cause: WhyCause,
    /// Number of names.
    pub names: usize,
}

/// The causes of `why` by family, the largest first.
pub fn families(why: &Why) -> Vec<Family> {
    let mut found: Vec<(Family, String)> = Vec::new();
    for cause in &why.causes {
        let stem = stem(cause);
        let is_same_family = |(family, family_stem): &&mut (Family, String)| {
            family.cause.kind == cause.kind
                && family.cause.part == cause.part
                && family.cause.real_time == cause.real_time
                && family.cause.own == cause.own
                && family.cause.call == cause.call
                && family.cause.through == cause.through
                && family.cause.via == cause.via
                && *family_stem == stem
        };
        match found.iter_mut().find(is_same_family) {
            Some((family, _)) => family.join(cause, &stem, why.late.count),
            None => found.push((Family { cause: cause.clone(), names: 1 }, stem)),
        }
    }
    let mut found: Vec<Family> = found.into_iter().map(|(family, _)| family).collect();
    found.sort_by_key(|family| std::cmp::Reverse(family.cause.late_ns));
    found
}

impl Family {
    fn join(&mut self, other: &WhyCause, stem: &str, late: u64) {
        self.names += 1;
        let cause = &mut self.cause;
        (cause.name, cause.pid) = (Some(format!("{stem}{ANY}")), None);
        cause.late_ns += other.late_ns;
        cause.share += other.share;
        cause.wakeups = (cause.wakeups + other.wakeups).min(late);
        cause.max = cause.max.max(other.max);
    }
}

/// A thread's name without the number at its end; for other causes, the whole name.
fn stem(cause: &WhyCause) -> String {
    let name = cause.name();
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = cause.kind == CauseKind::Thread && !stem.is_empty();
    if is_numbered { stem } else { name }.to_owned()
}

#[cfg(test)]
mod tests {
    use howlate_model::{Cause, Latency, Ledger, MonotonicTime, Part, Segment, Span, WakeupBreakdown};

    use super::*;

    fn why(causes: &[(CauseKind, &str, u64)]) -> Why {
        let mut ledger = Ledger::default();
        for (kind, name, nanos) in causes {
            let (from, ns) = (MonotonicTime::default(), Span::from_nanos(*nanos));
            let cause = Cause::new(Part::Waiting, *kind, (*name).to_owned());
            let parts = vec![Segment::new(cause, Some(7), from, ns)];
            ledger.add(&WakeupBreakdown { at: from, latency: Latency::from_span(ns), cpu: None, parts });
        }
        Why::from_ledger(&ledger, "bpf", Some(Span::ZERO), None)
    }

    #[test]
    fn threads_of_a_pool_are_one_cause() {
        let thread = CauseKind::Thread;
        let why = why(&[
            (thread, "cgu.04", 300),
            (thread, "hog", 400),
            (thread, "cgu.11", 250),
            (thread, "42", 50),
        ]);
        let found = families(&why);
        let rows = found
            .iter()
            .map(|family| (family.cause.name(), family.names, family.cause.wakeups, family.cause.pid));
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [("cgu.*", 2, 2, None), ("hog", 1, 1, Some(7)), ("42", 1, 1, Some(7))]
        );
        assert!((found[0].cause.share - 0.55).abs() < 1e-9 && found[0].cause.max == Span::from_nanos(300));
    }

    #[test]
    fn only_threads_are_joined() {
        let why = why(&[(CauseKind::Interrupt, "eth1", 300), (CauseKind::Interrupt, "eth2", 200)]);
        assert_eq!(families(&why).len(), 2, "they are sent elsewhere one by one");
    }
}
