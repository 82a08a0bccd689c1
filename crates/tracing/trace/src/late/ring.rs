//! Occupants of each CPU, from the BPF rings, which are read backwards as far as needed.
//!
//! ```text
//! events        … | hog until 500 | timer until 520 | hog until 900 |      the thread runs from 900 on
//! it waited            from 300 ──────────────────────────────► 900       hog 200, timer 20, hog 380
//! ```

use std::collections::HashMap;

use aya::Ebpf;
use aya::maps::{Array, MapData};
use howlate_linux::clock;
use howlate_model::{CpuHolder, MonotonicTime, Occupant, Span, TracerRefusal};

use crate::fields::FieldReader;
use crate::irq_names::InterruptNames;
use crate::loading::{damaged, refusal};
use crate::occupant::OccupantKind;

/// Events of a chunk: `EVENTS` of `bpf/late.h`.
const PER_CHUNK: u32 = 128;
const EVENTS: usize = PER_CHUNK as usize;
/// 64-bit words of an event.
const WORDS: usize = 4;
/// `struct cpu` of `bpf/late.bpf.c` in 64-bit words; the first is the number of events so far.
type CpuHead = [u64; CPU_WORDS];
const CPU_WORDS: usize = 16;
type Chunk = [u64; EVENTS * WORDS];
/// Words of `struct cpu`: when it last became idle, 0 if never; and its current thread, in the first half.
const IDLE_SINCE: usize = 8;
const CURRENT: usize = 11;
/// Thread ID of the idle thread.
pub(super) const IDLE: u32 = 0;

/// Mask of the [`OccupantKind`] in an event's kind.
const OCCUPANT_KIND: u32 = 0xff;
/// The thread that was switched out remained runnable.
const STAYS_READY: u32 = 0x100;
/// The cgroup of that thread was throttled.
const SET_ASIDE: u32 = 0x200;

/// The scheduler and the BPF programs read the clock at different points of one switch: `SAME_SWITCH` of `bpf/late.h`.
pub(super) const SAME_SWITCH: Span = Span::from_micros(100);

/// Events per second of a busy CPU, and the fewest and most that a ring has room for: 32 bytes each.
const PER_SECOND: u64 = 32_768;
const RING_EVENTS: (u64, u64) = (16_384, 1 << 20);

/// Ring size for `keep` of the activity of a busy CPU.
pub fn ring_events(keep: Span) -> u32 {
    let events = keep.as_nanos().saturating_mul(PER_SECOND) / 1_000_000_000;
    u32::try_from(events.clamp(RING_EVENTS.0, RING_EVENTS.1)).unwrap_or(u32::MAX)
}

/// Number of chunks of a ring for `events`: a power of two.
pub(super) fn chunks(events: u32) -> u32 {
    events.div_ceil(PER_CHUNK).max(2).next_power_of_two()
}

/// How a runnable thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwitchOut {
    /// Another thread got it.
    Preempted,
    /// Its cgroup was throttled.
    Throttled,
}

/// Until when an occupant had a CPU, from the previous event on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RingEvent {
    pub(super) until: MonotonicTime,
    pub(super) id: u32,
    pub(super) kind: u32,
    pub(super) name: [u8; 16],
}

impl RingEvent {
    /// As laid out in `bpf/late.h`.
    pub(super) fn parse(fields: &mut FieldReader) -> Option<Self> {
        Some(Self { until: fields.time()?, id: fields.u32()?, kind: fields.u32()?, name: fields.bytes()? })
    }

    fn is_idle(&self) -> bool {
        self.id == IDLE && self.occupant() == OccupantKind::Thread
    }

    fn occupant(&self) -> OccupantKind {
        OccupantKind::from_number(self.kind & OCCUPANT_KIND)
    }

    /// Identifies an occupant: threads by name as well, which can change.
    fn holder(&self) -> (u32, u32, [u8; 16]) {
        const NAMELESS: [u8; 16] = [0; 16];
        let kind = self.kind & OCCUPANT_KIND;
        match self.occupant() {
            OccupantKind::Thread if self.id == 0 => (kind, 0, NAMELESS),
            of if of.is_thread() => (kind, self.id, self.name),
            OccupantKind::Interrupt | OccupantKind::Softirq => (kind, self.id, NAMELESS),
            _ => (kind, 0, NAMELESS),
        }
    }

