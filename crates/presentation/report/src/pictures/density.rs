//! Density of latencies: a ridge for each condition on one axis.

use howlate_analyse::{Analysis, LatencyColumn, LatencyColumns, Ranking, Summary, rankings};
use howlate_model::{Distribution, Latency, Property, Work};
use howlate_render::capitalised;
use howlate_render::numbers::{count, latency_in, length, micros};
use howlate_render::scale::Scale;

use super::osadl::{counts_by_column, reached};
use super::series::left_out;
use super::{Chart, ChartPanel, Picture, formats};
use crate::answer::share;
use crate::chart::{Axis, Drawing, Hue, Ridge, RidgeGroup, Ridges, RowLabel};
use crate::condition_names::{NamePart, name, varying};
use crate::deadline;
use crate::entry::Entry;

pub(super) const MAX_ROWS: usize = 32;
/// Positions along the axis at which the density is computed; standard deviation of the smoothing, in positions.
const PLACES: usize = 220;
const SPREAD: f64 = 1.4;

/// Rows of the short picture, and how many of them are the latest conditions.
const MATTER: usize = 12;
const LATEST: usize = 2;

/// A ridge for each condition.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Picture {
    let rankings = all_rankings(entries);
    picture_of(entries, drawn_entries(entries, &rankings), &rankings)
}

/// The references, the best and the latest conditions; `None` if there are few.
pub(super) fn important(entries: &[Entry<'_>]) -> Option<Picture> {
    if entries.len() <= MATTER {
        return None;
    }
    let rankings = all_rankings(entries);
    let mut ranked = entries.to_vec();
    ranked.sort_by_cached_key(Entry::rank);
    let latest = ranked.split_off(ranked.len() - LATEST);
    // References of the rankings come first.
    ranked.sort_by_cached_key(|entry| {
        (!rankings.iter().any(|ranking| ranking.fastest == entry.outcome.condition), entry.rank())
    });
    ranked.truncate(MATTER - LATEST);
    ranked.sort_by_cached_key(Entry::rank);
    ranked.extend(latest);
    let mut picture = picture_of(entries, ranked, &rankings);
    picture.left_out = Some(format!("The best and the slowest {MATTER} of {} conditions.", entries.len()));
    Some(picture)
}

fn picture_of(entries: &[Entry<'_>], entries_drawn: Vec<Entry<'_>>, rankings: &[Ranking]) -> Picture {
    let parts = varying(entries);
    let scale = scale(&entries_drawn);
    let by = group_part(&entries_drawn, &parts);
    let ridges = Ridges {
        axis: Axis::new(scale, "latency", formats::time),
        groups: groups(&entries_drawn, by)
            .into_iter()
            .map(|(heading, group)| ridge_group(heading, &group, &parts, by, scale, rankings))
            .collect(),
        rules: rule(&entries_drawn, scale).into_iter().collect(),
    };
    let columns: Vec<(String, Vec<LatencyColumn>)> = entries_drawn
        .iter()
        .map(|entry| {
            (
                name(entry, &parts),
                LatencyColumns::from_distribution(&entry.outcome.planned()).iter().collect(),
            )
        })
        .collect();
    Picture {
        kind: Chart::Density,
        title: title(entries),
        about: about(rankings),
        left_out: left_out(entries.len() - entries_drawn.len()),
        panels: vec![ChartPanel {
            heading: String::new(),
            drawing: Drawing::Ridges(ridges),
            legend: Vec::new(),
            data: counts_by_column(&columns),
        }],
        numbers: Some(reached(entries)),
    }
}

/// The selected conditions, the best first. Of too many, the references of the rankings and the latest remain.
fn drawn_entries<'a>(entries: &[Entry<'a>], rankings: &[Ranking]) -> Vec<Entry<'a>> {
    let is_reference =
        |entry: &Entry<'_>| rankings.iter().any(|ranking| ranking.fastest == entry.outcome.condition);
    let mut selected = entries.to_vec();
    selected.sort_by_cached_key(|entry| (is_reference(entry), entry.rank()));
    selected = selected.split_off(entries.len().saturating_sub(MAX_ROWS));
    selected.sort_by_cached_key(Entry::rank);
    selected
}

