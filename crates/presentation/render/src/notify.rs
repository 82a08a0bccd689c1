//! Results of `howlate notify`.

use howlate_analyse::{
    Analysis, GapCost, IdleCost, Interval, Outcome, RankedMechanism, Ranking, gap_costs, idle_costs, rankings,
};
use howlate_model::{Condition, HasProperties, Latency, Notifier, Policy, Property, ReceiverCpu, Span, Work};

use crate::condition::{joined, named_by, phrases};
use crate::confidence::left_out;
use crate::detail::{Brevity, Detail, and_more, show_again};
use crate::insights::meaning;
use crate::numbers::{count, length, micros};
use crate::prose::wrapped;
use crate::result_columns::{ColumnSpec, MAX, MEAN, MEDIAN, MIN, P95, P99, RowNumbers, STDDEV};
use crate::style::{DIM, HEADING, paint};
use crate::table::{TextTable, worst_in_bold};

/// The tables of each set of circumstances: one per mechanism, then the ranking. The sentences on all of them follow.
pub(crate) fn tables(analysis: &Analysis, (detail, brevity): (Detail, Brevity), width: usize) -> String {
    let findings = NotifyFindings::new(analysis);
    let mut text = String::new();
    let groups = groups(analysis);
    let shown = brevity.of(groups.len(), MOST_CIRCUMSTANCES);
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
        for outcomes in tables_of(group) {
            text.push_str(&format!("{}\n", table(&outcomes, width)));
        }
        if let Some(why) = left_out(group, &[P95, P99]).filter(|_| !brevity.is(Brevity::Shortest)) {
            text.push_str(&format!("{}\n\n", paint(DIM, wrapped(&why, width, 0))));
        }
        if !brevity.is(Brevity::WithoutRepeats) {
            let findings = findings.about(group[0]);
            text.push_str(&ranking_table(&findings.rankings.iter().collect::<Vec<_>>(), width));
        }
    }
    let more = and_more(analysis, groups.len() - shown, 0, width);
    let more = if more.is_empty() { more } else { format!("{more}\n") };
    text + &more + &meaning(analysis, &sentences(analysis), brevity, width)
}

/// Most sets of circumstances in the shortest form.
const MOST_CIRCUMSTANCES: usize = 2;

/// What the numbers mean; with several circumstances, each sentence starts with those that it is about.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let (findings, groups) = (NotifyFindings::new(analysis), groups(analysis));
    let phrase_of = |group: &Vec<&Outcome>, property: &Property| phrases(group[0], &[*property]);
    let varies = |property: &Property| {
        groups.iter().any(|group| phrase_of(group, property) != phrase_of(&groups[0], property))
    };
    let varying: Vec<Property> = CIRCUMSTANCES.into_iter().filter(varies).collect();
    let mut sentences: Vec<(String, Vec<String>)> = Vec::new();
    for group in &groups {
        let parts = phrases(group[0], &varying).into_iter().map(|phrase| sentence_start(phrase, group[0]));
        let about = joined(&parts.collect::<Vec<_>>());
        for sentence in findings.about(group[0]).sentences(group) {
            match sentences.iter_mut().find(|(existing, _)| *existing == sentence) {
                Some((_, abouts)) => abouts.push(about.clone()),
                None => sentences.push((sentence, vec![about.clone()])),
            }
        }
    }
    let with_about = |(sentence, abouts): (String, Vec<String>)| match abouts.as_slice() {
        // Sentences that hold for all need no circumstances.
        all if all.len() == groups.len() => sentence,
        some => format!("{}: {sentence}", some.join("; ")),
    };
    sentences.into_iter().map(with_about).collect()
}