    fn who(&self, interrupts: &mut InterruptNames) -> CpuHolder {
        let name = FieldReader(&self.name).comm().unwrap_or_default();
        self.occupant().who(self.id, name, interrupts)
    }
}

/// Events read from the ring of one CPU.
#[derive(Debug, Default)]
struct RingHistory {
    /// Time back to which it is to be read.
    read_from: Option<MonotonicTime>,
    events: Vec<RingEvent>,
    /// Since when, and until the reading at least, nothing runs there.
    idle: Option<(MonotonicTime, MonotonicTime)>,
}

/// The maps, and the events that were last read.
pub(super) struct CpuRings {
    maps: Option<(Array<MapData, CpuHead>, Array<MapData, Chunk>)>,
    chunks: u32,
    of: Vec<RingHistory>,
}

impl CpuRings {
    pub(super) fn take(kernel: &mut Ebpf, cpus: u32, chunks: u32) -> Result<Self, TracerRefusal> {
        let heads = kernel.take_map("cpus").ok_or_else(|| damaged("cpus"))?;
        let events = kernel.take_map("ring").ok_or_else(|| damaged("ring"))?;
        let refused = |error: &aya::maps::MapError| refusal("read its rings", error);
        let heads = Array::try_from(heads).map_err(|error| refused(&error))?;
        let events = Array::try_from(events).map_err(|error| refused(&error))?;
        let of = (0..cpus).map(|_| RingHistory::default()).collect();
        Ok(Self { maps: Some((heads, events)), chunks, of })
    }

    /// Without maps.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { maps: None, chunks: 0, of: Vec::new() }
    }

    /// Without maps, with these events of each CPU.
    #[cfg(test)]
    pub(super) fn holding(events: Vec<Vec<RingEvent>>) -> Self {
        let of = events.into_iter().map(|events| RingHistory { events, ..RingHistory::default() });
        Self { of: of.collect(), ..Self::none() }
    }

    pub(super) fn cpus(&self) -> u32 {
        u32::try_from(self.of.len()).unwrap_or(u32::MAX)
    }

    /// Drops what was read and requested.
    pub(super) fn forget(&mut self) {
        self.of.iter_mut().for_each(|history| *history = RingHistory::default());
    }

    /// Empties the rings, while no program is attached.
    pub(super) fn empty(&mut self) -> Result<(), TracerRefusal> {
        let cpus = self.cpus();
        let Some((heads, _)) = &mut self.maps else { return Ok(()) };
        let refused = |error: aya::maps::MapError| refusal("empty its rings", &error);
        (0..cpus).try_for_each(|cpu| heads.set(cpu, [0; CPU_WORDS], 0).map_err(refused))
    }

    /// The next reading of this CPU is to go back to `from`.
    pub(super) fn request(&mut self, cpu: u32, from: MonotonicTime) {
        if let Some(history) = self.of.get_mut(cpu as usize) {
            history.read_from = Some(history.read_from.map_or(from, |earlier| earlier.min(from)));
        }
    }

    /// A ring of two chunks in which event `n` ended at `n`.
    pub(super) fn read(&mut self) -> Result<(), TracerRefusal> {
        let Some((heads, events)) = &self.maps else { return Ok(()) };
        for (cpu, history) in (0..).zip(&mut self.of) {
            let Some(from) = history.read_from else { continue };
            let refused = |error: aya::maps::MapError| refusal("read its rings", &error);
            let head = |cpu: u32| heads.get(&cpu, 0).map(|cpu| cpu[0]).map_err(refused);
            let chunk = |number: u64| {
                let place = u32::try_from(number % u64::from(self.chunks)).unwrap_or(0);
                events.get(&(cpu * self.chunks + place), 0).map_err(refused)
            };
            let now = clock::now();
            history.idle = idle_until(now, &heads.get(&cpu, 0).map_err(refused)?);
            read_back(history, from, u64::from(self.chunks), || head(cpu), chunk)?;
        }
        Ok(())
    }

    /// How long a CPU was idle between two times, as far as its ring reaches back and it was requested.
    pub(super) fn idle_between(&self, cpu: u32, from: MonotonicTime, until: MonotonicTime) -> Span {
        let Some(history) = self.of.get(cpu as usize) else { return Span::ZERO };
        let (stretches, _) = stretches(&history.events, from, until);
        let ended = stretches.iter().filter(|stretch| stretch.event.is_idle()).map(|stretch| stretch.ns);
        let now = history.idle.map(|(began, now)| until.min(now).since(from.max(began)));
        ended.chain(now).fold(Span::ZERO, Span::plus)
    }

    /// No CPU is said to be idle now: threads run there of which no event tells.
    pub(super) fn doubt_idle(&mut self) {
        self.of.iter_mut().for_each(|history| history.idle = None);
    }

    /// Events that were read of a CPU, in order.
    pub(super) fn of(&self, cpu: u32) -> &[RingEvent] {
        self.of.get(cpu as usize).map_or(&[], |history| &history.events)
    }
}

