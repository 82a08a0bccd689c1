//! JUnit XML, which most CI systems show.

use std::time::Duration;

use howlate_analyse::{Analysis, Check, LimitVerdict, checks};
use howlate_model::Limit;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::names::{demand, finding, numbers};
use crate::condition::condition_name;

/// One suite per condition, one case per limit: failed when exceeded, skipped when the condition was not measured as requested.
pub fn junit(analyses: &[Analysis], limits: &[Limit]) -> Result<String, String> {
    let mut report = Report::new("howlate");
    for analysis in analyses {
        let checks = checks(analysis, limits);
        for of_condition in checks.chunk_by(|check, other| std::ptr::eq(check.outcome, other.outcome)) {
            report.add_test_suite(suite(analysis.header.command.name(), of_condition));
        }
    }
    for_jenkins(&report)
}

/// A failure of this type. Surefire's schema requires one.
pub(crate) fn failure(kind: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind);
    status
}

/// XML for Jenkins' schema, which has no `skipped` count in `<testsuites>`.
pub(crate) fn for_jenkins(report: &Report) -> Result<String, String> {
    let text = report.to_string().map_err(|error| error.to_string())?;
    Ok(text.replacen(&format!(" skipped=\"{}\"", report.skipped), "", 1))
}

fn suite(command: &str, checks: &[Check<'_>]) -> TestSuite {
    let outcome = checks[0].outcome;
    let mut suite = TestSuite::new(condition_name(&outcome.condition));
    suite.set_time(Duration::from(outcome.covered()));
    suite.add_test_cases(checks.iter().map(|check| case(command, check)));
    suite
}

fn case(command: &str, check: &Check<'_>) -> TestCase {
    let mut status = match check.verdict {
        LimitVerdict::Yes => TestCaseStatus::success(),
        LimitVerdict::No => failure("limit_exceeded"),
        LimitVerdict::Unknown(_) => TestCaseStatus::skipped(),
    };
    status.set_message(finding(check));
    let mut case = TestCase::new(demand(check.limit), status);
    let mechanism = check.outcome.condition.work.mechanism();
    case.set_classname(format!("howlate.{command}.{mechanism}"));
    case.set_time(Duration::from(check.outcome.covered()));
    case.set_system_out(numbers(check.outcome));
    case
}
