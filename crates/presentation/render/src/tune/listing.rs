//! What would be tried: every setting with its state, what would be written where, and the time.

use howlate_model::{Condition, CpuSet, SettingScope, SettingWrite, SettingWriteKind, Span};

use super::json::{FORMAT, Listing, Setting, Stage};
use super::setting::{Fate, Listed};
use crate::condition::condition;
use crate::numbers::{length, rough};
use crate::prose::{text_width, wrapped};
use crate::style::{DIM, GOOD, HEADING, paint};

/// Everything that would be tried on `baseline` within `budget`, and the rest with its reason.
pub fn tune_listing(
    baseline: &Condition,
    listed: &[Listed],
    (budget, needs): (Span, Option<Span>),
    width: usize,
) -> String {
    let tried = listed.iter().filter(|one| one.fate == Fate::Tried).count();
    let heading = format!("{} · {}", paint(HEADING, "howlate tune --dry-run"), condition(baseline));
    let settings = if tried == 1 { "setting" } else { "settings" };
    let extent = match (tried, needs) {
        (0, _) => "No setting would be tried; nothing was changed.".to_owned(),
        (_, Some(needed)) => format!(
            "{} is too short to try {tried} {settings}: write `--budget {needed}`; nothing was changed.",
            rough(budget)
        ),
        _ => format!("{tried} {settings} would be tried, in about {}; nothing was changed.", rough(budget)),
    };
    let mut text = format!("{}\n{}\n", wrapped(&heading, width, 0), wrapped(&extent, width, 0));
    for scope in SettingScope::ALL {
        text.push_str(&format!("\n{}\n", paint(HEADING, title(scope))));
        listed.iter().filter(|one| one.scope == scope).for_each(|one| text.push_str(&row(one, width)));
    }
    text
}

/// What stands above the settings that hold for this.
const fn title(scope: SettingScope) -> &'static str {
    match scope {
        SettingScope::Thread => "Of the thread",
        SettingScope::Machine => "Of the machine, while it runs",
        SettingScope::Boot => "Of the machine, at boot",
    }
}

fn row(one: &Listed, width: usize) -> String {
    let state = match one.fate.reason() {
        None => paint(GOOD, "would be tried"),
        Some(reason) => reason.to_owned(),
    };
    let change = match (one.from.is_empty(), one.from == one.to) {
        (true, _) => String::new(),
        (false, true) => format!("{}; ", readable(&one.from)),
        (false, false) => format!("{} → {}; ", readable(&one.from), readable(&one.to)),
    };
    let writes = if one.fate == Fate::NotAsked { &[] } else { one.writes.as_slice() };
    named(one.knob, &format!("{change}{state}"), writes, width)
}

/// A length of time as people read it: `50 µs`; anything else as it is.
fn readable(value: &str) -> String {
    let span = value.parse::<Span>().ok().filter(|_| value.ends_with('s'));
    span.map_or_else(|| value.to_owned(), length)
}

/// Columns that a setting's name takes, where there is room for what follows beside it; and where it stands above.
const NAME: usize = 26;
const NARROW: usize = 4;

/// A setting's name, what is said of it, and what would be written.
fn named(knob: &str, text: &str, writes: &[SettingWrite], width: usize) -> String {
    let is_narrow = width < NAME + 50;
    let indent = if is_narrow { NARROW } else { NAME };
    let below = |text: &str| wrapped(text, width, indent);
    let gap = if is_narrow { format!("\n{:indent$}", "") } else { " ".to_owned() };
    let name = if is_narrow { knob.to_owned() } else { format!("{knob:<23}") };
    let mut shown = format!("  {name}{gap}{}\n", below(text));
    for line in joined(writes) {
        // A path stays whole, and begins further left where it would not fit.
        let is_long = line.split(' ').any(|word| text_width(word) > width.saturating_sub(indent));
        let indent = if is_long { NARROW } else { indent };
        let lines = wrapped(&line, width, indent);
        lines
            .lines()
            .for_each(|line| shown.push_str(&format!("{:indent$}{}\n", "", paint(DIM, line.trim_start()))));
    }
    shown
}

/// What would be written, a line each; files that are told apart by a number, and written alike, share one.
fn joined(writes: &[SettingWrite]) -> Vec<String> {
    let mut lines: Vec<Alike<'_>> = Vec::new();
    for write in writes {
        let path = Numbered::new(&write.path);
        let said = write_line(write);
        match lines.iter_mut().find(|line| line.said == said && line.path.is_beside(&path)) {
            Some(line) => line.numbers.extend(path.number),
            None => lines.push(Alike { path, said, numbers: path.number.into_iter().collect() }),
        }
    }
    lines.iter().map(Alike::text).collect()
}

