//! The text output of `howlate tune`.

use howlate_analyse::compare::{Arm, Statistic, Tested, Verdict};

use howlate_model::{Caveat, SettingScope};

use super::forest::forest;
use super::{TrialStatus, TuneReport, TuneRow, Unrestored, wording};
use crate::caveats::caveat;
use crate::compare::short_pairs;
use crate::condition::condition;
use crate::detail::Detail;
use crate::machine::machine;
use crate::numbers::{micros_of, signed_micros};
use crate::prose::{lines, text_width, wrapped};
use crate::style::{BOLD, DIM, GOOD, HEADING, WARN, paint};
use crate::table::TextTable;

/// Caveats, the numbers, and last the answer with ways to make it permanent. With `--details` all intervals and all ways.
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
        format!("{}\n", paint(BOLD, wrapped(&wording::answer(report), width, 0))),
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

/// What a turn of the program is.
fn program(report: &TuneReport<'_>, width: usize) -> String {
    let text = report.program.as_ref().map(wording::turns_of);
    text.map_or_else(String::new, |text| format!("{}\n", paint(DIM, wrapped(&text, width, 0))))
}

/// The self-test, shown in brief only where it raises doubts.
fn self_test(report: &TuneReport<'_>, detail: Detail, width: usize) -> String {
    let is_shown = |arm: &&Arm| detail == Detail::Full || arm.tested.iter().any(wording::is_different);
    report.self_test.filter(is_shown).map_or_else(String::new, |arm| {
        format!("{}\n", paint(DIM, wrapped(&wording::self_test(arm), width, 0)))
    })
}

/// The statistics with a column.
const SHOWN: [Statistic; 3] = [Statistic::P50, Statistic::P99, Statistic::Max];

const fn heading(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::P50 => "median",
        Statistic::P99 => "p99",
        Statistic::P999 => "p99.9",
        Statistic::Max => "max of a turn",
    }
}

/// The goal with its interval, and the differences of the other statistics.
fn table(report: &TuneReport<'_>, width: usize) -> String {
    let other_statistics = || SHOWN.into_iter().filter(|statistic| *statistic != report.goal);
    let mut headings = vec!["setting", heading(report.goal), ""];
    headings.extend(other_statistics().map(heading));
    let cells = |row: &TuneRow| {
        let tested = |statistic| result_of(row, statistic);
        let goal = tested(report.goal);
        let mut cells = vec![row.setting.knob.to_owned()];
        cells.push(goal.map_or_else(|| "–".to_owned(), difference));
        cells.push(goal.map_or_else(|| "turns too short".to_owned(), verdict_in_brief));
        cells
            .extend(other_statistics().map(|statistic| {
                tested(statistic).map_or_else(|| "–".to_owned(), difference_if_significant)
            }));
        cells
    };
    let about = "µs, with the setting minus without it, and its interval. In brackets: no difference found.";
    table_text(report, (&headings, about), cells, width)
}

/// Every statistic with its interval, and the smallest detectable difference.
fn every_number(report: &TuneReport<'_>, width: usize) -> String {
    let goal = format!("{} is", wording::number(report.goal));
    let mut headings = vec!["setting"];
    headings.extend(SHOWN.map(heading));
    headings.extend(["turns", &goal, "detectable"]);
    let cells = |row: &TuneRow| {
        let mut cells = vec![row.setting.knob.to_owned()];
        cells.extend(
            SHOWN.map(|statistic| result_of(row, statistic).map_or_else(|| "–".to_owned(), difference)),
        );
        cells.push(turns(row));
        cells.push(result_of(row, report.goal).map_or_else(|| "turns too short".to_owned(), verdict));
        let detectable = result_of(row, report.goal).and_then(|tested| tested.detectable_ns);
        cells.push(detectable.map_or_else(|| "–".to_owned(), micros_of));
        cells
    };
    table_text(report, (&headings, "µs, with the setting minus without it, and its interval."), cells, width)
}

/// One row per tried setting below a legend.
fn table_text(
    report: &TuneReport<'_>,
    (headings, about): (&[&str], &str),
    cells: impl Fn(&TuneRow) -> Vec<String>,
    width: usize,
) -> String {
    if report.tried().next().is_none() {
        return String::new();
    }
    let headings: Vec<String> = headings.iter().map(ToString::to_string).collect();
    let mut table = TextTable::new(&headings, 1);
    report.tried().for_each(|row| table.row(cells(row)));
    let about = format!("{about} All verdicts together hold at {:.0} %.", 100.0 * report.confidence);
    format!("{}\n\n{}", paint(DIM, wrapped(&about, width, 0)), table.text(width))
}

fn result_of(row: &TuneRow, statistic: Statistic) -> Option<&Tested> {
    row.tested.iter().find(|tested| tested.statistic == statistic)
}

fn turns(row: &TuneRow) -> String {
    row.tested.first().map_or_else(String::new, |tested| tested.units.1.to_string())
}

