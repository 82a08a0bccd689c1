//! Tables of periodic work.

use std::borrow::Cow;

use howlate_analyse::{Analysis, Interval, Outcome, percentile};
use howlate_model::{Distribution, HasProperties, Latency, Property, WorkKind};

use crate::confidence::{left_out, what_the_maxima_support};
use crate::insights::what_this_means;
use crate::numbers::{count, micros, rough};
use crate::property::{self, heading, is_usual, varying};
use crate::prose::wrapped;
use crate::style::{DIM, paint};
use crate::table::{Columns, transpose, worst_in_bold};

/// What all conditions have in common, in words, and the properties in which they differ.
fn common_and_varying(outcomes: &[&Outcome]) -> (Vec<String>, Vec<Property>) {
    let is_column = |property: &Property| match property {
        Property::Kind => false,
        Property::Kernel => outcomes.iter().any(|outcome| outcome.condition.on_host.is_some()),
        _ => true,
    };
    let varying: Vec<Property> = varying(outcomes).into_iter().filter(is_column).collect();
    let common = Property::ALL.iter().filter(|property| is_column(property) && !varying.contains(property));
    let text = |property: &Property| {
        let value = outcomes.first()?.value(*property).filter(|value| !is_usual(value))?;
        Some(format!("{} {}", heading(*property, Some(WorkKind::Cyclic)), property::value(&value)))
    };
    (common.filter_map(text).collect(), varying)
}

fn cell(outcome: &Outcome, property: Property) -> String {
    match (outcome.value(property), property) {
        (Some(value), _) => property::value(&value),
        (None, Property::Knob) => property::BASELINE.to_owned(),
        (None, _) => "–".to_owned(),
    }
}

/// Which wake-ups a table is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// Every planned one: missed periods count with the latency that they would have had.
    Planned,
    /// Those that happened.
    Happened,
}

impl Counted {
    fn of(self, outcome: &Outcome) -> Cow<'_, Distribution> {
        match self {
            Self::Planned => outcome.planned(),
            Self::Happened => Cow::Borrowed(outcome.latency()),
        }
    }
}

const MISSED_COUNT: &str = "Missed periods are counted above, with the latency they would have had. The wake-ups that \
                            happened, uncorrected:";

/// The table, what was in common, the raw numbers where periods were missed, and how sure all is.
pub(crate) fn tables(analysis: &Analysis, width: usize) -> String {
    let outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let (common, varying) = common_and_varying(&outcomes);
    let about = format!("{} · latency in µs", common.join(" · "));
    let mut text = format!("{}\n\n", wrapped(&about, width, 0));
    text.push_str(&table(&outcomes, &varying, Counted::Planned, width));
    text.push('\n');
    let missed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.counts_missed()).copied().collect();
    if !missed.is_empty() {
        text.push_str(&format!("{}\n\n", wrapped(MISSED_COUNT, width, 0)));
        text.push_str(&table(&missed, &varying, Counted::Happened, width));
        text.push('\n');
    }
    let (certainty, meaning) = (certainty(&outcomes, width), what_this_means(analysis, width));
    let between = if certainty.is_empty() || meaning.is_empty() { "" } else { "\n" };
    text + &certainty + between + &meaning
}

fn table(outcomes: &[&Outcome], varying: &[Property], counted: Counted, width: usize) -> String {
    let heading = |property: &Property| heading(*property, Some(WorkKind::Cyclic)).to_owned();
    let mut headings: Vec<String> = varying.iter().map(heading).collect();
    let left = headings.len();
    let mut columns: Vec<Vec<String>> = varying
        .iter()
        .map(|property| outcomes.iter().map(|outcome| cell(outcome, *property)).collect())
        .collect();
    headings.push("wake-ups".to_owned());
    columns.push(outcomes.iter().map(|outcome| count(outcome.count())).collect());
    headings.push("missed".to_owned());
    columns.push(outcomes.iter().map(|outcome| count(outcome.missed_periods())).collect());
    for (heading, of) in NUMBERS {
        headings.push(heading.to_owned());
        let values: Vec<Option<i64>> = outcomes.iter().map(|outcome| of(&counted.of(outcome))).collect();
        columns.push(worst_in_bold(&values, micros));
    }
    let mut table = Columns::new(&headings, left);
    transpose(&columns).into_iter().for_each(|row| table.row(row));
    table.text(width)
}

/// A heading, and the nanoseconds below it, where there are enough wake-ups for it.
type Number = (&'static str, fn(&Distribution) -> Option<i64>);

const PERCENTILES: [(&str, f64); 2] = [("p99", 0.99), ("p99.9", 0.999)];

#[allow(clippy::cast_possible_truncation, reason = "nanoseconds are enough of a mean")]
const NUMBERS: [Number; 6] = [
    ("min", |all| all.min().map(Latency::as_nanos)),
    ("mean", |all| all.mean_nanos().map(|mean| mean as i64)),
    ("median", |all| all.quantile(0.5).map(Latency::as_nanos)),
    ("p99", |all| percentile(all, 0.99).map(Latency::as_nanos)),
    ("p99.9", |all| percentile(all, 0.999).map(Latency::as_nanos)),
    ("max", |all| all.max().map(Latency::as_nanos)),
];

/// How sure the numbers are; for one condition in words, for several the widest statement.
fn certainty(outcomes: &[&Outcome], width: usize) -> String {
    let mut lines: Vec<String> = left_out(outcomes, &PERCENTILES).into_iter().collect();
    if let [outcome] = outcomes {
        lines.extend(intervals(outcome));
    }
    lines.extend(what_the_maxima_support(outcomes.iter().copied()));
    lines.iter().map(|line| format!("{}\n", paint(DIM, wrapped(line, width, 0)))).collect()
}

/// The intervals of the numbers in the first table.
fn intervals(outcome: &Outcome) -> Option<String> {
    let blocks = outcome.planned_blocks();
    let between = |name: &str, one: Interval| format!("{name} {} to {}", one.low, one.high);
    let p99 = blocks.p99_interval().filter(|_| outcome.percentile(0.99).is_some());
    let both = [blocks.p50_interval().map(|one| between("median", one)), p99.map(|one| between("p99", one))];
    let both: Vec<String> = both.into_iter().flatten().collect();
    let (number, lasted) = blocks.extent();
    (!both.is_empty()).then(|| {
        format!("95 % intervals, from {} blocks of {}: {}.", count(number), rough(lasted), both.join(", "))
    })
}
