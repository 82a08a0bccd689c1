//! How thickly latencies lie: a ridge for each condition on one axis.

use howlate_analyse::{Analysis, Column, Columns, Ranking, Summary, rankings};
use howlate_model::{Distribution, Latency, Property, Work};
use howlate_render::capitalised;
use howlate_render::numbers::{count, latency_in, length, micros};
use howlate_render::scale::Scale;

use super::osadl::{counts_by_column, reached};
use super::series::left_out;
use super::{Chart, Panel, Picture, words};
use crate::answer::share;
use crate::chart::{Axis, Drawing, Hue, Label, Range, Ridge, Ridges};
use crate::condition_names::{Part, name, varying};
use crate::deadline;
use crate::entry::Entry;

/// Rows in all; more are not looked at.
pub(super) const ROWS: usize = 32;
/// Places along the axis at which the thickness is worked out, and how far each value is spread, in places.
const PLACES: usize = 220;
const SPREAD: f64 = 1.4;

/// Rows that are looked at one by one; and how many of them are those that are latest.
const MATTER: usize = 12;
const LATEST: usize = 2;

/// The picture of these recordings: a ridge for each condition.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Picture {
    let rankings = all_rankings(entries);
    of_these(entries, drawn(entries, &rankings), &rankings)
}

/// Of more than a few conditions those that are compared with, the best and the latest; `None` of fewer.
pub(super) fn those_that_matter(entries: &[Entry<'_>]) -> Option<Picture> {
    if entries.len() <= MATTER {
        return None;
    }
    let rankings = all_rankings(entries);
    let mut ranked = entries.to_vec();
    ranked.sort_by_cached_key(Entry::rank);
    let latest = ranked.split_off(ranked.len() - LATEST);
    // What others are held against comes first among the rest; each keeps its place on the picture.
    ranked.sort_by_cached_key(|entry| {
        (!rankings.iter().any(|one| one.fastest == entry.outcome.condition), entry.rank())
    });
    ranked.truncate(MATTER - LATEST);
    ranked.sort_by_cached_key(Entry::rank);
    ranked.extend(latest);
    let mut picture = of_these(entries, ranked, &rankings);
    picture.left_out = Some(format!("The best and the slowest {MATTER} of {} conditions.", entries.len()));
    Some(picture)
}

fn of_these(entries: &[Entry<'_>], drawn: Vec<Entry<'_>>, rankings: &[Ranking]) -> Picture {
    let parts = varying(entries);
    let scale = scale(&drawn);
    let by = group_part(&drawn, &parts);
    let ridges = Ridges {
        axis: Axis::new(scale, "latency", words::time),
        groups: groups(&drawn, by)
            .into_iter()
            .map(|(heading, group)| range(heading, &group, &parts, by, scale, rankings))
            .collect(),
        rules: rule(&drawn, scale).into_iter().collect(),
    };
    let columns: Vec<(String, Vec<Column>)> = drawn
        .iter()
        .map(|one| (name(one, &parts), Columns::from_distribution(&one.outcome.planned()).iter().collect()))
        .collect();
    Picture {
        kind: Chart::Density,
        title: title(entries),
        about: about(rankings),
        left_out: left_out(entries.len() - drawn.len()),
        panels: vec![Panel {
            heading: String::new(),
            drawing: Drawing::Ridges(ridges),
            legend: Vec::new(),
            data: counts_by_column(&columns),
        }],
        numbers: Some(reached(entries)),
    }
}

/// Those that are drawn, the best first: where there are too many, those that others are held against, and the latest.
fn drawn<'a>(entries: &[Entry<'a>], rankings: &[Ranking]) -> Vec<Entry<'a>> {
    let is_reference = |entry: &Entry<'_>| rankings.iter().any(|one| one.fastest == entry.outcome.condition);
    let mut drawn = entries.to_vec();
    drawn.sort_by_cached_key(|entry| (is_reference(entry), entry.rank()));
    drawn = drawn.split_off(entries.len().saturating_sub(ROWS));
    drawn.sort_by_cached_key(Entry::rank);
    drawn
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

