//! `howlate tune --dry-run`: every setting with its state, what would be written where, and the time.

use howlate_model::{Condition, CpuSet, SettingScope, SettingWrite, SettingWriteKind, Span};

use super::json::{FORMAT, ListingDocument, ListingStage, SettingEntry};
use super::setting::{SettingTrial, TrialStatus};
use crate::condition::condition;
use crate::numbers::{length, rough};
use crate::prose::{text_width, wrapped};
use crate::style::{DIM, GOOD, HEADING, paint};

/// The settings that would be tried on `baseline` within `budget`, and the others with the reason.
pub fn tune_listing(
    baseline: &Condition,
    trials: &[SettingTrial],
    (budget, needs): (Span, Option<Span>),
    width: usize,
) -> String {
    let tried = trials.iter().filter(|setting| setting.status == TrialStatus::Tried).count();
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
        trials
            .iter()
            .filter(|setting| setting.scope == scope)
            .for_each(|setting| text.push_str(&row(setting, width)));
    }
    text
}

/// Heading of the settings of this scope.
const fn title(scope: SettingScope) -> &'static str {
    match scope {
        SettingScope::Thread => "Of the thread",
        SettingScope::Machine => "Of the machine, while it runs",
        SettingScope::Boot => "Of the machine, at boot",
    }
}

fn row(setting: &SettingTrial, width: usize) -> String {
    let state = match setting.status.reason() {
        None => paint(GOOD, "would be tried"),
        Some(reason) => reason.to_owned(),
    };
    let change = match (setting.from.is_empty(), setting.from == setting.to) {
        (true, _) => String::new(),
        (false, true) => format!("{}; ", readable(&setting.from)),
        (false, false) => format!("{} → {}; ", readable(&setting.from), readable(&setting.to)),
    };
    let writes = if setting.status == TrialStatus::NotRequested { &[] } else { setting.writes.as_slice() };
    setting_text(setting.knob, &format!("{change}{state}"), writes, width)
}

/// Durations are formatted (`50 µs`), other values stay as they are.
fn readable(value: &str) -> String {
    let span = value.parse::<Span>().ok().filter(|_| value.ends_with('s'));
    span.map_or_else(|| value.to_owned(), length)
}

/// Width of the name column, and indentation below the name in a narrow terminal.
const NAME: usize = 26;
const NARROW: usize = 4;

/// The setting's name, a text, and the writes.
fn setting_text(knob: &str, text: &str, writes: &[SettingWrite], width: usize) -> String {
    let is_narrow = width < NAME + 50;
    let indent = if is_narrow { NARROW } else { NAME };
    let below = |text: &str| wrapped(text, width, indent);
    let gap = if is_narrow { format!("\n{:indent$}", "") } else { " ".to_owned() };
    let name = if is_narrow { knob.to_owned() } else { format!("{knob:<23}") };
    let mut shown = format!("  {name}{gap}{}\n", below(text));
    for line in joined(writes) {
        // A path is never broken; if too long it starts further left.
        let is_long = line.split(' ').any(|word| text_width(word) > width.saturating_sub(indent));
        let indent = if is_long { NARROW } else { indent };
        let lines = wrapped(&line, width, indent);
        lines
            .lines()
            .for_each(|line| shown.push_str(&format!("{:indent$}{}\n", "", paint(DIM, line.trim_start()))));
    }
    shown
}

/// The writes, one line each; numbered files with the same change share a line.
fn joined(writes: &[SettingWrite]) -> Vec<String> {
    let mut lines: Vec<WrittenAlike<'_>> = Vec::new();
    for write in writes {
        let path = NumberedPath::new(&write.path);
        let change = write_line(write);
        match lines.iter_mut().find(|line| line.change == change && line.path.is_beside(&path)) {
            Some(line) => line.numbers.extend(path.number),
            None => lines.push(WrittenAlike { path, change, numbers: path.number.into_iter().collect() }),
        }
    }
    lines.iter().map(WrittenAlike::text).collect()
}

/// Files with the same change.
struct WrittenAlike<'a> {
    path: NumberedPath<'a>,
    change: String,
    numbers: Vec<u32>,
}

