//! What would be tried: every setting with its state, what would be written where, and the time.

use howlate_model::{Condition, Span, Write};

use super::json::{FORMAT, Listing, Setting, Stage};
use super::setting::{Fate, Listed};
use crate::condition::condition;
use crate::numbers::rough;
use crate::prose::wrapped;
use crate::style::{DIM, GOOD, HEADING, paint};

/// Everything that would be tried on `baseline` within `budget`, and the rest with its reason.
pub fn tune_listing(baseline: &Condition, listed: &[Listed], budget: Span, width: usize) -> String {
    let tried = listed.iter().filter(|one| one.fate == Fate::Tried).count();
    let mut text = format!(
        "{} · {}\n{tried} {} would be tried, in about {}; nothing was changed.\n",
        paint(HEADING, "howlate tune --dry-run"),
        condition(baseline),
        if tried == 1 { "setting" } else { "settings" },
        rough(budget)
    );
    for (scope, title) in [
        ("thread", "Of the thread"),
        ("machine", "Of the machine, while it runs"),
        ("boot", "Of the machine, from its start on"),
    ] {
        text.push_str(&format!("\n{}\n", paint(HEADING, title)));
        listed.iter().filter(|one| one.scope == scope).for_each(|one| text.push_str(&row(one, width)));
    }
    text
}

fn row(one: &Listed, width: usize) -> String {
    let state = match one.fate.reason() {
        None => paint(GOOD, "would be tried"),
        Some(reason) => reason.to_owned(),
    };
    let change = match (one.from.is_empty(), one.from == one.to) {
        (true, _) => String::new(),
        (false, true) => format!("{}; ", one.from),
        (false, false) => format!("{} → {}; ", one.from, one.to),
    };
    let mut text = format!("  {:<23} {}\n", one.knob, wrapped(&format!("{change}{state}"), width, 26));
    let writes = if one.fate == Fate::NotAsked { &[] } else { one.writes.as_slice() };
    for write in writes {
        text.push_str(&format!("{:26}{}\n", "", paint(DIM, written(write))));
    }
    text
}

fn written(write: &Write) -> String {
    match write.is_request() {
        true => format!("{}: {}, held open", write.path, write.value),
        false if write.is_watched() => format!("{}: {}, put back if it changes", write.path, write.now),
        false => format!("{}: {} → {}", write.path, write.now, write.value),
    }
}

/// What of the machine will be changed, before it is; `None` where nothing of it is to be tried.
pub fn tune_announcement(listed: &[Listed], width: usize) -> Option<String> {
    let changes = |one: &&Listed| one.fate == Fate::Tried && !one.writes.is_empty();
    let rows: String = listed.iter().filter(changes).map(|one| announced(one, width)).collect();
    let about = "Settings of the machine are changed, each for its own turns only, and put back after each turn; \
                 `howlate tune --restore` does so if this is killed together with its guardian:";
    (!rows.is_empty()).then(|| format!("{}\n{rows}", wrapped(about, width, 0)))
}

fn announced(one: &Listed, width: usize) -> String {
    let line = format!("{} → {}; costs: {}", one.from, one.to, one.cost);
    let mut text = format!("  {:<23} {}\n", one.knob, wrapped(&line, width, 26));
    one.writes.iter().for_each(|write| text.push_str(&format!("{:26}{}\n", "", paint(DIM, written(write)))));
    text
}

/// The same for machines.
///
/// # Errors
///
/// None in practice.
pub fn tune_listing_json(
    baseline: &Condition,
    listed: &[Listed],
    budget: Span,
) -> serde_json::Result<String> {
    let document = Listing {
        format: FORMAT,
        howlate: env!("CARGO_PKG_VERSION"),
        command: "tune",
        dry_run: true,
        baseline,
        budget_ns: budget,
        knobs: listed.iter().map(|one| Setting::of(one, Stage::Before)).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
