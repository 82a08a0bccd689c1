//! KCIDB reports, schema 5.3: <https://docs.kernelci.org/kcidb/submitter_guide/>.

use howlate_analyse::{Analysis, Check, LimitVerdict, Outcome, checks};
use howlate_model::{Limit, LimitStatistic};
use serde_json::{Map, Value, json};

use super::names::{finding, is_lower_bound, title};
use crate::condition::tags;

/// Prefix of all identifiers; a lab replaces it by its own origin.
const ORIGIN: &str = "howlate";

/// One test per limit of each condition, or per condition. The build is named after the kernel release.
pub fn kcidb(analyses: &[Analysis], limits: &[Limit]) -> Result<String, serde_json::Error> {
    let tests: Vec<Value> = analyses.iter().flat_map(|analysis| tests(analysis, limits)).collect();
    let report = json!({ "version": { "major": 5, "minor": 3 }, "tests": tests });
    serde_json::to_string_pretty(&report).map(|text| text + "\n")
}

fn tests(analysis: &Analysis, limits: &[Limit]) -> Vec<Value> {
    let (tags, per_condition) = (tags(analysis), limits.len().max(1));
    let all = checks(analysis, limits);
    all.iter().enumerate().map(|(place, check)| test(analysis, check, &tags[place / per_condition])).collect()
}

fn test(analysis: &Analysis, check: &Check<'_>, tag: &str) -> Value {
    let header = &analysis.header;
    let what = check.limit.map_or_else(|| "measured".to_owned(), |limit| limit.statistic.to_string());
    let mut test = Map::from_iter([
        ("origin".to_owned(), json!(ORIGIN)),
        ("build_id".to_owned(), json!(format!("{ORIGIN}:{}", check.outcome.condition.kernel))),
        ("id".to_owned(), json!(format!("{ORIGIN}:{}:{tag}:{what}", header.started))),
        ("path".to_owned(), json!(path(&[header.command.name(), tag, &what]))),
        ("status".to_owned(), json!(status(&check.verdict))),
        ("comment".to_owned(), json!(format!("{}: {}", title(check), finding(check)))),
        ("start_time".to_owned(), json!(header.started)),
        ("duration".to_owned(), json!(check.outcome.covered().as_secs_f64())),
        ("environment".to_owned(), json!({ "comment": header.system.processor })),
        ("misc".to_owned(), misc(&header.howlate, check.outcome)),
    ]);
    test.extend(number(check).map(|number| ("number".to_owned(), number)));
    Value::Object(test)
}

/// Statistics of all planned wake-ups, by which limits are judged, and of those that happened.
fn misc(howlate: &str, outcome: &Outcome) -> Value {
    json!({
        "howlate": howlate,
        "planned": outcome.planned().count(),
        "planned_summary": outcome.planned_summary(),
        "count": outcome.count(),
        "summary": outcome.summary(),
    })
}

/// In seconds, which viewers show with a prefix; `None` for a lower bound.
fn number(check: &Check<'_>) -> Option<Value> {
    let (limit, value) = (check.limit?, check.value.filter(|_| !is_lower_bound(check))?);
    Some(match limit.statistic {
        LimitStatistic::Missed => json!({ "value": value, "unit": "periods" }),
        _ => json!({ "value": value as f64 / 1e9, "unit": "s", "prefix": "metric" }),
    })
}

const fn status(verdict: &LimitVerdict) -> &'static str {
    match verdict {
        LimitVerdict::Yes => "PASS",
        LimitVerdict::No => "FAIL",
        LimitVerdict::Unknown(_) => "SKIP",
    }
}

/// Converts the parts to letters, digits, `_` and `-`, joined by dots.
fn path(parts: &[&str]) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let part =
        |text: &&str| text.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect::<String>();
    format!("howlate.{}", parts.iter().map(part).collect::<Vec<_>>().join("."))
}
