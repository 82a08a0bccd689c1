//! Parses the kernel's description of its records: `events/*/format` and `events/header_page`. Pure.
//!
//! Offsets of fields differ between kernels, so that they are never assumed.
//! Source: `Documentation/trace/events.rst`.

use std::collections::HashMap;

/// Location of a field in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldLocation {
    pub(super) offset: usize,
    pub(super) size: usize,
}

impl FieldLocation {
    fn bytes(self, record: &[u8]) -> Option<&[u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// An unsigned integer of up to eight bytes.
    pub(super) fn number(self, record: &[u8]) -> Option<u64> {
        let bytes = self.bytes(record).filter(|bytes| bytes.len() <= 8)?;
        Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    /// Id of a thread or CPU, or another non-negative number.
    pub(super) fn id(self, record: &[u8]) -> Option<u32> {
        u32::try_from(self.number(record)?).ok()
    }

    /// Name of a thread, padded with zeros.
    pub(super) fn comm(self, record: &[u8]) -> Option<[u8; COMM]> {
        self.bytes(record)?.try_into().ok()
    }
}

/// `TASK_COMM_LEN`.
const COMM: usize = 16;

/// A field that is missing, or has an unexpected size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its field {field} {}", size.map_or("is not there".to_owned(), |size| format!("has {size} bytes")))]
pub(super) struct FieldError {
    field: &'static str,
    size: Option<usize>,
}

/// The fields of one event.
#[derive(Clone, Debug, Default)]
pub(super) struct EventFormat {
    /// First field of its records.
    pub(super) id: u16,
    fields: HashMap<String, FieldLocation>,
}

impl EventFormat {
    /// Lines like `field:pid_t prev_pid; offset:24; size:4; signed:1;`. `None` without an id.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?;
        Some(Self { id: id.trim().parse().ok()?, fields: fields(text) })
    }

    /// Location of a number of up to eight bytes.
    pub(super) fn number(&self, name: &'static str) -> Result<FieldLocation, FieldError> {
        self.field(name, |size| (1..=8).contains(&size))
    }

    /// Location of a thread's name.
    pub(super) fn comm(&self, name: &'static str) -> Result<FieldLocation, FieldError> {
        self.field(name, |size| size == COMM)
    }

    fn field(&self, name: &'static str, fits: impl Fn(usize) -> bool) -> Result<FieldLocation, FieldError> {
        let field = self.fields.get(name).ok_or(FieldError { field: name, size: None })?;
        if fits(field.size) { Ok(*field) } else { Err(FieldError { field: name, size: Some(field.size) }) }
    }
}

/// The fields that a text describes, by name.
pub(super) fn fields(text: &str) -> HashMap<String, FieldLocation> {
    text.lines().filter_map(field).collect()
}

fn field(line: &str) -> Option<(String, FieldLocation)> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let mut sizes = parts.filter_map(|part| part.split_once(':'));
    let mut number = |property: &str| sizes.find(|(name, _)| *name == property)?.1.parse().ok();
    let (offset, size) = (number("offset")?, number("size")?);
    // `char prev_comm[16]`: the last word up to its bracket.
    let name = declared.split_whitespace().next_back()?.split('[').next()?;
    Some((name.to_owned(), FieldLocation { offset, size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = include_str!("testdata/sched_switch.format");

    #[test]
    fn fields_are_where_the_kernel_says() {
        let format = EventFormat::parse(SWITCH).unwrap();
        assert_eq!(format.id, 372);
        assert_eq!(format.number("common_pid"), Ok(FieldLocation { offset: 4, size: 4 }));
        assert_eq!(format.comm("prev_comm"), Ok(FieldLocation { offset: 8, size: 16 }));
        assert_eq!(format.number("next_pid"), Ok(FieldLocation { offset: 56, size: 4 }));
        assert!(EventFormat::parse("name: x\n").is_none());
    }

    #[test]
    fn a_field_that_cannot_be_read_is_named() {
        let format = EventFormat::parse(SWITCH).unwrap();
        let message = |refused: Result<FieldLocation, FieldError>| refused.unwrap_err().to_string();
        assert_eq!(message(format.number("success")), "its field success is not there");
        assert_eq!(message(format.number("prev_comm")), "its field prev_comm has 16 bytes");
        assert_eq!(message(format.comm("next_pid")), "its field next_pid has 4 bytes");
    }

    #[test]
    fn numbers_and_names_are_read_and_nothing_past_the_end() {
        let record: Vec<u8> = (1..=16).collect();
        let number = |offset, size| FieldLocation { offset, size }.number(&record);
        assert_eq!((number(0, 2), number(14, 1)), (Some(0x0201), Some(15)));
        assert_eq!((number(14, 4), number(0, 9), number(usize::MAX, 4)), (None, None, None));
        assert_eq!(FieldLocation { offset: 0, size: 16 }.comm(&record).unwrap()[15], 16);
        assert_eq!(FieldLocation { offset: 4, size: 8 }.id(&record), None);
    }
}
