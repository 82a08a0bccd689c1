//! Compares what a recording claims about its worst wake-ups with the witness, the kernel's own trace.

use std::collections::BTreeMap;

use serde_json::Value;

use super::witness::{Holder, Stretch, Witness};

/// Allowed difference of a border, µs: the witness's time stamps are truncated to µs, and taken before or after the tracer's own at
/// the same event.
const NEAR: i64 = 2;
/// Parts shorter than this, µs, are not compared by position.
const SHORT: i64 = 3 * NEAR;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TruthClaim {
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
    RecordIdle,
    RequestCounts,
    RequestKept,
    RequestSums,
    RequestTimes,
    RequestCauses,
    Remedies,
}

impl TruthClaim {
    /// The claim as text, and the share that has to be right.
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
            Self::RecordIdle => ("record: a CPU named as idle was idle for so long", 0.99),
            Self::RequestCounts => ("requests: each is counted", 1.0),
            Self::RequestKept => ("requests: each late one is recorded", 1.0),
            Self::RequestSums => ("requests: parts add up to the request", 1.0),
            Self::RequestTimes => ("requests: time behind a thread, within 2 % of its stamps", 0.99),
            Self::RequestCauses => ("requests: the largest part is what was waited for", 0.98),
            Self::Remedies => ("what is advised makes less late", 1.0),
        }
    }
}

/// How often a claim was checked, and how often it was right.
#[derive(Clone, Debug, Default)]
pub struct Score {
    pub tried: u64,
    pub right: u64,
    /// Descriptions of the first wrong ones.
    pub wrong: Vec<String>,
    /// Known reasons of wrong ones, with counts.
    pub reasons: BTreeMap<&'static str, u64>,
}

pub type Scores = BTreeMap<TruthClaim, Score>;

/// Wrong ones that are described.
const SHOWN: usize = 5;

pub fn score(scores: &mut Scores, claim: TruthClaim, right: bool, what: impl FnOnce() -> String) {
    let score = scores.entry(claim).or_default();
    score.tried += 1;
    score.right += u64::from(right);
    if !right && score.wrong.len() < SHOWN {
        score.wrong.push(what());
    }
}

/// A part of a late wake-up, times in µs.
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
    score(scores, TruthClaim::Sums, follows && cursor == at, || stretch.to_string());
    let cpu = stretch["cpu"].as_u64().and_then(|cpu| u32::try_from(cpu).ok());
    // The witness's buffer may begin later than the recording.
    let of_cpu = cpu.and_then(|cpu| witness.cpus.get(&cpu)).map_or(&[][..], Vec::as_slice);
    let events = cpu.and_then(|cpu| witness.events.get(&cpu)).map_or(&[][..], Vec::as_slice);
    let begins = of_cpu.first().map_or(i64::MAX, |first| first.from);
    if (at - latency) / 1_000 <= begins {
        return;
    }
    let parts: Vec<Part<'_>> = parts.iter().map(read).filter(Part::is_held_by_others).collect();
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| !part.merged) {
        let joins = |other: Option<&Part<'_>>, from: bool| {
            other.is_some_and(|other| if from { other.until == part.from } else { other.from == part.until })
        };
        let before = number.checked_sub(1).and_then(|number| parts.get(number));
        let inner = (joins(before, true), joins(parts.get(number + 1), false));
        check_single(part, inner, (of_cpu, events), witness, scores);
    }
    check_merged(&parts, of_cpu, witness, scores);
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
    /// Whether other threads or interrupts held the CPU.
    fn is_held_by_others(&self) -> bool {
        let is_named = matches!(self.kind, "thread" | "interrupt" | "softirq");
        let is_unnamed = matches!(self.kind, "unexplained" | "undetermined" | "others");
        matches!(self.part, "waiting" | "lost_again") && (is_named || is_unnamed)
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

/// Checks a part that is not merged. `inner`: whether another part adjoins its beginning, and its end: at the border of the wait, the
/// holder may have had the CPU before or afterwards too. `all`, `events`: the witness's stretches and events of the CPU.
fn check_single(
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
    let overlapping: Vec<&Stretch> =
        all[first..].iter().take_while(|stretch| stretch.from < part.until).collect();
    let held = |stretch: &&&Stretch| overlap(stretch, part.from, part.until);
    let Some(most) = overlapping.iter().max_by_key(held) else { return };
    let what = || format!("{part:?}, the witness: {overlapping:?}");
    // The witness does not know the holder either.
    if part.kind == "others" || overlapping.iter().any(|stretch| stretch.holder == Holder::Unknown) {
        return;
    }
    let is_named = matches!(part.kind, "thread" | "interrupt" | "softirq");
    score(scores, TruthClaim::Explained, is_named, what);
    if !is_named {
        return;
    }
    let right = part.is(&most.holder, witness);
    score(scores, TruthClaim::Names, right, what);
    if let (true, Some(pid), Holder::Thread { pid: witnessed_pid, .. }) = (right, part.pid, &most.holder) {
        score(scores, TruthClaim::Pids, pid == *witnessed_pid, what);
    }
    let begins = Border { claimed: part.from, event: most.from, is_inner: inner.0 };
    let ends = Border { claimed: part.until, event: most.until, is_inner: inner.1 };
    let is_near = begins.is_near(i64::gt) && ends.is_near(i64::lt);
    score(scores, TruthClaim::Positions, is_near, what);
    if !is_near {
        let is_same = |border: &Border, may: Allowed| border.is_near(may) || border.is_in_event(events);
        let is_same = is_same(&begins, i64::gt) && is_same(&ends, i64::lt);
        miss(scores, TruthClaim::Positions, reason(&most.holder, &overlapping, is_same));
    }
}

/// Beginning or end of a part, and the witness's event for it, µs.
struct Border {
    claimed: i64,
    event: i64,
    is_inner: bool,
}

/// On which side of the event the border of a whole wait may lie: claimed time, and event time.
type Allowed = fn(&i64, &i64) -> bool;

impl Border {
    fn is_near(&self, may: Allowed) -> bool {
        (self.claimed - self.event).abs() <= NEAR || !self.is_inner && may(&self.claimed, &self.event)
    }

    /// Whether the claimed time was stamped at that event by another tracer. The tracers of an event run one after the other, and its
    /// CPU does nothing else meanwhile: a time between the event and that CPU's next one was stamped at the event.
    fn is_in_event(&self, events: &[i64]) -> bool {
        let next = events[events.partition_point(|at| *at <= self.event)..].first();
        self.claimed >= self.event - NEAR && next.is_some_and(|next| self.claimed <= next + NEAR)
    }
}

/// Counts the reason of a wrong one.
fn miss(scores: &mut Scores, claim: TruthClaim, reason: &'static str) {
    *scores.entry(claim).or_default().reasons.entry(reason).or_default() += 1;
}

pub(super) const SAME_EVENT: &str = "the same event, stamped by one tracer after the other";

/// Why a part has another position than the witness's stretch.
fn reason(holder: &Holder, overlapping: &[&Stretch], is_same_event: bool) -> &'static str {
    match is_same_event {
        _ if overlapping.iter().filter(|stretch| stretch.holder == *holder).count() > 1 => {
            "one part, and the witness has several stretches of the same"
        }
        true => SAME_EVENT,
        false => "another event, or none",
    }
}