/// The policy, which comes first, spelled out; other phrases unchanged.
fn sentence_start(phrase: String, outcome: &Outcome) -> String {
    let policy = outcome.condition.policy;
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

/// Results of the analysis on notifications.
struct NotifyFindings {
    rankings: Vec<Ranking>,
    costs: Vec<GapCost>,
    idle: Vec<IdleCost>,
}

impl NotifyFindings {
    fn new(analysis: &Analysis) -> Self {
        Self { rankings: rankings(analysis), costs: gap_costs(analysis), idle: idle_costs(analysis) }
    }

    /// The results for the circumstances of this outcome.
    fn about(&self, outcome: &Outcome) -> Self {
        let title = circumstances(outcome);
        let has_same_circumstances = |condition: &Condition| circumstances(condition) == title;
        Self {
            rankings: self
                .rankings
                .iter()
                .filter(|ranking| has_same_circumstances(&ranking.fastest))
                .cloned()
                .collect(),
            costs: self
                .costs
                .iter()
                .filter(|cost| has_same_circumstances(&cost.condition))
                .cloned()
                .collect(),
            idle: self.idle.iter().filter(|cost| has_same_circumstances(&cost.condition)).cloned().collect(),
        }
    }

    /// Which mechanism to use, and what the gap costs.
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

/// Outcomes grouped by `name`, in order of appearance; each group in order of gaps.
fn grouped<'a>(outcomes: &[&'a Outcome], name: impl Fn(&Outcome) -> String) -> Vec<Vec<&'a Outcome>> {
    let mut groups: Vec<(String, Vec<&Outcome>)> = Vec::new();
    for outcome in outcomes {
        let name = name(outcome);
        match groups.iter_mut().find(|(existing, _)| *existing == name) {
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

/// Properties by which notifications are split into tables.
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

/// The columns of a mechanism, besides the duration of the call.
const NUMBERS: [ColumnSpec; 7] = [MIN, MEAN, STDDEV, MEDIAN, P95, P99, MAX];

/// One table per mechanism; with a single gap, one table for all, fastest first.
fn tables_of<'a>(group: &[&'a Outcome]) -> Vec<Vec<&'a Outcome>> {
    let gaps = grouped(group, |outcome| outcome.condition.work.length().to_string()).len();
    if gaps > 1 {
        return grouped(group, |outcome| outcome.condition.work.mechanism().to_string());
    }
    let mut all = group.to_vec();
    all.sort_by_key(|outcome| outcome.latency().quantile(0.5));
    vec![all]
}

/// A row per gap of a mechanism, or per mechanism after the same gap.
fn table(group: &[&Outcome], width: usize) -> String {
    let first = group[0].condition.work;
    let is_one_mechanism =
        group.iter().all(|outcome| outcome.condition.work.mechanism() == first.mechanism());
    let name = |condition: &Condition| match is_one_mechanism {
        true => format!("after {}", length(condition.work.length())),
        false => condition.work.mechanism().to_string(),
    };
    let title = if is_one_mechanism {
        first.mechanism().to_string()
    } else {
        format!("after {}", length(first.length()))
    };
    let mut table = TextTable::without_columns(1);
    table.column(&title, group.iter().map(|outcome| name(&outcome.condition)));
    table.column("samples", group.iter().map(|outcome| count(outcome.count())));
    table.results(
        &NUMBERS,
        &group.iter().map(|outcome| RowNumbers::supported_by(outcome.latency())).collect::<Vec<_>>(),
    );
    let send = |outcome: &&Outcome| outcome.send_summary().map(|summary| MEDIAN.nanos(&summary));
    table.column("send", worst_in_bold(&group.iter().map(send).collect::<Vec<_>>(), micros));
    table.text(width)
}

