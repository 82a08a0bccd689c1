//! How well a margin works as a gate, in a sentence.

use howlate_analyse::compare::{Compared, MarginGate, Tested};
use howlate_model::Span;

use super::{ComparisonReport, wording};
use crate::numbers::{count, rough};

/// About the statistic that stays undecided most often; `None` without a margin, or where none could be judged.
pub(super) fn sentence(report: &ComparisonReport<'_>) -> Option<String> {
    let tested_pairs = report
        .comparison
        .compared
        .iter()
        .flat_map(|pair| pair.statistics.iter().map(move |tested| (pair, tested)));
    let gates = tested_pairs.filter_map(|(pair, tested)| Some((pair, tested, tested.gate?)));
    let (pair, tested, gate) =
        gates.max_by(|(.., gate), (.., other)| gate.undecided.total_cmp(&other.undecided))?;
    Some(describe(pair, tested, gate))
}

fn describe(pair: &Compared, tested: &Tested, gate: MarginGate) -> String {
    let units = count(tested.units.0 as u64);
    let statistic = wording::statistic(tested.statistic, pair.design);
    let longer_run = if gate.undecided > 0.05 { longer_run(tested, gate) } else { String::new() };
    format!(
        "As a gate: where nothing has changed, at most {} of such comparisons say worse, and {} stay inconclusive ({statistic}, {units} units \
         of each side){longer_run}.",
        percent(gate.false_alarms),
        percent(gate.undecided)
    )
}

/// Longer comparisons are of no use as a gate.
const LONGEST: Span = Span::from_secs(24 * 3_600);

/// The number of units for which at most 5 % stay undecided: `; for 5 % it takes 80 of each, 40 s`.
fn longer_run(tested: &Tested, gate: MarginGate) -> String {
    let lasts: Span = tested.unit().times(gate.trusted_units as u64);
    if lasts > LONGEST {
        return "; for 5 % it takes more than a day: choose a wider --margin".to_owned();
    }
    format!("; for 5 % it takes {} of each, {}", count(gate.trusted_units as u64), rough(lasts))
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        less if less < 1.0 => "less than 1 %".to_owned(),
        some if some < 10.0 => format!("{some:.1} %").replace(".0 %", " %"),
        some => format!("{:.0} %", some.min(99.0)),
    }
}
