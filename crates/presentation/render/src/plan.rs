//! What a plan would measure, before it does.

use howlate_model::{Caveat, Condition, Span};

use crate::caveats::caveat;
use crate::condition::condition;
use crate::numbers::rough;
use crate::prose::wrapped;
use crate::style::{COMMAND, WARN, paint};
use crate::table::Columns;

/// `54 conditions in 270 turns, about 12.0 min`.
pub fn extent(conditions: usize, turns: usize, estimate: Span) -> String {
    let (condition, turn) = (some(conditions, "condition"), some(turns, "turn"));
    format!("{condition} in {turn}, about {}", rough(estimate))
}

/// What it takes when all of it is measured in each of `boots` guests, one after the other.
pub fn boots(boots: usize, estimate: Span, width: usize) -> String {
    let (guests, all) = (some(boots, "guest"), estimate.times(boots as u64));
    let text = format!(
        "All of that in {guests}, booted one after the other: about {} of measuring, and {} to boot.",
        rough(all),
        if boots == 1 { "the time that it takes".to_owned() } else { format!("the time that {boots} take") },
    );
    format!("{}\n", wrapped(&text, width, 0))
}

/// `1 turn`, `2 turns`.
fn some(count: usize, of: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {of}{plural}")
}

/// Plans by name, with what each asks.
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

/// Each condition with the number of its turns and the time they take together; what is left
/// out and why; the extent of the whole, whose turns, of several threads each where these run side by side, take
/// `estimate`.
pub fn plan(
    rows: &[(&Condition, usize, Span)],
    turns: usize,
    left_out: &[Caveat],
    estimate: Span,
    width: usize,
) -> String {
    let mut table = Columns::new(&["condition", "turns", "time"].map(str::to_owned), 1);
    for (one, turns, time) in rows {
        table.row(vec![condition(one), turns.to_string(), rough(*time)]);
    }
    let without = |one: &Caveat| format!("{} {}\n", paint(WARN, "!"), wrapped(&caveat(one), width, 2));
    let without: String = left_out.iter().map(without).collect();
    format!("{}\n{without}{}\n", table.text(width), extent(rows.len(), turns, estimate))
}
