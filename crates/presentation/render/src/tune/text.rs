//! What settings came to, for a terminal.

use howlate_analyse::compare::{Arm, Statistic, Tested, Verdict};

use howlate_model::{Caveat, SettingScope};

use super::forest::forest;
use super::{Fate, TuneReport, TuneRow, Unrestored, words};
use crate::caveats::caveat;
use crate::compare::short_pairs;
use crate::condition::condition;
use crate::detail::Detail;
use crate::machine::machine;
use crate::numbers::{micros_of, signed_micros};
use crate::prose::{lines, text_width, wrapped};
use crate::style::{BOLD, DIM, GOOD, HEADING, WARN, paint};
use crate::table::Columns;

/// What makes it doubtful, the numbers, and last the answer with what to do for good. In full, every interval and every way to have
/// a setting for good.
pub fn tune_text(report: &TuneReport<'_>, detail: Detail, width: usize) -> String {
    let is_full = detail == Detail::Full;
    let parts = [
        top(report, width),
        notes(report, width),
        program(report, width),
        self_test(report, detail, width),
        if is_full { every_number(report, width) } else { table(report, width) },
        if is_full { forest(report, width) } else { String::new() },
        confirmation(report, width),
        format!("{}\n", paint(BOLD, wrapped(&words::answer(report), width, 0))),
        for_good(report, detail, width),
        end(report, detail, width),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn top(report: &TuneReport<'_>, width: usize) -> String {
    let title = paint(HEADING, "howlate tune");
    format!(
        "{}\n{}\n",
        wrapped(&format!("{title} · {}", condition(report.baseline)), width, 0),
        paint(DIM, wrapped(&machine(&report.analysis.header.system), width, 0))
    )
}

/// What a turn of somebody's program is.
fn program(report: &TuneReport<'_>, width: usize) -> String {
    let said = report.program.as_ref().map(words::turns_of);
    said.map_or_else(String::new, |said| format!("{}\n", paint(DIM, wrapped(&said, width, 0))))
}

/// Where it found a difference it is a reason to doubt; that it found none, as it should, is told in full only.
fn self_test(report: &TuneReport<'_>, detail: Detail, width: usize) -> String {
    let is_told = |arm: &&Arm| detail == Detail::Full || arm.tested.iter().any(words::is_different);
    report.self_test.filter(is_told).map_or_else(String::new, |arm| {
        format!("{}\n", paint(DIM, wrapped(&words::self_test(arm), width, 0)))
    })
}

/// The numbers that the table has columns for.
const SHOWN: [Statistic; 3] = [Statistic::P50, Statistic::P99, Statistic::Max];

/// What the columns are called.
const fn heading(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::P50 => "median",
        Statistic::P99 => "p99",
        Statistic::P999 => "p99.9",
        Statistic::Max => "max of a turn",
    }
}

/// The number that matters with its interval, and by how much the others differ.
fn table(report: &TuneReport<'_>, width: usize) -> String {
    let others = || SHOWN.into_iter().filter(|statistic| *statistic != report.goal);
    let mut headings = vec!["setting", heading(report.goal), ""];
    headings.extend(others().map(heading));
    let cells = |row: &TuneRow| {
        let of = |statistic| found(row, statistic);
        let goal = of(report.goal);
        let mut cells = vec![row.setting.knob.to_owned()];
        cells.push(goal.map_or_else(|| "–".to_owned(), difference));
        cells.push(goal.map_or_else(|| "turns too short".to_owned(), verdict_in_brief));
        cells.extend(others().map(|statistic| of(statistic).map_or_else(|| "–".to_owned(), if_told_apart)));
        cells
    };
    let about = "µs, with the setting minus without it, and its interval. In brackets: no difference found.";
    laid_out(report, (&headings, about), cells, width)
}

/// Every number with its interval, and which difference would have been found.
fn every_number(report: &TuneReport<'_>, width: usize) -> String {
    let goal = format!("{} is", words::number(report.goal));
    let mut headings = vec!["setting"];
    headings.extend(SHOWN.map(heading));
    headings.extend(["turns", &goal, "detectable"]);
    let cells = |row: &TuneRow| {
        let mut cells = vec![row.setting.knob.to_owned()];
        cells.extend(SHOWN.map(|statistic| found(row, statistic).map_or_else(|| "–".to_owned(), difference)));
        cells.push(turns(row));
        cells.push(found(row, report.goal).map_or_else(|| "turns too short".to_owned(), verdict));
        let detectable = found(row, report.goal).and_then(|tested| tested.detectable_ns);
        cells.push(detectable.map_or_else(|| "–".to_owned(), micros_of));
        cells
    };
    laid_out(report, (&headings, "µs, with the setting minus without it, and its interval."), cells, width)
}

/// A row for each setting that was tried, below what holds for all.
fn laid_out(
    report: &TuneReport<'_>,
    (headings, about): (&[&str], &str),
    cells: impl Fn(&TuneRow) -> Vec<String>,
    width: usize,
) -> String {
    if report.tried().next().is_none() {
        return String::new();
    }
    let headings: Vec<String> = headings.iter().map(ToString::to_string).collect();
    let mut table = Columns::new(&headings, 1);
    report.tried().for_each(|row| table.row(cells(row)));
    let about = format!("{about} All verdicts together hold at {:.0} %.", 100.0 * report.confidence);
    format!("{}\n\n{}", paint(DIM, wrapped(&about, width, 0)), table.text(width))
}

fn found(row: &TuneRow, statistic: Statistic) -> Option<&Tested> {
    row.tested.iter().find(|tested| tested.statistic == statistic)
}

fn turns(row: &TuneRow) -> String {
    row.tested.first().map_or_else(String::new, |tested| tested.units.1.to_string())
}

/// By how much it differs; in brackets where nobody could tell.
fn if_told_apart(tested: &Tested) -> String {
    let text = signed_micros(tested.difference_ns);
    match tested.verdict {
        Verdict::Better => paint(GOOD, text),
        Verdict::Worse => paint(BOLD, text),
        _ => format!("({text})"),
    }
}

fn difference(tested: &Tested) -> String {
    let interval = tested.interval_ns.map_or_else(String::new, |(low, high)| {
        format!(" ({} … {})", signed_micros(low), signed_micros(high))
    });
    let text = format!("{}{interval}", signed_micros(tested.difference_ns));
    match tested.verdict {
        Verdict::Better => paint(GOOD, text),
        Verdict::Worse => paint(BOLD, text),
        _ => text,
    }
}

fn verdict_in_brief(tested: &Tested) -> String {
    match tested.verdict {
        Verdict::NotDistinguishable | Verdict::Equivalent => "no difference".to_owned(),
        _ => verdict(tested),
    }
}

fn verdict(tested: &Tested) -> String {
    let word = words::verdict(tested);
    match tested.verdict {
        Verdict::Better => paint(GOOD, word),
        Verdict::Worse => paint(BOLD, word),
        _ => word.to_owned(),
    }
}

/// The set on turns of its own.
fn confirmation(report: &TuneReport<'_>, width: usize) -> String {
    let Some(confirmed) = &report.confirmed else { return String::new() };
    let headings =
        [&format!("{} on fresh turns", confirmed.knobs.join("+")), "before", "after", "difference", ""];
    let mut table = Columns::new(&headings.map(ToString::to_string), 1);
    for one in &confirmed.numbers {
        let level = |level: &howlate_analyse::compare::StatisticLevel| micros_of(level.ns);
        table.row(vec![
            words::number(one.statistic).to_owned(),
            level(&one.before),
            level(&one.after),
            difference(&one.tested),
            verdict(&one.tested),
        ]);
    }
    table.text(width)
}

/// How each recommended setting is had for good, and what it costs; then those that may stand in for one that costs too much.
fn for_good(report: &TuneReport<'_>, detail: Detail, width: usize) -> String {
    let recommended = report.rows.iter().filter(|row| row.recommended);
    let mut text: String = recommended.map(|row| ways(report, row, detail, width)).collect();
    if !text.is_empty() {
        text.push_str(&for_whom(report, width));
    }
    let goal = |row: &&TuneRow| {
        !row.recommended && found(row, report.goal).is_some_and(|tested| tested.verdict == Verdict::Better)
    };
    let others: Vec<&TuneRow> = report.rows.iter().filter(goal).collect();
    if others.is_empty() {
        return text;
    }
    let names = others.iter().map(|row| row.setting.knob).collect::<Vec<_>>().join(", ");
    let helps = if others.len() == 1 { "helps" } else { "help" };
    let add = match (report.recommended().len(), others.len()) {
        (0, _) => ", but nothing confirmed it",
        (1, 1) => " as well, but adds nothing to that",
        (1, _) => " as well, but add nothing to that",
        (_, 1) => " as well, but adds nothing to these",
        _ => " as well, but add nothing to these",
    };
    text.push_str(&format!("{}\n", wrapped(&format!("Alone, {names} {helps}{add}."), width, 0)));
    if detail == Detail::Full {
        others.iter().for_each(|row| text.push_str(&ways(report, row, detail, width)));
    }
    text
}

/// Ways for which nobody writes a program anew, as most people have a setting for good.
const FROM_OUTSIDE: [&str; 6] = ["systemd", "sysctl.d", "tmpfiles.d", "boot", "shell", "now"];

/// The threads that settings were tried on, where others of the program were left alone.
fn chosen<'a>(report: &'a TuneReport<'_>) -> &'a [String] {
    report.program.as_ref().map_or(&[], |program| &program.chosen)
}

/// Whom what was typed is right for.
fn for_whom(report: &TuneReport<'_>, width: usize) -> String {
    let is_of_thread =
        report.rows.iter().any(|row| row.recommended && row.setting.scope == SettingScope::Thread);
    let said = match chosen(report) {
        _ if !is_of_thread => return String::new(),
        [] if report.program.is_some() => return String::new(),
        [] => {
            "systemd and the shell set every thread of a program, which may harm where one computes. For one: `howlate tune program PID \
             --thread NAME`."
        }
        _ => {
            "Only that was tried. systemd has no such setting for one thread; there, and with `chrt` before the program's name, all have it."
        }
    };
    format!("{}\n", paint(DIM, wrapped(said, width, 0)))
}

fn ways(report: &TuneReport<'_>, row: &TuneRow, detail: Detail, width: usize) -> String {
    let (knob, what) = (paint(HEADING, row.setting.knob), row.setting.what);
    let chosen = chosen(report);
    let heading = match (chosen, row.setting.scope) {
        ([], _) | (_, SettingScope::Machine | SettingScope::Boot) => {
            format!("To make {knob} permanent: {what}")
        }
        ([one], SettingScope::Thread) => format!("To set {knob} for thread {one} alone: {what}"),
        (many, SettingScope::Thread) => {
            format!("To set {knob} for threads {} alone: {what}", many.join(", "))
        }
    };
    let mut text = format!("{}\n", wrapped(&heading, width, 2));
    text.push_str(&format!("  {}\n", wrapped(&format!("Costs: {}.", row.setting.cost), width, 2)));
    let all = &row.setting.permanent;
    let is_shown = |by: &str| {
        let outside = all.iter().any(|way| FROM_OUTSIDE.contains(&way.by));
        // For one thread, only the program itself has a setting for good.
        let is_code_for_it = !chosen.is_empty() && by == "C";
        detail == Detail::Full || !outside || is_code_for_it || FROM_OUTSIDE.contains(&by)
    };
    for way in all.iter().filter(|way| is_shown(way.by)) {
        text.push_str(&format!("  {:<10} {}\n", way.by, code(way.by, &way.apply, width)));
    }
    text
}

/// Where code begins below the name of what it is for.
const CODE: usize = 13;

/// Code in lines that fit, broken where its language allows: a shell's after what joins commands.
fn code(by: &str, text: &str, width: usize) -> String {
    let gap = format!("\n{:CODE$}", "");
    match text_width(text) + CODE <= width {
        true => text.to_owned(),
        false if FROM_OUTSIDE.contains(&by) => {
            text.replace(" && ", &format!(" &&{gap}")).replace(" | ", &format!(" |{gap}"))
        }
        false => lines(text, width.saturating_sub(CODE)).join(&gap),
    }
}

/// What was not tried, that the machine is as it was, and what is not shown.
fn end(report: &TuneReport<'_>, detail: Detail, width: usize) -> String {
    if detail == Detail::Full {
        let parts = [not_tried(report, width), put_back(report)];
        return parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    }
    let said = [not_tried_in_brief(report), restored(report).to_owned(), MORE.to_owned()];
    let said: Vec<String> = said.into_iter().filter(|one| !one.is_empty()).collect();
    format!("{}\n", paint(DIM, wrapped(&said.join(" "), width, 0)))
}

const MORE: &str = "Code, alternatives and every interval: `--details`; of a run that was kept: `howlate compare RECORDING --by knob`.";

/// Reasons that are told without being asked for.
const REASONS: usize = 2;

/// The settings that were not tried, by reason where there are few.
fn not_tried_in_brief(report: &TuneReport<'_>) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in left(report) {
        let reason = row.setting.fate.reason().unwrap_or_default();
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, knobs)) => knobs.push(row.setting.knob),
            None => reasons.push((reason, vec![row.setting.knob])),
        }
    }
    let told = |(reason, knobs): &(&str, Vec<&str>)| format!("{} ({reason})", knobs.join(", "));
    let told = match reasons.len() {
        0 => String::new(),
        few if few <= REASONS => {
            format!("Not tried: {}. ", reasons.iter().map(told).collect::<Vec<_>>().join("; "))
        }
        _ => format!("{} settings could not be tried: `--dry-run` says why. ", left(report).count()),
    };
    (told + &unasked(report)).trim_end().to_owned()
}

