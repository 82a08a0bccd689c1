//! Reads the fields of records that BPF programs send.

use howlate_model::{MonotonicTime, Span};

/// Reads numbers and names in sequence; `None` past the end.
pub(crate) struct FieldReader<'a>(pub(crate) &'a [u8]);

impl FieldReader<'_> {
    pub(crate) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_ne_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_ne_bytes)
    }

    pub(crate) fn span(&mut self) -> Option<Span> {
        self.u64().map(Span::from_nanos)
    }

    pub(crate) fn time(&mut self) -> Option<MonotonicTime> {
        self.u64().map(|nanos| MonotonicTime::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX)))
    }

    /// A time; 0 means that the event was not seen.
    pub(crate) fn optional_time(&mut self) -> Option<Option<MonotonicTime>> {
        self.time().map(|time| (time.as_nanos() != 0).then_some(time))
    }

    pub(crate) fn comm(&mut self) -> Option<String> {
        let bytes: [u8; 16] = self.bytes()?;
        let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(name).into_owned())
    }
}
