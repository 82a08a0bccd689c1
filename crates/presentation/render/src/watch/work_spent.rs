//! What the longest iterations of a marked loop spent their time with.

use howlate_analyse::cause::WhyCause;
use howlate_analyse::watch::TurnsSpent;
use howlate_model::{CauseKind, IterationsBlock, Latency};

use crate::cause_words::{cause_in_words, percent};
use crate::numbers::count;

/// Most causes that are listed, and the least share of one.
const MOST_CAUSES: usize = 4;
const LEAST_SHARE: f64 = 0.01;

/// A heading, and a line per cause with its share, the most first. Empty where the work of no iteration is known part by part.
pub(super) fn of_longest(turns: &IterationsBlock) -> String {
    let Some(spent) = TurnsSpent::of(turns) else { return String::new() };
    let causes = spent.causes.iter().filter(|cause| cause.share >= LEAST_SHARE).take(MOST_CAUSES);
    let lines: String =
        causes.map(|cause| format!("    {:>6}  {}\n", percent(cause.share), in_words(cause))).collect();
    let all = spent.decomposed.saturating_add(spent.not_decomposed);
    let above = Latency::from_span(spent.longest.above);
    let which = match spent.longest.count {
        1 => "The longest iteration spent its time:".to_owned(),
        longest if longest == all => format!("Its {} iterations spent their time:", count(all)),
        longest => {
            format!("The longest {} of {}, {above} or more, spent their time:", count(longest), count(all))
        }
    };
    format!("  {which}\n{lines}")
}

fn in_words(cause: &WhyCause) -> String {
    match cause.kind {
        CauseKind::LongWork if cause.name.is_none() => "at work".to_owned(),
        CauseKind::Unexplained => "not seen".to_owned(),
        _ => cause_in_words(&WhyCause { pid: None, ..cause.clone() }),
    }
}
