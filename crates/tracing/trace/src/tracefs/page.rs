//! Pages of the kernel's ring buffer, as `per_cpu/cpuN/trace_pipe_raw` hands them out. Pure; little-endian.
//!
//! Source: `include/linux/ring_buffer.h`, `events/header_page`, `events/header_event`.

use super::format::{Field, fields};

/// What a record's five bits of length mean besides a length.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of the time that a record's head has; a second word has the rest.
const HEAD_BITS: u32 = 27;
/// Events were lost before this page: `RB_MISSED_EVENTS`. The bit below it: how many is stored behind the data.
const MISSED: u64 = 1 << 31;
const LENGTH: u64 = (1 << 30) - 1;
const WORD: usize = 4;

/// Where a page has what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    timestamp: Field,
    commit: Field,
    data: Field,
}

impl Layout {
    /// Reads the layout of a page of the ring, `events/header_page`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fields = fields(text);
        let field = |name: &str| fields.get(name).copied();
        Some(Self { timestamp: field("timestamp")?, commit: field("commit")?, data: field("data")? })
    }

    /// Bytes of a page.
    pub(super) const fn page_size(&self) -> usize {
        self.data.offset.saturating_add(self.data.size)
    }
}

/// What a page holds, one after the other.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item<'a> {
    /// Events before here are missing.
    Missed,
    /// The content of one record.
    Record(&'a [u8]),
}

/// Hands on what a page holds, and its time with what is missing; damage ends it.
pub(super) fn items<'a>(page: &'a [u8], layout: &Layout, each: &mut dyn FnMut(u64, Item<'a>)) -> Option<()> {
    let (mut time, commit) = (layout.timestamp.number(page)?, layout.commit.number(page)?);
    if commit & MISSED != 0 {
        each(time, Item::Missed);
    }
    let length = usize::try_from(commit & LENGTH).ok()?;
    let mut rest = page.get(layout.data.offset..layout.data.offset.checked_add(length)?)?;
    while let Some(head) = word(rest, 0) {
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let second = || word(rest, WORD);
        let whole = |second: u32| u64::from(second) << HEAD_BITS | delta;
        let length = |words: u32| usize::try_from(words).ok();
        let (data, next) = match kind {
            // The rest of the page is empty.
            PADDING if delta == 0 => return Some(()),
            PADDING => {
                time = time.wrapping_add(delta);
                (None, WORD.checked_add(length(second()?)?)?)
            }
            TIME_EXTEND => {
                time = time.wrapping_add(whole(second()?));
                (None, 2 * WORD)
            }
            TIME_STAMP => {
                // The uppermost bits do not fit, and stay as they were.
                let fits = (1 << (HEAD_BITS + u32::BITS)) - 1;
                time = time & !fits | whole(second()?);
                (None, 2 * WORD)
            }
            0 => {
                time = time.wrapping_add(delta);
                let next = WORD.checked_add(length(second()?)?)?;
                (Some(2 * WORD..next), next)
            }
            words => {
                time = time.wrapping_add(delta);
                let next = WORD + WORD * length(words)?;
                (Some(WORD..next), next)
            }
        };
        if let Some(data) = data {
            each(time, Item::Record(rest.get(data)?));
        }
        rest = rest.get(next..)?;
    }
    Some(())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + WORD)?.try_into().ok()?))
}
