//! Missed deadlines: the one of the report, or the period.

use howlate_model::{Span, WorkKind};
use howlate_render::numbers::{count, length};
use howlate_render::property::common_kind;

use crate::condition_names::{NamePart, name_in_sentence, varying};
use crate::entry::Entry;

/// Late wake-ups of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DeadlineMisses {
    late: u64,
    of: u64,
}

/// The deadline of all entries; `None` where they differ.
pub(crate) fn common(entries: &[Entry<'_>]) -> Option<Span> {
    let first = entries.first()?.deadline()?;
    entries.iter().all(|entry| entry.deadline() == Some(first)).then_some(first)
}

/// How many wake-ups would have missed the deadline; `None` where no deadline is known.
pub(crate) fn sentence(entries: &[Entry<'_>]) -> Option<String> {
    let misses: Vec<(Entry<'_>, DeadlineMisses)> =
        entries.iter().filter_map(|entry| Some((*entry, deadline_misses(entry)?))).collect();
    let deadline = match common(entries) {
        Some(deadline) => format!("A deadline of {}{}", length(deadline), period_note(entries)),
        None => "The deadline, which is each period,".to_owned(),
    };
    let (unit, parts) = (unit_name(entries), varying(entries));
    let worst = misses.iter().max_by(|(_, misses), (_, other)| misses.share().total_cmp(&other.share()))?;
    let (late, of) = misses.iter().fold((0, 0), |sum, (_, misses)| (sum.0 + misses.late, sum.1 + misses.of));
    let clean = misses.iter().filter(|(_, misses)| misses.late == 0).count();
    Some(match (late, misses.len()) {
        (0, _) => format!("{deadline} would have been missed by none of {} {unit}.", count(of)),
        (late, 1) => format!("{deadline} would have been missed by {} of {} {unit}.", count(late), count(of)),
        (_, few) if few <= FEW => {
            format!("{deadline} would have been missed by {}.", list(&misses, unit, &parts))
        }
        (_, many) => format!(
            "{deadline} would have been missed in {} of {many} conditions: by {} of {} {unit} with {}, the most.",
            many - clean,
            count(worst.1.late),
            count(worst.1.of),
            name_in_sentence(&worst.0, &parts)
        ),
    })
}

/// Up to this many conditions are listed.
const FEW: usize = 4;

/// `3 of 10 000 iterations with other, and by none of 10 000 with fifo:80`: the worst first,
/// those without a miss last.
fn list(misses: &[(Entry<'_>, DeadlineMisses)], unit: &str, parts: &[NamePart]) -> String {
    let (mut late, clean): (Vec<&(Entry<'_>, DeadlineMisses)>, Vec<_>) =
        misses.iter().partition(|(_, misses)| misses.late > 0);
    late.sort_by(|(_, misses), (_, other)| other.share().total_cmp(&misses.share()));
    let phrase = |(number, (entry, misses)): (usize, &(Entry<'_>, DeadlineMisses))| {
        let unit = if number == 0 { format!(" {unit}") } else { String::new() };
        format!(
            "{} of {}{unit} with {}",
            count(misses.late),
            count(misses.of),
            name_in_sentence(entry, parts)
        )
    };
    let mut phrases: Vec<String> = late.iter().copied().enumerate().map(phrase).collect();
    if !clean.is_empty() {
        let of = clean.iter().map(|(_, misses)| misses.of).sum();
        let names: Vec<String> = clean.iter().map(|(entry, _)| name_in_sentence(entry, parts)).collect();
        phrases.push(format!("none of {} with {}", count(of), names.join(" or ")));
    }
    match phrases.pop() {
        Some(last) if phrases.len() == 1 => format!("{}, and by {last}", phrases.concat()),
        Some(last) if !phrases.is_empty() => format!("{}, and by {last}", phrases.join(", by ")),
        last => last.unwrap_or_default(),
    }
}

fn deadline_misses(entry: &Entry<'_>) -> Option<DeadlineMisses> {
    let (late, of) = entry.outcome.later_than(entry.deadline()?);
    (of > 0).then_some(DeadlineMisses { late, of })
}

impl DeadlineMisses {
    fn share(self) -> f64 {
        self.late as f64 / self.of as f64
    }
}

/// Names the period where the report has no deadline of its own.
fn period_note(entries: &[Entry<'_>]) -> &'static str {
    let given = entries.iter().any(|entry| entry.recording.deadline.is_some());
    if given { "" } else { " (the period)" }
}

fn unit_name(entries: &[Entry<'_>]) -> &'static str {
    match common_kind(entries) {
        Some(WorkKind::Cyclic) => "iterations",
        Some(WorkKind::Sleep) => "sleeps",
        Some(WorkKind::Notify) => "notifications",
        _ => "wake-ups",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NamedRecording;
    use crate::testing::{add, analysis, condition, cyclic};

    #[test]
    fn what_a_deadline_would_have_cost_is_counted() {
        let mut analysis = analysis(vec![cyclic("other", 0), cyclic("fifo:80", 0)]);
        add(&mut analysis, 0, 9_997, 40_000);
        add(&mut analysis, 0, 3, 1_500_000);
        add(&mut analysis, 1, 10_000, 20_000);
        let mut recording = NamedRecording::new("run.jsonl", &analysis);
        assert_eq!(
            sentence(&Entry::all(&[recording])).unwrap(),
            "A deadline of 1 ms (the period) would have been missed by 3 of 10 000 iterations with normal scheduling (other), \
             and by none of 10 000 with fifo:80."
        );
        recording.deadline = Some(Span::from_millis(2));
        assert_eq!(
            sentence(&Entry::all(&[recording])).unwrap(),
            "A deadline of 2 ms would have been missed by none of 20 000 iterations."
        );
        recording.deadline = Some(Span::from_micros(30));
        assert_eq!(
            sentence(&Entry::all(&[recording])[..1]).unwrap(),
            "A deadline of 30 µs would have been missed by 10 000 of 10 000 iterations."
        );
    }

    #[test]
    fn each_of_a_few_conditions_is_told_and_the_worst_of_many() {
        let policies = ["other", "batch", "nice:5", "fifo:80", "rr:50"];
        let mut analysis = analysis(policies.map(|policy| cyclic(policy, 0)).to_vec());
        for (condition, late) in [(0, 3), (1, 30), (2, 0), (3, 0), (4, 1)] {
            add(&mut analysis, condition, 100 - late, 20_000);
            add(&mut analysis, condition, late, 1_500_000);
        }
        let entries = Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]);
        assert_eq!(
            sentence(&entries[..4]).unwrap(),
            "A deadline of 1 ms (the period) would have been missed by 30 of 100 iterations with batch, by 3 of 100 with \
             normal scheduling (other), and by none of 200 with nice:5 or fifo:80."
        );
        assert_eq!(
            sentence(&entries).unwrap(),
            "A deadline of 1 ms (the period) would have been missed in 3 of 5 conditions: by 30 of 100 iterations with batch, the most."
        );
    }

    #[test]
    fn a_sleep_has_no_deadline_of_its_own() {
        let mut analysis = analysis(vec![condition("sleep 1ms", "other", None)]);
        add(&mut analysis, 0, 100, 60_000);
        assert_eq!(sentence(&Entry::all(&[NamedRecording::new("run.jsonl", &analysis)])), None);
    }
}
