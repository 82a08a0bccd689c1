//! What settings came to, for a terminal.

use howlate_analyse::compare::{Statistic, Tested, Verdict};

use howlate_model::Caveat;

use super::forest::forest;
use super::{Fate, TuneReport, TuneRow, Unrestored, words};
use crate::caveats::caveat;
use crate::compare::short_pairs;
use crate::condition::condition;
use crate::machine::machine;
use crate::numbers::{micros_of, signed_micros};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, GOOD, HEADING, WARN, paint};
use crate::table::Columns;

/// The answer, the table, what to do for good, and what was not tried.
pub fn tune_text(report: &TuneReport<'_>, width: usize) -> String {
    let title = paint(HEADING, "howlate tune");
    let about = format!(
        "{}\n{}\n",
        wrapped(&format!("{title} · {}", condition(report.baseline)), width, 0),
        paint(DIM, wrapped(&machine(&report.analysis.header.system), width, 0))
    );
    let answer = wrapped(&words::answer(report), width, 0);
    let parts = [
        format!("{about}{}\n{answer}\n", program(report, width)),
        self_test(report, width),
        table(report, width),
        forest(report, width),
        confirmation(report, width),
        for_good(report, width),
        not_tried(report, width),
        put_back(report),
        notes(report, width),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What a turn of somebody's program is.
fn program(report: &TuneReport<'_>, width: usize) -> String {
    let said = report.program.as_ref().map(words::turns_of);
    said.map_or_else(String::new, |said| format!("{}\n", paint(DIM, wrapped(&said, width, 0))))
}

fn self_test(report: &TuneReport<'_>, width: usize) -> String {
    report.self_test.map_or_else(String::new, |arm| {
        format!("{}\n", paint(DIM, wrapped(&words::self_test(arm), width, 0)))
    })
}

/// The numbers that the table has columns for.
const SHOWN: [Statistic; 3] = [Statistic::P50, Statistic::P99, Statistic::Max];

fn table(report: &TuneReport<'_>, width: usize) -> String {
    if report.tried().next().is_none() {
        return String::new();
    }
    let goal = words::number(report.goal);
    let headings =
        ["setting", "median", "p99", "max of a turn", "turns", &format!("{goal} is"), "detectable"];
    let mut table = Columns::new(&headings.map(str::to_owned), 1);
    for row in report.tried() {
        table.row(cells(report, row));
    }
    let about = format!(
        "µs, with the setting minus without it, and its interval. All verdicts together hold at {:.0} %.",
        100.0 * report.confidence
    );
    format!("{}\n\n{}", paint(DIM, wrapped(&about, width, 0)), table.text(width))
}

fn cells(report: &TuneReport<'_>, row: &TuneRow) -> Vec<String> {
    let of = |statistic: Statistic| row.tested.iter().find(|tested| tested.statistic == statistic);
    let mut cells = vec![row.setting.knob.to_owned()];
    cells.extend(SHOWN.map(|statistic| of(statistic).map_or_else(|| "–".to_owned(), difference)));
    cells.push(row.tested.first().map_or_else(String::new, |tested| tested.units.1.to_string()));
    cells.push(of(report.goal).map_or_else(|| "turns too short".to_owned(), verdict));
    let detectable = of(report.goal).and_then(|tested| tested.detectable_ns);
    cells.push(detectable.map_or_else(|| "–".to_owned(), micros_of));
    cells
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
        let level = |level: &howlate_analyse::compare::Level| micros_of(level.ns);
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
fn for_good(report: &TuneReport<'_>, width: usize) -> String {
    let mut text: String =
        report.rows.iter().filter(|row| row.recommended).map(|row| ways(row, width)).collect();
    let goal = |row: &&TuneRow| {
        let tested = row.tested.iter().find(|tested| tested.statistic == report.goal);
        !row.recommended && tested.is_some_and(|tested| tested.verdict == Verdict::Better)
    };
    let others: String = report.rows.iter().filter(goal).map(|row| ways(row, width)).collect();
    if !others.is_empty() {
        let and =
            if report.recommended().is_empty() { "nothing confirmed it" } else { "adds nothing to these" };
        text.push_str(&format!("Helps alone, but {and}\n{others}"));
    }
    text
}

fn ways(row: &TuneRow, width: usize) -> String {
    let mut text = format!("To make {} permanent: {}\n", paint(HEADING, row.setting.knob), row.setting.what);
    text.push_str(&format!("  {}\n", wrapped(&format!("Costs: {}.", row.setting.cost), width, 2)));
    for way in &row.setting.permanent {
        text.push_str(&format!("  {:<10} {}\n", way.by, way.apply));
    }
    text
}

/// What was not tried, by reason; what was not asked for in one line.
fn not_tried(report: &TuneReport<'_>, width: usize) -> String {
    let left = report.rows.iter().filter(|row| !matches!(row.setting.fate, Fate::Tried | Fate::NotAsked));
    let line = |row: &TuneRow| {
        format!(
            "  {:<23} {}\n",
            row.setting.knob,
            wrapped(row.setting.fate.reason().unwrap_or_default(), width, 26)
        )
    };
    let lines: String = left.map(line).collect();
    let unasked = report.rows.iter().filter(|row| row.setting.fate == Fate::NotAsked).count();
    let unasked = match unasked {
        0 => String::new(),
        1 => "  1 other was not asked for: `--knobs all --dry-run` lists it\n".to_owned(),
        many => {
            format!("  {many} others were not asked for: `--knobs all --dry-run` lists them\n")
        }
    };
    if lines.is_empty() && unasked.is_empty() {
        return String::new();
    }
    format!("{}\n{lines}{unasked}", paint(HEADING, "Not tried"))
}

/// Whether it stands with its setting.
fn is_told(report: &TuneReport<'_>, told: &Caveat) -> bool {
    let Caveat::SettingLeftOut { setting, .. } = told else { return false };
    report.rows.iter().any(|row| row.setting.writes.iter().any(|write| write.path == *setting))
}

/// That the machine is as it was; what is not so is a note.
fn put_back(report: &TuneReport<'_>) -> String {
    match report.left.as_deref() {
        Some([]) => {
            format!("{}\n", paint(DIM, "Every file that was written has its previous value again."))
        }
        _ => String::new(),
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
    if let (Some(_), Some(needed)) = (report.self_test, report.needs) {
        notes.push(format!("The budget did not last for all: write `--budget {needed}`."));
    }
    notes.iter().map(|note| format!("{} {}\n", paint(WARN, "!"), wrapped(note, width, 2))).collect()
}