/// Files that are written alike.
struct Alike<'a> {
    path: Numbered<'a>,
    said: String,
    numbers: Vec<u32>,
}

impl Alike<'_> {
    fn text(&self) -> String {
        let Numbered { before, after, .. } = self.path;
        let numbers: CpuSet = self.numbers.iter().copied().collect();
        let numbers = if self.numbers.is_empty() { String::new() } else { numbers.to_string() };
        format!("{before}{numbers}{after}: {}", self.said)
    }
}

/// A path by the first number in it.
#[derive(Clone, Copy)]
struct Numbered<'a> {
    before: &'a str,
    number: Option<u32>,
    after: &'a str,
}

impl<'a> Numbered<'a> {
    fn new(path: &'a str) -> Self {
        let whole = Self { before: path, number: None, after: "" };
        let Some(begin) = path.find(|letter: char| letter.is_ascii_digit()) else { return whole };
        let (before, rest) = path.split_at(begin);
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        digits.parse().map_or(whole, |number| Self { before, number: Some(number), after })
    }

    /// Whether nothing but the number tells them apart.
    fn is_beside(&self, other: &Self) -> bool {
        self.number.is_some() && self.before == other.before && self.after == other.after
    }
}

/// What becomes of what a file holds.
fn write_line(write: &SettingWrite) -> String {
    match write.kind() {
        SettingWriteKind::Request => format!("{}, held open", write.value),
        SettingWriteKind::Setting if write.watched => format!("{}, put back if it changes", write.now),
        SettingWriteKind::Setting if write.now == write.value => format!("{}, unchanged", write.now),
        SettingWriteKind::Setting => format!("{} → {}", write.now, write.value),
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
    let line = format!("{} → {}; costs: {}", readable(&one.from), readable(&one.to), one.cost);
    named(one.knob, &line, &one.writes, width)
}

/// The same for machines.
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
        knobs: listed.iter().map(|one| Setting::new(one, Stage::Before)).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use howlate_model::{Wait, Work};

    use super::*;

    fn write(path: &str, now: &str) -> SettingWrite {
        SettingWrite { path: path.into(), now: now.into(), value: "0".into(), watched: false }
    }

    #[test]
    fn files_that_a_number_tells_apart_share_a_line() {
        let irq = |number: u32, now: &str| write(&format!("/proc/irq/{number}/smp_affinity_list"), now);
        let writes = [irq(24, "0-1"), irq(25, "0-1"), irq(27, "0-1"), irq(26, "1"), write("/sys/a", "0-1")];
        assert_eq!(
            joined(&writes),
            [
                "/proc/irq/24-25,27/smp_affinity_list: 0-1 → 0",
                "/proc/irq/26/smp_affinity_list: 1 → 0",
                "/sys/a: 0-1 → 0"
            ]
        );
    }

    #[test]
    fn lengths_are_as_people_read_them() {
        assert_eq!(
            ["50us", "1ns", "0", "0-1", "madvise"].map(readable),
            ["50 µs", "1 ns", "0", "0-1", "madvise"]
        );
    }

    #[test]
    fn a_narrow_terminal_has_names_above_what_is_said_of_them() {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let baseline = Condition { cpu: Some(0), ..Condition::new(work, "") };
        let writes = (0..2).map(|number| SettingWrite {
            path: format!("/proc/irq/{number}/smp_affinity_list"),
            now: "0-1".into(),
            value: "0".into(),
            watched: false,
        });
        let one = Listed {
            knob: "irq_affinity",
            scope: SettingScope::Machine,
            what: "",
            from: "0-1".into(),
            to: "0".into(),
            fate: Fate::Tried,
            writes: writes.collect(),
            cost: "the remaining CPUs handle them all",
            permanent: Vec::new(),
        };
        let unasked = [Listed { fate: Fate::NotAsked, ..one.clone() }];
        let text = tune_listing(&baseline, &unasked, (Span::from_secs(600), None), 80);
        assert!(text.contains("\nNo setting would be tried; nothing was changed.\n"), "{text}");
        let listed = [one];
        for width in [60, 80, 120] {
            let text = tune_listing(&baseline, &listed, (Span::from_secs(60), None), width);
            let plain = anstream::adapter::strip_str(&text).to_string();
            assert!(plain.lines().all(|line| line.chars().count() <= width), "{width}: {plain}");
            assert_eq!(plain.contains("\n  irq_affinity\n    0-1"), width == 60, "{plain}");
        }
    }
}
