//! What would be tried: every setting with its state, what would be written where, and the time.

use howlate_model::{Condition, Span};
use serde::Serialize;

use super::{Fate, PermanentWay};
use crate::condition::condition;
use crate::numbers::rough;
use crate::prose::wrapped;
use crate::style::{DIM, GOOD, HEADING, paint};

/// A setting as it is here.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its name.
    pub knob: &'static str,
    /// `thread`, `machine` or `boot`.
    pub scope: &'static str,
    /// What it does.
    pub what: &'static str,
    /// The value now.
    pub from: String,
    /// The value that would be tried.
    pub to: String,
    /// Whether it would be tried: [`Fate::Tried`], or why not.
    pub fate: Fate,
    /// What would be written: each file, what it holds, and what it would hold.
    pub writes: Vec<(String, String, String)>,
    /// What it costs others.
    pub cost: &'static str,
    /// How it is had for good.
    pub permanent: Vec<PermanentWay>,
}

#[derive(Serialize)]
struct Row<'a> {
    knob: &'a str,
    scope: &'a str,
    what: &'a str,
    from: &'a str,
    to: &'a str,
    /// `ready` where it would be tried.
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    writes: Vec<Written<'a>>,
    cost: &'a str,
    permanent: &'a [PermanentWay],
}

#[derive(Serialize)]
struct Written<'a> {
    path: &'a str,
    now: &'a str,
    value: &'a str,
}

/// Everything that would be tried on `baseline` within `budget`, and the rest with its reason.
pub fn tune_listing(baseline: &Condition, listed: &[Listed], budget: Span, width: usize) -> String {
    let tried = listed.iter().filter(|one| one.fate == Fate::Tried).count();
    let mut text = format!(
        "{} · {}\n{tried} settings would be tried, in at most {}; nothing was changed.\n",
        paint(HEADING, "howlate tune --dry-run"),
        condition(baseline),
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
    for (path, now, value) in writes {
        text.push_str(&format!("{:26}{}\n", "", paint(DIM, format!("{path}: {now} → {value}"))));
    }
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
    let row = |one: &'_ Listed| -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(Row {
            knob: one.knob,
            scope: one.scope,
            what: one.what,
            from: &one.from,
            to: &one.to,
            status: if one.fate == Fate::Tried { "ready" } else { one.fate.name() },
            reason: one.fate.reason(),
            writes: one.writes.iter().map(|(path, now, value)| Written { path, now, value }).collect(),
            cost: one.cost,
            permanent: &one.permanent,
        })
    };
    let knobs = listed.iter().map(row).collect::<serde_json::Result<Vec<_>>>()?;
    let document = serde_json::json!({
        "format": 1,
        "howlate": env!("CARGO_PKG_VERSION"),
        "command": "tune",
        "dry_run": true,
        "baseline": baseline,
        "budget_ns": budget,
        "knobs": knobs,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
