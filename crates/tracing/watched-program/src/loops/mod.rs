//! Loops that a program has marked: memory that it is handed, or hands over itself, and the turns that it leaves there.
//!
//! The program writes to the memory whatever it likes, so that nothing in it is believed that cannot be.

mod layout;
mod memory;
mod moments;
mod name;
mod ring;
mod spans;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;

use howlate_linux::clock;
use howlate_model::{LoopTurn, MonotonicTime, Span, SpanTime};
use howlate_procfs::Root;
use rustix::io::{FdFlags, fcntl_setfd};

use self::layout::{LOCKED, LOCKED_TAKEN, MAGIC, RINGS, SPANS, TAKEN, TICKS};
use self::memory::Memory;
use self::moments::Moments;
use self::ring::Ring;

/// The variable that tells a program which of its files the memory is.
const VARIABLE: &str = "HOWLATE_LOOPS";
/// Of memory that is received, turns that began so long before are believed: whoever reads may have been kept from it. None was due
/// earlier, whoever made the memory.
const BEFORE: Span = Span::from_secs(10);

/// Whether `CLOCK_MONOTONIC` of this machine is made of the processor's ticks.
pub fn ticks_are_the_clock(root: &Root) -> bool {
    let current = root.read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    current.is_ok_and(|name| name == "tsc")
}

/// A loop that a program has marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// What the program calls it.
    pub name: String,
    /// The period that it is to have; zero where it has none.
    pub period: Span,
    /// The process, as that sees itself.
    pub pid: u32,
    /// The thread that turned first, as it sees itself.
    pub tid: u32,
}

/// A turn of one of them.
#[derive(Clone, Copy, Debug)]
pub struct MarkedTurn<'a> {
    /// The number of its loop.
    pub number: usize,
    /// Its loop.
    pub of: &'a Marked,
    /// When it was.
    pub turn: LoopTurn,
    /// How much of it lay in each span that the program has named.
    pub spans: &'a [SpanTime],
}

/// Spans of a loop that are not measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpansLeftOut {
    /// The loop's name.
    pub name: String,
    /// Spans that were lost, or were none.
    pub lost: u64,
    /// The first name that found no place.
    pub first: Option<String>,
    /// How many names have one.
    pub kept: u64,
}

/// The loops of a program that shares the memory.
pub struct Loops {
    memory: Memory,
    times: Times,
    rings: Vec<Ring>,
}

/// What a time in the memory stands for.
struct Times {
    moments: Moments,
    /// No turn was due before.
    due_since: MonotonicTime,
}

impl Times {
    fn known_by(moments: Moments) -> Self {
        Self { moments, due_since: clock::now().minus(BEFORE) }
    }
}

impl Loops {
    /// Memory for them. `ticks`: whether `CLOCK_MONOTONIC` is made of the processor's ticks, so that these do as well.
    ///
    /// # Errors
    ///
    /// When there is no memory, or there are too many open files.
    pub fn create(ticks: bool) -> io::Result<Self> {
        let (memory, moments) = (Memory::create()?, Moments::begin(ticks));
        memory.set(TICKS, u64::from(moments.are_ticks()));
        memory.set(SPANS, 1);
        memory.set(MAGIC.0, MAGIC.1);
        Ok(Self::of(memory, moments))
    }

    /// Memory that a program has made, and says to be this. What it left there a moment before it said so counts as well.
    ///
    /// # Errors
    ///
    /// When it is another file than such memory, or can become shorter.
    pub fn received(file: OwnedFd) -> io::Result<Self> {
        let moments = Moments::readings_since(clock::now().minus(BEFORE));
        Ok(Self::of(Memory::received(file)?, moments))
    }

    fn of(memory: Memory, moments: Moments) -> Self {
        let rings = (0..RINGS + LOCKED).map(Ring::new).collect();
        Self { memory, times: Times::known_by(moments), rings }
    }

    /// Whether that is memory of this kind. The kernel's answer is not waited for, whatever file it is.
    pub fn are_in(file: &OwnedFd) -> bool {
        memory::is_memory(file)
    }

    /// Hands the memory to a program that is about to be started, and to all that it starts.
    ///
    /// # Errors
    ///
    /// When the file cannot be inherited.
    pub fn hand_on(&self, command: &mut Command) -> io::Result<()> {
        fcntl_setfd(self.memory.file(), FdFlags::empty())?;
        command.env(VARIABLE, self.memory.file().as_raw_fd().to_string());
        Ok(())
    }

    /// Hands the turns since the last call to `take`. Returns how many were lost, or were none.
    pub fn read(&mut self, take: &mut dyn FnMut(MarkedTurn<'_>)) -> u64 {
        self.read_at_most(&mut { u64::MAX }, take)
    }

    /// The same of no more than `most` turns and spans together, of which they are taken: of a loop that has left more, the last ones.
    /// Where there are none left, loops are not looked at: their rings fill up, and their programs count what found no room.
    pub fn read_at_most(&mut self, most: &mut u64, take: &mut dyn FnMut(MarkedTurn<'_>)) -> u64 {
        if *most == 0 {
            return 0;
        }
        let Self { memory, times, rings } = self;
        let [counted, under_lock] = [TAKEN, LOCKED_TAKEN].map(|place| asked_for(memory, place));
        let (first, locked) = rings.split_at_mut(RINGS);
        let mut rings: Vec<_> =
            first.iter_mut().take(counted).chain(locked.iter_mut().take(under_lock)).collect();
        rings.iter_mut().for_each(|ring| ring.look(memory));
        times.moments.look();
        let read = |ring: &mut Ring| match *most {
            0 => 0,
            _ => ring.read(memory, times, most, &mut |turn| take(turn)),
        };
        // A program may claim to have lost anything.
        rings.into_iter().map(read).fold(0, u64::saturating_add)
    }

    /// What a hostile program may do: 8 bytes to each of the words that howlate looks at first. A clock's reading is as near as 0.
    pub(crate) fn overwrite(&self, bytes: &[u8]) {
        const FEW: usize = 100;
        const FEW_SPANS: usize = 20;
        let few = |number| {
            let ring = layout::ring(number);
            let [names, times] = [layout::SPAN_NAMES, layout::SPAN_TIMES].map(|place| ring.start + place);
            ring.take(FEW).chain(names..names + FEW_SPANS).chain(times..times + FEW_SPANS)
        };
        let rings = (0..RINGS + LOCKED).flat_map(few);
        let now = clock::now().as_nanos().unsigned_abs();
        for (place, eight) in [TAKEN, LOCKED_TAKEN].into_iter().chain(rings).zip(bytes.chunks(8)) {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            let value = u64::from_le_bytes(word);
            // Small ones are times a moment ago, so that some are turns.
            let value = if value % 7 == 3 { now.wrapping_sub(value % 100_000) } else { value };
            self.memory.set(place, value);
        }
    }

    /// Spans that are not measured, of each loop that has some.
    pub fn spans_left_out(&self) -> Vec<SpansLeftOut> {
        self.rings.iter().filter_map(|ring| ring.spans_left_out(&self.memory)).collect()
    }

    /// Loops for which there was no ring.
    pub fn left_out(&self) -> u64 {
        let beyond = [(TAKEN, RINGS), (LOCKED_TAKEN, LOCKED)]
            .map(|(place, rings)| asked_for(&self.memory, place).saturating_sub(rings) as u64);
        beyond.into_iter().fold(0, u64::saturating_add)
    }
}

/// How many rings programs asked for, by what they counted.
fn asked_for(memory: &Memory, place: usize) -> usize {
    usize::try_from(memory.word(place)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
