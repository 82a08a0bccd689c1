//! Layout of the memory that loops share with howlate, as in `howlate.h`: a head, and a ring per loop.
//!
//! Sizes are in bytes; places in words of 64 bits, from the start of the head or of the ring.

/// Offset of the first ring.
pub(crate) const FIRST: usize = 65_536;
/// Length of a ring.
pub(crate) const RING: usize = 131_072;
pub(crate) const RINGS: usize = 64;
/// More rings behind those, reserved under a file lock: for languages without atomics in shared memory, such as Python.
pub(crate) const LOCKED: usize = 16;
pub(crate) const LENGTH: usize = FIRST + (RINGS + LOCKED) * RING;

/// In the head: place and value of the magic number, `howlate1`.
pub(crate) const MAGIC: (usize, u64) = (64, u64::from_le_bytes(*b"howlate1"));
/// Number of reservations, including those that found all rings in use.
pub(crate) const TAKEN: usize = 65;
/// Whether times are ticks of the processor.
pub(crate) const TICKS: usize = 66;
/// Whether howlate reads spans.
pub(crate) const SPANS: usize = 68;

/// In a ring: process ID << 32 | thread ID of the writer; 0 before the first turn.
pub(crate) const THREAD: usize = 0;
/// The loop's period, ns.
pub(crate) const PERIOD: usize = 1;
pub(crate) const NAME: usize = 2;
/// Counts of turns written, read, and lost because the ring was full.
pub(crate) const WRITTEN: usize = 8;
pub(crate) const READ: usize = 16;
pub(crate) const LOST: usize = 24;
/// The turns, three words each: when it was due, when it woke, when it was done.
pub(crate) const TURNS: usize = 64;
/// Turns in a ring.
pub(crate) const CAPACITY: u64 = 4_096;
/// Bytes of a name, including the final zero byte.
pub(crate) const LETTERS: usize = 32;

/// Counts of spans written, lost because there was no room, and read.
pub(crate) const SPAN_WRITTEN: usize = 9;
pub(crate) const SPAN_LOST: usize = 10;
pub(crate) const SPAN_READ: usize = 17;
/// The names of spans, and how many there are; one place more keeps the first name for which there was no room.
pub(crate) const SPAN_NAMES: usize = 12_352;
pub(crate) const SPAN_KINDS: usize = 16;
/// The spans, two words each: the beginning, and length << 8 | number of the name; and how many there are.
pub(crate) const SPAN_TIMES: usize = 12_480;
pub(crate) const SPAN_CAPACITY: u64 = 1_952;

/// Sizes of a recorder message's fields, in bytes: its kind; the time, 8 bytes; the thread's name; the reason.
pub(crate) const KIND: usize = 8;
pub(crate) const COMM: usize = 16;
pub(crate) const REASON: usize = 128;
