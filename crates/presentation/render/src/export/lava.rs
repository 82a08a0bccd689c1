//! Calls of LAVA's `lava-test-case`, for a shell in its overlay:
//! <https://docs.lavasoftware.org/lava/writing-tests.html>.

use howlate_analyse::{Analysis, Check, LimitVerdict, Outcome, checks};
use howlate_model::{Limit, LimitStatistic};

use super::names::is_lower_bound;
use crate::condition::tags;
use crate::result_columns::{ColumnSpec, MAX, MEDIAN, P99};

/// A comment for readers of the job; LAVA runs the text as a shell script.
const COUNTED: &str =
    "# of every planned wake-up, missed ones included, with the latency they would have had\n";

/// Statistics of every condition that are reported besides its limits.
const MEASURED: [ColumnSpec; 3] = [MEDIAN, P99, MAX];

/// One line per statistic of each condition, in microseconds, and one per limit. Lower bounds are skipped, because LAVA would draw them as measurements.
pub fn lava(analyses: &[Analysis], limits: &[Limit]) -> String {
    let runs: String = analyses.iter().map(|analysis| run_lines(analysis, limits)).collect();
    let has_planned = |analysis: &Analysis| analysis.outcomes().iter().any(Outcome::knows_planned);
    let counted = if analyses.iter().any(has_planned) { COUNTED } else { "" };
    format!("{counted}{runs}")
}

fn run_lines(analysis: &Analysis, limits: &[Limit]) -> String {
    let tags = tags(analysis);
    let measured = checks(analysis, &[]);
    let mut text: String = measured.iter().zip(&tags).map(|(check, tag)| numbers(check, tag)).collect();
    let per_condition = limits.len().max(1);
    for (place, check) in checks(analysis, limits).iter().enumerate().filter(|_| !limits.is_empty()) {
        text.push_str(&limit_line(check, &tags[place / per_condition]));
    }
    text
}

fn numbers(check: &Check<'_>, tag: &str) -> String {
    let result = result(&check.verdict);
    let Some(summary) = check.outcome.planned_summary() else {
        return format!("lava-test-case {tag} --result {result}\n");
    };
    let line = |column: &ColumnSpec| {
        let (name, nanos) = (column.name, column.nanos(&summary));
        if summary.is_lower_bound(nanos) {
            return format!("lava-test-case {tag}-{name} --result skip\n");
        }
        let micros = nanos_as_micros(nanos.unsigned_abs());
        format!("lava-test-case {tag}-{name} --result {result} --measurement {micros} --units us\n")
    };
    MEASURED.iter().map(line).collect()
}

fn limit_line(check: &Check<'_>, tag: &str) -> String {
    let Some(limit) = check.limit else { return String::new() };
    let measurement = match (limit.statistic, check.value) {
        (_, None) => String::new(),
        _ if is_lower_bound(check) => String::new(),
        (LimitStatistic::Missed, Some(count)) => format!(" --measurement {count} --units periods"),
        (_, Some(nanos)) => format!(" --measurement {} --units us", nanos_as_micros(nanos)),
    };
    format!(
        "lava-test-case {tag}-{}-limit --result {}{measurement}\n",
        limit.statistic,
        result(&check.verdict)
    )
}

const fn result(verdict: &LimitVerdict) -> &'static str {
    match verdict {
        LimitVerdict::Yes => "pass",
        LimitVerdict::No => "fail",
        LimitVerdict::Unknown(_) => "skip",
    }
}

/// Decimal microseconds with all nanoseconds.
fn nanos_as_micros(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1_000, nanos % 1_000)
}
