//! Who had each CPU until when: the kernel's rings, read back to where it matters.
//!
//! ```text
//! events        … | hog until 500 | timer until 520 | hog until 900 |      the thread runs from 900 on
//! it waited            from 300 ──────────────────────────────► 900       hog 200, timer 20, hog 380
//! ```

use std::collections::HashMap;

use aya::Ebpf;
use aya::maps::{Array, MapData};
use howlate_model::{CpuHolder, MonotonicTime, Occupant, Span, TracerRefusal};

use crate::fields::Fields;
use crate::irq_names::Interrupts;
use crate::loading::{damaged, refusal};
use crate::occupant::OccupantKind;

/// Events of a chunk: `EVENTS` of `bpf/late.h`.
const PER_CHUNK: u32 = 128;
const EVENTS: usize = PER_CHUNK as usize;
/// 64-bit words of an event.
const WORDS: usize = 4;
/// `struct cpu` of `bpf/late.bpf.c`, in 64-bit words; the first is how many events there were.
type Cpu = [u64; CPU_WORDS];
const CPU_WORDS: usize = 14;
type Chunk = [u64; EVENTS * WORDS];

/// The part of an event's kind that is an [`OccupantKind`].
const OCCUPANT_KIND: u32 = 0xff;
/// The thread that left could have gone on.
const STAYS_READY: u32 = 0x100;
/// And its control group had no time left.
const SET_ASIDE: u32 = 0x200;

/// The scheduler's clock and the programs' are read at different moments of one switch: `SAME_SWITCH` of `bpf/late.h`.
pub(super) const SAME_SWITCH: Span = Span::from_micros(100);

/// Times that a busy CPU passes from one to another in a second, and the fewest and the most that are remembered: 32 bytes each.
const PER_SECOND: u64 = 32_768;
const REMEMBERED: (u64, u64) = (16_384, 1 << 20);

/// How many times a ring is to have room for that remembers so much of a busy CPU.
pub fn events_in(keep: Span) -> u32 {
    let events = keep.as_nanos().saturating_mul(PER_SECOND) / 1_000_000_000;
    u32::try_from(events.clamp(REMEMBERED.0, REMEMBERED.1)).unwrap_or(u32::MAX)
}

/// How many chunks a ring for `events` has: a power of two.
pub(super) fn chunks(events: u32) -> u32 {
    events.div_ceil(PER_CHUNK).max(2).next_power_of_two()
}

/// How a thread left its CPU that could have gone on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Somebody else got it.
    Preempted,
    /// Its group had no time left.
    SetAside,
}

/// Until when a CPU was whose, since the event before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) until: MonotonicTime,
    pub(super) id: u32,
    pub(super) kind: u32,
    pub(super) name: [u8; 16],
}

impl Event {
    /// Reads one, as `bpf/late.h` lays it out.
    pub(super) fn parse(fields: &mut Fields) -> Option<Self> {
        Some(Self { until: fields.time()?, id: fields.u32()?, kind: fields.u32()?, name: fields.bytes()? })
    }

    fn occupant(&self) -> OccupantKind {
        OccupantKind::from_number(self.kind & OCCUPANT_KIND)
    }

    /// What tells one who had the CPU from another: of threads their name as well, which they may change.
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

    fn who(&self, interrupts: &mut Interrupts) -> CpuHolder {
        let name = Fields(&self.name).comm().unwrap_or_default();
        self.occupant().who(self.id, name, interrupts)
    }
}

/// What was read of one CPU's ring.
#[derive(Debug, Default)]
struct History {
    /// From when on it is asked for.
    wanted: Option<MonotonicTime>,
    /// In their order.
    events: Vec<Event>,
}

/// The maps, and what was last read of them.
pub(super) struct Rings {
    maps: Option<(Array<MapData, Cpu>, Array<MapData, Chunk>)>,
    chunks: u32,
    of: Vec<History>,
}

impl Rings {
    pub(super) fn take(kernel: &mut Ebpf, cpus: u32, chunks: u32) -> Result<Self, TracerRefusal> {
        let heads = kernel.take_map("cpus").ok_or_else(|| damaged("cpus"))?;
        let events = kernel.take_map("ring").ok_or_else(|| damaged("ring"))?;
        let refused = |error: &aya::maps::MapError| refusal("read its rings", error);
        let heads = Array::try_from(heads).map_err(|error| refused(&error))?;
        let events = Array::try_from(events).map_err(|error| refused(&error))?;
        let of = (0..cpus).map(|_| History::default()).collect();
        Ok(Self { maps: Some((heads, events)), chunks, of })
    }

