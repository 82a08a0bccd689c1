//! A comparison as JUnit XML, which most CI systems show.

use std::time::Duration;

use howlate_analyse::compare::{Compared, LeftOut, Tested, Verdict};
use quick_junit::{Report, TestCase, TestCaseStatus, TestSuite};

use super::{ComparisonReport, wording};
use crate::export::{failure, for_jenkins};
use crate::legible;

/// One suite per pair of conditions, one case per statistic: failed when worse, skipped when inconclusive. Where nothing of a
/// pair could be compared its cases are skipped, because an empty suite would pass.
pub fn comparison_junit(report: &ComparisonReport<'_>) -> Result<String, String> {
    let mut junit = Report::new("howlate compare");
    for pair in &report.comparison.compared {
        let mut suite = TestSuite::new(legible(&wording::subject_name(pair)).into_owned());
        suite.add_test_cases(pair.statistics.iter().map(|tested| case(pair, tested)));
        if pair.statistics.is_empty() {
            suite.add_test_cases(pair.left_out.iter().map(|left| left_out(pair, *left)));
        }
        junit.add_test_suite(suite);
    }
    for_jenkins(&junit)
}

/// A statistic with too few wake-ups.
fn left_out(pair: &Compared, left: LeftOut) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(wording::left_out(left, pair.design));
    with_class_and_time(TestCase::new(wording::statistic(left.statistic, pair.design), status))
}

fn with_class_and_time(mut case: TestCase) -> TestCase {
    case.set_classname("howlate.compare");
    case.set_time(Duration::ZERO);
    case
}

/// `p = 0.04`, `p < 0.001`.
fn p_value(p: f64) -> String {
    let text = wording::probability(p);
    if text.starts_with('<') { format!("p {text}") } else { format!("p = {text}") }
}

fn case(pair: &Compared, tested: &Tested) -> TestCase {
    let mut status = match tested.verdict {
        Verdict::Worse => failure("worse"),
        Verdict::Inconclusive => TestCaseStatus::skipped(),
        Verdict::Better | Verdict::NotDistinguishable | Verdict::Equivalent => TestCaseStatus::success(),
    };
    let interval =
        tested.interval_ns.map(|range| format!(", interval {} µs", wording::interval(Some(range))));
    let message = format!(
        "{}: {} µs ({}){}, {}",
        wording::verdict(tested.verdict),
        wording::difference(tested),
        wording::percent_apart(tested),
        interval.unwrap_or_default(),
        p_value(tested.p_corrected)
    );
    status.set_message(message.as_str());
    let mut case =
        with_class_and_time(TestCase::new(wording::statistic(tested.statistic, pair.design), status));
    case.set_system_out(message);
    case
}
