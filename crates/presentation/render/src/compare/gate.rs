//! What a margin is worth as a gate, in a sentence.

use howlate_analyse::compare::{Compared, MarginGate, Tested};
use howlate_model::Span;

use super::{ComparisonReport, words};
use crate::numbers::{count, rough};

/// Of the statistic that stays undecided most often; nothing where no margin was given, or none could be judged.
pub(super) fn sentence(report: &ComparisonReport<'_>) -> Option<String> {
    let each = report
        .comparison
        .compared
        .iter()
        .flat_map(|one| one.statistics.iter().map(move |tested| (one, tested)));
    let gates = each.filter_map(|(one, tested)| Some((one, tested, tested.gate?)));
    let (one, tested, gate) = gates.max_by(|one, other| one.2.undecided.total_cmp(&other.2.undecided))?;
    Some(words_of(one, tested, gate))
}

fn words_of(one: &Compared, tested: &Tested, gate: MarginGate) -> String {
    let units = count(tested.units.0 as u64);
    let statistic = words::statistic(tested.statistic, one.design);
    let trusted = if gate.undecided > 0.05 { trusted(tested, gate) } else { String::new() };
    format!(
        "As a gate: where nothing has changed, at most {} of such comparisons say worse, and {} stay inconclusive ({statistic}, {units} units \
         of each side){trusted}.",
        percent(gate.false_alarms),
        percent(gate.undecided)
    )
}

/// A gate that takes longer is no gate.
const LONGEST: Span = Span::from_secs(24 * 3_600);

/// `; for 5 % it takes 80 of each, 40 s`.
fn trusted(tested: &Tested, gate: MarginGate) -> String {
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
