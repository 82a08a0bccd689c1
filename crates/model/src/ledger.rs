//! The causes of lateness, added up.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cause, Distribution, Explained, Kind, Latency, MonotonicTime, Part, Span, WORST_KEPT};

/// Entries of causes by lateness that are kept apart; when there are more, new names of the same part and
/// kind share one entry.
pub const ENTRIES_KEPT: usize = 4_096;

/// The name under which causes are counted that found no place of their own.
pub const OTHERS: &str = "(others)";

/// Wake-ups by how late they were, and what made them so. Constant memory; adding up loses nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Stored", into = "Stored")]
#[schemars(with = "Stored")]
pub struct Ledger {
    /// Wake-ups whose parts are known.
    pub decomposed: u64,
    /// Wake-ups whose parts are not, by the reason.
    pub not_decomposed: BTreeMap<NotDecomposed, u64>,
    /// Events that the tracer lost.
    pub lost_events: u64,
    /// Readings out of order that had to be moved into place.
    pub clamped: u64,
    /// How late all of them were, decomposed or not.
    pub latency: Distribution,
    parts: BTreeMap<Part, Distribution>,
    slices: BTreeMap<u16, Slice>,
    worst: Vec<Explained>,
}

/// Why the wake-ups of one thread in one stretch of time were late. The stretch belongs to a turn of its own, taken
/// beside one that was not traced: its latencies are in here and nowhere else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyBlock {
    /// Index of the condition in the recording's header.
    pub condition: u32,
    /// Which of the condition's turns this is; no other turn has this number.
    pub round: u32,
    /// The turn without tracing that it is to be compared with.
    pub beside: u32,
    /// When the stretch began.
    pub from_ns: MonotonicTime,
    /// When the stretch ended.
    pub until_ns: MonotonicTime,
    /// What saw it: `bpf`, `tracefs` or `switches`.
    pub tracer: String,
    /// The causes, added up.
    pub ledger: Ledger,
}

/// Why the parts of a wake-up are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotDecomposed {
    /// The tracer has nothing on it.
    NotSeen,
    /// Events were lost around it.
    LostEvents,
}

/// Wake-ups of about the same lateness.
#[derive(Clone, Debug, Default, PartialEq)]
struct Slice {
    count: u64,
    total: u64,
    causes: BTreeMap<Cause, Share>,
}

/// What one cause contributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Nanoseconds, all wake-ups together.
    pub total: u64,
    /// In how many wake-ups.
    pub wakeups: u64,
    /// The most in one wake-up.
    pub max: Span,
    /// The thread, if it was always the same one.
    pub pid: Pid,
}

/// The thread behind a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pid {
    /// It is not a thread's.
    None,
    /// Always this one.
    One(u32),
    /// Several threads of the same name.
    Several,
}

impl Pid {
    fn with(self, other: Self) -> Self {
        if self == other { self } else { Self::Several }
    }

    /// The one thread.
    pub const fn one(self) -> Option<u32> {
        if let Self::One(pid) = self { Some(pid) } else { None }
    }
}

impl From<Option<u32>> for Pid {
    fn from(pid: Option<u32>) -> Self {
        pid.map_or(Self::None, Self::One)
    }
}

impl Share {
    /// Adds what the same cause contributed elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.wakeups += other.wakeups;
        self.max = self.max.max(other.max);
        self.pid = self.pid.with(other.pid);
    }
}

/// Late wake-ups, and what made them so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Late {
    /// They were at least this late.
    pub above: Span,
    /// How many.
    pub count: u64,
    /// Their lateness together, in nanoseconds.
    pub total: u64,
    /// What each cause contributed.
    pub causes: BTreeMap<Cause, Share>,
}

impl Ledger {
    /// Counts a wake-up whose parts are known.
    pub fn add(&mut self, one: &Explained) {
        self.decomposed += 1;
        self.latency.record(one.latency_ns);
        let mut of_part: BTreeMap<Part, u64> = BTreeMap::new();
        for segment in &one.parts {
            *of_part.entry(segment.cause.part).or_default() += segment.ns.as_nanos();
        }
        for (part, nanos) in of_part {
            self.parts.entry(part).or_default().record(latency(nanos));
        }
        self.enter(one.latency_ns, one);
        self.keep_worst(one);
    }

    /// Counts a wake-up whose parts are not known. All its lateness is unexplained.
    pub fn add_unknown(&mut self, late: Latency, why: NotDecomposed) {
        *self.not_decomposed.entry(why).or_default() += 1;
        self.latency.record(late);
        let nanos = late.as_nanos().max(0).unsigned_abs();
        let slice = self.slices.entry(slice_of(nanos)).or_default();
        slice.count += 1;
        slice.total += nanos;
        let cause = Cause { part: Part::NotSeen, kind: Kind::Unexplained, name: String::new() };
        let share = Share { total: nanos, wakeups: 1, max: Span::from_nanos(nanos), pid: Pid::None };
        slice.enter(cause, share);
    }

