//! Test Anything Protocol, version 13, which `prove` and the kernel's parsers read:
//! <https://testanything.org/tap-version-13-specification.html>.

use howlate_analyse::{Analysis, Check, LimitVerdict, checks};
use howlate_model::{Limit, LimitStatistic};

use super::names::{finding, is_lower_bound, planned, title};

/// One test point per limit of each condition: `not ok` when exceeded, skipped when the condition was not measured as requested.
pub fn tap(analyses: &[Analysis], limits: &[Limit]) -> String {
    let all: Vec<Check<'_>> = analyses.iter().flat_map(|analysis| checks(analysis, limits)).collect();
    let points = all.iter().zip(1..).map(|(check, number)| point(number, check));
    format!("TAP version 13\n1..{}\n{}", all.len(), points.collect::<String>())
}

fn point(number: usize, check: &Check<'_>) -> String {
    let (ok, skip) = match &check.verdict {
        LimitVerdict::Yes => ("ok", String::new()),
        LimitVerdict::No => ("not ok", String::new()),
        LimitVerdict::Unknown(_) => ("ok", format!(" # SKIP {}", finding(check))),
    };
    format!("{ok} {number} - {}{skip}\n{}", escaped(&title(check)), diagnosis(check))
}

/// Escapes `#`, which would start a directive.
fn escaped(text: &str) -> String {
    text.replace('#', "\\#")
}

/// The value and the limit as YAML.
fn diagnosis(check: &Check<'_>) -> String {
    let (Some(limit), Some(value)) = (check.limit, check.value) else { return String::new() };
    let unit = if limit.statistic == LimitStatistic::Missed { "" } else { "_ns" };
    let bound = if is_lower_bound(check) { "  value_at_least: true\n" } else { "" };
    format!(
        "  ---\n  statistic: {}\n  value{unit}: {value}\n{bound}  limit{unit}: {}\n  planned: {}\n  count: {}\n  ...\n",
        limit.statistic,
        limit.above,
        planned(check.outcome),
        check.outcome.count()
    )
}
