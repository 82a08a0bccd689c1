//! Reads and writes the uncompressed V2 encoding of `HdrHistogram`, from untrusted sources too.
//!
//! The library's reader allocates whatever sizes the header claims before it has seen the counts. This one
//! reads count after count, and stops at the largest value requested.
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

/// Significant digits that the format allows at most.
const MOST_DIGITS: u32 = 5;

/// Why a histogram cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HdrError {
    /// The data ends too early, or does not inflate.
    Damaged,
    /// The data does not start with the magic number of the encoding.
    OtherEncoding,
    /// Digits or units that the format does not know.
    OtherBuckets,
    /// A bucket above the largest value requested.
    TooLarge {
        /// The largest value requested.
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

/// Bucket layout from the header of an encoded histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HdrLayout {
    /// Significant decimal digits.
    pub digits: u32,
    /// The smallest value that has a bucket of its own.
    pub lowest: u64,
    /// The largest trackable value.
    pub highest: u64,
}

impl HdrLayout {
    /// log2 of the buckets per doubling of values.
    fn half_bits(self) -> u32 {
        // `layout` has checked that there are few digits.
        let linear = 10_u64.saturating_pow(self.digits).saturating_mul(2);
        linear.checked_next_power_of_two().unwrap_or(1 << 63).trailing_zeros().saturating_sub(1)
    }
}

/// Converts bucket indices to values.
#[derive(Clone, Copy)]
struct IndexToValues {
    half_bits: u32,
    unit_bits: u32,
}

impl IndexToValues {
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

/// Reads an uncompressed histogram and passes its non-empty buckets to `take`, ascending.
///
/// # Errors
///
/// If it is not such a histogram, is damaged, or counts a value above `within`. Some buckets may have been passed on by then.
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
    let mut decoder = CountDecoder { ranges: IndexToValues::new(layout), within, index: 0 };
    let mut rest = bytes.take(u64::from(length));
    while rest.limit() > 0 {
        let buffer = rest.fill_buf()?;
        let mut read = 0;
        while let Some((word, length)) = first_word(&buffer[read..]) {
            decoder.word(word, &mut take)?;
            read = length.saturating_add(read);
        }
        rest.consume(read);
        if read == 0 {
            decoder.word(word_across_buffers(&mut rest)?, &mut take)?;
        }
    }
    Ok(layout)
}

/// Decodes words into buckets.
struct CountDecoder {
    ranges: IndexToValues,
    within: u64,
    index: u64,
}

impl CountDecoder {
    /// Takes a word: a count, or if negative the number of empty buckets that follow.
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

/// Reads a word that continues in the next buffer.
#[cold]
fn word_across_buffers(bytes: &mut impl Read) -> io::Result<i64> {
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

/// Writes a histogram with `digits` significant digits and values up to `highest` in the uncompressed encoding; `counts` are its
/// encoded counts.
pub fn write_plain(digits: u32, highest: u64, counts: &[u8]) -> Vec<u8> {
    // The library always writes the first bucket.
    let counts = if counts.is_empty() { &[0] } else { counts };
    let length = u32::try_from(counts.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(counts.len().saturating_add(40));
    bytes.extend([PLAIN, length, 0, digits].map(u32::to_be_bytes).as_flattened());
    bytes.extend([1, highest, 1_f64.to_bits()].map(u64::to_be_bytes).as_flattened());
    bytes.extend(counts);
    bytes
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use proptest::prelude::*;

    fn encode(hdr: &Histogram<u64>) -> Vec<u8> {
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
            let got: Vec<_> = read(&encode(&hdr), u64::MAX)
                .unwrap()
                .iter()
                .map(|bucket| (bucket.highest, bucket.count))
                .collect();
            prop_assert_eq!(&got, &expected);
        }

        #[test]
        fn no_bytes_are_too_strange(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            bytes.splice(0..4.min(bytes.len()), PLAIN.to_be_bytes());
            drop(read(&bytes, u64::MAX));
        }
    }

    /// The header: 40 bytes before the counts.
    fn header(length: u32, digits: u32) -> Vec<u8> {
        let numbers = [PLAIN, length, 0, digits].map(u32::to_be_bytes).concat();
        [numbers, [1, u64::MAX, 1_f64.to_bits()].map(u64::to_be_bytes).concat()].concat()
    }

    #[test]
    fn sizes_that_bytes_claim_are_not_believed() {
        // Four billion bytes of counts, of which none is there.
        assert_eq!(read(&header(u32::MAX, 5), u64::MAX), Err(HdrError::Damaged));
        assert_eq!(read(&header(0, 6), u64::MAX), Err(HdrError::OtherBuckets));
        // One count after the most empty buckets that a word can tell: the word that the library cannot negate.
        let farthest = [header(10, 2), vec![0xff; 9], vec![2]].concat();
        assert_eq!(read(&farthest, u64::MAX), Err(HdrError::TooLarge { within: u64::MAX }));
    }
}
