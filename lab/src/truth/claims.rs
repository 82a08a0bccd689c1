//! What a recording claims of its worst wake-ups, held against the witness.

use std::collections::BTreeMap;

use serde_json::Value;

use super::witness::{Holder, Stretch, Witness};

/// Microseconds that a border may differ: the witness's clock readings are cut to microseconds, and come before or after the
/// tracer's own at the same event.
const NEAR: i64 = 2;
/// Shorter parts have no place within that.
const SHORT: i64 = 3 * NEAR;

/// What is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    Sums,
    Names,
    Pids,
    Positions,
    Merged,
    Explained,
    Counts,
    WatchCounts,
    WatchWorst,
    WatchPercentiles,
    WatchAccounts,
    TopWaits,
    TopLongest,
    TopSleeps,
    RecordKept,
    RecordCulprit,
    RecordOnce,
    RecordReal,
    RecordAll,
    RecordNotLate,
    Remedies,
}

impl Claim {
    /// In words, and the share that must be right.
    pub const fn statement(self) -> (&'static str, f64) {
        match self {
            Self::Sums => ("parts follow each other and add up to the lateness", 1.0),
            Self::Names => ("who held the CPU, by name", 0.995),
            Self::Pids => ("which thread it was", 0.99),
            Self::Positions => ("when it began and ended, within 2 µs", 0.99),
            Self::Merged => ("how long each held of what is only known together", 0.99),
            Self::Explained => ("no part of a wait is without a name that the witness has", 0.99),
            Self::Counts => ("planned wake-ups happened or were missed", 1.0),
            Self::WatchCounts => ("watch: how often a timer woke a thread", 0.99),
            Self::WatchWorst => ("watch: when the worst ran and how late, within 3 µs", 0.99),
            Self::WatchPercentiles => ("watch: median, p99 and maximum", 0.99),
            Self::WatchAccounts => ("watch without a tracer: no wait that was none", 0.99),
            Self::TopWaits => ("top: how long a thread waited for CPUs, within 1 %", 0.99),
            Self::TopLongest => ("top: its longest wait, within 30 µs", 0.99),
            Self::TopSleeps => ("top: how often and how long it slept, within 1 %", 0.99),
            Self::RecordKept => ("record: what was made late, by its stamps, is recorded", 0.99),
            Self::RecordCulprit => ("record: who made it late has most of it", 0.95),
            Self::RecordOnce => ("record: no wait is there twice", 1.0),
            Self::RecordReal => ("record: none that the witness does not have", 0.99),
            Self::RecordAll => ("record: every late wait of the witness", 0.99),
            Self::RecordNotLate => ("record: stopped, asleep or behind a lock is not late", 1.0),
            Self::Remedies => ("what is advised makes less late", 1.0),
        }
    }
}

/// How often a claim was tried, and how often it was right.
#[derive(Clone, Debug, Default)]
pub struct Score {
    pub tried: u64,
    pub right: u64,
    /// The first ones that were wrong.
    pub wrong: Vec<String>,
    /// What those that were wrong have in common, where it is known, and how many do.
    pub reasons: BTreeMap<&'static str, u64>,
}

/// The scores of all claims.
pub type Scores = BTreeMap<Claim, Score>;

/// Wrong ones that are shown.
const SHOWN: usize = 5;

pub fn score(scores: &mut Scores, claim: Claim, right: bool, what: impl FnOnce() -> String) {
    let score = scores.entry(claim).or_default();
    score.tried += 1;
    score.right += u64::from(right);
    if !right && score.wrong.len() < SHOWN {
        score.wrong.push(what());
    }
}

/// A part of a wake-up, in microseconds.
#[derive(Debug)]
struct Part<'a> {
    part: &'a str,
    kind: &'a str,
    name: &'a str,
    pid: Option<u32>,
    from: i64,
    until: i64,
    merged: bool,
}

/// Judges every one of the worst wake-ups in the `why` lines of a recording.
pub fn judge(recording: &str, witness: &Witness, scores: &mut Scores) {
    for line in recording.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let worst = line["why"]["ledger"]["worst"].as_array().cloned().unwrap_or_default();
        worst.iter().for_each(|stretch| wakeup(stretch, witness, scores));
    }
}

