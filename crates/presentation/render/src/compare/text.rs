//! A comparison for a terminal.

use std::collections::HashSet;

use howlate_analyse::compare::{
    Compared, Design, ExtrapolationRefusal, Inconclusive, Maximum, Tested, Verdict,
};
use howlate_model::Margin;

use super::{ComparisonReport, gate, headline, next_step, omitted_pairs, summary, wording, worth_reading};
use crate::detail::Detail;
use crate::machine::machine;
use crate::numbers::{count, length, micros, micros_of, rough, signed_micros};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, GOOD, HEADING, WARN, paint};
use crate::table::TextTable;

/// Doubts, the numbers, and last the answer and the next step. With `--details` also each pair of conditions and the maxima.
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
        omitted_pairs(report.comparison, &comparison)
            .map_or_else(String::new, |note| paragraph(&note, width)),
        answer(report, detail, width),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The numbers and the answer, printed below the results that were compared.
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

/// All numbers of each pair of conditions.
fn sections(report: &ComparisonReport<'_>, width: usize) -> String {
    let texts = report.comparison.compared.iter().map(|pair| section(report, pair, width));
    texts.collect::<Vec<_>>().join("\n")
}

/// A row per pair; for a single pair, or where nothing was tested, the section of the first. With `--details` the sections stand above.
fn numbers(report: &ComparisonReport<'_>, is_full: bool, width: usize) -> String {
    match (summary::text(report, width), report.comparison.compared.first()) {
        (Some(table), _) => table,
        (None, Some(pair)) if !is_full => section(report, pair, width),
        (None, _) => String::new(),
    }
}

fn top(report: &ComparisonReport<'_>, width: usize) -> String {
    let (path, base) = report.base;
    let paths = report.news.iter().map(|(path, _)| format!(" → {path}")).collect::<String>();
    let title = paint(HEADING, "howlate compare");
    let system = &base.header.system;
    let mut machines = vec![machine(system)];
    machines.extend(report.news.iter().map(|(_, analysis)| machine(&analysis.header.system)));
    machines.dedup();
    machines.retain(|machine| !machine.is_empty());
    let machines: String =
        machines.iter().map(|machine| format!("{}\n", paint(DIM, wrapped(machine, width, 0)))).collect();
    format!("{}\n{machines}", wrapped(&format!("{title} · {path}{paths}"), width, 0))
}

fn section(report: &ComparisonReport<'_>, pair: &Compared, width: usize) -> String {
    let title = paint(HEADING, wrapped(&wording::subject(pair), width, 0));
    if pair.statistics.is_empty() {
        let why = pair.left_out.first().map(|left| wording::left_out(*left, pair.design)).unwrap_or_default();
        return format!("{title}\n  {}\n", paint(DIM, wrapped(&why, width, 2)));
    }
    let columns =
        wording::columns(report.comparison, pair).map_or_else(String::new, |columns| format!(" · {columns}"));
    let about = wrapped(&format!("µs · {}{columns}", wording::design(pair)), width, 0);
    let mut text = format!("{title}\n{}\n\n{}", paint(DIM, about), table(report, pair, width));
    let mut lines: Vec<String> = Vec::new();
    // These two reasons are in the line above the table.
    let is_in_heading = |tested: &&Tested| {
        let in_heading = [Inconclusive::TwoDistributions, Inconclusive::OneAfterTheOther];
        tested.inconclusive.is_some_and(|why| in_heading.contains(&why))
    };
    let open = pair.statistics.iter().filter(|tested| tested.verdict == Verdict::Inconclusive);
    for tested in open.filter(|tested| !is_in_heading(tested)) {
        let reason = tested.inconclusive.map(wording::inconclusive);
        lines.extend(reason.filter(|reason| !lines.contains(reason)));
    }
    lines.extend(pair.statistics.iter().filter_map(|tested| wording::sides_disagree(pair, tested)));
    lines.extend(pair.statistics.iter().filter_map(wording::short_pairs));
    lines.extend(pair.left_out.iter().map(|left| wording::left_out(*left, pair.design)));
    for line in lines {
        text.push_str(&format!("  {}\n", paint(DIM, wrapped(&line, width, 2))));
    }
    text
}

fn table(report: &ComparisonReport<'_>, pair: &Compared, width: usize) -> String {
    if pair.design == Design::Distributions {
        return side_by_side(pair, width);
    }
    let interval = format!("{} interval", report.confidence());
    let ([base, new], differ_by) = (wording::sides(pair), wording::differ_by(pair.design));
    let headings = ["", &base, &new, differ_by, "", &interval, "detectable", "p", ""];
    let mut table = TextTable::new(&headings.map(str::to_owned), 1);
    for tested in &pair.statistics {
        table.row(vec![
            wording::row(tested.statistic, pair.design).to_owned(),
            micros_of(tested.base_ns),
            micros_of(tested.new_ns),
            signed_micros(tested.difference_ns),
            wording::percent(tested.percent(tested.difference_ns)),
            wording::interval(tested.interval_ns),
            wording::detectable(tested),
            wording::probability(tested.p_corrected),
            verdict(tested),
        ]);
    }
    table.text(width)
}