/// One row per mechanism, two columns per gap: by how much it is slower than the fastest, at the median and p99.
fn ranking_table(rankings: &[&Ranking], width: usize) -> String {
    let Some(order) = rankings.first() else { return String::new() };
    let mechanisms: Vec<Notifier> = order.places.iter().map(|place| place.mechanism).collect();
    let mut table = TextTable::without_columns(1);
    table.column("", mechanisms.iter().map(ToString::to_string));
    for ranking in rankings {
        for (name, number) in NUMBERS_RANKED {
            let heading = format!("{name} after {}", length(ranking.fastest.work.length()));
            let place =
                |mechanism: &Notifier| ranking.places.iter().find(|place| place.mechanism == *mechanism);
            let cell = |mechanism: &Notifier| {
                place(mechanism).map_or_else(|| "–".to_owned(), |place| later(number(place), place, ranking))
            };
            table.column(&heading, mechanisms.iter().map(cell));
        }
    }
    let first = paint(HEADING, "Slower than the fastest blocking mechanism");
    let about = "µs, interval of the difference over rounds, 95 % jointly for all pairs; ≈: no measurable difference; at: value only, too few rounds for an interval";
    let title = wrapped(&format!("{first} · {}", paint(DIM, about)), width, 0);
    format!("{title}\n\n{}\n", table.text(width))
}

/// A statistic of a mechanism, and the interval of its difference to the fastest.
type RankedNumber = (Option<Latency>, Option<Interval>);

/// Reads the statistic of a mechanism.
type NumberOf = fn(&RankedMechanism) -> RankedNumber;

/// The statistics of the ranking.
const NUMBERS_RANKED: [(&str, NumberOf); 2] = [
    ("median", |place| (Some(place.p50), place.slower_ns)),
    ("p99", |place| (place.p99, place.slower_p99_ns)),
];

fn later((number, difference): RankedNumber, place: &RankedMechanism, ranking: &Ranking) -> String {
    let Some(number) = number else { return "–".to_owned() };
    let is_first = ranking.fastest.work.notifier() == Some(place.mechanism);
    match difference {
        None if is_first => format!("itself: {}", micros(number.as_nanos())),
        None => format!("at {}", micros(number.as_nanos())),
        Some(interval) if interval.low.as_nanos() <= 0 && interval.high.as_nanos() >= 0 => "≈".to_owned(),
        Some(interval) => {
            format!("{} … {}", signed(interval.low.as_nanos()), signed(interval.high.as_nanos()))
        }
    }
}

fn signed(nanos: i64) -> String {
    if nanos < 0 { micros(nanos) } else { format!("+{}", micros(nanos)) }
}

/// Up to so many best mechanisms are listed with their statistics.
const MOST_WITH_NUMBERS: usize = 4;

/// The best mechanism after the longest gap, where the choice matters most.
fn recommendation(rankings: &[&Ranking]) -> Option<String> {
    let ranking = rankings.iter().max_by_key(|ranking| ranking.fastest.work.length())?;
    let gap = length(ranking.fastest.work.length());
    let place = |mechanism: &Notifier| ranking.places.iter().find(|place| place.mechanism == *mechanism);
    let numbers =
        |mechanism: &Notifier| place(mechanism).map(|place| format!("{mechanism} ({})", takes(place)));
    let best: Vec<String> = ranking.best.iter().filter_map(numbers).collect();
    let medians = ranking.best.iter().filter_map(|mechanism| Some(place(mechanism)?.p50));
    let among = if ranking.best.iter().all(|mechanism| mechanism.burns_cpu()) {
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
        [mechanism] => format!(
            "After {gap}, {mechanism} is fastest{among}: every other is measurably later than at least one of them, at the median or at p99."
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
            ranking.best.iter().map(|mechanism| mechanism.name()).collect::<Vec<_>>().join(", ")
        ),
    };
    Some(text + &spinner(ranking))
}

/// `median 12 µs, p99 30 µs`.
fn takes(place: &RankedMechanism) -> String {
    let p99 = place.p99.map_or_else(String::new, |p99| format!(", p99 {p99}"));
    format!("median {}{p99}", place.p50)
}