impl WrittenAlike<'_> {
    fn text(&self) -> String {
        let NumberedPath { before, after, .. } = self.path;
        let numbers: CpuSet = self.numbers.iter().copied().collect();
        let numbers = if self.numbers.is_empty() { String::new() } else { numbers.to_string() };
        format!("{before}{numbers}{after}: {}", self.change)
    }
}

/// A path, split at its first number.
#[derive(Clone, Copy)]
struct NumberedPath<'a> {
    before: &'a str,
    number: Option<u32>,
    after: &'a str,
}

impl<'a> NumberedPath<'a> {
    fn new(path: &'a str) -> Self {
        let whole = Self { before: path, number: None, after: "" };
        let Some(begin) = path.find(|letter: char| letter.is_ascii_digit()) else { return whole };
        let (before, rest) = path.split_at(begin);
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        digits.parse().map_or(whole, |number| Self { before, number: Some(number), after })
    }

    /// Whether the paths differ only in the number.
    fn is_beside(&self, other: &Self) -> bool {
        self.number.is_some() && self.before == other.before && self.after == other.after
    }
}

/// The change of a file's content.
fn write_line(write: &SettingWrite) -> String {
    match write.kind() {
        SettingWriteKind::Request => format!("{}, held open", write.value),
        SettingWriteKind::Setting if write.watched => format!("{}, put back if it changes", write.now),
        SettingWriteKind::Setting if write.now == write.value => format!("{}, unchanged", write.now),
        SettingWriteKind::Setting => format!("{} → {}", write.now, write.value),
    }
}

/// Announces changes of the machine; `None` without any.
pub fn tune_announcement(trials: &[SettingTrial], width: usize) -> Option<String> {
    let changes =
        |setting: &&SettingTrial| setting.status == TrialStatus::Tried && !setting.writes.is_empty();
    let rows: String = trials.iter().filter(changes).map(|setting| announcement(setting, width)).collect();
    let about = "Settings of the machine are changed, each for its own turns only, and put back after each turn; \
                 `howlate tune --restore` does so if this is killed together with its guardian:";
    (!rows.is_empty()).then(|| format!("{}\n{rows}", wrapped(about, width, 0)))
}

fn announcement(trial: &SettingTrial, width: usize) -> String {
    let line = format!("{} → {}; costs: {}", readable(&trial.from), readable(&trial.to), trial.cost);
    setting_text(trial.knob, &line, &trial.writes, width)
}

/// The JSON output of `howlate tune --dry-run`.
pub fn tune_listing_json(
    baseline: &Condition,
    trials: &[SettingTrial],
    budget: Span,
) -> serde_json::Result<String> {
    let document = ListingDocument {
        format: FORMAT,
        howlate: env!("CARGO_PKG_VERSION"),
        command: "tune",
        dry_run: true,
        baseline,
        budget_ns: budget,
        knobs: trials.iter().map(|setting| SettingEntry::new(setting, ListingStage::Before)).collect(),
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
        let setting = SettingTrial {
            knob: "irq_affinity",
            scope: SettingScope::Machine,
            what: "",
            from: "0-1".into(),
            to: "0".into(),
            status: TrialStatus::Tried,
            writes: writes.collect(),
            cost: "the remaining CPUs handle them all",
            permanent: Vec::new(),
        };
        let unrequested = [SettingTrial { status: TrialStatus::NotRequested, ..setting.clone() }];
        let text = tune_listing(&baseline, &unrequested, (Span::from_secs(600), None), 80);
        assert!(text.contains("\nNo setting would be tried; nothing was changed.\n"), "{text}");
        let trials = [setting];
        for width in [60, 80, 120] {
            let text = tune_listing(&baseline, &trials, (Span::from_secs(60), None), width);
            let plain = anstream::adapter::strip_str(&text).to_string();
            assert!(plain.lines().all(|line| line.chars().count() <= width), "{width}: {plain}");
            assert_eq!(plain.contains("\n  irq_affinity\n    0-1"), width == 60, "{plain}");
        }
    }
}
