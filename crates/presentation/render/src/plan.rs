//! Announcement of a plan, before it is measured.

use howlate_model::{Caveat, Condition, Span};

use crate::caveats::caveat;
use crate::condition::condition;
use crate::numbers::rough;
use crate::prose::wrapped;
use crate::style::{COMMAND, WARN, paint};
use crate::table::TextTable;

/// `54 conditions in 270 turns, about 12.0 min`.
pub fn extent(conditions: usize, turns: usize, estimate: Span) -> String {
    let (condition, turn) = (number_of(conditions, "condition"), number_of(turns, "turn"));
    format!("{condition} in {turn}, about {}", rough(estimate))
}

/// The duration when everything is measured in `boots` guests, one after the other.
pub fn boots(boots: usize, estimate: Span, width: usize) -> String {
    let (guests, all) = (number_of(boots, "guest"), estimate.times(boots as u64));
    let text = format!(
        "All of that in {guests}, booted one after the other: about {} of measuring, and {} to boot.",
        rough(all),
        if boots == 1 { "the time that it takes".to_owned() } else { format!("the time that {boots} take") },
    );
    format!("{}\n", wrapped(&text, width, 0))
}

/// `1 turn`, `2 turns`.
fn number_of(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Plans by name, with the question that each answers.
pub fn plan_list(plans: &[(&str, String)], width: usize) -> String {
    let longest = plans.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, about): &(&str, String)| {
        let name = format!("{name:<longest$}");
        format!("  {}  {}\n", paint(COMMAND, name), wrapped(about, width, longest + 4))
    };
    let list: String = plans.iter().map(line).collect();
    format!(
        "{list}\n{}\n",
        wrapped("`howlate run NAME --dry-run` says what one would measure, and how long it takes.", width, 0)
    )
}

/// Conditions with the number and duration of their turns, left-out conditions with reasons, and the total. Turns of several threads side
/// by side take `estimate` in all.
pub fn plan(
    rows: &[(&Condition, usize, Span)],
    turns: usize,
    left_out: &[Caveat],
    estimate: Span,
    width: usize,
) -> String {
    let mut table = TextTable::new(&["condition", "turns", "time"].map(str::to_owned), 1);
    for (row_condition, turns, time) in rows {
        table.row(vec![condition(row_condition), turns.to_string(), rough(*time)]);
    }
    let line = |reason: &Caveat| format!("{} {}\n", paint(WARN, "!"), wrapped(&caveat(reason), width, 2));
    let left_out: String = left_out.iter().map(line).collect();
    format!("{}\n{left_out}{}\n", table.text(width), extent(rows.len(), turns, estimate))
}
