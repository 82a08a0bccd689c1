//! Loops that a program has marked: memory shared with the program, and the turns that it writes there.
//!
//! The memory is not trusted: every value is checked, and invalid ones are dropped and counted.

mod clock_conversion;
mod layout;
mod memory;
mod ring;
mod spans;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;

use howlate_linux::clock;
use howlate_model::{LoopIteration, MonotonicTime, Span, SpanTime};
use howlate_procfs::Root;
use rustix::io::{FdFlags, fcntl_setfd};

use self::clock_conversion::ClockConversion;
use self::layout::{LOCKED, LOCKED_TAKEN, MAGIC, RINGS, SPANS, TAKEN, TICKS};
use self::memory::Memory;
use self::ring::LoopRing;

/// Environment variable with the file descriptor of the memory.
const VARIABLE: &str = "HOWLATE_LOOPS";
/// In memory that a program made itself, turns that began up to this long ago are accepted: the reader may have been delayed. In no
/// memory may they have been due earlier.
const MAX_AGE: Span = Span::from_secs(10);

/// Whether `CLOCK_MONOTONIC` of this machine is derived from the processor's ticks.
pub fn clock_is_tsc(root: &Root) -> bool {
    let current = root.read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    current.is_ok_and(|name| name == "tsc")
}

/// A loop that a program has marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedLoop {
    pub name: String,
    /// Zero if the loop is not periodic.
    pub period: Span,
    /// In the process's own PID namespace.
    pub pid: u32,
    /// The thread of the first turn, in its own PID namespace.
    pub tid: u32,
}

/// A turn of a marked loop.
#[derive(Clone, Copy, Debug)]
pub struct MarkedTurn<'a> {
    /// Number of the loop.
    pub number: usize,
    pub marked_loop: &'a MarkedLoop,
    pub turn: LoopIteration,
    /// How much of the turn each span took.
    pub spans: &'a [SpanTime],
}

/// Spans of a loop that are not measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmeasuredSpans {
    /// Name of the loop.
    pub name: String,
    /// Spans that were lost or invalid.
    pub lost: u64,
    /// The first name that did not fit.
    pub first: Option<String>,
    /// How many names fit.
    pub kept: u64,
}

/// The marked loops of all programs that share the memory.
pub struct MarkedLoops {
    memory: Memory,
    clock: TurnClock,
    rings: Vec<LoopRing>,
}

/// Converts and checks the times in the memory.
struct TurnClock {
    conversion: ClockConversion,
    /// Turns that were due earlier are invalid.
    due_since: MonotonicTime,
}

impl TurnClock {
    fn new(conversion: ClockConversion) -> Self {
        Self { conversion, due_since: clock::now().minus(MAX_AGE) }
    }
}

impl MarkedLoops {
    /// Creates the memory. `ticks`: whether programs may write processor ticks.
    ///
    /// # Errors
    ///
    /// When there is no memory, or there are too many open files.
    pub fn create(ticks: bool) -> io::Result<Self> {
        let (memory, conversion) = (Memory::create()?, ClockConversion::new(ticks));
        memory.set(TICKS, u64::from(conversion.uses_ticks()));
        memory.set(SPANS, 1);
        memory.set(MAGIC.0, MAGIC.1);
        Ok(Self::new(memory, conversion))
    }

    /// Reads memory that a program created. Turns written shortly before it was sent are accepted.
    ///
    /// # Errors
    ///
    /// When the file is not such memory, or can be truncated.
    pub fn from_file(file: OwnedFd) -> io::Result<Self> {
        let conversion = ClockConversion::nanoseconds_since(clock::now().minus(MAX_AGE));
        Ok(Self::new(Memory::from_file(file)?, conversion))
    }

    fn new(memory: Memory, conversion: ClockConversion) -> Self {
        let rings = (0..RINGS + LOCKED).map(LoopRing::new).collect();
        Self { memory, clock: TurnClock::new(conversion), rings }
    }