fn nanos(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn wakeup(stretch: &Value, witness: &Witness, scores: &mut Scores) {
    let parts = stretch["parts"].as_array().cloned().unwrap_or_default();
    let (at, latency) = (nanos(&stretch["at_ns"]), nanos(&stretch["latency_ns"]));
    let mut cursor = at - latency;
    let follows = parts.iter().all(|part| {
        let is_next = nanos(&part["from_ns"]) == cursor && nanos(&part["ns"]) > 0;
        cursor += nanos(&part["ns"]);
        is_next
    });
    score(scores, Claim::Sums, follows && cursor == at, || stretch.to_string());
    let cpu = stretch["cpu"].as_u64().and_then(|cpu| u32::try_from(cpu).ok());
    // Before its buffer begins, the witness saw nothing.
    let of_cpu = cpu.and_then(|cpu| witness.cpus.get(&cpu)).map_or(&[][..], Vec::as_slice);
    let events = cpu.and_then(|cpu| witness.events.get(&cpu)).map_or(&[][..], Vec::as_slice);
    let begins = of_cpu.first().map_or(i64::MAX, |first| first.from);
    if (at - latency) / 1_000 <= begins {
        return;
    }
    let parts: Vec<Part<'_>> = parts.iter().map(read).filter(Part::is_of_others).collect();
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| !part.merged) {
        let joins = |other: Option<&Part<'_>>, from: bool| {
            other.is_some_and(|other| if from { other.until == part.from } else { other.from == part.until })
        };
        let before = number.checked_sub(1).and_then(|number| parts.get(number));
        let inner = (joins(before, true), joins(parts.get(number + 1), false));
        alone(part, inner, (of_cpu, events), witness, scores);
    }
    merged(&parts, of_cpu, witness, scores);
}

fn read(part: &Value) -> Part<'_> {
    let from = nanos(&part["from_ns"]);
    let text = |name: &str| part[name].as_str().unwrap_or_default();
    Part {
        part: text("part"),
        kind: text("kind"),
        name: text("name"),
        pid: part["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()),
        from: from / 1_000,
        until: (from + nanos(&part["ns"])) / 1_000,
        merged: part["merged"] == true,
    }
}

impl Part<'_> {
    /// Whether it is of a time in which others held the CPU.
    fn is_of_others(&self) -> bool {
        let names_somebody = matches!(self.kind, "thread" | "interrupt" | "softirq");
        let is_nobodys = matches!(self.kind, "unexplained" | "undetermined" | "others");
        matches!(self.part, "waiting" | "lost_again") && (names_somebody || is_nobodys)
    }

    fn is(&self, holder: &Holder, witness: &Witness) -> bool {
        match holder {
            Holder::Thread { pid, .. } => self.kind == "thread" && witness.is_called(*pid, self.name),
            Holder::Interrupt(name) => self.kind == "interrupt" && self.name == name,
            Holder::Softirq(name) => self.kind == "softirq" && self.name == name,
            Holder::Unknown => false,
        }
    }
}

fn overlap(stretch: &Stretch, from: i64, until: i64) -> i64 {
    (stretch.until.min(until) - stretch.from.max(from)).max(0)
}

/// A part of one stretch; `inner`: whether it joins others at its beginning, and at its end. At the border of a wait, whoever held
/// the CPU held it before or after as well. Then what the witness has of that CPU, and when its
/// events were.
fn alone(
    part: &Part<'_>,
    inner: (bool, bool),
    (all, events): (&[Stretch], &[i64]),
    witness: &Witness,
    scores: &mut Scores,
) {
    if part.until - part.from < SHORT {
        return;
    }
    let first = all.partition_point(|stretch| stretch.until <= part.from);
    let met: Vec<&Stretch> = all[first..].iter().take_while(|stretch| stretch.from < part.until).collect();
    let held = |stretch: &&&Stretch| overlap(stretch, part.from, part.until);
    let Some(most) = met.iter().max_by_key(held) else { return };
    let what = || format!("{part:?}, the witness: {met:?}");
    // What the witness does not know it cannot say.
    if part.kind == "others" || met.iter().any(|stretch| stretch.holder == Holder::Unknown) {
        return;
    }
    let is_named = matches!(part.kind, "thread" | "interrupt" | "softirq");
    score(scores, Claim::Explained, is_named, what);
    if !is_named {
        return;
    }
    let right = part.is(&most.holder, witness);
    score(scores, Claim::Names, right, what);
    if let (true, Some(pid), Holder::Thread { pid: witnessed_pid, .. }) = (right, part.pid, &most.holder) {
        score(scores, Claim::Pids, pid == *witnessed_pid, what);
    }
    let begins = Border { claimed: part.from, event: most.from, is_inner: inner.0 };
    let ends = Border { claimed: part.until, event: most.until, is_inner: inner.1 };
    let is_near = begins.is_near(i64::gt) && ends.is_near(i64::lt);
    score(scores, Claim::Positions, is_near, what);
    if !is_near {
        let is_same = |border: &Border, may: Allowed| border.is_near(may) || border.is_in_event(events);
        let is_same = is_same(&begins, i64::gt) && is_same(&ends, i64::lt);
        miss(scores, Claim::Positions, reason(&most.holder, &met, is_same));
    }
}

/// Where a part begins or ends, and the event by which the witness knows it, in microseconds.
struct Border {
    claimed: i64,
    event: i64,
    is_inner: bool,
}

/// Which side of the event a border may lie on that is the wait's own: what is claimed, and the event.
type Allowed = fn(&i64, &i64) -> bool;

impl Border {
    fn is_near(&self, may: Allowed) -> bool {
        (self.claimed - self.event).abs() <= NEAR || !self.is_inner && may(&self.claimed, &self.event)
    }