    fn enter(&mut self, late: Latency, one: &Explained) {
        let nanos = late.as_nanos().max(0).unsigned_abs();
        let mut shares: BTreeMap<Cause, Share> = BTreeMap::new();
        for segment in &one.parts {
            let share =
                Share { total: segment.ns.as_nanos(), wakeups: 1, max: segment.ns, pid: segment.pid.into() };
            match shares.get_mut(&segment.cause) {
                Some(known) => known.again(&share),
                None => drop(shares.insert(segment.cause.clone(), share)),
            }
        }
        let room = self.entries() < ENTRIES_KEPT;
        let slice = self.slices.entry(slice_of(nanos)).or_default();
        slice.count += 1;
        slice.total += nanos;
        for (cause, share) in shares {
            slice.enter(slice.place_of(cause, room), share);
        }
    }

    /// How many entries there are.
    fn entries(&self) -> usize {
        self.slices.values().map(|slice| slice.causes.len()).sum()
    }

    fn keep_worst(&mut self, one: &Explained) {
        if self.worst.get(WORST_KEPT - 1).is_some_and(|least| least.latency_ns >= one.latency_ns) {
            return;
        }
        let place = self.worst.partition_point(|other| other.latency_ns >= one.latency_ns);
        self.worst.insert(place, one.clone());
        self.worst.truncate(WORST_KEPT);
    }

    /// Adds what another stretch, turn or machine found.
    pub fn merge(&mut self, other: &Self) {
        self.decomposed += other.decomposed;
        self.lost_events += other.lost_events;
        self.clamped += other.clamped;
        self.latency.merge(&other.latency);
        for (why, count) in &other.not_decomposed {
            *self.not_decomposed.entry(*why).or_default() += count;
        }
        for (part, distribution) in &other.parts {
            self.parts.entry(*part).or_default().merge(distribution);
        }
        for (late, slice) in &other.slices {
            let room = self.entries() < ENTRIES_KEPT;
            self.slices.entry(*late).or_default().merge(slice, room);
        }
        other.worst.iter().for_each(|one| self.keep_worst(one));
    }

    /// Moves the times of all wake-ups.
    pub fn shift(&mut self, mut shift: impl FnMut(&mut MonotonicTime)) {
        for one in &mut self.worst {
            shift(&mut one.at_ns);
            one.parts.iter_mut().for_each(|part| shift(&mut part.from_ns));
        }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.latency.is_empty() && self.lost_events == 0
    }

    /// How many wake-ups' parts are not known.
    pub fn unknown(&self) -> u64 {
        self.not_decomposed.values().sum()
    }

    /// How long each part took, of the wake-ups that had it.
    pub const fn parts(&self) -> &BTreeMap<Part, Distribution> {
        &self.parts
    }

    /// The worst wake-ups, the worst first.
    pub fn worst(&self) -> &[Explained] {
        &self.worst
    }

    /// The wake-ups that were at least about `above` late: from the next lower edge on that the ledger has.
    pub fn late(&self, above: Span) -> Late {
        let first = slice_of(above.as_nanos());
        let mut late = Late { above: Span::from_nanos(lower_edge(first)), ..Late::default() };
        for slice in self.slices.range(first..).map(|(_, slice)| slice) {
            late.count += slice.count;
            late.total += slice.total;
            for (cause, share) in &slice.causes {
                match late.causes.get_mut(cause) {
                    Some(known) => known.add(share),
                    None => drop(late.causes.insert(cause.clone(), *share)),
                }
            }
        }
        late
    }
}

impl Share {
    /// Adds another stretch of the same wake-up.
    fn again(&mut self, other: &Self) {
        self.total += other.total;
        self.max = Span::from_nanos(self.total);
        self.pid = self.pid.with(other.pid);
    }
}

impl Slice {
    /// The cause under which to count; a new one needs room.
    fn place_of(&self, cause: Cause, room: bool) -> Cause {
        if room || cause.name.is_empty() || self.causes.contains_key(&cause) {
            return cause;
        }
        Cause { name: OTHERS.to_owned(), ..cause }
    }

    fn enter(&mut self, cause: Cause, share: Share) {
        match self.causes.get_mut(&cause) {
            Some(known) => known.add(&share),
            None => drop(self.causes.insert(cause, share)),
        }
    }

    fn merge(&mut self, other: &Self, room: bool) {
        self.count += other.count;
        self.total += other.total;
        for (cause, share) in &other.causes {
            self.enter(self.place_of(cause.clone(), room), *share);
        }
    }
}

