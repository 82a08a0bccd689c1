//! Parses pages of the kernel's ring buffer, as read from `per_cpu/cpuN/trace_pipe_raw`. Pure; little-endian.
//!
//! Source: `include/linux/ring_buffer.h`, `events/header_page`, `events/header_event`.

use super::format::{FieldLocation, fields};

/// Special values of a record's length field of five bits.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of the time in a record's header; a second word has the rest.
const HEAD_BITS: u32 = 27;
/// Events were lost before this page: `RB_MISSED_EVENTS`. The bit below: their number is stored behind the data.
const MISSED: u64 = 1 << 31;
const LENGTH: u64 = (1 << 30) - 1;
const WORD: usize = 4;

/// Locations of the parts of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageLayout {
    timestamp: FieldLocation,
    commit: FieldLocation,
    data: FieldLocation,
}

impl PageLayout {
    /// From `events/header_page`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fields = fields(text);
        let field = |name: &str| fields.get(name).copied();
        Some(Self { timestamp: field("timestamp")?, commit: field("commit")?, data: field("data")? })
    }

    pub(super) const fn page_size(&self) -> usize {
        self.data.offset.saturating_add(self.data.size)
    }
}

/// Content of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PageItem<'a> {
    /// Events before here are missing.
    Missed,
    /// Content of one record.
    Record(&'a [u8]),
}

/// Passes the content of a page with its times to `each`; `None`: the page is damaged from there on.
pub(super) fn items<'a>(
    page: &'a [u8],
    layout: &PageLayout,
    each: &mut dyn FnMut(u64, PageItem<'a>),
) -> Option<()> {
    let (mut time, commit) = (layout.timestamp.number(page)?, layout.commit.number(page)?);
    if commit & MISSED != 0 {
        each(time, PageItem::Missed);
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
                // The upper bits do not fit, and keep their value.
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
            each(time, PageItem::Record(rest.get(data)?));
        }
        rest = rest.get(next..)?;
    }
    Some(())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + WORD)?.try_into().ok()?))
}