/// The difference; in brackets where it is not significant.
fn difference_if_significant(tested: &Tested) -> String {
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
    let text = wording::verdict(tested);
    match tested.verdict {
        Verdict::Better => paint(GOOD, text),
        Verdict::Worse => paint(BOLD, text),
        _ => text.to_owned(),
    }
}

/// The confirmation on fresh turns.
fn confirmation(report: &TuneReport<'_>, width: usize) -> String {
    let Some(confirmed) = &report.confirmed else { return String::new() };
    let headings =
        [&format!("{} on fresh turns", confirmed.knobs.join("+")), "before", "after", "difference", ""];
    let mut table = TextTable::new(&headings.map(ToString::to_string), 1);
    for number in &confirmed.numbers {
        let level = |level: &howlate_analyse::compare::StatisticLevel| micros_of(level.ns);
        table.row(vec![
            wording::number(number.statistic).to_owned(),
            level(&number.before),
            level(&number.after),
            difference(&number.tested),
            verdict(&number.tested),
        ]);
    }
    table.text(width)
}

/// How to make each recommended setting permanent, and what it costs; then the alternatives to costly ones.
fn for_good(report: &TuneReport<'_>, detail: Detail, width: usize) -> String {
    let recommended = report.rows.iter().filter(|row| row.recommended);
    let mut text: String = recommended.map(|row| ways(report, row, detail, width)).collect();
    if !text.is_empty() {
        text.push_str(&for_whom(report, width));
    }
    let goal = |row: &&TuneRow| {
        !row.recommended
            && result_of(row, report.goal).is_some_and(|tested| tested.verdict == Verdict::Better)
    };
    let alternatives: Vec<&TuneRow> = report.rows.iter().filter(goal).collect();
    if alternatives.is_empty() {
        return text;
    }
    let names = alternatives.iter().map(|row| row.setting.knob).collect::<Vec<_>>().join(", ");
    let helps = if alternatives.len() == 1 { "helps" } else { "help" };
    let add = match (report.recommended().len(), alternatives.len()) {
        (0, _) => ", but nothing confirmed it",
        (1, 1) => " as well, but adds nothing to that",
        (1, _) => " as well, but add nothing to that",
        (_, 1) => " as well, but adds nothing to these",
        _ => " as well, but add nothing to these",
    };
    text.push_str(&format!("{}\n", wrapped(&format!("Alone, {names} {helps}{add}."), width, 0)));
    if detail == Detail::Full {
        alternatives.iter().for_each(|row| text.push_str(&ways(report, row, detail, width)));
    }
    text
}

/// Ways without changing the program's code.
const FROM_OUTSIDE: [&str; 6] = ["systemd", "sysctl.d", "tmpfiles.d", "boot", "shell", "now"];

/// The selected threads of the program; empty where all were changed.
fn chosen<'a>(report: &'a TuneReport<'_>) -> &'a [String] {
    report.program.as_ref().map_or(&[], |program| &program.chosen)
}

/// A note on the scope of the commands.
fn for_whom(report: &TuneReport<'_>, width: usize) -> String {
    let is_of_thread =
        report.rows.iter().any(|row| row.recommended && row.setting.scope == SettingScope::Thread);
    let note = match chosen(report) {
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
    format!("{}\n", paint(DIM, wrapped(note, width, 0)))
}

fn ways(report: &TuneReport<'_>, row: &TuneRow, detail: Detail, width: usize) -> String {
    let (knob, what) = (paint(HEADING, row.setting.knob), row.setting.what);
    let chosen = chosen(report);
    let heading = match (chosen, row.setting.scope) {
        ([], _) | (_, SettingScope::Machine | SettingScope::Boot) => {
            format!("To make {knob} permanent: {what}")
        }
        ([thread], SettingScope::Thread) => format!("To set {knob} for thread {thread} alone: {what}"),
        (threads, SettingScope::Thread) => {
            format!("To set {knob} for threads {} alone: {what}", threads.join(", "))
        }
    };
    let mut text = format!("{}\n", wrapped(&heading, width, 2));
    text.push_str(&format!("  {}\n", wrapped(&format!("Costs: {}.", row.setting.cost), width, 2)));
    let all = &row.setting.permanent;
    let is_shown = |by: &str| {
        let outside = all.iter().any(|way| FROM_OUTSIDE.contains(&way.by));
        // For one thread, only code in the program is permanent.
        let is_code_for_it = !chosen.is_empty() && by == "C";
        detail == Detail::Full || !outside || is_code_for_it || FROM_OUTSIDE.contains(&by)
    };
    for way in all.iter().filter(|way| is_shown(way.by)) {
        text.push_str(&format!("  {:<10} {}\n", way.by, code(way.by, &way.apply, width)));
    }
    text
}

/// Indentation of code below its name.
const CODE: usize = 13;

/// Code in lines that fit; shell commands break after operators.
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

/// What was not tried, whether the machine was restored, and what is not shown.
fn end(report: &TuneReport<'_>, detail: Detail, width: usize) -> String {
    if detail == Detail::Full {
        let parts = [not_tried(report, width), put_back(report)];
        return parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    }
    let sentences = [not_tried_in_brief(report), restored(report).to_owned(), MORE.to_owned()];
    let sentences: Vec<String> = sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect();
    format!("{}\n", paint(DIM, wrapped(&sentences.join(" "), width, 0)))
}

const MORE: &str = "Code, alternatives and every interval: `--details`; of a run that was kept: `howlate compare RECORDING --by knob`.";

/// Most reasons that are listed in brief.
const REASONS: usize = 2;

/// The settings that were not tried, with the reasons where they are few.
fn not_tried_in_brief(report: &TuneReport<'_>) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in requested_but_not_tried(report) {
        let reason = row.setting.status.reason().unwrap_or_default();
        match reasons.iter_mut().find(|(listed, _)| *listed == reason) {
            Some((_, knobs)) => knobs.push(row.setting.knob),
            None => reasons.push((reason, vec![row.setting.knob])),
        }
    }
    let reason_text = |(reason, knobs): &(&str, Vec<&str>)| format!("{} ({reason})", knobs.join(", "));
    let text = match reasons.len() {
        0 => String::new(),
        few if few <= REASONS => {
            format!("Not tried: {}. ", reasons.iter().map(reason_text).collect::<Vec<_>>().join("; "))
        }
        _ => format!(
            "{} settings could not be tried: `--dry-run` says why. ",
            requested_but_not_tried(report).count()
        ),
    };
    (text + &not_requested(report)).trim_end().to_owned()
}