    /// Without a memory.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { maps: None, chunks: 0, of: Vec::new() }
    }

    pub(super) fn cpus(&self) -> u32 {
        u32::try_from(self.of.len()).unwrap_or(u32::MAX)
    }

    /// Forgets what was read and asked for.
    pub(super) fn forget(&mut self) {
        self.of.iter_mut().for_each(|one| *one = History::default());
    }

    /// Has the kernel's side begin anew, while it writes nothing.
    pub(super) fn empty(&mut self) -> Result<(), TracerRefusal> {
        let cpus = self.cpus();
        let Some((heads, _)) = &mut self.maps else { return Ok(()) };
        let refused = |error: aya::maps::MapError| refusal("empty its rings", &error);
        (0..cpus).try_for_each(|cpu| heads.set(cpu, [0; CPU_WORDS], 0).map_err(refused))
    }

    /// The next reading is to go back to `from` on this CPU.
    pub(super) fn want(&mut self, cpu: u32, from: MonotonicTime) {
        if let Some(history) = self.of.get_mut(cpu as usize) {
            history.wanted = Some(history.wanted.map_or(from, |known| known.min(from)));
        }
    }

    /// Reads what is asked for.
    pub(super) fn read(&mut self) -> Result<(), TracerRefusal> {
        let Some((heads, events)) = &self.maps else { return Ok(()) };
        for (cpu, history) in (0..).zip(&mut self.of) {
            let Some(from) = history.wanted else { continue };
            let refused = |error: aya::maps::MapError| refusal("read its rings", &error);
            let head = |cpu: u32| heads.get(&cpu, 0).map(|cpu| cpu[0]).map_err(refused);
            let chunk = |number: u64| {
                let place = u32::try_from(number % u64::from(self.chunks)).unwrap_or(0);
                events.get(&(cpu * self.chunks + place), 0).map_err(refused)
            };
            back_to(history, from, u64::from(self.chunks), || head(cpu), chunk)?;
        }
        Ok(())
    }

    /// What was read of a CPU's ring, in order.
    pub(super) fn of(&self, cpu: u32) -> &[Event] {
        self.of.get(cpu as usize).map_or(&[], |history| &history.events)
    }
}

/// Who had a CPU between two times, in order; and how much of it is not remembered, at its beginning.
pub(super) fn between(
    events: &[Event],
    from: MonotonicTime,
    until: MonotonicTime,
    interrupts: &mut Interrupts,
) -> (Vec<Occupant>, Span) {
    let (stretches, unnamed) = stretches(events, from, until);
    (one_by_one(stretches, interrupts), unnamed)
}

fn one_by_one(stretches: Vec<Stretch<'_>>, interrupts: &mut Interrupts) -> Vec<Occupant> {
    let mut all: Vec<Occupant> = Vec::new();
    for one in stretches {
        let who = one.event.who(interrupts);
        match all.last_mut() {
            // Interrupts of one name.
            Some(last) if last.who == who => last.ns = last.ns.plus(one.ns),
            _ => all.push(Occupant { who, ns: one.ns, from: Some(one.from) }),
        }
    }
    all
}

/// The same of a wait that may have been long: of too many stretches, the longest are where they were, and the others are added up by who
/// had them. A wait of a second on a busy machine has ten thousand; each with its texts would take more than the wait is worth.
pub(super) fn few_between(
    events: &[Event],
    from: MonotonicTime,
    until: MonotonicTime,
    interrupts: &mut Interrupts,
) -> (Vec<Occupant>, Span) {
    let (all, unnamed) = stretches(events, from, until);
    if all.len() <= STRETCHES {
        return (one_by_one(all, interrupts), unnamed);
    }
    let mut lengths: Vec<Span> = all.iter().map(|one| one.ns).collect();
    lengths.sort_unstable_by(|one, other| other.cmp(one));
    let least = lengths.get(STRETCHES / 2).copied().unwrap_or_default();
    let (long, short): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.ns > least);
    let (mut sums, mut places): (Vec<(&Event, Span)>, HashMap<_, usize>) = Default::default();
    for one in short {
        let place = *places.entry(one.event.holder()).or_insert(sums.len());
        match sums.get_mut(place) {
            Some((_, ns)) => *ns = ns.plus(one.ns),
            None => sums.push((one.event, one.ns)),
        }
    }
    let long = long.into_iter().map(|one| (one.event, one.ns, Some(one.from)));
    let short = sums.into_iter().map(|(event, ns)| (event, ns, None));
    let told = |(event, ns, from): (&Event, Span, _)| Occupant { who: event.who(interrupts), ns, from };
    (long.chain(short).map(told).collect(), unnamed)
}