fn latency(nanos: u64) -> Latency {
    Latency::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// Lateness below this shares one slice.
const FIRST_EDGE: u64 = 1_024;
/// log2 of the slices per doubling: an edge is at most a quarter away.
const BITS: u32 = 2;

/// Which slice a lateness belongs to.
#[allow(clippy::cast_possible_truncation, reason = "at most 64 · 4 slices")]
const fn slice_of(nanos: u64) -> u16 {
    if nanos < FIRST_EDGE {
        return 0;
    }
    let doubling = nanos.ilog2() - FIRST_EDGE.ilog2();
    let quarter = (nanos >> (nanos.ilog2() - BITS)) & ((1 << BITS) - 1);
    ((doubling << BITS) as u16) + quarter as u16 + 1
}

/// The least lateness of a slice.
const fn lower_edge(slice: u16) -> u64 {
    if slice == 0 {
        return 0;
    }
    let (doubling, quarter) = ((slice - 1) >> BITS, (slice - 1) & ((1 << BITS) - 1));
    ((1 << BITS) + quarter as u64) << (doubling as u32 + FIRST_EDGE.ilog2() - BITS)
}

/// A ledger as recordings hold it.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Stored {
    decomposed: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    not_decomposed: BTreeMap<NotDecomposed, u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    lost_events: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    clamped: u64,
    latency: Distribution,
    parts: BTreeMap<Part, Distribution>,
    /// What the shares below refer to by index.
    causes: Vec<Cause>,
    late: Vec<StoredSlice>,
    worst: Vec<Explained>,
}

