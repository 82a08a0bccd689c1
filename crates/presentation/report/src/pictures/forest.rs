//! Differences between conditions, with intervals, as `howlate compare` finds them.

use howlate_analyse::compare::{Tested, Verdict};
use howlate_render::scale::Scale;
use howlate_render::{ComparisonReport, PairTexts, StatisticTexts};

use super::{Chart, ChartPanel, Picture, formats};
use crate::chart::{Axis, Drawing, Forest, ForestGroup, ForestRow, Hue, RowLabel};

/// Maximum pairs; the table has all.
const PAIRS: usize = 12;
/// Separator between the parts of a condition's name.
const SEPARATOR: &str = " · ";
/// Limits of the axis, as multiples of the base.
const LEAST: f64 = 1e-3;
const MOST: f64 = 1e3;

/// `None` where nothing was tested.
pub(crate) fn picture(comparison: &ComparisonReport<'_>) -> Option<Picture> {
    let messages = comparison.messages();
    let common = common(&messages.pairs);
    let groups: Vec<ForestGroup> =
        messages.pairs.iter().take(PAIRS).map(|pair| group(pair, &common)).collect();
    let has_any = groups.iter().any(|group| !group.differences.is_empty());
    let forest = Forest { axis: axis(&groups), none: (1.0, "no difference".to_owned()), groups };
    has_any.then(|| Picture {
        kind: Chart::Forest,
        title: messages.answer.clone(),
        about: format!(
            "How much each number differs from the base's, in per cent of it. Dot: the estimate. Line: its {} interval. Grey: differences too small to be detected reliably. A hollow dot has no interval: too few data.{}",
            messages.confidence,
            of_all(&common)
        ),
        left_out: (messages.pairs.len() > PAIRS)
            .then(|| format!("{} more pairs are in the table.", messages.pairs.len() - PAIRS)),
        panels: vec![ChartPanel {
            heading: String::new(),
            drawing: Drawing::Forest(forest),
            legend: Vec::new(),
            data: table_of(&messages.pairs),
        }],
        numbers: None,
    })
}