    /// Whether a file is memory of this kind. Never blocks, whatever file it is.
    pub fn is_shared_memory(file: &OwnedFd) -> bool {
        memory::is_memory(file)
    }

    /// Passes the memory to a program that is about to be started, and to its children.
    ///
    /// # Errors
    ///
    /// When the file cannot be inherited.
    pub fn pass_to(&self, command: &mut Command) -> io::Result<()> {
        fcntl_setfd(self.memory.file(), FdFlags::empty())?;
        command.env(VARIABLE, self.memory.file().as_raw_fd().to_string());
        Ok(())
    }

    /// Passes the turns since the last call to `take`. Returns how many were lost or invalid.
    pub fn read(&mut self, take: &mut dyn FnMut(MarkedTurn<'_>)) -> u64 {
        self.read_at_most(&mut { u64::MAX }, take)
    }

    /// As [`MarkedLoops::read`], of at most `most` turns and spans together, which is reduced by their number: of each loop the newest ones.
    /// At 0 the rings are not read: they fill up, and the programs count what does not fit.
    pub fn read_at_most(&mut self, most: &mut u64, take: &mut dyn FnMut(MarkedTurn<'_>)) -> u64 {
        if *most == 0 {
            return 0;
        }
        let Self { memory, clock, rings } = self;
        let [counted, under_lock] = [TAKEN, LOCKED_TAKEN].map(|place| requested_rings(memory, place));
        let (plain, locked) = rings.split_at_mut(RINGS);
        let mut rings: Vec<_> =
            plain.iter_mut().take(counted).chain(locked.iter_mut().take(under_lock)).collect();
        rings.iter_mut().for_each(|ring| ring.update(memory));
        clock.conversion.update();
        let read = |ring: &mut LoopRing| match *most {
            0 => 0,
            _ => ring.read(memory, clock, most, &mut |turn| take(turn)),
        };
        // The counts are not trusted: their sum may overflow.
        rings.into_iter().map(read).fold(0, u64::saturating_add)
    }

    /// Simulates a hostile program: writes 8 bytes to each of the words that howlate reads first.
    pub(crate) fn overwrite(&self, bytes: &[u8]) {
        const FEW: usize = 100;
        const FEW_SPANS: usize = 20;
        let first_words = |number| {
            let ring = layout::ring(number);
            let [names, spans] = [layout::SPAN_NAMES, layout::SPAN_TIMES].map(|place| ring.start + place);
            ring.take(FEW).chain(names..names + FEW_SPANS).chain(spans..spans + FEW_SPANS)
        };
        let rings = (0..RINGS + LOCKED).flat_map(first_words);
        let now = clock::now().as_nanos().unsigned_abs();
        for (index, chunk) in [TAKEN, LOCKED_TAKEN].into_iter().chain(rings).zip(bytes.chunks(8)) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let value = u64::from_le_bytes(word);
            // Some values become recent times, so that some turns are valid.
            let value = if value % 7 == 3 { now.wrapping_sub(value % 100_000) } else { value };
            self.memory.set(index, value);
        }
    }

    /// Loops of which spans were not measured.
    pub fn unmeasured_spans(&self) -> Vec<UnmeasuredSpans> {
        self.rings.iter().filter_map(|ring| ring.unmeasured_spans(&self.memory)).collect()
    }

    /// Loops for which there was no ring.
    pub fn unmeasured_loops(&self) -> u64 {
        let beyond = [(TAKEN, RINGS), (LOCKED_TAKEN, LOCKED)]
            .map(|(place, rings)| requested_rings(&self.memory, place).saturating_sub(rings) as u64);
        beyond.into_iter().fold(0, u64::saturating_add)
    }
}

/// How many rings of a kind programs asked for.
fn requested_rings(memory: &Memory, place: usize) -> usize {
    usize::try_from(memory.word(place)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
