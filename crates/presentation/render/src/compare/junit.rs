//! A comparison as JUnit XML, which most CI systems show.

use std::time::Duration;

use howlate_analyse::compare::{Compared, LeftOut, Tested, Verdict};
use quick_junit::{Report, TestCase, TestCaseStatus, TestSuite};

use super::{ComparisonReport, words};
use crate::export::{failure, for_jenkins};
use crate::legible;

/// One suite per pair of conditions, one case per statistic: failed when it is worse, skipped when nothing can
/// be said; skipped too where nothing of a pair could be compared, lest an empty suite pass for a good one.
pub fn comparison_junit(report: &ComparisonReport<'_>) -> Result<String, String> {
    let mut junit = Report::new("howlate compare");
    for one in &report.comparison.compared {
        let mut suite = TestSuite::new(legible(&words::subject_name(one)).into_owned());
        suite.add_test_cases(one.statistics.iter().map(|tested| case(one, tested)));
        if one.statistics.is_empty() {
            suite.add_test_cases(one.left_out.iter().map(|left| left_out(one, *left)));
        }
        junit.add_test_suite(suite);
    }
    for_jenkins(&junit)
}

/// A statistic that there is too little for.
fn left_out(one: &Compared, left: LeftOut) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(words::left_out(left, one.design));
    named(TestCase::new(words::statistic(left.statistic, one.design), status))
}

fn named(mut case: TestCase) -> TestCase {
    case.set_classname("howlate.compare");
    case.set_time(Duration::ZERO);
    case
}

/// `p = 0.04`, `p < 0.001`.
fn p_value(p: f64) -> String {
    let text = words::probability(p);
    if text.starts_with('<') { format!("p {text}") } else { format!("p = {text}") }
}

fn case(one: &Compared, tested: &Tested) -> TestCase {
    let mut status = match tested.verdict {
        Verdict::Worse => failure("worse"),
        Verdict::Inconclusive => TestCaseStatus::skipped(),
        Verdict::Better | Verdict::NotDistinguishable | Verdict::Equivalent => TestCaseStatus::success(),
    };
    let interval = tested.interval_ns.map(|of| format!(", interval {} µs", words::interval(Some(of))));
    let found = format!(
        "{}: {} µs ({}){}, {}",
        words::verdict(tested.verdict),
        words::difference(tested),
        words::percent_apart(tested),
        interval.unwrap_or_default(),
        p_value(tested.p_corrected)
    );
    status.set_message(found.as_str());
    let mut case = named(TestCase::new(words::statistic(tested.statistic, one.design), status));
    case.set_system_out(found);
    case
}
