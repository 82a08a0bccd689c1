//! A comparison as Markdown for a pull request.

use howlate_analyse::compare::{Compared, Design, Tested, Verdict};

use super::{ComparisonReport, gate, headline, next_step, omitted_pairs, summary, wording, worth_reading};
use crate::markdown_text;
use crate::numbers::micros;

/// The answer, a table per pair of conditions, and the notes.
pub fn comparison_markdown(report: &ComparisonReport<'_>) -> String {
    let mut text = format!(
        "### howlate compare\n\n**{}**\n",
        markdown_text(&headline::answer(report, headline::Detectable::Shown))
    );
    let comparison = worth_reading(report.comparison);
    let shown = ComparisonReport { comparison: &comparison, ..*report };
    text.push_str(&summary::markdown(&shown));
    for pair in &comparison.compared {
        text.push_str(&section(&shown, pair));
    }
    if let Some(omitted_pairs) = omitted_pairs(report.comparison, &comparison) {
        text.push_str(&format!("\n{omitted_pairs}\n"));
    }
    let mut notes: Vec<String> = wording::drift_warning(report).into_iter().collect();
    notes.extend(wording::caveats(report));
    notes.extend(next_step::sentence(report));
    notes.extend(gate::sentence(report));
    for note in notes {
        text.push_str(&format!("\n> {}\n", markdown_text(&note)));
    }
    if wording::is_untested(report.comparison) {
        return text;
    }
    format!(
        "{text}\n<sub>{}. p and intervals are corrected for {} comparisons; detectable: a difference found with a chance of at least 80 %; \
         {} → {}</sub>\n",
        crate::prose::capitalised(&wording::tally(report.comparison)),
        report.all().count(),
        markdown_text(report.base.0),
        markdown_text(report.comparison.compared.first().map_or("nothing", |pair| report.new_path(pair)))
    )
}

fn section(report: &ComparisonReport<'_>, pair: &Compared) -> String {
    let about = [markdown_text(&wording::subject(pair)), wording::design(pair)];
    let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
    let mut text = format!("\n{}\n\n", about.join(" · "));
    let [base, new] = wording::sides(pair).map(|side| markdown_text(&side));
    if pair.design == Design::Distributions {
        let heading = format!("| µs | {base} | {new} | {} | |\n", wording::differ_by(pair.design));
        let rows: String =
            pair.statistics.iter().map(|tested| format!("{}\n", numbers(pair, tested))).collect();
        return format!("{text}{heading}|:---|---:|---:|---:|---:|\n{rows}");
    }
    text.push_str(&format!(
        "| µs | {base} | {new} | {} | | {} interval | detectable | p | |\n",
        wording::differ_by(pair.design),
        report.confidence()
    ));
    text.push_str("|:---|---:|---:|---:|---:|:---:|---:|---:|:---|\n");
    pair.statistics.iter().for_each(|tested| text.push_str(&row(pair, tested)));
    let maximum = |side: &Option<howlate_analyse::compare::Maximum>| {
        side.as_ref().map_or_else(|| "–".to_owned(), |maximum| micros(maximum.max.as_nanos()))
    };
    let (base, new) = (maximum(&pair.base_maximum), maximum(&pair.new_maximum));
    text.push_str(&format!("| max (not compared) | {base} | {new} | | | | | | |\n"));
    for note in pair.statistics.iter().filter_map(|tested| wording::sides_disagree(pair, tested)) {
        text.push_str(&format!("\n{}\n", markdown_text(&note)));
    }
    text
}

fn row(pair: &Compared, tested: &Tested) -> String {
    format!(
        "{} {} | {} | {} | {} |\n",
        numbers(pair, tested),
        wording::interval(tested.interval_ns),
        wording::detectable(tested),
        wording::probability(tested.p_corrected).replace('<', "&lt;"),
        verdict(tested.verdict)
    )
}

/// The cells of both sides and their difference, without those of the test.
fn numbers(pair: &Compared, tested: &Tested) -> String {
    format!(
        "| {} | {} | {} | {} | {} |",
        wording::row(tested.statistic, pair.design),
        wording::base(tested),
        wording::new(tested),
        wording::difference(tested),
        wording::percent_apart(tested)
    )
}

fn verdict(verdict: Verdict) -> String {
    let text = wording::verdict(verdict);
    match verdict {
        Verdict::Worse | Verdict::Better => format!("**{text}**"),
        Verdict::NotDistinguishable | Verdict::Equivalent | Verdict::Inconclusive => text.to_owned(),
    }
}
