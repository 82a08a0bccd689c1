//! A comparison that fits into a pull request.

use howlate_analyse::compare::{Compared, Design, Tested, Verdict};

use super::selection::{others, worth_reading};
use super::{ComparisonReport, gate, headline, next_step, summary, words};
use crate::markdown_text;
use crate::numbers::micros;

/// GitHub-flavoured Markdown: the answer, a table, the maxima and the notes folded away.
pub fn comparison_markdown(report: &ComparisonReport<'_>) -> String {
    let mut text = format!(
        "### howlate compare\n\n**{}**\n",
        markdown_text(&headline::answer(report, headline::Detectable::Shown))
    );
    let comparison = worth_reading(report.comparison);
    let shown = ComparisonReport { comparison: &comparison, ..*report };
    text.push_str(&summary::markdown(&shown));
    for one in &comparison.compared {
        text.push_str(&section(&shown, one));
    }
    if let Some(others) = others(report.comparison, &comparison) {
        text.push_str(&format!("\n{others}\n"));
    }
    let mut notes: Vec<String> = words::drift_warning(report).into_iter().collect();
    notes.extend(words::caveats(report));
    notes.extend(next_step::sentence(report));
    notes.extend(gate::sentence(report));
    for note in notes {
        text.push_str(&format!("\n> {}\n", markdown_text(&note)));
    }
    if words::is_untested(report.comparison) {
        return text;
    }
    format!(
        "{text}\n<sub>{}. p and intervals are corrected for {} comparisons; detectable: a difference found with a chance of at least 80 %; \
         {} → {}</sub>\n",
        crate::prose::capitalised(&words::tally(report.comparison)),
        report.all().count(),
        markdown_text(report.base.0),
        markdown_text(report.comparison.compared.first().map_or("nothing", |one| report.new_path(one)))
    )
}

fn section(report: &ComparisonReport<'_>, one: &Compared) -> String {
    let about = [markdown_text(&words::subject(one)), words::design(one)];
    let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
    let mut text = format!("\n{}\n\n", about.join(" · "));
    let [base, new] = words::sides(one).map(|side| markdown_text(&side));
    if one.design == Design::Distributions {
        let heading = format!("| µs | {base} | {new} | {} | |\n", words::differ_by(one.design));
        let rows: String =
            one.statistics.iter().map(|tested| format!("{}\n", numbers(one, tested))).collect();
        return format!("{text}{heading}|:---|---:|---:|---:|---:|\n{rows}");
    }
    text.push_str(&format!(
        "| µs | {base} | {new} | {} | | {} interval | detectable | p | |\n",
        words::differ_by(one.design),
        report.confidence()
    ));
    text.push_str("|:---|---:|---:|---:|---:|:---:|---:|---:|:---|\n");
    one.statistics.iter().for_each(|tested| text.push_str(&row(one, tested)));
    let maximum = |side: &Option<howlate_analyse::compare::Maximum>| {
        side.as_ref().map_or_else(|| "–".to_owned(), |maximum| micros(maximum.max.as_nanos()))
    };
    let (base, new) = (maximum(&one.base_maximum), maximum(&one.new_maximum));
    text.push_str(&format!("| max (not compared) | {base} | {new} | | | | | | |\n"));
    for said in one.statistics.iter().filter_map(|tested| words::sides_disagree(one, tested)) {
        text.push_str(&format!("\n{}\n", markdown_text(&said)));
    }
    text
}

fn row(one: &Compared, tested: &Tested) -> String {
    format!(
        "{} {} | {} | {} | {} |\n",
        numbers(one, tested),
        words::interval(tested.interval_ns),
        words::detectable(tested),
        words::probability(tested.p_corrected).replace('<', "&lt;"),
        verdict(tested.verdict)
    )
}

/// What was found on both sides, without what a test says of it.
fn numbers(one: &Compared, tested: &Tested) -> String {
    format!(
        "| {} | {} | {} | {} | {} |",
        words::row(tested.statistic, one.design),
        words::base(tested),
        words::new(tested),
        words::difference(tested),
        words::percent_apart(tested)
    )
}

fn verdict(one: Verdict) -> String {
    let word = words::verdict(one);
    match one {
        Verdict::Worse | Verdict::Better => format!("**{word}**"),
        Verdict::NotDistinguishable | Verdict::Equivalent | Verdict::Inconclusive => word.to_owned(),
    }
}
