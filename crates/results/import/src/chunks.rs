//! Text of a file in chunks of whole lines, converted to UTF-8.

use std::io::{self, Read};

use crate::LONGEST_LINE;
use crate::error::ImportError;
use crate::format::LastLine;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// Letters of two bytes, or of one and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16LittleEndian,
    Utf16BigEndian,
}

/// Whole lines of a file, a chunk at a time.
pub(crate) struct Chunks<R> {
    input: R,
    encoding: Option<Encoding>,
    /// Read, and not yet given: the beginning of a line.
    rest: Vec<u8>,
    is_over: bool,
}

impl<R: Read> Chunks<R> {
    pub(crate) const fn new(input: R) -> Self {
        Self { input, encoding: None, rest: Vec::new(), is_over: false }
    }

    /// The next lines; `None` at the end. The last chunk says how its last line ends.
    pub(crate) fn next(&mut self) -> Result<Option<(String, LastLine)>, ImportError> {
        while !self.is_over {
            let end =
                self.read_more().map_err(|error| ImportError::Unreadable { reason: error.to_string() })?;
            if let Some(end) = end {
                let rest = self.rest.split_off(end);
                let lines = std::mem::replace(&mut self.rest, rest);
                return Ok(Some((self.decode(&lines), LastLine::Whole)));
            }
            if self.rest.len() > LONGEST_LINE.saturating_add(CHUNK) {
                return Err(ImportError::LongLine);
            }
        }
        let rest = std::mem::take(&mut self.rest);
        Ok((!rest.is_empty()).then(|| (self.decode(&rest), LastLine::Open)))
    }

    /// Reads on; the end of the last whole line, if there is one now.
    fn read_more(&mut self) -> io::Result<Option<usize>> {
        let before = self.rest.len();
        let read = self.input.by_ref().take(CHUNK as u64).read_to_end(&mut self.rest)?;
        self.is_over = read < CHUNK;
        let encoding = *self.encoding.get_or_insert_with(|| encoding(&self.rest));
        let new = self.rest.get(before.saturating_sub(1)..).unwrap_or_default();
        let end = last_line_feed(new, before.saturating_sub(1), encoding);
        Ok(end)
    }

    fn decode(&self, bytes: &[u8]) -> String {
        let units = |pair: fn([u8; 2]) -> u16| {
            let pairs = bytes.chunks_exact(2).map(move |two| pair([two[0], two[1]]));
            char::decode_utf16(pairs).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
        };
        let text = match self.encoding {
            Some(Encoding::Utf16LittleEndian) => units(u16::from_le_bytes).collect(),
            Some(Encoding::Utf16BigEndian) => units(u16::from_be_bytes).collect(),
            Some(Encoding::Utf8) | None => String::from_utf8_lossy(bytes).into_owned(),
        };
        match text.strip_prefix('\u{feff}') {
            Some(text) => text.to_owned(),
            None => text,
        }
    }
}

/// Where the last line feed of `bytes` ends, which begin at `from`.
fn last_line_feed(bytes: &[u8], from: usize, encoding: Encoding) -> Option<usize> {
    let is_aligned = |place: usize| from.saturating_add(place).is_multiple_of(2);
    let place = match encoding {
        Encoding::Utf8 => bytes.iter().rposition(|byte| *byte == b'\n').map(|place| place.saturating_add(1)),
        Encoding::Utf16LittleEndian => pairs(bytes, [b'\n', 0], is_aligned),
        Encoding::Utf16BigEndian => pairs(bytes, [0, b'\n'], is_aligned),
    };
    place.map(|place| from.saturating_add(place))
}

fn pairs(bytes: &[u8], feed: [u8; 2], is_aligned: impl Fn(usize) -> bool) -> Option<usize> {
    let is_feed =
        |place: usize| is_aligned(place) && bytes.get(place..place.saturating_add(2)) == Some(&feed);
    (0..bytes.len()).rev().find(|place| is_feed(*place)).map(|place| place.saturating_add(2))
}

/// By its first bytes: what Windows writes begins with a mark; of text in two bytes a letter, half are 0.
fn encoding(start: &[u8]) -> Encoding {
    let first = start.get(..64.min(start.len())).unwrap_or_default();
    let zeros = |odd: usize| first.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let half = first.len() / 2;
    match first {
        [0xff, 0xfe, ..] => Encoding::Utf16LittleEndian,
        [0xfe, 0xff, ..] => Encoding::Utf16BigEndian,
        _ if half > 8 && zeros(1) == half && zeros(0) == 0 => Encoding::Utf16LittleEndian,
        _ if half > 8 && zeros(0) == half && zeros(1) == 0 => Encoding::Utf16BigEndian,
        _ => Encoding::Utf8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> (Vec<String>, LastLine) {
        let mut chunks = Chunks::new(bytes);
        let (mut lines, mut ends) = (Vec::new(), LastLine::Whole);
        while let Some((text, end)) = chunks.next().unwrap() {
            lines.extend(text.lines().map(str::to_owned));
            ends = end;
        }
        (lines, ends)
    }

    #[test]
    fn text_is_the_same_in_every_encoding() {
        let text = "# Histogram\n000001 000005\n\u{b5}s\n";
        let expected: Vec<String> = text.lines().map(str::to_owned).collect();
        let wide = |mark: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            format!("{mark}{text}").encode_utf16().flat_map(bytes).collect()
        };
        for bytes in [
            text.as_bytes().to_vec(),
            format!("\u{feff}{text}").into_bytes(),
            wide("\u{feff}", u16::to_le_bytes),
            wide("\u{feff}", u16::to_be_bytes),
            wide("", u16::to_le_bytes),
        ] {
            assert_eq!(lines(&bytes), (expected.clone(), LastLine::Whole), "{bytes:?}");
        }
        assert_eq!(lines(b"a\nb"), (vec!["a".to_owned(), "b".to_owned()], LastLine::Open));
        assert_eq!(lines(b"\xb5s\n").0, ["\u{fffd}s"], "what is no letter is one of its own");
    }

    #[test]
    fn lines_are_whole_across_chunks() {
        let line = format!("{}\n", "x".repeat(1_000));
        let text = line.repeat(3 * CHUNK / line.len());
        let (found, _) = lines(text.as_bytes());
        assert!(found.iter().all(|item| item.len() == 1_000), "{}", found.len());
        assert_eq!(found.len(), 3 * CHUNK / line.len());
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory() {
        let mut endless = Chunks::new(io::repeat(b'7'));
        assert_eq!(endless.next().unwrap_err(), ImportError::LongLine);
    }
}