/// Since when a CPU is idle, if it was at `now`, which is before its state was read.
fn idle_until(now: MonotonicTime, cpu: &CpuHead) -> Option<(MonotonicTime, MonotonicTime)> {
    let current = cpu[CURRENT] & u64::from(u32::MAX);
    let since = MonotonicTime::from_nanos(cpu[IDLE_SINCE].cast_signed());
    (current == u64::from(IDLE) && cpu[IDLE_SINCE] > 0 && since < now).then_some((since, now))
}

/// Occupants of a CPU between two times, in order, and the time at the start that the ring no longer covers.
pub(super) fn between(
    events: &[RingEvent],
    from: MonotonicTime,
    until: MonotonicTime,
    interrupts: &mut InterruptNames,
) -> (Vec<Occupant>, Span) {
    let (stretches, unnamed) = stretches(events, from, until);
    (to_occupants(stretches, interrupts), unnamed)
}

fn to_occupants(stretches: Vec<RingStretch<'_>>, interrupts: &mut InterruptNames) -> Vec<Occupant> {
    let mut occupants: Vec<Occupant> = Vec::new();
    for stretch in stretches {
        let who = stretch.event.who(interrupts);
        match occupants.last_mut() {
            // Interrupts of one name are merged.
            Some(last) if last.who == who => last.ns = last.ns.plus(stretch.ns),
            _ => occupants.push(Occupant { who, ns: stretch.ns, from: Some(stretch.from) }),
        }
    }
    occupants
}

/// As [`between`], with a bounded result: of too many stretches, the longest keep their times, and the others are summed per occupant. A
/// wait of a second on a busy machine has ten thousand stretches, which would take too much memory.
pub(super) fn summarised_between(
    events: &[RingEvent],
    from: MonotonicTime,
    until: MonotonicTime,
    interrupts: &mut InterruptNames,
) -> (Vec<Occupant>, Span) {
    let (stretches, unnamed) = stretches(events, from, until);
    if stretches.len() <= MAX_STRETCHES {
        return (to_occupants(stretches, interrupts), unnamed);
    }
    let mut lengths: Vec<Span> = stretches.iter().map(|stretch| stretch.ns).collect();
    lengths.sort_unstable_by(|left, right| right.cmp(left));
    let threshold = lengths.get(MAX_STRETCHES / 2).copied().unwrap_or_default();
    let (long, short): (Vec<_>, Vec<_>) = stretches.into_iter().partition(|stretch| stretch.ns > threshold);
    let (mut sums, mut places): (Vec<(&RingEvent, Span)>, HashMap<_, usize>) = Default::default();
    for stretch in short {
        let place = *places.entry(stretch.event.holder()).or_insert(sums.len());
        match sums.get_mut(place) {
            Some((_, ns)) => *ns = ns.plus(stretch.ns),
            None => sums.push((stretch.event, stretch.ns)),
        }
    }
    let long = long.into_iter().map(|stretch| (stretch.event, stretch.ns, Some(stretch.from)));
    let short = sums.into_iter().map(|(event, ns)| (event, ns, None));
    let to_occupant =
        |(event, ns, from): (&RingEvent, Span, _)| Occupant { who: event.who(interrupts), ns, from };
    (long.chain(short).map(to_occupant).collect(), unnamed)
}

