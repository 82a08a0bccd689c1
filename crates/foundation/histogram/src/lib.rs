//! A fast histogram for latencies, sizes and other values from 0 to 2⁶⁴.
//!
//! - **Shape.** Log-linear: below 256 each value has a bucket, above it each doubling has 128. The layout is that of
//!   [HdrHistogram](https://hdrhistogram.org) with two significant digits, so that counts are exchanged without loss.
//! - **Errors.** A bucket is at most 1/128 of its values wide: values read from a histogram are less than 1 % off. Counts are
//!   exact, and saturate at 2⁶⁴.
//! - **Units.** None: values are whole numbers of whatever the caller counts.
//! - **Memory.** [`Buckets`] are open while values are counted: an array of the doublings that were seen, 1 KiB each. Counting is a
//!   shift and an addition. [`PackedBuckets`], they take a byte or two for each bucket that is not empty, and are shared by copies.
//! - **Source.** [`read_plain`] and [`write_plain`] are the V2 encoding of HdrHistogram; input may be untrusted: sizes that
//!   it claims are not believed.
//!
//! Minimum, maximum and sum are left to the caller, and negative values are not counted.
//!
//! ```
//! use howlate_histogram::{Buckets, PackedBuilder, read_plain, write_plain};
//!
//! let mut latencies = Buckets::default();
//! latencies.count(|open| (1..=1_000).for_each(|value| open.add(value, 1)));
//! // The 500th and the 990th of a thousand, each as the largest value of its bucket.
//! assert_eq!(latencies.at_ranks([500, 990]), Some([501, 991]));
//!
//! let packed = latencies.to_packed(&(1..=1_000));
//! let bytes = write_plain(2, 1_000, packed.encoded());
//! let mut read = PackedBuilder::with_capacity(bytes.len());
//! read_plain(&mut bytes.as_slice(), 1_000, |bucket| read.push(Buckets::index_of(bucket.lowest), bucket.count))?;
//! assert_eq!(read.build(), packed);
//! # Ok::<(), howlate_histogram::HdrError>(())
//! ```

#![warn(missing_docs)]

mod buckets;
mod compact_counts;
mod hdr;
mod varint;

pub use buckets::{Bucket, Buckets, NonEmptyIter, OpenBuckets, OpenIter};
pub use compact_counts::{PackedBuckets, PackedBuilder, PackedIter};
pub use hdr::{HdrError, HdrLayout, read_plain, write_plain};