/// Those that were asked for and not tried.
fn left<'a>(report: &'a TuneReport<'_>) -> impl Iterator<Item = &'a TuneRow> {
    report.rows.iter().filter(|row| !matches!(row.setting.fate, Fate::Tried | Fate::NotAsked))
}

/// How many were not asked for.
fn unasked(report: &TuneReport<'_>) -> String {
    match report.rows.iter().filter(|row| row.setting.fate == Fate::NotAsked).count() {
        0 => String::new(),
        1 => "1 other was not asked for: `--knobs all --dry-run` lists it.".to_owned(),
        many => format!("{many} others were not asked for: `--knobs all --dry-run` lists them."),
    }
}

/// What was not tried, by setting; what was not asked for in one line.
fn not_tried(report: &TuneReport<'_>, width: usize) -> String {
    let line = |row: &TuneRow| {
        format!(
            "  {:<23} {}\n",
            row.setting.knob,
            wrapped(row.setting.fate.reason().unwrap_or_default(), width, 26)
        )
    };
    let mut lines: String = left(report).map(line).collect();
    let unasked = unasked(report);
    if !unasked.is_empty() {
        lines.push_str(&format!("  {unasked}\n"));
    }
    if lines.is_empty() { lines } else { format!("{}\n{lines}", paint(HEADING, "Not tried")) }
}

