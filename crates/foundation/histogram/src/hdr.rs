//! Histograms in the plain encoding of `HdrHistogram`, V2, as others may have written them.
//!
//! The library's reader makes room for whatever sizes the bytes claim before it has seen the counts. This one
//! takes count after count, and stops at the largest value that is wanted.
//!
//! Source: <https://github.com/HdrHistogram/HdrHistogram/blob/master/src/main/java/org/HdrHistogram/AbstractHistogram.java>,
//! `encodeIntoByteBuffer`.

#![deny(clippy::arithmetic_side_effects, reason = "numbers may be from a file that anybody wrote")]

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, Read};

use crate::buckets::Bucket;
use crate::varint::{LONGEST, first_word};

const PLAIN: u32 = 0x1c84_9313;

/// More digits than the format has.
const MOST_DIGITS: u32 = 5;

/// Why bytes are not a histogram that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HdrError {
    /// They end too early, or do not inflate.
    Damaged,
    /// They do not begin as the encoding does.
    OtherEncoding,
    /// Digits or units that the format does not know.
    OtherBuckets,
    /// A bucket above the largest value that is wanted.
    TooLarge {
        /// The largest value that is wanted.
        within: u64,
    },
}

impl fmt::Display for HdrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged => f.write_str("it is cut off or damaged"),
            Self::OtherEncoding => f.write_str("it is not an HdrHistogram in its V2 encoding"),
            Self::OtherBuckets => f.write_str("it has buckets that the format does not know"),
            Self::TooLarge { within } => write!(f, "it counts values above {within}"),
        }
    }
}

impl Error for HdrError {}

impl From<io::Error> for HdrError {
    fn from(_: io::Error) -> Self {
        Self::Damaged
    }
}

/// The buckets of a histogram, as its bytes describe them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HdrLayout {
    /// Significant decimal digits.
    pub digits: u32,
    /// The smallest value that has a bucket of its own.
    pub lowest: u64,
    /// The largest value that it was made for.
    pub highest: u64,
}

impl HdrLayout {
    /// log2 of the buckets per doubling of values.
    fn half_bits(self) -> u32 {
        // Of a few digits only, as `layout` sees to.
        let linear = 10_u64.saturating_pow(self.digits).saturating_mul(2);
        linear.checked_next_power_of_two().unwrap_or(1 << 63).trailing_zeros().saturating_sub(1)
    }
}

/// How places become values.
#[derive(Clone, Copy)]
struct Ranges {
    half_bits: u32,
    unit_bits: u32,
}

impl Ranges {
    fn new(layout: HdrLayout) -> Self {
        Self { half_bits: layout.half_bits(), unit_bits: layout.lowest.ilog2() }
    }

    /// The smallest and the largest value of a bucket; `None` above 2⁶⁴.
    #[inline]
    fn range(self, index: u64) -> Option<(u64, u64)> {
        let doubling = (index >> self.half_bits).saturating_sub(1);
        let within = index.saturating_sub(doubling.checked_shl(self.half_bits)?);
        let shift = u32::try_from(doubling).ok()?.checked_add(self.unit_bits)?;
        let lowest = within.checked_shl(shift).filter(|lowest| lowest >> shift == within)?;
        Some((lowest, lowest | 1_u64.checked_shl(shift)?.saturating_sub(1)))
    }
}

/// Reads a histogram that is not compressed, and gives `take` its buckets that are not empty, ascending.
///
/// # Errors
///
/// When it is none, is damaged, or counts a value above `within`. Some buckets may have been given by then.
pub fn read_plain(
    bytes: &mut impl BufRead,
    within: u64,
    mut take: impl FnMut(Bucket),
) -> Result<HdrLayout, HdrError> {
    if number(bytes)? != PLAIN {
        return Err(HdrError::OtherEncoding);
    }
    let length = number(bytes)?;
    let layout = layout(bytes)?;
    let mut counts = Counts { ranges: Ranges::new(layout), within, index: 0 };
    let mut rest = bytes.take(u64::from(length));
    while rest.limit() > 0 {
        let words = rest.fill_buf()?;
        let mut read = 0;
        while let Some((word, length)) = first_word(&words[read..]) {
            counts.word(word, &mut take)?;
            read = length.saturating_add(read);
        }
        rest.consume(read);
        if read == 0 {
            counts.word(across_a_border(&mut rest)?, &mut take)?;
        }
    }
    Ok(layout)
}

/// Where in the buckets the next word stands.
struct Counts {
    ranges: Ranges,
    within: u64,
    index: u64,
}

