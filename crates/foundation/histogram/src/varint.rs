//! Variable-length integers for counts: in `HdrHistogram`'s V2 encoding, and in packed memory.
//!
//! ZigZag LEB128, but at most nine bytes, of which the last has eight bits. A word is a count or, if negative, a run length of
//! empty buckets.

#![deny(clippy::arithmetic_side_effects, reason = "numbers may be from a file that anybody wrote")]

/// The most bytes that a word takes.
pub(crate) const LONGEST: usize = 9;

/// The first word of `bytes` and its length in bytes; `None` if the word is incomplete.
#[inline]
pub(crate) fn first_word(bytes: &[u8]) -> Option<(i64, usize)> {
    match bytes.first() {
        // Most words: what is below 64, and short gaps.
        Some(byte) if byte & 0x80 == 0 => Some((signed(u64::from(*byte)), 1)),
        _ => long_word(bytes),
    }
}

const fn signed(word: u64) -> i64 {
    (word >> 1).cast_signed() ^ (word & 1).cast_signed().wrapping_neg()
}

fn long_word(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut word = 0;
    // At most 8 · 7 bits and a length of nine.
    #[allow(clippy::arithmetic_side_effects, reason = "places are below nine")]
    for place in 0..LONGEST {
        let byte = *bytes.get(place)?;
        let is_last = byte & 0x80 == 0 || place == LONGEST - 1;
        let bits = if place < LONGEST - 1 { byte & 0x7f } else { byte };
        word |= u64::from(bits) << (7 * place);
        if is_last {
            return Some((signed(word), place + 1));
        }
    }
    None
}

/// Appends a word: the inverse of [`first_word`].
#[inline]
pub(crate) fn put_word(bytes: &mut Vec<u8>, word: i64) {
    let word = (word.cast_unsigned() << 1) ^ (word >> 63).cast_unsigned();
    match u8::try_from(word) {
        // Most words.
        Ok(byte) if byte & 0x80 == 0 => bytes.push(byte),
        _ => put_long_word(bytes, word),
    }
}

fn put_long_word(bytes: &mut Vec<u8>, word: u64) {
    let mut rest = word;
    for _ in 0..LONGEST - 1 {
        #[allow(clippy::cast_possible_truncation, reason = "the lowest seven bits")]
        let bits = rest as u8 & 0x7f;
        rest >>= 7;
        if rest == 0 {
            return bytes.push(bits);
        }
        bytes.push(bits | 0x80);
    }
    #[allow(clippy::cast_possible_truncation, reason = "eight bits are left of 64")]
    bytes.push(rest as u8);
}