/// Wake-ups of about the same lateness.
#[derive(Serialize, Deserialize, JsonSchema)]
struct StoredSlice {
    /// At least this late, and less than the next possible slice: 1024 ns, then four per doubling.
    above_ns: u64,
    count: u64,
    total_ns: u64,
    /// Per cause: index, nanoseconds, wake-ups, the most in one of them, thread id (absent: none, 0: several).
    shares: Vec<(u32, u64, u64, Span, Option<u32>)>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<Ledger> for Stored {
    fn from(from: Ledger) -> Self {
        let mut indices: BTreeMap<Cause, u32> = BTreeMap::new();
        let mut causes = Vec::new();
        let late = from
            .slices
            .into_iter()
            .map(|(number, slice)| StoredSlice {
                above_ns: lower_edge(number),
                count: slice.count,
                total_ns: slice.total,
                shares: slice
                    .causes
                    .into_iter()
                    .map(|(cause, share)| {
                        let index = *indices.entry(cause).or_insert_with_key(|cause| {
                            causes.push(cause.clone());
                            u32::try_from(causes.len() - 1).unwrap_or(u32::MAX)
                        });
                        (index, share.total, share.wakeups, share.max, stored_pid(share.pid))
                    })
                    .collect(),
            })
            .collect();
        Self {
            decomposed: from.decomposed,
            not_decomposed: from.not_decomposed,
            lost_events: from.lost_events,
            clamped: from.clamped,
            latency: from.latency,
            parts: from.parts,
            causes,
            late,
            worst: from.worst,
        }
    }
}

const fn stored_pid(pid: Pid) -> Option<u32> {
    match pid {
        Pid::None => None,
        Pid::One(pid) => Some(pid),
        Pid::Several => Some(0),
    }
}

const fn read_pid(pid: Option<u32>) -> Pid {
    match pid {
        None => Pid::None,
        Some(0) => Pid::Several,
        Some(pid) => Pid::One(pid),
    }
}

impl From<Stored> for Ledger {
    /// A share that refers to a cause that is not there can only be damage: it is counted as unexplained.
    fn from(stored: Stored) -> Self {
        let unknown = Cause { part: Part::NotSeen, kind: Kind::Unexplained, name: String::new() };
        let mut slices: BTreeMap<u16, Slice> = BTreeMap::new();
        for one in stored.late {
            let slice = slices.entry(slice_of(one.above_ns)).or_default();
            slice.count = slice.count.saturating_add(one.count);
            slice.total = slice.total.saturating_add(one.total_ns);
            for (index, total, wakeups, max, pid) in one.shares {
                let cause = stored.causes.get(index as usize).unwrap_or(&unknown).clone();
                slice.enter(cause, Share { total, wakeups, max, pid: read_pid(pid) });
            }
        }
        Self {
            decomposed: stored.decomposed,
            not_decomposed: stored.not_decomposed,
            lost_events: stored.lost_events,
            clamped: stored.clamped,
            latency: stored.latency,
            parts: stored.parts,
            slices,
            worst: stored.worst,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;
    use proptest::prelude::*;

    fn explained(parts: &[(Part, Kind, &str, Option<u32>, u64)]) -> Explained {
        let late: u64 = parts.iter().map(|part| part.4).sum();
        let mut from = 0;
        let segments = parts.iter().map(|&(part, kind, name, pid, ns)| {
            let from_ns = MonotonicTime::from_nanos(from);
            from += i64::try_from(ns).unwrap();
            Segment { cause: Cause { part, kind, name: name.into() }, pid, from_ns, ns: Span::from_nanos(ns) }
        });
        let parts = segments.collect();
        Explained { at_ns: MonotonicTime::from_nanos(from), latency_ns: latency(late), cpu: Some(0), parts }
    }

    fn hog(pid: u32, ns: u64) -> Explained {
        explained(&[
            (Part::InterruptDelivery, Kind::IdleExit, "", None, 9_000),
            (Part::Waiting, Kind::Thread, "hog", Some(pid), ns),
        ])
    }

    #[test]
    fn late_wake_ups_name_their_causes() {
        let mut ledger = Ledger::default();
        for _ in 0..99 {
            ledger.add(&explained(&[(Part::Return, Kind::Kernel, "", None, 2_000)]));
        }
        ledger.add(&hog(7, 400_000));
        ledger.add(&hog(8, 300_000));
        let late = ledger.late(Span::from_micros(100));
        assert_eq!((late.count, late.total), (2, 718_000));
        let hog = Cause { part: Part::Waiting, kind: Kind::Thread, name: "hog".into() };
        let share = late.causes[&hog];
        assert_eq!((share.total, share.wakeups, share.max), (700_000, 2, Span::from_micros(400)));
        assert_eq!(share.pid, Pid::Several);
        assert_eq!(late.above, Span::from_nanos(98_304));
        assert_eq!(ledger.worst()[0].latency_ns, latency(409_000));
    }

    #[test]
    fn what_was_not_seen_is_unexplained() {
        let mut ledger = Ledger::default();
        ledger.add_unknown(latency(50_000), NotDecomposed::NotSeen);
        let late = ledger.late(Span::ZERO);
        let cause = late.causes.keys().next().unwrap();
        assert_eq!((cause.kind, late.total, ledger.unknown()), (Kind::Unexplained, 50_000, 1));
    }

    #[test]
    fn names_are_bounded_and_their_time_is_not_lost() {
        let mut ledger = Ledger::default();
        for number in 0..20_000 {
            ledger.add(&explained(&[(
                Part::Waiting,
                Kind::Thread,
                &format!("t{number}"),
                Some(number),
                5_000,
            )]));
        }
        let late = ledger.late(Span::ZERO);
        assert!(late.causes.len() <= ENTRIES_KEPT + 2, "{}", late.causes.len());
        assert_eq!(late.causes.values().map(|share| share.total).sum::<u64>(), 20_000 * 5_000);
    }

    fn any_wakeup() -> impl Strategy<Value = Explained> {
        let kinds = [Kind::Thread, Kind::Softirq, Kind::IdleExit, Kind::Kernel];
        let part = (0..Part::ALL.len(), 0..kinds.len(), 0..4u32, 1..900_000u64);
        proptest::collection::vec(part, 0..6).prop_map(move |parts| {
            let names = ["", "a", "b", "c"];
            let parts: Vec<_> = parts
                .into_iter()
                .map(|(part, kind, name, ns)| {
                    (Part::ALL[part], kinds[kind], names[name as usize], (name > 0).then_some(name), ns)
                })
                .collect();
            explained(&parts)
        })
    }

    fn of(wakeups: &[Explained]) -> Ledger {
        let mut ledger = Ledger::default();
        wakeups.iter().for_each(|one| ledger.add(one));
        ledger
    }

    proptest! {
        #[test]
        fn every_lateness_has_its_slice(nanos in 0..u64::MAX / 2) {
            let slice = slice_of(nanos);
            prop_assert!(lower_edge(slice) <= nanos);
            prop_assert!(nanos < lower_edge(slice + 1));
        }

        #[test]
        fn merging_equals_adding_together(a in proptest::collection::vec(any_wakeup(), 0..20),
                                          b in proptest::collection::vec(any_wakeup(), 0..20)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let together = of(&[a, b].concat());
            prop_assert_eq!(merged.late(Span::ZERO), together.late(Span::ZERO));
            prop_assert_eq!(merged.parts(), together.parts());
            prop_assert_eq!(merged, together);
        }

        #[test]
        fn causes_sum_up_to_the_lateness(a in proptest::collection::vec(any_wakeup(), 0..20), above in 0..2_000_000u64) {
            let late = of(&a).late(Span::from_nanos(above));
            prop_assert_eq!(late.causes.values().map(|share| share.total).sum::<u64>(), late.total);
        }

        #[test]
        fn a_recording_gives_it_back(a in proptest::collection::vec(any_wakeup(), 0..20)) {
            let before = of(&a);
            let json = serde_json::to_string(&before).unwrap();
            prop_assert_eq!(serde_json::from_str::<Ledger>(&json).unwrap(), before);
        }
    }
}