/// The table of two distributions, without the columns of a test.
fn side_by_side(pair: &Compared, width: usize) -> String {
    let [base, new] = wording::sides(pair);
    let headings = ["", &base, &new, wording::differ_by(pair.design), ""];
    let mut table = TextTable::new(&headings.map(str::to_owned), 1);
    for tested in &pair.statistics {
        table.row(vec![
            wording::row(tested.statistic, pair.design).to_owned(),
            wording::base(tested),
            wording::new(tested),
            wording::difference(tested),
            wording::percent_apart(tested),
        ]);
    }
    table.text(width)
}

fn verdict(tested: &Tested) -> String {
    let text = wording::verdict(tested.verdict);
    match tested.verdict {
        Verdict::Better | Verdict::Equivalent => paint(GOOD, text),
        Verdict::Worse => paint(BOLD, text),
        Verdict::Inconclusive => paint(WARN, text),
        Verdict::NotDistinguishable => text.to_owned(),
    }
}

/// The largest latencies side by side, without a test.
fn maxima(report: &ComparisonReport<'_>, width: usize) -> String {
    let headings =
        ["", "wake-ups", "missed", "in", "max", "later ones, at most", "next hour", "once an hour"];
    let mut table = TextTable::new(&headings.map(str::to_owned), 1);
    let (names, mut bases) = (wording::RowNames::new(report), HashSet::new());
    let compared = report.comparison.compared.iter();
    let rows: Vec<(String, &Maximum)> =
        compared.flat_map(|pair| maxima_of_pair(&names, pair, bases.insert(&pair.base))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let refusals: Vec<ExtrapolationRefusal> =
        rows.iter().filter_map(|(_, maximum)| maximum.not_extrapolated).collect();
    // An empty column is not shown; the reason is below the table.
    let none = if refusals.len() == rows.len() { "" } else { "–" };
    rows.into_iter().for_each(|(name, maximum)| table.row(maximum_row(name, maximum, none)));
    let about = format!(
        "not compared: of two equal conditions, one always has the larger. Missed: wake-ups missed because of a late one. Later ones: upper bound at {} confidence, clustering included. Next hour: probability of a later one.",
        report.confidence()
    );
    let about = paint(DIM, wrapped(&about, width, 0));
    let mut text = format!("{}\n{about}\n\n{}", paint(HEADING, "The maximum, µs"), table.text(width));
    for line in wording::refusals(&refusals) {
        text.push_str(&format!("  {}\n", paint(DIM, wrapped(&line, width, 2))));
    }
    text
}

/// The maxima of both sides with the names of their rows. A base that is compared with several conditions appears once.
fn maxima_of_pair<'a>(
    names: &wording::RowNames<'_>,
    pair: &'a Compared,
    is_first: bool,
) -> Vec<(String, &'a Maximum)> {
    let base = pair.base_maximum.as_ref().filter(|_| is_first);
    let base = base.map(|maximum| (names.name(pair, true), maximum));
    let new = pair.new_maximum.as_ref().map(|maximum| (names.name(pair, false), maximum));
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
        wording::percent_of(maximum.beaten_next_hour),
        once,
    ]
}

/// Caveats that make the comparison doubtful.
fn doubts(report: &ComparisonReport<'_>, width: usize) -> String {
    let drift = wording::drift_warning(report).into_iter();
    marked(drift.chain(wording::caveats(report)), width)
}

fn marked(notes: impl Iterator<Item = String>, width: usize) -> String {
    notes.map(|note| format!("{} {}\n", paint(WARN, "!"), wrapped(&note, width, 2))).collect()
}

/// The answer, the next step, and how the verdicts came about.
fn answer(report: &ComparisonReport<'_>, detail: Detail, width: usize) -> String {
    let has_column = has_every_number(report, detail);
    let detectable = if has_column { headline::Detectable::Shown } else { headline::Detectable::InDetails };
    let mut text = paragraph(&paint(BOLD, headline::answer(report, detectable)), width);
    text.push_str(&marked(next_step::sentence(report).into_iter().chain(gate::sentence(report)), width));
    let mut about =
        if wording::is_untested(report.comparison) { Vec::new() } else { vec![method(report, detail)] };
    let more = if has_every_number(report, detail) { "The maxima: `--details`." } else { MORE };
    about.extend((detail != Detail::Full).then(|| more.to_owned()));
    if !about.is_empty() {
        text.push_str(&paint(DIM, paragraph(&about.join(" "), width)));
    }
    text
}

/// Whether the section with all numbers is shown for each pair of conditions.
fn has_every_number(report: &ComparisonReport<'_>, detail: Detail) -> bool {
    detail == Detail::Full || report.comparison.compared.len() == 1
}

/// What `--details` adds.
const MORE: &str = "Each pair of conditions, what was detectable, and the maxima: `--details`.";

/// How many verdicts of each kind there are, and their assumptions.
fn method(report: &ComparisonReport<'_>, detail: Detail) -> String {
    let comparisons = report.all().count();
    let margin = report.criteria.margin.map_or_else(String::new, |margin| {
        let margin = match margin {
            Margin::Length(span) => length(span),
            Margin::Share(_) => format!("{} of the base", margin.to_string().replace('%', " %")),
        };
        format!(" Equivalent: the interval lies within ±{margin}.")
    });
    let is_open = has_every_number(report, detail)
        && report.all().any(|(_, tested)| !wording::detectable(tested).is_empty());
    let detectable =
        if is_open { "; detectable: a difference that is found with at least 80 % probability" } else { "" };
    format!(
        "{}. p and intervals are corrected for {comparisons} comparisons{detectable}.{margin}",
        crate::prose::capitalised(&wording::tally(report.comparison))
    )
}