/// Parts that all pairs have in common, if there are several pairs.
fn common<'a>(pairs: &'a [PairTexts<'_>]) -> Vec<&'a str> {
    let [first, rest @ ..] = pairs else { return Vec::new() };
    let is_common = |part: &&str| {
        rest.iter().all(|other| other.subject.split(SEPARATOR).any(|own_part| own_part == *part))
    };
    if rest.is_empty() { Vec::new() } else { first.subject.split(SEPARATOR).filter(is_common).collect() }
}

fn of_all(common: &[&str]) -> String {
    if common.is_empty() { String::new() } else { format!(" All: {}.", common.join(SEPARATOR)) }
}

fn group(pair: &PairTexts<'_>, common: &[&str]) -> ForestGroup {
    let differences = pair.rows.iter().filter_map(difference).collect();
    let own: Vec<&str> = pair.subject.split(SEPARATOR).filter(|part| !common.contains(part)).collect();
    ForestGroup { heading: own.join(SEPARATOR), differences }
}

fn difference(row: &StatisticTexts<'_>) -> Option<ForestRow> {
    let tested = row.tested;
    let at = multiple(tested, tested.difference_ns)?;
    let both = |(low, high): (f64, f64)| Some((multiple(tested, low)?, multiple(tested, high)?));
    let interval = tested.interval_ns.and_then(both);
    let is_open = !matches!(tested.verdict, Verdict::Better | Verdict::Worse);
    let undetected = tested.detectable_ns.filter(|_| is_open).and_then(|least| both((-least, least)));
    let [base, new, by] = &row.numbers;
    let about = if interval.is_some() { format!(" ({})", row.interval) } else { String::new() };
    let tooltip = format!("{base} µs, then {new} µs; they differ by {by} µs{about}: {}", row.verdict);
    let label = RowLabel { name: row.statistic.to_owned(), value: row.verdict.to_owned(), tooltip };
    Some(ForestRow { label, hue: hue(tested.verdict), at, interval, undetected })
}

/// Ratio of new to base for this difference; `None` if the base is 0.
fn multiple(tested: &Tested, difference: f64) -> Option<f64> {
    (tested.base_ns > 0.0).then(|| (1.0 + difference / tested.base_ns).clamp(LEAST, MOST))
}

const fn hue(verdict: Verdict) -> Hue {
    match verdict {
        Verdict::Better => Hue::Series(2),
        Verdict::Worse => Hue::Series(1),
        Verdict::Equivalent => Hue::Series(0),
        Verdict::NotDistinguishable | Verdict::Inconclusive => Hue::Rest,
    }
}

/// Ticks as multiples of the base, by priority.
const TICKS: [(f64, &str); 21] = [
    (1.0, "0"),
    (0.5, "−50 %"),
    (2.0, "+100 %"),
    (0.1, "−90 %"),
    (10.0, "× 10"),
    (0.01, "−99 %"),
    (100.0, "× 100"),
    (0.001, "−99.9 %"),
    (1_000.0, "× 1 000"),
    (0.8, "−20 %"),
    (1.25, "+25 %"),
    (0.2, "−80 %"),
    (5.0, "× 5"),
    (0.9, "−10 %"),
    (1.1, "+10 %"),
    (0.95, "−5 %"),
    (1.05, "+5 %"),
    (0.98, "−2 %"),
    (1.02, "+2 %"),
    (0.99, "−1 %"),
    (1.01, "+1 %"),
];

/// A logarithmic axis: half and twice are equally far from no difference.
fn axis(groups: &[ForestGroup]) -> Axis {
    let ends = |row: &ForestRow| {
        [Some((row.at, row.at)), row.interval, row.undetected]
            .into_iter()
            .flatten()
            .flat_map(|(low, high)| [low, high])
    };
    let all = || groups.iter().flat_map(|group| &group.differences).flat_map(ends);
    // At least 1 % on both sides of no difference.
    let (least, most) = (all().fold(0.99, f64::min), all().fold(1.01, f64::max));
    let spare = (most / least).powf(0.04);
    let scale = Scale::between(least / spare, most * spare);
    Axis {
        explicit_ticks: spaced_ticks(scale),
        ..Axis::new(scale, "difference from the base", |_| String::new())
    }
}

/// The ticks with the highest priority that do not overlap.
fn spaced_ticks(scale: Scale) -> Vec<(f64, String)> {
    const APART: f64 = 0.12;
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for (value, text) in TICKS {
        let is_near = |(tick, _): &(f64, String)| (scale.place(*tick) - scale.place(value)).abs() < APART;
        if (scale.from()..=scale.to()).contains(&value) && !ticks.iter().any(is_near) {
            ticks.push((value, text.to_owned()));
        }
    }
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    ticks
}

fn table_of(pairs: &[PairTexts<'_>]) -> String {
    let headings =
        ["compared", "statistic", "base_ns", "new_ns", "difference_ns", "low_ns", "high_ns", "verdict"];
    let row = |pair: &PairTexts<'_>, row: &StatisticTexts<'_>| {
        let tested = row.tested;
        let whole = |value: f64| format!("{value:.0}");
        let mut cells = vec![pair.subject.clone(), row.statistic.to_owned()];
        cells.extend([tested.base_ns, tested.new_ns, tested.difference_ns].map(whole));
        cells.push(formats::optional(tested.interval_ns.map(|(low, _)| whole(low))));
        cells.push(formats::optional(tested.interval_ns.map(|(_, high)| whole(high))));
        cells.push(row.verdict.to_owned());
        cells
    };
    let rows = pairs.iter().flat_map(|pair| pair.rows.iter().map(move |statistic| row(pair, statistic)));
    formats::csv(&headings.map(str::to_owned), rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_differences_stand_apart() {
        let names = |from, to| {
            spaced_ticks(Scale::between(from, to)).into_iter().map(|tick| tick.1).collect::<Vec<_>>()
        };
        assert_eq!(names(0.04, 1.1), ["−90 %", "−80 %", "−50 %", "0"]);
        assert_eq!(names(0.97, 1.06), ["−2 %", "0", "+2 %", "+5 %"]);
        assert!(names(0.9, 1_000.0).contains(&"× 100".to_owned()));
    }
}
