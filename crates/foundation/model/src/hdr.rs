//! Reads the V2 encoding of `HdrHistogram`, compressed or not.

use std::io::{BufReader, Read};

use flate2::read::ZlibDecoder;
use howlate_histogram::{Bucket, HdrError, HdrLayout, read_plain};

/// Magic number of compressed histograms.
const COMPRESSED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();

/// Bytes inflated at a time: hardly more than are consumed.
const INFLATED: usize = 512;

/// Reads a histogram, compressed or not, and passes its non-empty buckets to `take`, ascending.
///
/// # Errors
///
/// If it is not a histogram, is damaged, or counts a value above `within`. Some buckets may have been passed on by then.
pub fn read_hdr(bytes: &[u8], within: u64, take: impl FnMut(Bucket)) -> Result<HdrLayout, HdrError> {
    let Some(mut packed) = bytes.strip_prefix(&COMPRESSED) else {
        return read_plain(&mut &*bytes, within, take);
    };
    let mut length = [0; 4];
    packed.read_exact(&mut length)?;
    let packed = ZlibDecoder::new(packed.take(u32::from_be_bytes(length).into()));
    read_plain(&mut BufReader::with_capacity(INFLATED, packed), within, take)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};
    use proptest::prelude::*;

    fn read(bytes: &[u8], within: u64) -> Result<Vec<Bucket>, HdrError> {
        let mut buckets = Vec::new();
        read_hdr(bytes, within, |bucket| buckets.push(bucket)).map(|_| buckets)
    }

    proptest! {
        #[test]
        fn what_the_library_compresses_is_read_as_what_it_does_not(
            values in proptest::collection::vec((0..1_u64 << 45, 1..1_000_u64), 0..60),
        ) {
            let mut hdr = Histogram::<u64>::new_with_bounds(1, 1 << 45, 2).unwrap();
            values.iter().for_each(|&(value, count)| hdr.record_n(value, count).unwrap());
            let (mut plain, mut compressed) = (Vec::new(), Vec::new());
            V2Serializer::new().serialize(&hdr, &mut plain).unwrap();
            V2DeflateSerializer::new().serialize(&hdr, &mut compressed).unwrap();
            let got = read(&compressed, u64::MAX).unwrap();
            prop_assert_eq!(got.len(), hdr.iter_recorded().count());
            prop_assert_eq!(got, read(&plain, u64::MAX).unwrap());
        }

        #[test]
        fn no_bytes_are_too_strange(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            bytes.splice(0..4.min(bytes.len()), COMPRESSED);
            drop(read(&bytes, u64::MAX));
        }
    }

    /// The 40 bytes before `length` bytes of counts.
    fn header(length: u32) -> Vec<u8> {
        let numbers = [0x1c84_9313, length, 0, 2].map(u32::to_be_bytes).concat();
        [numbers, [1, u64::MAX, 1_f64.to_bits()].map(u64::to_be_bytes).concat()].concat()
    }

    #[test]
    fn nothing_is_inflated_beyond_what_is_wanted() {
        // A gigabyte of buckets that hold nothing, in a megabyte.
        let zeros = std::io::repeat(0).take(1 << 30);
        let mut bomb = Vec::new();
        let mut packed = flate2::read::ZlibEncoder::new(
            std::io::Cursor::new(header(1 << 30)).chain(zeros),
            flate2::Compression::fast(),
        );
        let mut start = vec![0; 1 << 20];
        packed.read_exact(&mut start).unwrap();
        bomb.extend(COMPRESSED);
        bomb.extend(u32::MAX.to_be_bytes());
        bomb.extend(start);
        assert_eq!(read(&bomb, 1_000_000), Err(HdrError::TooLarge { within: 1_000_000 }));
    }
}