/// Settings that were requested and not tried.
fn requested_but_not_tried<'a>(report: &'a TuneReport<'_>) -> impl Iterator<Item = &'a TuneRow> {
    report
        .rows
        .iter()
        .filter(|row| !matches!(row.setting.status, TrialStatus::Tried | TrialStatus::NotRequested))
}

/// How many settings were not requested.
fn not_requested(report: &TuneReport<'_>) -> String {
    match report.rows.iter().filter(|row| row.setting.status == TrialStatus::NotRequested).count() {
        0 => String::new(),
        1 => "1 other was not asked for: `--knobs all --dry-run` lists it.".to_owned(),
        many => format!("{many} others were not asked for: `--knobs all --dry-run` lists them."),
    }
}

/// The settings that were not tried, one per line; those that were not requested in one line.
fn not_tried(report: &TuneReport<'_>, width: usize) -> String {
    let line = |row: &TuneRow| {
        format!(
            "  {:<23} {}\n",
            row.setting.knob,
            wrapped(row.setting.status.reason().unwrap_or_default(), width, 26)
        )
    };
    let mut lines: String = requested_but_not_tried(report).map(line).collect();
    let not_requested = not_requested(report);
    if !not_requested.is_empty() {
        lines.push_str(&format!("  {not_requested}\n"));
    }
    if lines.is_empty() { lines } else { format!("{}\n{lines}", paint(HEADING, "Not tried")) }
}

/// Whether the caveat is shown with its setting.
fn is_in_table(report: &TuneReport<'_>, caveat: &Caveat) -> bool {
    let Caveat::SettingLeftOut { setting, .. } = caveat else { return false };
    report.rows.iter().any(|row| row.setting.writes.iter().any(|write| write.path == *setting))
}

/// That the machine is as before; otherwise there is a caveat.
fn restored(report: &TuneReport<'_>) -> &'static str {
    match report.left.as_deref() {
        Some([]) => "Every file that was written has its previous value again.",
        _ => "",
    }
}

fn put_back(report: &TuneReport<'_>) -> String {
    match restored(report) {
        "" => String::new(),
        text => format!("{}\n", paint(DIM, text)),
    }
}

/// Caveats of the whole run.
fn notes(report: &TuneReport<'_>, width: usize) -> String {
    let mut notes: Vec<String> =
        report.analysis.caveats.iter().filter(|note| !is_in_table(report, note)).map(caveat).collect();
    notes.extend(report.rows.iter().filter(|row| !row.without.is_empty()).map(|row| {
        format!("{} was partly applied; unavailable: {}.", row.setting.knob, row.without.join("; "))
    }));
    let short = |row: &TuneRow| {
        let knob = row.setting.knob;
        row.tested.iter().filter_map(short_pairs).map(|pairs| format!("{knob}, {pairs}")).collect::<Vec<_>>()
    };
    notes.extend(report.rows.iter().flat_map(short));
    let unrestored = report.left.iter().flatten();
    notes.extend(
        unrestored
            .map(|Unrestored { path, before, now }| format!("{path} was `{before}` and is now `{now}`.")),
    );
    notes.iter().map(|note| format!("{} {}\n", paint(WARN, "!"), wrapped(note, width, 2))).collect()
}
