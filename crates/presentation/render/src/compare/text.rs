//! A comparison for a terminal.

use std::collections::HashSet;

use howlate_analyse::compare::{Compared, Design, Inconclusive, Maximum, Refusal, Tested, Verdict};
use howlate_model::Margin;

use super::selection::{others, worth_reading};
use super::{ComparisonReport, gate, headline, next_step, summary, words};
use crate::detail::Detail;
use crate::machine::machine;
use crate::numbers::{count, length, micros, micros_of, rough, signed_micros};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, GOOD, HEADING, WARN, paint};
use crate::table::Columns;

/// What makes it doubtful, the numbers, and last the answer with what would settle what is open. In full, each pair of conditions and
/// the maxima besides.
pub fn comparison_text(report: &ComparisonReport<'_>, detail: Detail, width: usize) -> String {
    let comparison = worth_reading(report.comparison);
    let shown = ComparisonReport { comparison: &comparison, ..*report };
    let is_full = detail == Detail::Full;
    let parts = [
        top(report, width),
        doubts(report, width),
        if is_full { sections(&shown, width) } else { String::new() },
        if is_full { maxima(&shown, width) } else { String::new() },
        numbers(&shown, is_full, width),
        others(report.comparison, &comparison).map_or_else(String::new, |said| paragraph(&said, width)),
        answer(report, detail, width),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The numbers and the answer, to stand below the result that they are about.
pub fn comparison_below(report: &ComparisonReport<'_>, width: usize) -> String {
    let comparison = worth_reading(report.comparison);
    let shown = ComparisonReport { comparison: &comparison, ..*report };
    let is_one = report.comparison.compared.len() == 1;
    let detectable = if is_one { headline::Detectable::Shown } else { headline::Detectable::InDetails };
    let answer = paint(BOLD, headline::answer(report, detectable));
    format!("{}\n{}", numbers(&shown, false, width), paragraph(&answer, width))
}

fn paragraph(text: &str, width: usize) -> String {
    format!("{}\n", wrapped(text, width, 0))
}

/// Each pair of conditions with all its numbers.
fn sections(report: &ComparisonReport<'_>, width: usize) -> String {
    let each = report.comparison.compared.iter().map(|one| section(report, one, width));
    each.collect::<Vec<_>>().join("\n")
}

/// A row for each pair; of one, and where nothing is said of any, all there is of the first. In full that stands above.
fn numbers(report: &ComparisonReport<'_>, is_full: bool, width: usize) -> String {
    match (summary::text(report, width), report.comparison.compared.first()) {
        (Some(table), _) => table,
        (None, Some(one)) if !is_full => section(report, one, width),
        (None, _) => String::new(),
    }
}

fn top(report: &ComparisonReport<'_>, width: usize) -> String {
    let (path, base) = report.base;
    let paths = report.news.iter().map(|(path, _)| format!(" → {path}")).collect::<String>();
    let title = paint(HEADING, "howlate compare");
    let system = &base.header.system;
    let mut machines = vec![machine(system)];
    machines.extend(report.news.iter().map(|(_, one)| machine(&one.header.system)));
    machines.dedup();
    machines.retain(|one| !one.is_empty());
    let machines: String =
        machines.iter().map(|one| format!("{}\n", paint(DIM, wrapped(one, width, 0)))).collect();
    format!("{}\n{machines}", wrapped(&format!("{title} · {path}{paths}"), width, 0))
}

fn section(report: &ComparisonReport<'_>, one: &Compared, width: usize) -> String {
    let title = paint(HEADING, wrapped(&words::subject(one), width, 0));
    if one.statistics.is_empty() {
        let why = one.left_out.first().map(|left| words::left_out(*left, one.design)).unwrap_or_default();
        return format!("{title}\n  {}\n", paint(DIM, wrapped(&why, width, 2)));
    }
    let columns =
        words::columns(report.comparison, one).map_or_else(String::new, |said| format!(" · {said}"));
    let about = wrapped(&format!("µs · {}{columns}", words::design(one)), width, 0);
    let mut text = format!("{title}\n{}\n\n{}", paint(DIM, about), table(report, one, width));
    let mut lines: Vec<String> = Vec::new();
    // The line above the table says it.
    let is_said = |tested: &&Tested| {
        let said = [Inconclusive::TwoDistributions, Inconclusive::OneAfterTheOther];
        tested.inconclusive.is_some_and(|why| said.contains(&why))
    };
    let open = one.statistics.iter().filter(|tested| tested.verdict == Verdict::Inconclusive);
    for tested in open.filter(|tested| !is_said(tested)) {
        let reason = tested.inconclusive.map(words::inconclusive);
        lines.extend(reason.filter(|reason| !lines.contains(reason)));
    }
    lines.extend(one.statistics.iter().filter_map(|tested| words::sides_disagree(one, tested)));
    lines.extend(one.statistics.iter().filter_map(words::short_pairs));
    lines.extend(one.left_out.iter().map(|left| words::left_out(*left, one.design)));
    for line in lines {
        text.push_str(&format!("  {}\n", paint(DIM, wrapped(&line, width, 2))));
    }
    text
}

fn table(report: &ComparisonReport<'_>, one: &Compared, width: usize) -> String {
    if one.design == Design::Distributions {
        return side_by_side(one, width);
    }
    let interval = format!("{} interval", report.confidence());
    let ([base, new], differ_by) = (words::sides(one), words::differ_by(one.design));
    let headings = ["", &base, &new, differ_by, "", &interval, "detectable", "p", ""];
    let mut table = Columns::new(&headings.map(str::to_owned), 1);
    for tested in &one.statistics {
        table.row(vec![
            words::row(tested.statistic, one.design).to_owned(),
            micros_of(tested.base_ns),
            micros_of(tested.new_ns),
            signed_micros(tested.difference_ns),
            words::percent(tested.percent(tested.difference_ns)),
            words::interval(tested.interval_ns),
            words::detectable(tested),
            words::probability(tested.p_corrected),
            verdict(tested),
        ]);
    }
    table.text(width)
}

/// The numbers of two distributions, and nothing that a test would say.
fn side_by_side(one: &Compared, width: usize) -> String {
    let [base, new] = words::sides(one);
    let headings = ["", &base, &new, words::differ_by(one.design), ""];
    let mut table = Columns::new(&headings.map(str::to_owned), 1);
    for tested in &one.statistics {
        table.row(vec![
            words::row(tested.statistic, one.design).to_owned(),
            words::base(tested),
            words::new(tested),
            words::difference(tested),
            words::percent_apart(tested),
        ]);
    }
    table.text(width)
}

fn verdict(tested: &Tested) -> String {
    let word = words::verdict(tested.verdict);
    match tested.verdict {
        Verdict::Better | Verdict::Equivalent => paint(GOOD, word),
        Verdict::Worse => paint(BOLD, word),
        Verdict::Inconclusive => paint(WARN, word),
        Verdict::NotDistinguishable => word.to_owned(),
    }
}

/// The largest latencies: side by side, never compared.
fn maxima(report: &ComparisonReport<'_>, width: usize) -> String {
    let headings =
        ["", "wake-ups", "missed", "in", "max", "later ones, at most", "next hour", "once an hour"];
    let mut table = Columns::new(&headings.map(str::to_owned), 1);
    let (names, mut bases) = (words::Rows::new(report), HashSet::new());
    let compared = report.comparison.compared.iter();
    let rows: Vec<(String, &Maximum)> =
        compared.flat_map(|one| named(&names, one, bases.insert(&one.base))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let refusals: Vec<Refusal> = rows.iter().filter_map(|(_, maximum)| maximum.not_extrapolated).collect();
    // A column in which nothing stands is not shown; why not is said below.
    let none = if refusals.len() == rows.len() { "" } else { "–" };
    rows.into_iter().for_each(|(name, maximum)| table.row(maximum_row(name, maximum, none)));
    let about = format!(
        "not compared: of two equal conditions, one always has the larger. Missed: wake-ups missed because of a late one. Later ones: upper bound at {} confidence, clustering included. Next hour: probability of a later one.",
        report.confidence()
    );
    let about = paint(DIM, wrapped(&about, width, 0));
    let mut text = format!("{}\n{about}\n\n{}", paint(HEADING, "The maximum, µs"), table.text(width));
    for line in words::refusals(&refusals) {
        text.push_str(&format!("  {}\n", paint(DIM, wrapped(&line, width, 2))));
    }
    text
}

/// The maxima of both sides with the names of their rows; that of a base which others are compared with as well stands
/// there once, with the first of them.
fn named<'a>(names: &words::Rows<'_>, one: &'a Compared, is_first: bool) -> Vec<(String, &'a Maximum)> {
    let base = one.base_maximum.as_ref().filter(|_| is_first);
    let base = base.map(|maximum| (names.name(one, true), maximum));
    let new = one.new_maximum.as_ref().map(|maximum| (names.name(one, false), maximum));
    base.into_iter().chain(new).collect()
}

fn maximum_row(name: String, maximum: &Maximum, none: &str) -> Vec<String> {
    let once = maximum.extrapolated.as_ref().map_or_else(
        || none.to_owned(),
        |fit| {
            let (low, high) = fit.interval_ns;
            format!("{} ({} … {})", micros_of(fit.hourly_ns), micros_of(low), micros_of(high))
        },
    );
    vec![
        name,
        count(maximum.happened),
        count(maximum.swallowed),
        rough(maximum.covered),
        micros(maximum.max.as_nanos()),
        maximum
            .later_at_most_one_in
            .map_or_else(|| "–".to_owned(), |one_in| format!("1 in {}", count(one_in))),
        words::percent_of(maximum.beaten_next_hour),
        once,
    ]
}

/// What spoils it.
fn doubts(report: &ComparisonReport<'_>, width: usize) -> String {
    let drift = words::drift_warning(report).into_iter();
    marked(drift.chain(words::caveats(report)), width)
}

fn marked(notes: impl Iterator<Item = String>, width: usize) -> String {
    notes.map(|note| format!("{} {}\n", paint(WARN, "!"), wrapped(&note, width, 2))).collect()
}

/// What was asked for, what would settle what is open, and how the verdicts came about.
fn answer(report: &ComparisonReport<'_>, detail: Detail, width: usize) -> String {
    let has_column = has_every_number(report, detail);
    let detectable = if has_column { headline::Detectable::Shown } else { headline::Detectable::InDetails };
    let mut text = paragraph(&paint(BOLD, headline::answer(report, detectable)), width);
    text.push_str(&marked(next_step::sentence(report).into_iter().chain(gate::sentence(report)), width));
    let mut about =
        if words::is_untested(report.comparison) { Vec::new() } else { vec![method(report, detail)] };
    let more = if has_every_number(report, detail) { "The maxima: `--details`." } else { MORE };
    about.extend((detail != Detail::Full).then(|| more.to_owned()));
    if !about.is_empty() {
        text.push_str(&paint(DIM, paragraph(&about.join(" "), width)));
    }
    text
}

/// Whether each pair of conditions stands there with all its numbers.
fn has_every_number(report: &ComparisonReport<'_>, detail: Detail) -> bool {
    detail == Detail::Full || report.comparison.compared.len() == 1
}

/// What is not shown.
const MORE: &str = "Each pair of conditions, what was detectable, and the maxima: `--details`.";

/// How many verdicts there are, and what they hold for.
fn method(report: &ComparisonReport<'_>, detail: Detail) -> String {
    let comparisons = report.all().count();
    let margin = report.asked.margin.map_or_else(String::new, |margin| {
        let margin = match margin {
            Margin::Length(span) => length(span),
            Margin::Share(_) => format!("{} of the base", margin.to_string().replace('%', " %")),
        };
        format!(" Equivalent: the interval lies within ±{margin}.")
    });
    let is_open = has_every_number(report, detail)
        && report.all().any(|(_, tested)| !words::detectable(tested).is_empty());
    let detectable =
        if is_open { "; detectable: a difference that is found with at least 80 % probability" } else { "" };
    format!(
        "{}. p and intervals are corrected for {comparisons} comparisons{detectable}.{margin}",
        crate::prose::capitalised(&words::tally(report.comparison))
    )
}
