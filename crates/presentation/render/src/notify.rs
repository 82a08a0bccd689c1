//! Tables of notifications, and what they mean.

use howlate_analyse::{
    Analysis, GapCost, IdleCost, Interval, Outcome, RankedMechanism, Ranking, gap_costs, idle_costs, rankings,
};
use howlate_model::{Condition, HasProperties, Latency, Notifier, Policy, Property, ReceiverCpu, Work};

use crate::ask_again::show_again;
use crate::brevity::{Brevity, and_more};
use crate::condition::{joined, named_by, phrases};
use crate::confidence::left_out;
use crate::detail::Detail;
use crate::insights::meaning;
use crate::notify_overview::{is_long, overview};
use crate::numbers::{count, length, micros};
use crate::prose::wrapped;
use crate::result_columns::{ColumnSpec, MAX, MEAN, MEDIAN, MIN, P95, P99, RowNumbers, STDDEV};
use crate::style::{DIM, HEADING, paint};
use crate::table::{Columns, worst_in_bold};

/// The tables of each set of circumstances: one per mechanism, then the ranking. What they mean follows them all.
pub(crate) fn tables(analysis: &Analysis, (detail, brevity): (Detail, Brevity), width: usize) -> String {
    let found = NotifyFindings::new(analysis);
    let mut text = String::new();
    let groups = groups(analysis);
    let shown = brevity.of(groups.len(), FEW);
    for group in &groups[..shown] {
        text.push_str(&format!("{}\n", paint(HEADING, wrapped(&circumstances(group[0]), width, 0))));
        text.push_str(&format!(
            "{}\n\n",
            paint(DIM, wrapped(what_is_measured(&group[0].condition), width, 0))
        ));
        if detail != Detail::Full && is_long(group) {
            let more = format!(
                "Each gap, and the differences with intervals: {}.",
                show_again(analysis, "--details")
            );
            text.push_str(&format!(
                "{}\n{}\n\n",
                overview(group, width),
                paint(DIM, wrapped(&more, width, 0))
            ));
            continue;
        }
        for one in tables_of(group) {
            text.push_str(&format!("{}\n", table(&one, width)));
        }
        if let Some(why) = left_out(group, &[P95, P99]).filter(|_| !brevity.is(Brevity::Shortest)) {
            text.push_str(&format!("{}\n\n", paint(DIM, wrapped(&why, width, 0))));
        }
        if !brevity.is(Brevity::WithoutRepeats) {
            let found = found.about(group[0]);
            text.push_str(&ranking_table(&found.rankings.iter().collect::<Vec<_>>(), width));
        }
    }
    let more = and_more(analysis, groups.len() - shown, 0, width);
    let more = if more.is_empty() { more } else { format!("{more}\n") };
    text + &more + &meaning(analysis, &sentences(analysis), brevity, width)
}

/// Circumstances that are shown where there is little room.
const FEW: usize = 2;

/// What the numbers mean, one sentence or two each; the circumstances in which they differ first, where there are several.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let (found, groups) = (NotifyFindings::new(analysis), groups(analysis));
    let says = |group: &Vec<&Outcome>, property: &Property| phrases(group[0], &[*property]);
    let varies =
        |property: &Property| groups.iter().any(|group| says(group, property) != says(&groups[0], property));
    let apart: Vec<Property> = CIRCUMSTANCES.into_iter().filter(varies).collect();
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for group in &groups {
        let words = phrases(group[0], &apart).into_iter().map(|phrase| in_words(phrase, group[0]));
        let about = joined(&words.collect::<Vec<_>>());
        for sentence in found.about(group[0]).sentences(group) {
            match told.iter_mut().find(|(known, _)| *known == sentence) {
                Some((_, abouts)) => abouts.push(about.clone()),
                None => told.push((sentence, vec![about.clone()])),
            }
        }
    }
    let with_about = |(sentence, abouts): (String, Vec<String>)| match abouts.as_slice() {
        // What is true of all needs no name.
        all if all.len() == groups.len() => sentence,
        some => format!("{}: {sentence}", some.join("; ")),
    };
    told.into_iter().map(with_about).collect()
}

/// A policy, which comes first, as a sentence begins with it; other phrases as they are.
fn in_words(phrase: String, of: &Outcome) -> String {
    let policy = of.condition.policy;
    match phrase == policy.to_string() {
        true if policy == Policy::OTHER => format!("Ordinary scheduling ({policy})"),
        true if policy.is_realtime() => format!("Real-time priority ({policy})"),
        _ => phrase,
    }
}