fn about(rankings: &[Ranking]) -> String {
    let beside = if rankings.is_empty() {
        ""
    } else {
        " Beside it: how much later its median is than that of the fastest one that blocks (does not spin); all these intervals hold \
         together with 95 %."
    };
    format!(
        "The height of a ridge shows how many wake-ups were that late; each ridge has its own scale and is slightly smoothed. Bar: median. Diamond: \
         99th percentile. The line ends at the maximum. The best comes first.{beside}"
    )
}

/// The share and percentile of the title: the median for notifications.
fn title_share(entries: &[Entry<'_>]) -> (&'static str, fn(&Summary) -> i64) {
    if entries.iter().any(Entry::is_notify) { ("half of all", |summary| summary.p50) } else { share(entries) }
}

fn title(entries: &[Entry<'_>]) -> String {
    let (parts, (share, percentile)) = (varying(entries), title_share(entries));
    let late = |entry: &Entry<'_>| entry.judged_summary().map(|summary| percentile(&summary));
    let (best, worst) =
        (entries.iter().min_by_key(|entry| late(entry)), entries.iter().max_by_key(|entry| late(entry)));
    let within = |entry: &Entry<'_>| Latency::from_nanos(late(entry).unwrap_or_default());
    match (best, worst) {
        (Some(best), Some(worst)) if entries.len() > 1 => format!(
            "{} wake-ups came within {} ({}) to {} ({})",
            capitalised(share),
            within(best),
            name(best, &parts),
            within(worst),
            name(worst, &parts)
        ),
        (Some(only), _) => format!(
            "{} wake-ups came within {}; the worst was {} late",
            capitalised(share),
            within(only),
            Latency::from_nanos(only.max())
        ),
        _ => String::new(),
    }
}

/// Range of the latencies; extended to the deadline if one was given or is near.
fn scale(entries: &[Entry<'_>]) -> Scale {
    let all = || entries.iter().filter_map(Entry::judged_summary);
    let least = all().map(|summary| summary.min.max(1)).min().unwrap_or(1) as f64;
    let most = all().map(|summary| summary.max).max().unwrap_or(1) as f64;
    let deadline = deadline::common(entries).map(|deadline| deadline.as_nanos() as f64);
    let is_given = entries.iter().any(|entry| entry.recording.deadline.is_some());
    let reaches = deadline.filter(|deadline| is_given || *deadline < 3.0 * most);
    Scale::logarithmic(least, most.max(reaches.unwrap_or(0.0)))
}

/// The deadline, where it is on the axis.
fn rule(entries: &[Entry<'_>], scale: Scale) -> Option<(f64, String)> {
    let deadline = deadline::common(entries)?;
    let at = deadline.as_nanos() as f64;
    (scale.from()..=scale.to()).contains(&at).then(|| (at, format!("deadline {}", length(deadline))))
}

/// The part by which rows are grouped: the length or the load.
fn group_part(entries: &[Entry<'_>], parts: &[NamePart]) -> Option<NamePart> {
    let is_periodic = entries.iter().any(|entry| entry.work().period().is_some());
    let mut by = [NamePart::Of(Property::Length), NamePart::Of(Property::Load)];
    if is_periodic {
        by.reverse();
    }
    by.into_iter().find(|part| parts.contains(part)).filter(|_| parts.len() > 1)
}

/// Groups by length, or by load with idle first.
fn groups<'a>(entries: &[Entry<'a>], by: Option<NamePart>) -> Vec<(String, Vec<Entry<'a>>)> {
    let Some(by) = by else { return vec![(String::new(), entries.to_vec())] };
    let mut groups: Vec<(String, Vec<Entry<'a>>)> = Vec::new();
    for entry in entries {
        let heading = name(entry, &[by]);
        match groups.iter_mut().find(|(previous, _)| *previous == heading) {
            Some((_, group)) => group.push(*entry),
            None => groups.push((heading, vec![*entry])),
        }
    }
    if by == NamePart::Of(Property::Length) {
        groups.sort_by_key(|(_, group)| group[0].work().length());
    } else {
        groups.sort_by_key(|(_, group)| !group[0].outcome.condition.load.is_idle());
    }
    groups
}

fn ridge_group(
    heading: String,
    group: &[Entry<'_>],
    parts: &[NamePart],
    by: Option<NamePart>,
    scale: Scale,
    rankings: &[Ranking],
) -> RidgeGroup {
    let name_parts: Vec<NamePart> = parts.iter().copied().filter(|part| Some(*part) != by).collect();
    let colours = colours(group, &name_parts);
    let ridge = |entry: &Entry<'_>| {
        ridge(
            entry,
            name(entry, &name_parts),
            hue(entry, &colours, &name_parts),
            slower(entry, rankings),
            scale,
        )
    };
    RidgeGroup { heading, ridges: group.iter().filter_map(ridge).collect() }
}

/// The part that determines the colour: the policy, or the first that differs.
fn colour_part(named: &[NamePart]) -> Option<NamePart> {
    let policy = NamePart::Of(Property::Policy);
    if named.contains(&policy) { Some(policy) } else { named.first().copied() }
}

/// Values of that part, sorted, so that colours do not depend on the order of rows.
fn colours(group: &[Entry<'_>], named: &[NamePart]) -> Vec<String> {
    let Some(by) = colour_part(named) else { return Vec::new() };
    let mut values: Vec<String> = group.iter().filter_map(|entry| by.value(entry)).collect();
    values.sort();
    values.dedup();
    values
}

fn hue(entry: &Entry<'_>, colours: &[String], named: &[NamePart]) -> Hue {
    let value = colour_part(named).and_then(|by| by.value(entry));
    let place = value.and_then(|value| colours.iter().position(|colour| *colour == value));
    Hue::nth(place.unwrap_or(0))
}

fn ridge(entry: &Entry<'_>, name: String, hue: Hue, slower: Option<String>, scale: Scale) -> Option<Ridge> {
    let (summary, has_p99) = (entry.judged_summary()?, entry.supports(0.01));
    let late = |nanos: i64| latency_in(&summary, nanos);
    let p99 = if has_p99 { format!("99 of 100 within {}, ", late(summary.p99)) } else { String::new() };
    let tooltip = format!(
        "half within {}, {p99}the worst {} late; {} wake-ups{}",
        late(summary.p50),
        late(summary.max),
        count(entry.outcome.planned().count()),
        slower.as_ref().map_or_else(String::new, |slower| format!("; {slower}"))
    );
    Some(Ridge {
        label: RowLabel { name, value: slower.map_or_else(|| value(entry, has_p99), Some)?, tooltip },
        hue,
        heights: heights(&entry.outcome.planned(), scale),
        p50: summary.p50 as f64,
        p99: has_p99.then_some(summary.p99 as f64),
        max: summary.max as f64,
    })
}

fn value(entry: &Entry<'_>, has_p99: bool) -> Option<String> {
    let summary = entry.judged_summary()?;
    let late = |nanos: i64| latency_in(&summary, nanos);
    Some(if has_p99 {
        format!("p99 {}, max {}", late(summary.p99), late(summary.max))
    } else {
        format!("median {}, max {}", late(summary.p50), late(summary.max))
    })
}

/// Rankings of ways to notify.
fn all_rankings(entries: &[Entry<'_>]) -> Vec<Ranking> {
    let mut analyses: Vec<&Analysis> = entries.iter().map(|entry| entry.recording.analysis).collect();
    analyses.dedup_by(|analysis, next| std::ptr::eq(*analysis, *next));
    if analyses.len() == 1 { rankings(analyses[0]) } else { Vec::new() }
}

/// Difference to the fastest way to notify, from the ranking.
fn slower(entry: &Entry<'_>, rankings: &[Ranking]) -> Option<String> {
    let mechanism = entry.work().notifier()?;
    let contains_entry = |ranking: &&Ranking| {
        let mut fastest = ranking.fastest.clone();
        if let Work::Notify { mechanism: notifier, .. } = &mut fastest.work {
            *notifier = mechanism;
        }
        fastest == entry.outcome.condition
    };
    let ranking = rankings.iter().find(contains_entry)?;
    let place = ranking.places.iter().find(|place| place.mechanism == mechanism)?;
    if ranking.fastest.work.notifier() == Some(mechanism) {
        return Some("the reference".to_owned());
    }
    let interval = place.slower_ns?;
    let signed = |latency: Latency| {
        let text = micros(latency.as_nanos());
        if latency.as_nanos() > 0 { format!("+{text}") } else { text }
    };
    Some(format!("{} … {} µs", signed(interval.low), signed(interval.high)))
}

/// Density at each position along the axis, 1 at its maximum.
fn heights(distribution: &Distribution, scale: Scale) -> Vec<f64> {
    let mut counts = vec![0.0; PLACES];
    let at = |nanos: u64| scale.place(nanos as f64) * (PLACES - 1) as f64;
    for bucket in distribution.buckets() {
        spread(&mut counts, at(bucket.lowest), at(bucket.highest + 1), bucket.count as f64);
    }
    let smooth = smoothed(&counts);
    let most = smooth.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    smooth.into_iter().map(|height| height / most).collect()
}

/// Distributes `count` evenly over the positions between `from` and `until`, which may be equal.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places")]
fn spread(counts: &mut [f64], from: f64, until: f64, count: f64) {
    let (first, end) = ((from + 0.5) as usize, (until + 0.5) as usize);
    for (place, amount) in counts.iter_mut().enumerate().skip(first).take(end + 1 - first) {
        let (low, high) = (from.max(place as f64 - 0.5), until.min(place as f64 + 0.5));
        *amount += count * if until > from { ((high - low) / (until - from)).max(0.0) } else { 1.0 };
    }
}

fn smoothed(counts: &[f64]) -> Vec<f64> {
    const REACH: usize = 5;
    let bell = |distance: usize| (-(distance as f64 / SPREAD).powi(2) / 2.0).exp();
    let at = |place: usize| {
        let (from, until) = (place.saturating_sub(REACH), (place + REACH + 1).min(counts.len()));
        (from..until).map(|other| counts[other] * bell(other.abs_diff(place))).sum()
    };
    (0..counts.len()).map(at).collect()
}

#[cfg(test)]
mod tests {
    use howlate_model::{Condition, Notifier, Peers, ReceiverCpu, Span};

    use super::*;
    use crate::NamedRecording;
    use crate::testing::{analysis, turn};

    #[test]
    fn a_ridge_is_highest_where_most_values_lie() {
        let mut all = Distribution::default();
        all.record_n(Latency::from_nanos(10_000), 900);
        all.record_n(Latency::from_nanos(1_000_000), 100);
        let scale = Scale::logarithmic(1_000.0, 1e7);
        let heights = heights(&all, scale);
        let distance =
            |place: &usize, nanos: f64| (scale.value(*place as f64 / (PLACES - 1) as f64) / nanos).ln().abs();
        let height = |nanos: f64| {
            let nearest = (0..PLACES).min_by(|a, b| distance(a, nanos).total_cmp(&distance(b, nanos)));
            heights[nearest.unwrap()]
        };
        assert!(height(10_000.0) > 0.9 && height(100_000.0) < 0.01, "{heights:?}");
        assert!((0.08..0.14).contains(&height(1_000_000.0)), "{}", height(1_000_000.0));
    }

    #[test]
    fn what_others_are_held_against_is_drawn() {
        let notify = |number: u32| {
            let work = Work::Notify {
                mechanism: if number.is_multiple_of(2) { Notifier::Pipe } else { Notifier::Futex },
                between: Peers::Processes,
                receiver: ReceiverCpu::AsLeft,
                round_trip: false,
                after_ns: Span::from_micros(u64::from(number / 2) + 1),
                sender_cpu: Some(0),
                placement: None,
            };
            Condition::new(work, "6.1.0")
        };
        let mut analysis = analysis((0..40).map(notify).collect());
        for round in 0..8 {
            (0..40).for_each(|condition| {
                turn(&mut analysis, condition, round, if condition % 2 == 0 { 10_000 } else { 90_000 })
            });
        }
        let (entries, rankings) =
            (Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]), rankings(&analysis));
        let names = |entries: &[Entry<'_>]| -> Vec<Option<Notifier>> {
            entries.iter().map(|entry| entry.work().notifier()).collect()
        };
        let drawn_entries = names(&drawn_entries(&entries, &rankings));
        let references = drawn_entries.iter().filter(|entry| **entry == Some(Notifier::Pipe)).count();
        assert_eq!((drawn_entries.len(), references), (MAX_ROWS, 20));
        assert_eq!(drawn_entries[0], Some(Notifier::Pipe), "the best comes first");
    }

    #[test]
    fn nothing_is_lost_where_a_value_is_spread() {
        let mut counts = vec![0.0; 10];
        spread(&mut counts, 2.2, 4.9, 30.0);
        spread(&mut counts, 7.1, 7.1, 5.0);
        assert!((counts.iter().sum::<f64>() - 35.0).abs() < 1e-9, "{counts:?}");
        assert!((counts[7] - 5.0).abs() < 1e-9, "{counts:?}");
    }
}