/// Stretches of a wait that are reported individually.
const MAX_STRETCHES: usize = 256;

/// An uninterrupted time of one occupant.
struct RingStretch<'a> {
    event: &'a RingEvent,
    from: MonotonicTime,
    ns: Span,
}

/// Stretches between two times, in order, and the time at the start that the ring no longer covers.
fn stretches(
    events: &[RingEvent],
    from: MonotonicTime,
    until: MonotonicTime,
) -> (Vec<RingStretch<'_>>, Span) {
    let first = events.partition_point(|event| event.until <= from);
    let known_from = match first.checked_sub(1).and_then(|before| events.get(before)) {
        Some(_) => from,
        // The start of the oldest event is not known.
        None => events.first().map_or(until, |oldest| oldest.until).clamp(from, until),
    };
    let first = if known_from > from { first + 1 } else { first };
    let (mut stretches, mut cursor): (Vec<RingStretch<'_>>, _) = (Vec::new(), known_from);
    for event in events.iter().skip(first) {
        let end = event.until.min(until);
        let ns = end.since(cursor);
        match stretches.last_mut() {
            Some(last) if last.event.holder() == event.holder() => last.ns = last.ns.plus(ns),
            _ if !ns.is_zero() => stretches.push(RingStretch { event, from: cursor, ns }),
            _ => {}
        }
        cursor = cursor.max(end);
        if event.until >= until {
            break;
        }
    }
    (stretches, known_from.since(from))
}

/// How a thread left its CPU when its wait began at `at`; `None`: it did not, or it went to sleep.
pub(super) fn switch_out(events: &[RingEvent], tid: u32, at: MonotonicTime) -> Option<SwitchOut> {
    let (early, late) = (at.minus(SAME_SWITCH), at.plus(SAME_SWITCH));
    let first = events.partition_point(|event| event.until < early);
    let near = events.iter().skip(first).take_while(|event| event.until <= late);
    let switched_out = near.filter(|event| event.id == tid && event.occupant().is_thread()).last()?;
    match switched_out.kind {
        kind if kind & SET_ASIDE != 0 => Some(SwitchOut::Throttled),
        kind if kind & STAYS_READY != 0 => Some(SwitchOut::Preempted),
        _ => None,
    }
}

/// From when on a thread waited for the quota of its cgroup, in a wait between two times: since it last got the CPU before it was
/// throttled. It runs in the kernel until then.
pub(super) fn throttled_since(
    events: &[RingEvent],
    tid: u32,
    from: MonotonicTime,
    until: MonotonicTime,
) -> Option<MonotonicTime> {
    let first = events.partition_point(|event| event.until < from);
    let within = events.iter().enumerate().skip(first).take_while(|(_, event)| event.until < until);
    let is_its = |event: &RingEvent| event.id == tid && event.occupant().is_thread();
    let mut throttled = within.filter(|(_, event)| is_its(event) && event.kind & SET_ASIDE != 0);
    let (place, event) = throttled.next()?;
    let got_it =
        place.checked_sub(1).and_then(|before| events.get(before)).map_or(event.until, |before| before.until);
    Some(got_it.clamp(from, until))
}

/// Reads a ring backwards until an event that ended at `from` or before, or until events that were overwritten meanwhile. Each chunk is
/// checked for overwriting right after it was read, so that later writes do not invalidate it.
fn read_back(
    history: &mut RingHistory,
    from: MonotonicTime,
    chunks: u64,
    head: impl Fn() -> Result<u64, TracerRefusal>,
    chunk: impl Fn(u64) -> Result<Chunk, TracerRefusal>,
) -> Result<(), TracerRefusal> {
    let per_chunk = u64::from(PER_CHUNK);
    let end = head()?;
    let from = from.minus(SAME_SWITCH);
    let mut read: Vec<RingEvent> = Vec::new();
    let oldest_chunk = (end / per_chunk).saturating_sub(chunks - 1);
    for number in (oldest_chunk..=end / per_chunk).rev() {
        let words = chunk(number)?;
        // The event that is just being written counts as overwritten.
        let oldest = (head()? + 1).saturating_sub(chunks * per_chunk);
        let is_its = |place: &usize| (oldest..end).contains(&(number * per_chunk + *place as u64));
        let events = words.chunks_exact(WORDS).enumerate().rev();
        read.extend(events.filter(|(place, _)| is_its(place)).filter_map(|(_, words)| event(words)));
        if oldest > number * per_chunk || read.last().is_some_and(|event| event.until <= from) {
            break;
        }
    }
    read.reverse();
    history.events = read;
    Ok(())
}

fn event(words: &[u64]) -> Option<RingEvent> {
    let mut bytes = [0; WORDS * size_of::<u64>()];
    for (to, word) in bytes.chunks_exact_mut(size_of::<u64>()).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    RingEvent::parse(&mut FieldReader(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    /// Two alternating threads, and a third one that has the CPU for long once.
    #[test]
    fn the_longest_of_many_stretches_keep_their_times() {
        let mut name = [0; 16];
        name[..4].copy_from_slice(b"pipe");
        let turn = |number: i64| {
            let (id, later) =
                if number == 900 { (9, 5_000) } else { (3 + u32::try_from(number % 2).unwrap(), 0) };
            let until = at(10 * number + if number >= 900 { 5_000 } else { later });
            RingEvent { until, id, kind: 0, name }
        };
        let events: Vec<RingEvent> = (0..2_000).map(turn).collect();
        let mut interrupts = InterruptNames::parse("");
        let (from, until) = (at(1_000), at(22_000));
        let (all, _) = between(&events, from, until, &mut interrupts);
        let (few, unnamed) = summarised_between(&events, from, until, &mut interrupts);
        let sum =
            |occupants: &[Occupant]| occupants.iter().map(|occupant| occupant.ns.as_nanos()).sum::<u64>();
        assert_eq!((sum(&few), unnamed), (sum(&all), Span::ZERO));
        assert!(all.len() > 1_500 && few.len() == 3, "{} and {}", all.len(), few.len());
        let placed: Vec<_> = few.iter().filter(|occupant| occupant.from.is_some()).collect();
        assert_eq!((placed.len(), placed[0].who.pid, placed[0].ns.as_nanos()), (1, Some(9), 5_010));
        assert_eq!(placed[0].from, Some(at(8_990)));
        let (short, _) = summarised_between(&events, from, at(2_000), &mut interrupts);
        assert!(
            short.iter().all(|occupant| occupant.from.is_some()) && short.len() == 100,
            "{}",
            short.len()
        );
    }

    fn named(until: i64, id: u32, kind: u32, name: &str) -> RingEvent {
        let mut bytes = [0; 16];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        RingEvent { until: at(until), id, kind, name: bytes }
    }

    fn rings(events: Vec<RingEvent>) -> CpuRings {
        CpuRings { of: vec![RingHistory { events, ..RingHistory::default() }], ..CpuRings::none() }
    }

    fn occupants_between(rings: &CpuRings, from: i64, until: i64) -> (Vec<(String, u64)>, u64) {
        let (occupants, unnamed) = between(rings.of(0), at(from), at(until), &mut InterruptNames::parse(""));
        let occupant = |occupant: Occupant| {
            let name = if occupant.who.name.is_empty() {
                format!("{:?}", occupant.who.holder)
            } else {
                occupant.who.name
            };
            (name, occupant.ns.as_nanos())
        };
        (occupants.into_iter().map(occupant).collect(), unnamed.as_nanos())
    }

    #[test]
    fn a_wait_is_split_by_occupants() {
        let events = vec![
            named(300, 0, 0, "swapper/0"),
            named(500, 9, 0, "hog"),
            named(520, 0, 3, ""),
            named(700, 9, 0, "hog"),
            named(900, 9, STAYS_READY, "hog"),
            named(950, 1, 2, ""),
            named(990, 0, 4, ""),
        ];
        let rings = rings(events);
        let of = |all: &[(&str, u64)]| all.iter().map(|(name, ns)| ((*name).to_owned(), *ns)).collect();
        let expected: Vec<_> = of(&[("hog", 100), ("local_timer", 20), ("hog", 380)]);
        assert_eq!(occupants_between(&rings, 400, 900), (expected, 0));
        assert_eq!(occupants_between(&rings, 905, 990), (of(&[("TIMER", 45), ("NotSeen", 40)]), 0));
        assert_eq!(occupants_between(&rings, 350, 360), (of(&[("hog", 10)]), 0));
        assert_eq!(occupants_between(&rings, 100, 500), (of(&[("hog", 200)]), 200), "before, nobody knows");
        assert_eq!(occupants_between(&rings, 100, 200), (of(&[]), 100));
    }

    #[test]
    fn a_runnable_thread_that_left_was_preempted() {
        let late = 1_000_000;
        let events = vec![
            named(late, 9, STAYS_READY, "a"),
            named(late + 10, 8, 0, "b"),
            named(late + 20, 7, 5 | STAYS_READY | SET_ASIDE, "c"),
        ];
        let rings = rings(events);
        let left = |tid| switch_out(rings.of(0), tid, at(late + 5));
        assert_eq!(
            (left(9), left(8), left(7)),
            (Some(SwitchOut::Preempted), None, Some(SwitchOut::Throttled))
        );
        assert_eq!(switch_out(rings.of(0), 9, at(2 * late)), None, "that was another time");
    }

    /// A ring of two chunks in which event `n` ended at `n`.
    fn read(end: u64, from: i64, written_meanwhile: u64) -> (i64, i64, usize) {
        read_of(2, end, from, |looks| if looks == 0 { 0 } else { written_meanwhile })
    }

    /// A ring of `chunks`; `written`: events that are written until the reader has checked so often.
    fn read_of(chunks: u64, end: u64, from: i64, written: impl Fn(u64) -> u64) -> (i64, i64, usize) {
        let mut history = RingHistory::default();
        let heads = std::cell::Cell::new(0);
        let head = || {
            let looks = heads.get();
            heads.set(looks + 1);
            Ok(end + written(looks))
        };
        let chunk = |number: u64| {
            let mut words = [0; EVENTS * WORDS];
            for (place, event) in (number * u64::from(PER_CHUNK)..).zip(words.chunks_exact_mut(WORDS)) {
                event[0] = place * 1_000_000;
            }
            Ok(words)
        };
        read_back(&mut history, at(from * 1_000_000), chunks, head, chunk).unwrap();
        let time = |event: Option<&RingEvent>| event.map_or(-1, |event| event.until.as_nanos() / 1_000_000);
        (time(history.events.first()), time(history.events.last()), history.events.len())
    }

    #[test]
    fn a_ring_is_read_back_as_far_as_needed() {
        assert_eq!(read(1_000, 950, 0), (896, 999, 104), "one chunk is enough");
        assert_eq!(read(1_000, 890, 0), (768, 999, 232));
        assert_eq!(read(1_000, 10, 0), (768, 999, 232), "there is no more");
        assert_eq!(read(1_000, 10, 100), (845, 999, 155), "what was written over is left out");
        assert_eq!(read(5, 0, 0), (0, 4, 5));
        // Of 8 chunks 2 are written while one is read: reader and writer meet.
        let (first, last, events) = read_of(8, 2_048, 0, |looks| looks * 256);
        assert_eq!((first, last, events), (1_793, 2_047, 255), "whatever was written after it was read");
    }

    #[test]
    fn a_ring_has_room_for_what_is_asked() {
        assert_eq!((chunks(0), chunks(256), chunks(65_536), chunks(70_000)), (2, 2, 512, 1_024));
    }
}