fn groups(analysis: &Analysis) -> Vec<Vec<&Outcome>> {
    let outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    grouped(&outcomes, circumstances)
}

/// What the analysis says of notifications.
struct NotifyFindings {
    rankings: Vec<Ranking>,
    costs: Vec<GapCost>,
    idle: Vec<IdleCost>,
}

impl NotifyFindings {
    fn new(analysis: &Analysis) -> Self {
        Self { rankings: rankings(analysis), costs: gap_costs(analysis), idle: idle_costs(analysis) }
    }

    /// What it says of the same circumstances as those of `condition`.
    fn about(&self, outcome: &Outcome) -> Self {
        let title = circumstances(outcome);
        let alike = |condition: &Condition| circumstances(condition) == title;
        Self {
            rankings: self.rankings.iter().filter(|one| alike(&one.fastest)).cloned().collect(),
            costs: self.costs.iter().filter(|one| alike(&one.condition)).cloned().collect(),
            idle: self.idle.iter().filter(|one| alike(&one.condition)).cloned().collect(),
        }
    }

    /// What to take, and what the gap costs.
    fn sentences(&self, group: &[&Outcome]) -> Vec<String> {
        let (rankings, costs): (Vec<_>, Vec<_>) =
            (self.rankings.iter().collect(), self.costs.iter().collect());
        let idle: Vec<&IdleCost> = self.idle.iter().collect();
        let mut lines: Vec<String> = recommendation(&rankings).into_iter().collect();
        lines.extend(gap(&costs, idle.is_empty()));
        lines.extend(idle_cpu(&idle));
        lines.extend(slack(group));
        lines
    }
}

/// Outcomes that `name` calls the same, in order of appearance; each group in order of gaps.
fn grouped<'a>(outcomes: &[&'a Outcome], name: impl Fn(&Outcome) -> String) -> Vec<Vec<&'a Outcome>> {
    let mut groups: Vec<(String, Vec<&Outcome>)> = Vec::new();
    for outcome in outcomes {
        let name = name(outcome);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(outcome),
            None => groups.push((name, vec![outcome])),
        }
    }
    let sorted = |(_, mut group): (String, Vec<&'a Outcome>)| {
        group.sort_by_key(|outcome| outcome.condition.work.length());
        group
    };
    groups.into_iter().map(sorted).collect()
}

/// In what notifications stand in tables of their own.
const CIRCUMSTANCES: [Property; 6] =
    [Property::Policy, Property::Slack, Property::Cpu, Property::Between, Property::Receiver, Property::Load];

/// `other · CPU 0 → 1 (one cache) · processes · load idle`.
fn circumstances(condition: &impl HasProperties) -> String {
    named_by(condition, &CIRCUMSTANCES)
}

fn what_is_measured(condition: &Condition) -> &'static str {
    if is_round_trip(condition) {
        "µs from just before the notifying call until the reply by the same mechanism has arrived; send: the call itself (median)"
    } else {
        "µs from just before the notifying call until the receiver runs; send: the call itself (median)"
    }
}

const fn is_round_trip(condition: &Condition) -> bool {
    matches!(condition.work, Work::Notify { round_trip: true, .. })
}

/// What each mechanism is reported by, besides what the call itself takes.
const NUMBERS: [ColumnSpec; 7] = [MIN, MEAN, STDDEV, MEDIAN, P95, P99, MAX];

/// One table for each mechanism; or, when there is one gap only, one for all, fastest first.
fn tables_of<'a>(group: &[&'a Outcome]) -> Vec<Vec<&'a Outcome>> {
    let gaps = grouped(group, |outcome| outcome.condition.work.length().to_string()).len();
    if gaps > 1 {
        return grouped(group, |outcome| outcome.condition.work.mechanism().to_string());
    }
    let mut all = group.to_vec();
    all.sort_by_key(|outcome| outcome.latency().quantile(0.5));
    vec![all]
}

/// A table with a row for each gap of a mechanism, or for each mechanism after the same gap.
fn table(group: &[&Outcome], width: usize) -> String {
    let first = group[0].condition.work;
    let one_mechanism = group.iter().all(|one| one.condition.work.mechanism() == first.mechanism());
    let name = |condition: &Condition| match one_mechanism {
        true => format!("after {}", length(condition.work.length())),
        false => condition.work.mechanism().to_string(),
    };
    let title = if one_mechanism {
        first.mechanism().to_string()
    } else {
        format!("after {}", length(first.length()))
    };
    let mut table = Columns::without_columns(1);
    table.column(&title, group.iter().map(|outcome| name(&outcome.condition)));
    table.column("samples", group.iter().map(|outcome| count(outcome.count())));
    table.results(
        &NUMBERS,
        &group.iter().map(|one| RowNumbers::supported_by(one.latency())).collect::<Vec<_>>(),
    );
    let send = |outcome: &&Outcome| outcome.send_summary().map(|summary| MEDIAN.nanos(&summary));
    table.column("send", worst_in_bold(&group.iter().map(send).collect::<Vec<_>>(), micros));
    table.text(width)
}