    /// Whether it was stamped by another tracer of that very event. The tracers of an event run one after the other, and its CPU
    /// does nothing else meanwhile: what lies after the event and before that CPU's next was stamped in it.
    fn is_in_event(&self, events: &[i64]) -> bool {
        let next = events[events.partition_point(|at| *at <= self.event)..].first();
        self.claimed >= self.event - NEAR && next.is_some_and(|next| self.claimed <= next + NEAR)
    }
}

/// Tells why one was wrong.
fn miss(scores: &mut Scores, claim: Claim, reason: &'static str) {
    *scores.entry(claim).or_default().reasons.entry(reason).or_default() += 1;
}

/// The tracers of an event stamp it one after the other.
pub(super) const SAME_EVENT: &str = "the same event, stamped by one tracer after the other";

/// Why a part does not lie where the witness has it.
fn reason(holder: &Holder, met: &[&Stretch], is_same_event: bool) -> &'static str {
    match is_same_event {
        _ if met.iter().filter(|stretch| stretch.holder == *holder).count() > 1 => {
            "one part, and the witness has several stretches of the same"
        }
        true => SAME_EVENT,
        false => "another event, or none",
    }
}

/// The wait that has parts of which only the length is known: where in it they lie, nobody claims.
fn wait_of_merged(parts: &[Part<'_>]) -> Option<(i64, i64)> {
    let first = parts.iter().position(|part| part.merged)?;
    let last = parts.iter().rposition(|part| part.merged)?;
    let follows = |pair: &&[Part<'_>]| pair[0].until == pair[1].from;
    let before = parts[..=first].windows(2).rev().take_while(follows).count();
    let after = parts[last..].windows(2).take_while(follows).count();
    Some((parts[first - before].from, parts[last + after].until))
}

/// What is only known together, by name, against what the witness has of each in that wait.
fn merged(parts: &[Part<'_>], all: &[Stretch], witness: &Witness, scores: &mut Scores) {
    let together: Vec<&Part<'_>> = parts.iter().filter(|part| part.merged).collect();
    let Some((from, until)) = wait_of_merged(parts) else { return };
    if all.iter().any(|stretch| stretch.holder == Holder::Unknown && overlap(stretch, from, until) > 0) {
        return;
    }
    let mut claimed: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.from >= from && part.until <= until) {
        *claimed.entry((part.kind, part.name)).or_default() += part.until - part.from;
    }
    for part in together.iter().filter(|part| part.kind != "others") {
        let Some(claimed) = claimed.remove(&(part.kind, part.name)) else { continue };
        let of_it = all
            .iter()
            .filter(|stretch| part.is(&stretch.holder, witness) && overlap(stretch, from, until) > 0);
        // Which of its names a thread held then, the witness does not know.
        let renamed = |stretch: &Stretch| matches!(stretch.holder, Holder::Thread { pid, .. } if witness.was_renamed(pid));
        if of_it.clone().any(renamed) {
            continue;
        }
        let stretches: Vec<i64> = of_it.map(|stretch| overlap(stretch, from, until)).collect();
        let held: i64 = stretches.iter().sum();
        let borders = i64::try_from(stretches.len()).unwrap_or(i64::MAX) + 1;
        let is_near = (held - claimed).abs() <= NEAR * borders;
        score(scores, Claim::Merged, is_near, || {
            let seen: Vec<_> =
                all.iter().filter(|stretch| overlap(stretch, from, until) > 0).take(20).collect();
            format!("{part:?}: {claimed} µs claimed, {held} µs in {borders} seen of {until}: {seen:?}")
        });
        if !is_near {
            let more =
                if claimed > held { "more claimed than there was" } else { "less claimed than there was" };
            miss(scores, Claim::Merged, more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(from: i64, until: i64, merged: bool) -> Part<'static> {
        Part { part: "waiting", kind: "thread", name: "a", pid: None, from, until, merged }
    }

    #[test]
    fn an_event_lasts_until_the_next_one_of_its_cpu() {
        let border = |claimed| Border { claimed, event: 100, is_inner: true };
        let events = [80, 100, 100, 130];
        let at_events = [90, 99, 120, 131, 140].map(|at| border(at).is_in_event(&events));
        assert_eq!(at_events, [false, true, true, true, false]);
        assert!(!border(104).is_near(i64::gt) && Border { is_inner: false, ..border(104) }.is_near(i64::gt));
        assert!(!Border { is_inner: false, ..border(104) }.is_near(i64::lt));
    }

    #[test]
    fn what_is_known_together_lies_anywhere_in_its_wait() {
        let parts = [
            part(0, 5, false),
            part(90, 100, false),
            part(100, 120, true),
            part(120, 130, false),
            part(130, 140, true),
            part(140, 200, false),
            part(300, 310, false),
        ];
        assert_eq!(wait_of_merged(&parts), Some((90, 200)));
        assert_eq!(wait_of_merged(&parts[..2]), None);
    }
}
