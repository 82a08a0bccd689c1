//! Loops that a program has marked: memory that it is handed, or hands over itself, and the turns that it leaves there.
//!
//! The program writes to the memory whatever it likes, so that nothing in it is believed that cannot be.

mod layout;
mod moments;
mod name;
mod ring;
mod spans;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use howlate_linux::clock;
use howlate_linux::shared_memory::SharedMemory;
use howlate_model::{LoopTurn, Span, SpanTime};
use howlate_procfs::Root;
use rustix::io::{FdFlags, fcntl_setfd};

use self::layout::{LOCKED, LOCKED_TAKEN, MAGIC, RINGS, SPANS, TAKEN, TICKS, WORDS};
use self::moments::Moments;
use self::ring::Ring;

/// The variable that tells a program which of its files the memory is.
const VARIABLE: &str = "HOWLATE_LOOPS";
/// Of memory that is received, turns that began so long before are believed: whoever reads may have been kept from it.
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
    memory: SharedMemory,
    file: OwnedFd,
    moments: Moments,
    rings: Vec<Ring>,
}

impl Loops {
    /// Memory for them. `ticks`: whether `CLOCK_MONOTONIC` is made of the processor's ticks, so that these do as well.
    ///
    /// # Errors
    ///
    /// When there is no memory, or there are too many open files.
    pub fn create(ticks: bool) -> io::Result<Self> {
        let (memory, file) = SharedMemory::create_sparse(WORDS)?;
        let moments = Moments::begin(ticks);
        memory.words()[TICKS].store(u64::from(moments.are_ticks()), Ordering::Relaxed);
        memory.words()[SPANS].store(1, Ordering::Relaxed);
        memory.words()[MAGIC.0].store(MAGIC.1, Ordering::Release);
        Ok(Self { memory, file, moments, rings: (0..RINGS + LOCKED).map(Ring::new).collect() })
    }

    /// Memory that a program has made, and says to be this. What it left there a moment before it said so counts as well.
    ///
    /// # Errors
    ///
    /// When it is another file than such memory, can become shorter, or cannot be mapped.
    pub fn received(file: OwnedFd) -> io::Result<Self> {
        let memory = SharedMemory::open_sparse(&file)?;
        let words = memory.words();
        if words.len() != WORDS || words[MAGIC.0].load(Ordering::Acquire) != MAGIC.1 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let moments = Moments::readings_since(clock::now().minus(BEFORE));
        Ok(Self { memory, file, moments, rings: (0..RINGS + LOCKED).map(Ring::new).collect() })
    }

    /// Hands the memory to a program that is about to be started, and to all that it starts.
    ///
    /// # Errors
    ///
    /// When the file cannot be inherited.
    pub fn hand_on(&self, command: &mut Command) -> io::Result<()> {
        fcntl_setfd(&self.file, FdFlags::empty())?;
        command.env(VARIABLE, self.file.as_raw_fd().to_string());
        Ok(())
    }

    /// Hands the turns since the last call to `take`. Returns how many were lost, or were none.
    pub fn read(&mut self, take: &mut dyn FnMut(MarkedTurn<'_>)) -> u64 {
        let words = self.memory.words();
        let (counted, locked) = self.rings.split_at_mut(RINGS);
        let counted = counted.iter_mut().take(asked_for(words, TAKEN));
        let locked = locked.iter_mut().take(asked_for(words, LOCKED_TAKEN));
        let mut rings: Vec<_> = counted.chain(locked).collect();
        rings.iter_mut().for_each(|ring| ring.look(words));
        self.moments.look();
        let moments = &self.moments;
        let read = |ring: &mut Ring| ring.read(words, moments, &mut |turn| take(turn));
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
        let words = self.memory.words();
        let now = clock::now().as_nanos().unsigned_abs();
        for (place, eight) in [TAKEN, LOCKED_TAKEN].into_iter().chain(rings).zip(bytes.chunks(8)) {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            let value = u64::from_le_bytes(word);
            // Small ones are times a moment ago, so that some are turns.
            let value = if value % 7 == 3 { now.wrapping_sub(value % 100_000) } else { value };
            words[place].store(value, Ordering::Relaxed);
        }
    }

    /// Spans that are not measured, of each loop that has some.
    pub fn spans_left_out(&self) -> Vec<SpansLeftOut> {
        self.rings.iter().filter_map(|ring| ring.spans_left_out(self.memory.words())).collect()
    }

    /// Loops for which there was no ring.
    pub fn left_out(&self) -> u64 {
        let words = self.memory.words();
        let beyond = [(TAKEN, RINGS), (LOCKED_TAKEN, LOCKED)]
            .map(|(place, rings)| asked_for(words, place).saturating_sub(rings) as u64);
        beyond.into_iter().fold(0, u64::saturating_add)
    }
}

/// How many rings programs asked for, by what they counted.
fn asked_for(words: &[AtomicU64], place: usize) -> usize {
    usize::try_from(words[place].load(Ordering::Relaxed)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
