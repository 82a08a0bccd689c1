//! Results of periodic work.

use std::borrow::Cow;

use howlate_analyse::{Analysis, Interval, Outcome};
use howlate_model::{Distribution, HasProperties, Property, WorkKind};

use crate::condition::joined;
use crate::confidence::{covered_changes, larger_ones, left_out, what_the_maxima_support};
use crate::detail::Brevity;
use crate::insights::what_this_means;
use crate::numbers::{count, rough};
use crate::property::{self, heading, is_usual, varying};
use crate::prose::wrapped;
use crate::result_columns::{MAX, MEAN, MEDIAN, MIN, P99, P99_9, RowNumbers};
use crate::style::{DIM, paint};
use crate::table::TextTable;

/// The values that all conditions share, as text, and the properties in which they differ.
pub(crate) fn common_and_varying(all: &[impl HasProperties]) -> (Vec<String>, Vec<Property>) {
    let is_column = |property: &Property| match property {
        Property::Kind => false,
        // The kernel is in the heading, except that of guests.
        Property::Kernel => all.iter().any(|condition| condition.value(Property::HostLoad).is_some()),
        _ => true,
    };
    let varying: Vec<Property> = varying(all).into_iter().filter(is_column).collect();
    let common = Property::ALL.iter().filter(|property| is_column(property) && !varying.contains(property));
    let text = |property: &Property| {
        let value = all.first()?.value(*property).filter(|value| !is_usual(value))?;
        Some(format!("{} {}", heading(*property, Some(WorkKind::Cyclic)), property::value(&value)))
    };
    (common.filter_map(text).collect(), varying)
}

/// The cell of a property.
pub(crate) fn cell(row: &impl HasProperties, property: Property) -> String {
    match (row.value(property), property) {
        (Some(value), _) => property::value(&value),
        (None, Property::Knob) => property::BASELINE.to_owned(),
        (None, Property::Clock) => property.text(row),
        (None, _) => "–".to_owned(),
    }
}

/// Which wake-ups a table counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CountedWakeups {
    /// All planned ones: missed periods count with the latency that they would have had.
    Planned,
    /// Those that happened.
    Happened,
}

impl CountedWakeups {
    fn distribution_of(self, outcome: &Outcome) -> Cow<'_, Distribution> {
        match self {
            Self::Planned => outcome.planned(),
            Self::Happened => Cow::Borrowed(outcome.latency()),
        }
    }
}

const MISSED_COUNT: &str = "Missed periods are counted above, with the latency they would have had. The wake-ups that \
                            happened, uncorrected:";

/// The table, the shared values, the raw numbers where periods were missed, and the confidence.
pub(crate) fn tables(analysis: &Analysis, brevity: Brevity, width: usize) -> String {
    let outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let (common, varying) = common_and_varying(&outcomes);
    let about = format!("{} · latency in µs", joined(&common));
    let mut text = format!("{}\n\n", wrapped(&about, width, 0));
    text.push_str(&table(&outcomes, &varying, CountedWakeups::Planned, width));
    text.push('\n');
    let missed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.has_missed()).copied().collect();
    if !missed.is_empty() && !brevity.is(Brevity::WithoutAsides) {
        text.push_str(&format!("{}\n\n", wrapped(MISSED_COUNT, width, 0)));
        text.push_str(&table(&missed, &varying, CountedWakeups::Happened, width));
        text.push('\n');
    }
    let (certainty, meaning) = (certainty(&outcomes, width), what_this_means(analysis, brevity, width));
    let certainty = if brevity.is(Brevity::Shortest) { String::new() } else { certainty };
    let between = if certainty.is_empty() || meaning.is_empty() { "" } else { "\n" };
    text + &certainty + between + &meaning
}

fn table(outcomes: &[&Outcome], varying: &[Property], counted: CountedWakeups, width: usize) -> String {
    let mut table = TextTable::without_columns(varying.len());
    for property in varying {
        let cells = outcomes.iter().map(|outcome| cell(*outcome, *property));
        table.column(heading(*property, Some(WorkKind::Cyclic)), cells);
    }
    table.column("wake-ups", outcomes.iter().map(|outcome| count(outcome.count())));
    table.column("missed", outcomes.iter().map(|outcome| count(outcome.missed_periods())));
    let numbers = outcomes.iter().map(|outcome| RowNumbers::supported_by(&counted.distribution_of(outcome)));
    table.results(&[MIN, MEAN, MEDIAN, P99, P99_9, MAX], &numbers.collect::<Vec<_>>());
    table.text(width)
}

/// Confidence of the numbers: for one condition in full, for several the weakest statement.
fn certainty(outcomes: &[&Outcome], width: usize) -> String {
    let mut lines: Vec<String> = left_out(outcomes, &[P99, P99_9]).into_iter().collect();
    if let [outcome] = outcomes {
        lines.extend(intervals(outcome));
    }
    lines.extend(what_the_maxima_support(outcomes.iter().copied()));
    lines.extend(larger_ones(outcomes.iter().copied()));
    lines.iter().map(|line| format!("{}\n", paint(DIM, wrapped(line, width, 0)))).collect()
}

/// Intervals of the numbers in the first table.
fn intervals(outcome: &Outcome) -> Option<String> {
    let blocks = outcome.planned_blocks();
    let between = |name: &str, interval: Interval| format!("{name} {} to {}", interval.low, interval.high);
    let p99 = blocks.p99_interval().filter(|_| outcome.percentile(0.99).is_some());
    let intervals =
        [blocks.p50_interval().map(|p50| between("median", p50)), p99.map(|p99| between("p99", p99))];
    let intervals: Vec<String> = intervals.into_iter().flatten().collect();
    let (number, lasted) = blocks.extent();
    (!intervals.is_empty()).then(|| {
        format!(
            "95 % intervals for what changes within {}, from {} blocks of {}: {}.",
            covered_changes(outcome),
            count(number),
            rough(lasted),
            intervals.join(", ")
        )
    })
}
