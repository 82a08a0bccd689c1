//! What would be tried: every setting with its state, what would be written where, and the time.

use howlate_model::{Condition, Span, Write, WriteKind};

use super::json::{FORMAT, Listing, Setting, Stage};
use super::setting::{Fate, Listed};
use crate::condition::condition;
use crate::numbers::rough;
use crate::prose::wrapped;
use crate::style::{DIM, GOOD, HEADING, paint};

/// Everything that would be tried on `baseline` within `budget`, and the rest with its reason.
pub fn tune_listing(baseline: &Condition, listed: &[Listed], budget: Span, width: usize) -> String {
    let tried = listed.iter().filter(|one| one.fate == Fate::Tried).count();
    let heading = format!("{} · {}", paint(HEADING, "howlate tune --dry-run"), condition(baseline));
    let settings = if tried == 1 { "setting" } else { "settings" };
    let extent =
        format!("{tried} {settings} would be tried, in about {}; nothing was changed.", rough(budget));
    let mut text = format!("{}\n{}\n", wrapped(&heading, width, 0), wrapped(&extent, width, 0));
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
    let writes = if one.fate == Fate::NotAsked { &[] } else { one.writes.as_slice() };
    named(one.knob, &format!("{change}{state}"), writes, width)
}

/// Columns that a setting's name takes, where there is room for what follows beside it; and where it stands above.
const NAME: usize = 26;
const NARROW: usize = 4;

/// A setting's name, what is said of it, and what would be written.
fn named(knob: &str, text: &str, writes: &[Write], width: usize) -> String {
    let is_narrow = width < NAME + 50;
    let indent = if is_narrow { NARROW } else { NAME };
    let below = |text: &str| wrapped(text, width, indent);
    let gap = if is_narrow { format!("\n{:indent$}", "") } else { " ".to_owned() };
    let name = if is_narrow { knob.to_owned() } else { format!("{knob:<23}") };
    let mut shown = format!("  {name}{gap}{}\n", below(text));
    for write in writes {
        let lines = below(&written(write));
        lines
            .lines()
            .for_each(|line| shown.push_str(&format!("{:indent$}{}\n", "", paint(DIM, line.trim_start()))));
    }
    shown
}

fn written(write: &Write) -> String {
    match write.kind() {
        WriteKind::Request => format!("{}: {}, held open", write.path, write.value),
        WriteKind::Setting if write.watched => {
            format!("{}: {}, put back if it changes", write.path, write.now)
        }
        WriteKind::Setting if write.now == write.value => format!("{}: {}, as it is", write.path, write.now),
        WriteKind::Setting => format!("{}: {} → {}", write.path, write.now, write.value),
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
    named(one.knob, &line, &one.writes, width)
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

#[cfg(test)]
mod tests {
    use howlate_model::{Wait, Work};

    use super::*;

    #[test]
    fn a_narrow_terminal_has_names_above_what_is_said_of_them() {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let baseline = Condition { cpu: Some(0), ..Condition::of(work, "") };
        let writes = (0..2).map(|number| Write {
            path: format!("/proc/irq/{number}/smp_affinity_list"),
            now: "0-1".into(),
            value: "0".into(),
            watched: false,
        });
        let one = Listed {
            knob: "irq_affinity",
            scope: "machine",
            what: "",
            from: "0-1".into(),
            to: "0".into(),
            fate: Fate::Tried,
            writes: writes.collect(),
            cost: "the remaining CPUs handle them all",
            permanent: Vec::new(),
        };
        let listed = [one];
        for width in [60, 80, 120] {
            let text = tune_listing(&baseline, &listed, Span::from_secs(60), width);
            let plain = anstream::adapter::strip_str(&text).to_string();
            assert!(plain.lines().all(|line| line.chars().count() <= width), "{width}: {plain}");
            assert_eq!(plain.contains("\n  irq_affinity\n    0-1"), width == 60, "{plain}");
        }
    }
}