/// Stretches of a wait that are told one by one.
const STRETCHES: usize = 256;

/// So long one had the CPU, as an event tells.
struct Stretch<'a> {
    event: &'a Event,
    from: MonotonicTime,
    ns: Span,
}

/// The stretches between two times, in order; and how much of it is not remembered, at its beginning.
fn stretches(events: &[Event], from: MonotonicTime, until: MonotonicTime) -> (Vec<Stretch<'_>>, Span) {
    let first = events.partition_point(|event| event.until <= from);
    let known_from = match first.checked_sub(1).and_then(|before| events.get(before)) {
        Some(_) => from,
        // Of the oldest event it is not known when it began.
        None => events.first().map_or(until, |oldest| oldest.until).clamp(from, until),
    };
    let first = if known_from > from { first + 1 } else { first };
    let (mut all, mut cursor): (Vec<Stretch<'_>>, _) = (Vec::new(), known_from);
    for event in events.iter().skip(first) {
        let end = event.until.min(until);
        let ns = end.since(cursor);
        match all.last_mut() {
            Some(last) if last.event.holder() == event.holder() => last.ns = last.ns.plus(ns),
            _ if !ns.is_zero() => all.push(Stretch { event, from: cursor, ns }),
            _ => {}
        }
        cursor = cursor.max(end);
        if event.until >= until {
            break;
        }
    }
    (all, known_from.since(from))
}

/// How this thread left its CPU `at` a time when it began to wait; `None`: it did not, or it went to sleep.
pub(super) fn how_it_left(events: &[Event], tid: u32, at: MonotonicTime) -> Option<Left> {
    let (early, late) = (at.minus(SAME_SWITCH), at.plus(SAME_SWITCH));
    let first = events.partition_point(|event| event.until < early);
    let near = events.iter().skip(first).take_while(|event| event.until <= late);
    let left = near.filter(|event| event.id == tid && event.occupant().is_thread()).last()?;
    match left.kind {
        kind if kind & SET_ASIDE != 0 => Some(Left::SetAside),
        kind if kind & STAYS_READY != 0 => Some(Left::Preempted),
        _ => None,
    }
}

/// Reads a ring backwards until an event that ended at `from` or before, or until it meets what was written over meanwhile. Each
/// chunk is held against that as soon as it is read: what comes later does not make it another time's.
fn back_to(
    history: &mut History,
    from: MonotonicTime,
    chunks: u64,
    head: impl Fn() -> Result<u64, TracerRefusal>,
    chunk: impl Fn(u64) -> Result<Chunk, TracerRefusal>,
) -> Result<(), TracerRefusal> {
    let per_chunk = u64::from(PER_CHUNK);
    let end = head()?;
    let from = from.minus(SAME_SWITCH);
    let mut read: Vec<Event> = Vec::new();
    let oldest_chunk = (end / per_chunk).saturating_sub(chunks - 1);
    for number in (oldest_chunk..=end / per_chunk).rev() {
        let words = chunk(number)?;
        // What is being written over counts as well.
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

fn event(words: &[u64]) -> Option<Event> {
    let mut bytes = [0; WORDS * size_of::<u64>()];
    for (to, word) in bytes.chunks_exact_mut(size_of::<u64>()).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    Event::parse(&mut Fields(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    /// Two threads that take turns, and a third that is on the CPU for long once.
    #[test]
    fn of_very_many_stretches_the_longest_have_their_place_and_all_add_up() {
        let mut name = [0; 16];
        name[..4].copy_from_slice(b"pipe");
        let turn = |number: i64| {
            let (id, later) =
                if number == 900 { (9, 5_000) } else { (3 + u32::try_from(number % 2).unwrap(), 0) };
            let until = at(10 * number + if number >= 900 { 5_000 } else { later });
            Event { until, id, kind: 0, name }
        };
        let events: Vec<Event> = (0..2_000).map(turn).collect();
        let mut interrupts = Interrupts::parse("");
        let (from, until) = (at(1_000), at(22_000));
        let (all, _) = between(&events, from, until, &mut interrupts);
        let (few, unnamed) = few_between(&events, from, until, &mut interrupts);
        let sum = |of: &[Occupant]| of.iter().map(|one| one.ns.as_nanos()).sum::<u64>();
        assert_eq!((sum(&few), unnamed), (sum(&all), Span::ZERO));
        assert!(all.len() > 1_500 && few.len() == 3, "{} and {}", all.len(), few.len());
        let placed: Vec<_> = few.iter().filter(|one| one.from.is_some()).collect();
        assert_eq!((placed.len(), placed[0].who.pid, placed[0].ns.as_nanos()), (1, Some(9), 5_010));
        assert_eq!(placed[0].from, Some(at(8_990)));
        let (short, _) = few_between(&events, from, at(2_000), &mut interrupts);
        assert!(short.iter().all(|one| one.from.is_some()) && short.len() == 100, "{}", short.len());
    }

    fn named(until: i64, id: u32, kind: u32, name: &str) -> Event {
        let mut bytes = [0; 16];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Event { until: at(until), id, kind, name: bytes }
    }

    fn rings(events: Vec<Event>) -> Rings {
        Rings { of: vec![History { events, ..History::default() }], ..Rings::none() }
    }

    fn told(rings: &Rings, from: i64, until: i64) -> (Vec<(String, u64)>, u64) {
        let (all, unnamed) = between(rings.of(0), at(from), at(until), &mut Interrupts::parse(""));
        let one = |one: Occupant| {
            let name = if one.who.name.is_empty() { format!("{:?}", one.who.holder) } else { one.who.name };
            (name, one.ns.as_nanos())
        };
        (all.into_iter().map(one).collect(), unnamed.as_nanos())
    }

    #[test]
    fn each_stretch_of_a_wait_is_whose_the_cpu_was() {
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
        assert_eq!(told(&rings, 400, 900), (expected, 0));
        assert_eq!(told(&rings, 905, 990), (of(&[("TIMER", 45), ("NotSeen", 40)]), 0));
        assert_eq!(told(&rings, 350, 360), (of(&[("hog", 10)]), 0));
        assert_eq!(told(&rings, 100, 500), (of(&[("hog", 200)]), 200), "before, nobody knows");
        assert_eq!(told(&rings, 100, 200), (of(&[]), 100));
    }

    #[test]
    fn who_could_have_gone_on_was_preempted() {
        let late = 1_000_000;
        let events = vec![
            named(late, 9, STAYS_READY, "a"),
            named(late + 10, 8, 0, "b"),
            named(late + 20, 7, 5 | STAYS_READY | SET_ASIDE, "c"),
        ];
        let rings = rings(events);
        let left = |tid| how_it_left(rings.of(0), tid, at(late + 5));
        assert_eq!((left(9), left(8), left(7)), (Some(Left::Preempted), None, Some(Left::SetAside)));
        assert_eq!(how_it_left(rings.of(0), 9, at(2 * late)), None, "that was another time");
    }

    /// A ring of two chunks in which event `n` ended at `n`.
    fn read(end: u64, from: i64, written_meanwhile: u64) -> (i64, i64, usize) {
        read_of(2, end, from, |looks| if looks == 0 { 0 } else { written_meanwhile })
    }

    /// The same of so many chunks; how many events were written until the reader had looked so often.
    fn read_of(chunks: u64, end: u64, from: i64, written: impl Fn(u64) -> u64) -> (i64, i64, usize) {
        let mut history = History::default();
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
        back_to(&mut history, at(from * 1_000_000), chunks, head, chunk).unwrap();
        let time = |event: Option<&Event>| event.map_or(-1, |event| event.until.as_nanos() / 1_000_000);
        (time(history.events.first()), time(history.events.last()), history.events.len())
    }

    #[test]
    fn a_ring_is_read_back_to_where_it_matters() {
        assert_eq!(read(1_000, 950, 0), (896, 999, 104), "one chunk is enough");
        assert_eq!(read(1_000, 890, 0), (768, 999, 232));
        assert_eq!(read(1_000, 10, 0), (768, 999, 232), "there is no more");
        assert_eq!(read(1_000, 10, 100), (845, 999, 155), "what was written over is left out");
        assert_eq!(read(5, 0, 0), (0, 4, 5));
        // 8 chunks of which 2 are written while one is read: from the last they have met in the middle.
        let (first, last, events) = read_of(8, 2_048, 0, |looks| looks * 256);
        assert_eq!((first, last, events), (1_793, 2_047, 255), "whatever was written after it was read");
    }

    #[test]
    fn a_ring_has_room_for_what_is_asked() {
        assert_eq!((chunks(0), chunks(256), chunks(65_536), chunks(70_000)), (2, 2, 512, 1_024));
    }
}
