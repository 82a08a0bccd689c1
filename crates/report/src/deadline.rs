//! What came too late: by the deadline that was given, or by the period.

use howlate_model::{Span, WorkKind};
use howlate_render::numbers::{count, length};
use howlate_render::property::common_kind;

use crate::entry::Entry;
use crate::names::{name, varying};

/// How many of a condition's wake-ups came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Missed {
    late: u64,
    of: u64,
}

/// The one deadline of all entries, for a line in their pictures and a column in their table.
pub(crate) fn common(entries: &[Entry<'_>]) -> Option<Span> {
    let first = entries.first()?.deadline()?;
    entries.iter().all(|entry| entry.deadline() == Some(first)).then_some(first)
}

/// How many would have missed it, in a sentence; `None` where no deadline is known.
pub(crate) fn sentence(entries: &[Entry<'_>]) -> Option<String> {
    let missed: Vec<(Entry<'_>, Missed)> =
        entries.iter().filter_map(|entry| Some((*entry, missed(entry)?))).collect();
    let deadline = match common(entries) {
        Some(one) => format!("A deadline of {}{}", length(one), whose(entries)),
        None => "The deadline, which is each period,".to_owned(),
    };
    let (what, parts) = (what(entries), varying(entries));
    let worst = missed.iter().max_by(|(_, one), (_, other)| one.share().total_cmp(&other.share()))?;
    let (late, of) = missed.iter().fold((0, 0), |sum, (_, one)| (sum.0 + one.late, sum.1 + one.of));
    let clean = missed.iter().filter(|(_, one)| one.late == 0).count();
    Some(match (late, missed.len()) {
        (0, _) => format!("{deadline} would have been missed by none of {} {what}.", count(of)),
        (late, 1) => format!("{deadline} would have been missed by {} of {} {what}.", count(late), count(of)),
        _ => format!(
            "{deadline} would have been missed by {} of {} {what} with {}{}.",
            count(worst.1.late),
            count(worst.1.of),
            name(&worst.0, &parts),
            others(&missed, clean, &parts)
        ),
    })
}

/// What became of the other conditions.
fn others(missed: &[(Entry<'_>, Missed)], clean: usize, parts: &[crate::names::Part]) -> String {
    let unmissed = || missed.iter().filter(|(_, one)| one.late == 0);
    match (clean, missed.len()) {
        (1, _) => unmissed().next().map_or_else(String::new, |(entry, one)| {
            format!(", and by none of {} with {}", count(one.of), name(entry, parts))
        }),
        (0, 2) => {
            let least = missed.iter().min_by(|(_, one), (_, other)| one.share().total_cmp(&other.share()));
            least.map_or_else(String::new, |(entry, one)| {
                format!(", by {} of {} with {}", count(one.late), count(one.of), name(entry, parts))
            })
        }
        (0, all) => format!(", the most of {all} conditions; each missed it"),
        (clean, all) => format!(", the most of {all} conditions; {clean} of them missed none"),
    }
}

fn missed(entry: &Entry<'_>) -> Option<Missed> {
    let (late, of) = entry.outcome.later_than(entry.deadline()?);
    (of > 0).then_some(Missed { late, of })
}

impl Missed {
    #[allow(clippy::cast_precision_loss, reason = "a share")]
    fn share(self) -> f64 {
        self.late as f64 / self.of as f64
    }
}

/// Where nobody gave a deadline, the period is one.
fn whose(entries: &[Entry<'_>]) -> &'static str {
    let given = entries.iter().any(|entry| entry.recording.deadline.is_some());
    if given { "" } else { " (the period)" }
}

fn what(entries: &[Entry<'_>]) -> &'static str {
    match common_kind(entries) {
        Some(WorkKind::Cyclic) => "turns",
        Some(WorkKind::Sleep) => "sleeps",
        Some(WorkKind::Notify) => "notifications",
        _ => "wake-ups",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recording;
    use crate::testing::{add, analysis, condition, cyclic};

    #[test]
    fn what_a_deadline_would_have_cost_is_counted() {
        let mut analysis = analysis(vec![cyclic("other", 0), cyclic("fifo:80", 0)]);
        add(&mut analysis, 0, 9_997, 40_000);
        add(&mut analysis, 0, 3, 1_500_000);
        add(&mut analysis, 1, 10_000, 20_000);
        let mut recording = Recording::of("run.jsonl", &analysis);
        assert_eq!(
            sentence(&Entry::all(&[recording])).unwrap(),
            "A deadline of 1 ms (the period) would have been missed by 3 of 10 000 turns with other, and by none of \
             10 000 with fifo:80."
        );
        recording.deadline = Some(Span::from_millis(2));
        assert_eq!(
            sentence(&Entry::all(&[recording])).unwrap(),
            "A deadline of 2 ms would have been missed by none of 20 000 turns."
        );
        recording.deadline = Some(Span::from_micros(30));
        assert_eq!(
            sentence(&Entry::all(&[recording])[..1]).unwrap(),
            "A deadline of 30 µs would have been missed by 10 000 of 10 000 turns."
        );
    }

    #[test]
    fn a_sleep_has_no_deadline_of_its_own() {
        let mut analysis = analysis(vec![condition("sleep 1ms", "other", None)]);
        add(&mut analysis, 0, 100, 60_000);
        assert_eq!(sentence(&Entry::all(&[Recording::of("run.jsonl", &analysis)])), None);
    }
}