/// Beginning and end of the wait with merged parts, of which only the length is known, not the position.
fn wait_of_merged(parts: &[Part<'_>]) -> Option<(i64, i64)> {
    let first = parts.iter().position(|part| part.merged)?;
    let last = parts.iter().rposition(|part| part.merged)?;
    let follows = |pair: &&[Part<'_>]| pair[0].until == pair[1].from;
    let before = parts[..=first].windows(2).rev().take_while(follows).count();
    let after = parts[last..].windows(2).take_while(follows).count();
    Some((parts[first - before].from, parts[last + after].until))
}

/// Checks the merged parts, by the sum of each name.
fn check_merged(parts: &[Part<'_>], all: &[Stretch], witness: &Witness, scores: &mut Scores) {
    let merged: Vec<&Part<'_>> = parts.iter().filter(|part| part.merged).collect();
    let Some((from, until)) = wait_of_merged(parts) else { return };
    if all.iter().any(|stretch| stretch.holder == Holder::Unknown && overlap(stretch, from, until) > 0) {
        return;
    }
    let mut claimed: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.from >= from && part.until <= until) {
        *claimed.entry((part.kind, part.name)).or_default() += part.until - part.from;
    }
    for part in merged.iter().filter(|part| part.kind != "others") {
        let Some(claimed) = claimed.remove(&(part.kind, part.name)) else { continue };
        let stretches = all
            .iter()
            .filter(|stretch| part.is(&stretch.holder, witness) && overlap(stretch, from, until) > 0);
        // The witness does not know which of its names the thread had at that time.
        let renamed = |stretch: &Stretch| matches!(stretch.holder, Holder::Thread { pid, .. } if witness.was_renamed(pid));
        if stretches.clone().any(renamed) {
            continue;
        }
        let lengths: Vec<i64> = stretches.map(|stretch| overlap(stretch, from, until)).collect();
        let held: i64 = lengths.iter().sum();
        let borders = i64::try_from(lengths.len()).unwrap_or(i64::MAX) + 1;
        let is_near = (held - claimed).abs() <= NEAR * borders;
        score(scores, TruthClaim::Merged, is_near, || {
            let seen: Vec<_> =
                all.iter().filter(|stretch| overlap(stretch, from, until) > 0).take(20).collect();
            format!("{part:?}: {claimed} µs claimed, {held} µs in {borders} seen of {until}: {seen:?}")
        });
        if !is_near {
            let more =
                if claimed > held { "more claimed than there was" } else { "less claimed than there was" };
            miss(scores, TruthClaim::Merged, more);
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
