//! A comparison in the Test Anything Protocol, version 13, which `prove` and the kernel's parsers read:
//! <https://testanything.org/tap-version-13-specification.html>.

use howlate_analyse::compare::{Compared, Tested, Verdict};

use super::{ComparisonReport, wording};
use crate::tap_text;

/// One test point per statistic: `not ok` when it is worse, skipped when nothing can be said.
pub fn comparison_tap(report: &ComparisonReport<'_>) -> String {
    let mut text = format!("TAP version 13\n1..{}\n", report.all().count());
    for (number, (pair, tested)) in report.all().enumerate() {
        text.push_str(&point(number + 1, pair, tested));
    }
    text
}

fn point(number: usize, pair: &Compared, tested: &Tested) -> String {
    let ok = if tested.verdict == Verdict::Worse { "not ok" } else { "ok" };
    let name =
        format!("{}: {}", wording::subject_name(pair), wording::statistic(tested.statistic, pair.design));
    let skip = if tested.verdict == Verdict::Inconclusive { " # SKIP inconclusive" } else { "" };
    let yaml = format!(
        "  ---\n  verdict: {}\n  base_ns: {:.0}\n  new_ns: {:.0}\n  difference_ns: {:.0}\n  p_corrected: {:.6}\n  ...\n",
        tested.verdict.name(),
        tested.base_ns,
        tested.new_ns,
        tested.difference_ns,
        tested.p_corrected
    );
    format!("{ok} {number} - {}{skip}\n{yaml}", tap_text(&name))
}