/// One row per mechanism, two columns per gap: by how much it is later than the fastest, at the median and at p99.
fn ranking_table(rankings: &[&Ranking], width: usize) -> String {
    let Some(order) = rankings.first() else { return String::new() };
    let mechanisms: Vec<Notifier> = order.places.iter().map(|place| place.mechanism).collect();
    let mut table = Columns::without_columns(1);
    table.column("", mechanisms.iter().map(ToString::to_string));
    for ranking in rankings {
        for (name, number) in NUMBERS_RANKED {
            let heading = format!("{name} after {}", length(ranking.fastest.work.length()));
            let place = |one: &Notifier| ranking.places.iter().find(|place| place.mechanism == *one);
            let cell = |one: &Notifier| {
                place(one).map_or_else(|| "–".to_owned(), |place| later(number(place), place, ranking))
            };
            table.column(&heading, mechanisms.iter().map(cell));
        }
    }
    let first = paint(HEADING, "Slower than the fastest blocking mechanism");
    let about = "µs, interval of the difference over rounds, 95 % jointly for all pairs; ≈: no measurable difference; at: value only, too few rounds for an interval";
    let title = wrapped(&format!("{first} · {}", paint(DIM, about)), width, 0);
    format!("{title}\n\n{}\n", table.text(width))
}

/// A number of a place, and by how much it is later than that of the fastest.
type Ranked = (Option<Latency>, Option<Interval>);

/// What takes it from a place.
type Taken = fn(&RankedMechanism) -> Ranked;

/// What mechanisms are ranked by.
const NUMBERS_RANKED: [(&str, Taken); 2] = [
    ("median", |place| (Some(place.p50), place.slower_ns)),
    ("p99", |place| (place.p99, place.slower_p99_ns)),
];

fn later((number, by): Ranked, place: &RankedMechanism, ranking: &Ranking) -> String {
    let Some(number) = number else { return "–".to_owned() };
    let is_first = ranking.fastest.work.notifier() == Some(place.mechanism);
    match by {
        None if is_first => format!("itself: {}", micros(number.as_nanos())),
        None => format!("at {}", micros(number.as_nanos())),
        Some(by) if by.low.as_nanos() <= 0 && by.high.as_nanos() >= 0 => "≈".to_owned(),
        Some(by) => format!("{} … {}", signed(by.low.as_nanos()), signed(by.high.as_nanos())),
    }
}

fn signed(nanos: i64) -> String {
    if nanos < 0 { micros(nanos) } else { format!("+{}", micros(nanos)) }
}

/// Of so many mechanisms the numbers are said one by one; of more, the table has them.
const MOST_WITH_NUMBERS: usize = 4;

/// Which to take after the longest gap, where it matters most which one is taken.
fn recommendation(rankings: &[&Ranking]) -> Option<String> {
    let ranking = rankings.iter().max_by_key(|one| one.fastest.work.length())?;
    let gap = length(ranking.fastest.work.length());
    let place = |mechanism: &Notifier| ranking.places.iter().find(|place| place.mechanism == *mechanism);
    let numbers =
        |mechanism: &Notifier| place(mechanism).map(|place| format!("{mechanism} ({})", takes(place)));
    let best: Vec<String> = ranking.best.iter().filter_map(numbers).collect();
    let medians = ranking.best.iter().filter_map(|one| Some(place(one)?.p50));
    let among = if ranking.best.iter().all(|one| one.burns_cpu()) {
        ""
    } else {
        " of those that block (do not spin)"
    };
    let text = match best.as_slice() {
        _ if !ranking.has_enough_rounds() => format!(
            "After {gap}, {} rounds cannot tell {} mechanisms apart; `--rounds {}` can.",
            ranking.rounds,
            ranking.places.len(),
            ranking.rounds_needed
        ),
        [] => return None,
        [one] => format!(
            "After {gap}, {one} is fastest{among}: every other is measurably later than at least one of them, at the median or at p99."
        ),
        several if several.len() <= MOST_WITH_NUMBERS => format!(
            "After {gap}, {} are fastest{among}, with no measurable difference: use any of them.",
            several.join(", ")
        ),
        several => format!(
            "After {gap}, {} mechanisms are fastest{among}, with no measurable difference (medians {} to {}): {}. Use any of them.",
            several.len(),
            medians.clone().min()?,
            medians.clone().max()?,
            ranking.best.iter().map(|one| one.name()).collect::<Vec<_>>().join(", ")
        ),
    };
    Some(text + &spinner(ranking))
}