/// What a spinning receiver would gain.
fn spinner(ranking: &Ranking) -> String {
    let Some(first) = ranking.best.first().filter(|mechanism| !mechanism.burns_cpu()) else {
        return String::new();
    };
    let Some(first) = ranking.places.iter().find(|place| place.mechanism == *first) else {
        return String::new();
    };
    let spinner = ranking.places.iter().find(|place| place.burns_cpu && place.p50 < first.p50);
    spinner.map_or_else(String::new, |spinner| {
        let is_later = spinner.p99.zip(first.p99).is_some_and(|(spinning, sleeping)| spinning > sleeping);
        let but = if is_later { "but later at p99, and keeps" } else { "but keeps" };
        format!(
            " {} is faster at the median ({}), {but} a CPU busy all the time.",
            spinner.mechanism,
            takes(spinner)
        )
    })
}

/// What the longest gap costs the blocking mechanisms, from the lowest to the highest.
fn gap(costs: &[&GapCost], say_how: bool) -> Option<String> {
    let blocking = |cost: &&&GapCost| !cost.condition.work.notifier().is_some_and(Notifier::burns_cpu);
    let added = |cost: &&&GapCost| cost.medians[1].as_nanos() - cost.medians[0].as_nanos();
    let costs: Vec<&GapCost> = costs.iter().filter(blocking).copied().collect();
    let (least, most) = (costs.iter().min_by_key(added)?, costs.iter().max_by_key(added)?);
    let [short, long] = most.gaps.map(length);
    let range = if std::ptr::eq(*least, *most) {
        change(added(&most))
    } else {
        format!("{} ({}) to {} ({})", change(added(&least)), name(least), change(added(&most)), name(most))
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
fn change(nanos: i64) -> String {
    let direction = if nanos < 0 { "shorter" } else { "longer" };
    format!("{} µs {direction}", micros(nanos.saturating_abs()))
}

/// How much of the latency after the longest gap is the idle CPU.
fn idle_cpu(costs: &[&IdleCost]) -> Option<String> {
    let blocking = |cost: &&&IdleCost| !cost.condition.work.notifier().is_some_and(Notifier::burns_cpu);
    let longest = |cost: &&&IdleCost| cost.condition.work.length();
    let cost = costs.iter().filter(blocking).max_by_key(longest)?;
    let (mechanism, gap) = (cost.condition.work.mechanism(), length(cost.condition.work.length()));
    let gain = cost.as_left.as_nanos() - cost.held_awake.as_nanos();
    // Less than a tenth is within the variation of two equal runs.
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

/// A note where timer slack makes short gaps longer than requested.
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

/// With more outcomes, an overview replaces the tables per mechanism.
const MOST_FOR_TABLES: usize = 8;

/// Whether the tables per mechanism would not fit a screen.
pub(crate) fn is_long(group: &[&Outcome]) -> bool {
    group.len() > MOST_FOR_TABLES && gaps(group).len() > 1 && by_mechanism(group).len() > 1
}

/// The median after each gap, and the worst p99 and maximum of all gaps.
pub(crate) fn overview(group: &[&Outcome], width: usize) -> String {
    let mechanisms = by_mechanism(group);
    let mut table = TextTable::without_columns(1);
    let name = |all: &Vec<&Outcome>| all[0].condition.work.mechanism().to_string();
    table.column("median after", mechanisms.iter().map(name));
    for gap in gaps(group) {
        let of_gap = |all: &Vec<&Outcome>| {
            let of_gap = all.iter().filter(|outcome| outcome.condition.work.length() == gap);
            worst(of_gap, &MEDIAN)
        };
        table.column(&length(gap), mechanisms.iter().map(of_gap));
    }
    for column in [P99, MAX] {
        let heading = format!("{}, any gap", column.heading);
        table.column(&heading, mechanisms.iter().map(|all| worst(all.iter(), &column)));
    }
    table.text(width)
}

fn worst<'a>(all: impl Iterator<Item = &'a &'a Outcome>, column: &ColumnSpec) -> String {
    let numbers = all.filter_map(|outcome| RowNumbers::supported_by(outcome.latency()).nanos(column));
    numbers.max().map_or_else(|| "–".to_owned(), micros)
}

fn gaps(group: &[&Outcome]) -> Vec<Span> {
    let mut all: Vec<Span> = group.iter().map(|outcome| outcome.condition.work.length()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The outcomes of each mechanism; the fastest after the longest gap first.
fn by_mechanism<'a>(group: &[&'a Outcome]) -> Vec<Vec<&'a Outcome>> {
    let mut all: Vec<Vec<&Outcome>> = Vec::new();
    for outcome in group {
        let mechanism = outcome.condition.work.mechanism();
        match all.iter_mut().find(|outcomes| outcomes[0].condition.work.mechanism() == mechanism) {
            Some(outcomes) => outcomes.push(outcome),
            None => all.push(vec![outcome]),
        }
    }
    let median_after_longest_gap = |outcomes: &Vec<&Outcome>| {
        let longest = outcomes.iter().max_by_key(|outcome| outcome.condition.work.length());
        longest.and_then(|outcome| outcome.latency().quantile(0.5))
    };
    all.sort_by_key(median_after_longest_gap);
    all
}

#[cfg(test)]
mod tests {
    use howlate_analyse::Analysis;
    use howlate_model::{
        Block, Condition, Header, Line, MonotonicTime, Notifier, Peers, ReceiverCpu, Wakeup, Work,
    };

    use super::*;

    const MECHANISMS: [Notifier; 3] = [Notifier::Pipe, Notifier::Futex, Notifier::Signal];

    /// Each mechanism after five gaps, in order of increasing latency.
    fn measured() -> Analysis {
        let gaps = (1..6).map(Span::from_millis);
        let work = |mechanism: &Notifier, after_ns| Work::Notify {
            mechanism: *mechanism,
            after_ns,
            between: Peers::Processes,
            sender_cpu: None,
            placement: None,
            receiver: ReceiverCpu::AsLeft,
            round_trip: false,
        };
        let conditions = gaps.flat_map(|gap| {
            MECHANISMS.iter().map(move |mechanism| Condition::new(work(mechanism, gap), "6.1.0"))
        });
        let conditions: Vec<Condition> = conditions.collect();
        let number_of_conditions = conditions.len();
        let mut analysis =
            Analysis::new(Header { command: "notify".into(), ..Header::for_conditions(conditions) });
        for (number, place) in (0..number_of_conditions).zip((0_i64..3).cycle()) {
            let at = MonotonicTime::from_nanos;
            let mut block = Block { condition: u32::try_from(number).unwrap(), ..Block::default() };
            let late = at(10_000 * (place + 1));
            (0..200).for_each(|_| block.record(Wakeup { expected: at(0), ran: late }, None));
            analysis.add(&Line::Block(Box::new(block)));
        }
        analysis
    }

    #[test]
    fn many_gaps_are_a_row_for_each_mechanism() {
        let analysis = measured();
        let shown = |detail| {
            let text = crate::report(&analysis, detail, 80);
            anstream::adapter::strip_str(&text).to_string()
        };
        let brief = shown(crate::Detail::Brief);
        let rows: Vec<&str> = brief.lines().filter(|line| line.trim_start().starts_with("futex ")).collect();
        assert_eq!(rows.len(), 1, "{brief}");
        assert_eq!(rows[0].split_whitespace().filter(|word| *word == "20.0").count(), 7, "{brief}");
        let at = |name: &str| brief.find(&format!("  {name}")).unwrap();
        assert!(at("pipe") < at("futex") && at("futex") < at("signal"), "the fastest first: {brief}");
        assert!(brief.contains("`howlate show --details`") && brief.lines().count() <= 40, "{brief}");
        assert!(brief.lines().all(|line| crate::prose::text_width(line) <= 80), "{brief}");
        assert!(shown(crate::Detail::Full).matches("after 3 ms").count() > 1, "a table each");
    }
}