/// What goes by the median is told by it.
fn told_share(entries: &[Entry<'_>]) -> (&'static str, fn(&Summary) -> i64) {
    if entries.iter().any(Entry::is_notify) { ("half of all", |one| one.p50) } else { share(entries) }
}

fn title(entries: &[Entry<'_>]) -> String {
    let (parts, (share, of)) = (varying(entries), told_share(entries));
    let late = |entry: &Entry<'_>| entry.judged_summary().map(|summary| of(&summary));
    let (best, worst) =
        (entries.iter().min_by_key(|one| late(one)), entries.iter().max_by_key(|one| late(one)));
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

/// From the earliest to the latest; as far as the deadline where one was given, or where it is near.
fn scale(entries: &[Entry<'_>]) -> Scale {
    let all = || entries.iter().filter_map(Entry::judged_summary);
    let least = all().map(|summary| summary.min.max(1)).min().unwrap_or(1) as f64;
    let most = all().map(|summary| summary.max).max().unwrap_or(1) as f64;
    let deadline = deadline::common(entries).map(|one| one.as_nanos() as f64);
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

/// What rows are grouped by: the length where that is what was asked about, or the load.
fn group_part(entries: &[Entry<'_>], parts: &[Part]) -> Option<Part> {
    let is_periodic = entries.iter().any(|entry| entry.work().period().is_some());
    let mut by = [Part::Of(Property::Length), Part::Of(Property::Load)];
    if is_periodic {
        by.reverse();
    }
    by.into_iter().find(|part| parts.contains(part)).filter(|_| parts.len() > 1)
}

/// From the shortest length to the longest, or from no load to the others.
fn groups<'a>(entries: &[Entry<'a>], by: Option<Part>) -> Vec<(String, Vec<Entry<'a>>)> {
    let Some(by) = by else { return vec![(String::new(), entries.to_vec())] };
    let mut groups: Vec<(String, Vec<Entry<'a>>)> = Vec::new();
    for entry in entries {
        let heading = name(entry, &[by]);
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, group)) => group.push(*entry),
            None => groups.push((heading, vec![*entry])),
        }
    }
    if by == Part::Of(Property::Length) {
        groups.sort_by_key(|(_, group)| group[0].work().length());
    } else {
        groups.sort_by_key(|(_, group)| !group[0].outcome.condition.load.is_idle());
    }
    groups
}

fn range(
    heading: String,
    group: &[Entry<'_>],
    parts: &[Part],
    by: Option<Part>,
    scale: Scale,
    rankings: &[Ranking],
) -> Range {
    let named: Vec<Part> = parts.iter().copied().filter(|part| Some(*part) != by).collect();
    let colours = colours(group, &named);
    let ridge = |entry: &Entry<'_>| {
        ridge(entry, name(entry, &named), hue(entry, &colours, &named), slower(entry, rankings), scale)
    };
    Range { heading, ridges: group.iter().filter_map(ridge).collect() }
}

/// What is told apart by colour: the policy, or the first thing that differs.
fn coloured_by(named: &[Part]) -> Option<Part> {
    let policy = Part::Of(Property::Policy);
    if named.contains(&policy) { Some(policy) } else { named.first().copied() }
}

/// Its values, in an order that does not depend on the rows' own.
fn colours(group: &[Entry<'_>], named: &[Part]) -> Vec<String> {
    let Some(by) = coloured_by(named) else { return Vec::new() };
    let mut values: Vec<String> = group.iter().filter_map(|entry| by.value(entry)).collect();
    values.sort();
    values.dedup();
    values
}

fn hue(entry: &Entry<'_>, colours: &[String], named: &[Part]) -> Hue {
    let value = coloured_by(named).and_then(|by| by.value(entry));
    let place = value.and_then(|value| colours.iter().position(|known| *known == value));
    Hue::nth(place.unwrap_or(0))
}

fn ridge(entry: &Entry<'_>, name: String, hue: Hue, slower: Option<String>, scale: Scale) -> Option<Ridge> {
    let (one, has_p99) = (entry.judged_summary()?, entry.supports(0.01));
    let late = |nanos: i64| latency_in(&one, nanos);
    let p99 = if has_p99 { format!("99 of 100 within {}, ", late(one.p99)) } else { String::new() };
    let words = format!(
        "half within {}, {p99}the worst {} late; {} wake-ups{}",
        late(one.p50),
        late(one.max),
        count(entry.outcome.planned().count()),
        slower.as_ref().map_or_else(String::new, |slower| format!("; {slower}"))
    );
    Some(Ridge {
        label: Label { name, value: slower.map_or_else(|| value(entry, has_p99), Some)?, words },
        hue,
        heights: heights(&entry.outcome.planned(), scale),
        p50: one.p50 as f64,
        p99: has_p99.then_some(one.p99 as f64),
        max: one.max as f64,
    })
}

/// The number beside a row.
fn value(entry: &Entry<'_>, has_p99: bool) -> Option<String> {
    let one = entry.judged_summary()?;
    let late = |nanos: i64| latency_in(&one, nanos);
    Some(if has_p99 {
        format!("p99 {}, max {}", late(one.p99), late(one.max))
    } else {
        format!("median {}, max {}", late(one.p50), late(one.max))
    })
}

/// The rankings of ways to notify in these recordings.
fn all_rankings(entries: &[Entry<'_>]) -> Vec<Ranking> {
    let mut analyses: Vec<&Analysis> = entries.iter().map(|entry| entry.recording.analysis).collect();
    analyses.dedup_by(|one, other| std::ptr::eq(*one, *other));
    if analyses.len() == 1 { rankings(analyses[0]) } else { Vec::new() }
}

/// By how much a way to notify is slower than the fastest, as the ranking has it.
fn slower(entry: &Entry<'_>, rankings: &[Ranking]) -> Option<String> {
    let mechanism = entry.work().notifier()?;
    let is_it = |ranking: &&Ranking| {
        let mut fastest = ranking.fastest.clone();
        if let Work::Notify { mechanism: of_it, .. } = &mut fastest.work {
            *of_it = mechanism;
        }
        fastest == entry.outcome.condition
    };
    let ranking = rankings.iter().find(is_it)?;
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

/// How thickly values lie at each place along the axis, 1 where they do most.
fn heights(all: &Distribution, scale: Scale) -> Vec<f64> {
    let mut counts = vec![0.0; PLACES];
    let at = |nanos: u64| scale.place(nanos as f64) * (PLACES - 1) as f64;
    for bucket in all.buckets() {
        spread(&mut counts, at(bucket.lowest), at(bucket.highest + 1), bucket.count as f64);
    }
    let smooth = smoothed(&counts);
    let most = smooth.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    smooth.into_iter().map(|height| height / most).collect()
}

/// Adds `count` evenly to the places between two, which may be within one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places")]
fn spread(counts: &mut [f64], from: f64, until: f64, count: f64) {
    let (first, end) = ((from + 0.5) as usize, (until + 0.5) as usize);
    for (place, held) in counts.iter_mut().enumerate().skip(first).take(end + 1 - first) {
        let (low, high) = (from.max(place as f64 - 0.5), until.min(place as f64 + 0.5));
        *held += count * if until > from { ((high - low) / (until - from)).max(0.0) } else { 1.0 };
    }
}

/// Each count spread over its neighbours, as a bell.
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
    use howlate_model::{Between, Condition, Notifier, ReceiverCpu, Span};

    use super::*;
    use crate::Recording;
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
            let nearest =
                (0..PLACES).min_by(|one, other| distance(one, nanos).total_cmp(&distance(other, nanos)));
            heights[nearest.unwrap()]
        };
        assert!(height(10_000.0) > 0.9 && height(100_000.0) < 0.01, "{heights:?}");
        assert!((0.08..0.14).contains(&height(1_000_000.0)), "{}", height(1_000_000.0));
    }

    #[test]
    fn what_others_are_held_against_is_drawn() {
        let notify = |by: u32| {
            let work = Work::Notify {
                mechanism: if by.is_multiple_of(2) { Notifier::Pipe } else { Notifier::Futex },
                between: Between::Processes,
                receiver: ReceiverCpu::AsLeft,
                round_trip: false,
                after_ns: Span::from_micros(u64::from(by / 2) + 1),
                sender_cpu: Some(0),
                placement: None,
            };
            Condition::new(work, "6.1.0")
        };
        let mut analysis = analysis((0..40).map(notify).collect());
        for round in 0..8 {
            (0..40)
                .for_each(|one| turn(&mut analysis, one, round, if one % 2 == 0 { 10_000 } else { 90_000 }));
        }
        let (entries, rankings) =
            (Entry::all(&[Recording::new("run.jsonl", &analysis)]), rankings(&analysis));
        let names = |entries: &[Entry<'_>]| -> Vec<Option<Notifier>> {
            entries.iter().map(|one| one.work().notifier()).collect()
        };
        let drawn = names(&drawn(&entries, &rankings));
        let references = drawn.iter().filter(|one| **one == Some(Notifier::Pipe)).count();
        assert_eq!((drawn.len(), references), (ROWS, 20));
        assert_eq!(drawn[0], Some(Notifier::Pipe), "the best comes first");
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