/// Its median and its 99th percentile.
fn takes(place: &RankedMechanism) -> String {
    let p99 = place.p99.map_or_else(String::new, |p99| format!(", p99 {p99}"));
    format!("median {}{p99}", place.p50)
}

/// What a CPU that never rests would buy.
fn spinner(ranking: &Ranking) -> String {
    let Some(first) = ranking.best.first().filter(|one| !one.burns_cpu()) else { return String::new() };
    let Some(first) = ranking.places.iter().find(|place| place.mechanism == *first) else {
        return String::new();
    };
    let spinner = ranking.places.iter().find(|one| one.burns_cpu && one.p50 < first.p50);
    spinner.map_or_else(String::new, |one| {
        let is_later = one.p99.zip(first.p99).is_some_and(|(spinning, sleeping)| spinning > sleeping);
        let but = if is_later { "but later at p99, and keeps" } else { "but keeps" };
        format!(" {} is faster at the median ({}), {but} a CPU busy all the time.", one.mechanism, takes(one))
    })
}

/// What the longest gap costs the mechanisms that sleep, from the least to the most.
fn gap(costs: &[&GapCost], say_how: bool) -> Option<String> {
    let blocking = |cost: &&&GapCost| !cost.condition.work.notifier().is_some_and(Notifier::burns_cpu);
    let added = |cost: &&&GapCost| cost.medians[1].as_nanos() - cost.medians[0].as_nanos();
    let costs: Vec<&GapCost> = costs.iter().filter(blocking).copied().collect();
    let (least, most) = (costs.iter().min_by_key(added)?, costs.iter().max_by_key(added)?);
    let [short, long] = most.gaps.map(length);
    let range = if std::ptr::eq(*least, *most) {
        changed(added(&most))
    } else {
        format!("{} ({}) to {} ({})", changed(added(&least)), name(least), changed(added(&most)), name(most))
    };
    let remedy = match most.condition.work {
        Work::Notify { receiver: ReceiverCpu::AsLeft, .. } if say_how => {
            " `--receiver as_left,held_awake` shows how much of that is the idle CPU."
        }
        _ => "",
    };
    Some(format!("With a gap of {long} instead of {short}, the median is {range}.{remedy}"))
}

/// `11.5 µs longer`.
fn changed(nanos: i64) -> String {
    let by = if nanos < 0 { "shorter" } else { "longer" };
    format!("{} µs {by}", micros(nanos.saturating_abs()))
}

/// How much of the longest gap's latency is the idle CPU.
fn idle_cpu(costs: &[&IdleCost]) -> Option<String> {
    let blocking = |cost: &&&IdleCost| !cost.condition.work.notifier().is_some_and(Notifier::burns_cpu);
    let longest = |cost: &&&IdleCost| cost.condition.work.length();
    let cost = costs.iter().filter(blocking).max_by_key(longest)?;
    let (mechanism, gap) = (cost.condition.work.mechanism(), length(cost.condition.work.length()));
    let gain = cost.as_left.as_nanos() - cost.held_awake.as_nanos();
    // Less than a tenth is within what two runs of the same differ by.
    Some(if gain * 10 > cost.as_left.as_nanos() {
        format!(
            "With the receiver's CPU held awake, {mechanism} after {gap} takes {} instead of {}: the difference is the CPU leaving its idle state.",
            cost.held_awake, cost.as_left
        )
    } else {
        format!(
            "Holding the receiver's CPU awake does not help here ({mechanism} after {gap}: {} instead of {}): the gap's cost is not the idle state.",
            cost.held_awake, cost.as_left
        )
    })
}

/// Timer slack makes short gaps longer than they are called.
fn slack(group: &[&Outcome]) -> Option<String> {
    let first = group.first()?;
    let (gap, slack) = (first.condition.work.length(), first.sender_in_force.as_ref()?.slack);
    (slack > gap).then(|| {
        format!(
            "The sender sleeps with a timer slack of {}, so a gap of {} may last {}; `--slack 1ns` or a real-time policy shortens it.",
            length(slack),
            length(gap),
            length(gap.plus(slack))
        )
    })
}

fn name(cost: &GapCost) -> &'static str {
    cost.condition.work.mechanism().name()
}