/// Whether it stands with its setting.
fn is_told(report: &TuneReport<'_>, told: &Caveat) -> bool {
    let Caveat::SettingLeftOut { setting, .. } = told else { return false };
    report.rows.iter().any(|row| row.setting.writes.iter().any(|write| write.path == *setting))
}

/// That the machine is as it was; what is not so is a note.
fn restored(report: &TuneReport<'_>) -> &'static str {
    match report.left.as_deref() {
        Some([]) => "Every file that was written has its previous value again.",
        _ => "",
    }
}

fn put_back(report: &TuneReport<'_>) -> String {
    match restored(report) {
        "" => String::new(),
        said => format!("{}\n", paint(DIM, said)),
    }
}

/// What belongs to the whole run.
fn notes(report: &TuneReport<'_>, width: usize) -> String {
    let mut notes: Vec<String> =
        report.analysis.caveats.iter().filter(|one| !is_told(report, one)).map(caveat).collect();
    notes.extend(report.rows.iter().filter(|row| !row.without.is_empty()).map(|row| {
        format!("{} was partly applied; unavailable: {}.", row.setting.knob, row.without.join("; "))
    }));
    let short = |row: &TuneRow| {
        let knob = row.setting.knob;
        row.tested.iter().filter_map(short_pairs).map(|said| format!("{knob}, {said}")).collect::<Vec<_>>()
    };
    notes.extend(report.rows.iter().flat_map(short));
    let left = report.left.iter().flatten();
    notes.extend(
        left.map(|Unrestored { path, before, now }| format!("{path} was `{before}` and is now `{now}`.")),
    );
    notes.iter().map(|note| format!("{} {}\n", paint(WARN, "!"), wrapped(note, width, 2))).collect()
}