impl Counts {
    /// A count, or below zero the number of empty buckets.
    #[inline]
    fn word(&mut self, word: i64, take: &mut impl FnMut(Bucket)) -> Result<(), HdrError> {
        let Ok(count) = u64::try_from(word) else {
            self.index = self.index.saturating_add(word.unsigned_abs());
            return Ok(());
        };
        let range = self.ranges.range(self.index).filter(|range| range.0 <= self.within);
        let (lowest, highest) = range.ok_or(HdrError::TooLarge { within: self.within })?;
        if count > 0 {
            take(Bucket { lowest, highest, count });
        }
        self.index = self.index.saturating_add(1);
        Ok(())
    }
}

fn layout(bytes: &mut impl Read) -> Result<HdrLayout, HdrError> {
    let (offset, digits) = (number(bytes)?, number(bytes)?);
    let (lowest, highest, ratio) = (long(bytes)?, long(bytes)?, long(bytes)?);
    let is_known = offset == 0 && digits <= MOST_DIGITS && lowest > 0 && ratio == 1_f64.to_bits();
    if is_known { Ok(HdrLayout { digits, lowest, highest }) } else { Err(HdrError::OtherBuckets) }
}

fn number(bytes: &mut impl Read) -> io::Result<u32> {
    let mut word = [0; 4];
    bytes.read_exact(&mut word)?;
    Ok(u32::from_be_bytes(word))
}

fn long(bytes: &mut impl Read) -> io::Result<u64> {
    let mut word = [0; 8];
    bytes.read_exact(&mut word)?;
    Ok(u64::from_be_bytes(word))
}

/// A word of which only the beginning is there yet.
#[cold]
fn across_a_border(bytes: &mut impl Read) -> io::Result<i64> {
    let mut word = [0; LONGEST];
    let mut length = 0;
    loop {
        bytes.read_exact(&mut word[length..=length])?;
        length = length.saturating_add(1);
        if let Some((word, _)) = first_word(&word[..length]) {
            return Ok(word);
        }
    }
}

/// Writes counts in the plain encoding: `words` are those of a histogram with so many `digits` that was made for values up
/// to `highest`.
pub fn write_plain(digits: u32, highest: u64, words: &[u8]) -> Vec<u8> {
    // The library always writes the first bucket.
    let words = if words.is_empty() { &[0] } else { words };
    let length = u32::try_from(words.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(words.len().saturating_add(40));
    bytes.extend([PLAIN, length, 0, digits].map(u32::to_be_bytes).as_flattened());
    bytes.extend([1, highest, 1_f64.to_bits()].map(u64::to_be_bytes).as_flattened());
    bytes.extend(words);
    bytes
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use proptest::prelude::*;

    fn encoded(hdr: &Histogram<u64>) -> Vec<u8> {
        let mut plain = Vec::new();
        V2Serializer::new().serialize(hdr, &mut plain).unwrap();
        plain
    }

    fn read(bytes: &[u8], within: u64) -> Result<Vec<Bucket>, HdrError> {
        let mut buckets = Vec::new();
        read_plain(&mut &*bytes, within, |bucket| buckets.push(bucket)).map(|_| buckets)
    }

    proptest! {
        #[test]
        fn what_the_library_writes_is_read(
            values in proptest::collection::vec((0..1_u64 << 45, 1..1_000_u64), 0..60),
            digits in 0..=5_u8,
            lowest in 1..5_000_u64,
        ) {
            let mut hdr = Histogram::<u64>::new_with_bounds(lowest, 1 << 45, digits).unwrap();
            values.iter().for_each(|&(value, count)| hdr.record_n(value, count).unwrap());
            let expected: Vec<_> = hdr
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect();
            let got: Vec<_> = read(&encoded(&hdr), u64::MAX)
                .unwrap()
                .iter()
                .map(|one| (one.highest, one.count))
                .collect();
            prop_assert_eq!(&got, &expected);
        }

        #[test]
        fn no_bytes_are_too_strange(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            bytes.splice(0..4.min(bytes.len()), PLAIN.to_be_bytes());
            drop(read(&bytes, u64::MAX));
        }
    }

    /// The 40 bytes before the counts.
    fn head(length: u32, digits: u32) -> Vec<u8> {
        let words = [PLAIN, length, 0, digits].map(u32::to_be_bytes).concat();
        [words, [1, u64::MAX, 1_f64.to_bits()].map(u64::to_be_bytes).concat()].concat()
    }

    #[test]
    fn sizes_that_bytes_claim_are_not_believed() {
        // Four billion bytes of counts, of which none is there.
        assert_eq!(read(&head(u32::MAX, 5), u64::MAX), Err(HdrError::Damaged));
        assert_eq!(read(&head(0, 6), u64::MAX), Err(HdrError::OtherBuckets));
        // One count after the most empty buckets that a word can tell: the word that the library cannot negate.
        let farthest = [head(10, 2), vec![0xff; 9], vec![2]].concat();
        assert_eq!(read(&farthest, u64::MAX), Err(HdrError::TooLarge { within: u64::MAX }));
    }
}
