//! The memory that loops share with howlate; `howlate.h` has the same numbers.
//!
//! A head, and rings for loops. Sizes in bytes, places in words of 64 bits, from the first of the head or of the ring.

/// Where the first ring begins.
pub(crate) const FIRST: usize = 65_536;
/// The length of each.
pub(crate) const RING: usize = 131_072;
/// How many there are.
pub(crate) const RINGS: usize = 64;
/// How many more there are behind them, for those who cannot count in shared memory but under a lock of the file.
pub(crate) const LOCKED: usize = 16;
/// The length of all of it.
pub(crate) const LENGTH: usize = FIRST + (RINGS + LOCKED) * RING;

/// In the head: what it is known by, `howlate1`.
pub(crate) const MAGIC: (usize, u64) = (64, u64::from_le_bytes(*b"howlate1"));
/// How many rings were taken, or asked for.
pub(crate) const TAKEN: usize = 65;
/// Whether the processor's ticks are the clock.
pub(crate) const TICKS: usize = 66;
/// Whether howlate reads spans.
pub(crate) const SPANS: usize = 68;

/// In a ring: the process and the thread that use it; 0 as long as nobody does.
pub(crate) const THREAD: usize = 0;
/// The period asked for.
pub(crate) const PERIOD: usize = 1;
/// Where the loop's name stands.
pub(crate) const NAME: usize = 2;
/// Turns that were written, that were read, and that did not fit.
pub(crate) const WRITTEN: usize = 8;
pub(crate) const READ: usize = 16;
pub(crate) const LOST: usize = 24;
/// Where the turns begin: three words each, namely when it was expected, when it woke, and when it was done.
pub(crate) const TURNS: usize = 64;
/// Turns in a ring.
pub(crate) const CAPACITY: u64 = 4_096;
/// Bytes of a name, with its end.
pub(crate) const LETTERS: usize = 32;

/// Spans that were written, that did not fit, and that were read.
pub(crate) const SPAN_WRITTEN: usize = 9;
pub(crate) const SPAN_LOST: usize = 10;
pub(crate) const SPAN_READ: usize = 17;
/// Where the names of spans stand, and how many have a place; the one behind the last is of the first that found none.
pub(crate) const SPAN_NAMES: usize = 12_352;
pub(crate) const SPAN_KINDS: usize = 16;
/// Where spans begin: two words each, namely when it began, and its length beside the number of its name; and how many fit.
pub(crate) const SPAN_TIMES: usize = 12_480;
pub(crate) const SPAN_CAPACITY: u64 = 1_952;

/// What a recorder is sent, in bytes: what it is; the time, in 8; the name of the thread; why.
pub(crate) const KIND: usize = 8;
pub(crate) const COMM: usize = 16;
pub(crate) const REASON: usize = 128;
