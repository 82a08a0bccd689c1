//! What came too late: by the deadline that was given, or by the period.

use howlate_model::{Span, WorkKind};
use howlate_render::numbers::{count, length};
use howlate_render::property::common_kind;

use crate::condition_names::{Part, spoken, varying};
use crate::entry::Entry;

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
        (_, few) if few <= FEW => {
            format!("{deadline} would have been missed by {}.", each(&missed, what, &parts))
        }
        (_, many) => format!(
            "{deadline} would have been missed in {} of {many} conditions: by {} of {} {what} with {}, the most.",
            many - clean,
            count(worst.1.late),
            count(worst.1.of),
            spoken(&worst.0, &parts)
        ),
    })
}

/// So many conditions are told one by one.
const FEW: usize = 4;

/// `3 of 10 000 iterations with other, and by none of 10 000 with fifo:80`: the worst first, and what missed none together.
fn each(missed: &[(Entry<'_>, Missed)], what: &str, parts: &[Part]) -> String {
    let (mut late, clean): (Vec<&(Entry<'_>, Missed)>, Vec<_>) =
        missed.iter().partition(|(_, one)| one.late > 0);
    late.sort_by(|(_, one), (_, other)| other.share().total_cmp(&one.share()));
    let one = |(number, (entry, one)): (usize, &(Entry<'_>, Missed))| {
        let what = if number == 0 { format!(" {what}") } else { String::new() };
        format!("{} of {}{what} with {}", count(one.late), count(one.of), spoken(entry, parts))
    };
    let mut told: Vec<String> = late.iter().copied().enumerate().map(one).collect();
    if !clean.is_empty() {
        let of = clean.iter().map(|(_, one)| one.of).sum();
        let names: Vec<String> = clean.iter().map(|(entry, _)| spoken(entry, parts)).collect();
        told.push(format!("none of {} with {}", count(of), names.join(" or ")));
    }
    match told.pop() {
        Some(last) if told.len() == 1 => format!("{}, and by {last}", told.concat()),
        Some(last) if !told.is_empty() => format!("{}, and by {last}", told.join(", by ")),
        last => last.unwrap_or_default(),
    }
}

fn missed(entry: &Entry<'_>) -> Option<Missed> {
    let (late, of) = entry.outcome.later_than(entry.deadline()?);
    (of > 0).then_some(Missed { late, of })
}

impl Missed {
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
        Some(WorkKind::Cyclic) => "iterations",
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
        let mut recording = Recording::new("run.jsonl", &analysis);
        assert_eq!(
            sentence(&Entry::all(&[recording])).unwrap(),
            "A deadline of 1 ms (the period) would have been missed by 3 of 10 000 iterations with ordinary scheduling (other), \
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
        let entries = Entry::all(&[Recording::new("run.jsonl", &analysis)]);
        assert_eq!(
            sentence(&entries[..4]).unwrap(),
            "A deadline of 1 ms (the period) would have been missed by 30 of 100 iterations with batch, by 3 of 100 with \
             ordinary scheduling (other), and by none of 200 with nice:5 or fifo:80."
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
        assert_eq!(sentence(&Entry::all(&[Recording::new("run.jsonl", &analysis)])), None);
    }
}
