//! A run as calls of LAVA's `lava-test-case`, for a shell in its overlay:
//! <https://docs.lavasoftware.org/lava/writing-tests.html>.

use howlate_analyse::{Analysis, Check, LimitVerdict, Outcome, checks};
use howlate_model::{Limit, LimitStatistic};

use super::names::is_lower_bound;
use crate::condition::tags;
use crate::result_columns::{ColumnSpec, MAX, MEDIAN, P99};

/// LAVA runs the text as a shell, and keeps nothing of a comment: it is for those who read the job.
const COUNTED: &str =
    "# of every planned wake-up, missed ones included, with the latency they would have had\n";

/// What is handed on of every condition besides its limits.
const MEASURED: [ColumnSpec; 3] = [MEDIAN, P99, MAX];

/// One line per number of each condition, in microseconds, then one per limit. What is only known to be that or more is no
/// measurement: LAVA would draw it as one.
pub fn lava(analyses: &[Analysis], limits: &[Limit]) -> String {
    let runs: String = analyses.iter().map(|analysis| one_run(analysis, limits)).collect();
    let knows = |analysis: &Analysis| analysis.outcomes().iter().any(Outcome::knows_planned);
    let counted = if analyses.iter().any(knows) { COUNTED } else { "" };
    format!("{counted}{runs}")
}

fn one_run(analysis: &Analysis, limits: &[Limit]) -> String {
    let tags = tags(analysis);
    let measured = checks(analysis, &[]);
    let mut text: String = measured.iter().zip(&tags).map(|(check, tag)| numbers(check, tag)).collect();
    let per_condition = limits.len().max(1);
    for (place, check) in checks(analysis, limits).iter().enumerate().filter(|_| !limits.is_empty()) {
        text.push_str(&kept(check, &tags[place / per_condition]));
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

fn kept(check: &Check<'_>, tag: &str) -> String {
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

const fn result(kept: &LimitVerdict) -> &'static str {
    match kept {
        LimitVerdict::Yes => "pass",
        LimitVerdict::No => "fail",
        LimitVerdict::Unknown(_) => "skip",
    }
}

/// LAVA takes decimal numbers; three digits behind the point keep every nanosecond.
fn nanos_as_micros(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1_000, nanos % 1_000)
}
