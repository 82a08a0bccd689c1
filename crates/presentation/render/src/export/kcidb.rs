//! A run as KCIDB takes reports, schema 5.3: <https://docs.kernelci.org/kcidb/submitter_guide/>.

use howlate_analyse::{Analysis, Check, LimitVerdict, Outcome, checks};
use howlate_model::{Limit, LimitStatistic};
use serde_json::{Map, Value, json};

use super::names::{finding, is_lower_bound, title};
use crate::condition::tags;

/// The origin that stands in front of every identifier; a lab puts its own in its place.
const ORIGIN: &str = "howlate";

/// One test per limit of each condition, or per condition. The build is named after the kernel's release.
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

/// The numbers of every planned wake-up, by which limits are judged, and those of the wake-ups that happened.
fn misc(howlate: &str, outcome: &Outcome) -> Value {
    json!({
        "howlate": howlate,
        "planned": outcome.planned().count(),
        "planned_summary": outcome.planned_summary(),
        "count": outcome.count(),
        "summary": outcome.summary(),
    })
}

/// Seconds, which the readers show with a prefix; none where it is only known to be that or more.
fn number(check: &Check<'_>) -> Option<Value> {
    let (limit, value) = (check.limit?, check.value.filter(|_| !is_lower_bound(check))?);
    Some(match limit.statistic {
        LimitStatistic::Missed => json!({ "value": value, "unit": "periods" }),
        _ => json!({ "value": value as f64 / 1e9, "unit": "s", "prefix": "metric" }),
    })
}

const fn status(kept: &LimitVerdict) -> &'static str {
    match kept {
        LimitVerdict::Yes => "PASS",
        LimitVerdict::No => "FAIL",
        LimitVerdict::Unknown(_) => "SKIP",
    }
}

/// Parts of letters, digits, `_` and `-`, joined by dots.
fn path(parts: &[&str]) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let part = |text: &&str| text.chars().map(|one| if fits(one) { one } else { '_' }).collect::<String>();
    format!("howlate.{}", parts.iter().map(part).collect::<Vec<_>>().join("."))
}
