//! A histogram for what is counted very often: latencies, sizes, anything from 0 to 2⁶⁴.
//!
//! - **Shape.** Log-linear: below 256 each value has a bucket, above it each doubling has 128. The layout is that of
//!   [HdrHistogram](https://hdrhistogram.org) with two significant digits, so that counts are exchanged without loss.
//! - **Errors.** A bucket is at most 1/128 of its values wide: whatever is read off a histogram is less than 1 % off. Counts are
//!   exact; beyond 2⁶⁴ they stay there.
//! - **Units.** None: values are whole numbers of whatever the caller counts.
//! - **Room.** [`Buckets`] are open while values are counted, an array of the doublings that were seen, 1 KiB each; counting is a
//!   shift and an addition. [`Packed`], they take a byte or two for each bucket that is not empty, and are shared by copies.
//! - **Source.** [`read_plain`] and [`write_plain`] are the V2 encoding of HdrHistogram; bytes may be from anybody: no size that
//!   they claim is believed.
//!
//! What it does not do: minimum, maximum and sum are known to whoever counts, and negative values are not counted.
//!
//! ```
//! use howlate_histogram::{Buckets, Packing, read_plain, write_plain};
//!
//! let mut latencies = Buckets::default();
//! latencies.count(|open| (1..=1_000).for_each(|value| open.add(value, 1)));
//! // The 500th and the 990th of a thousand, each as the largest value of its bucket.
//! assert_eq!(latencies.at_ranks([500, 990]), Some([501, 991]));
//!
//! let packed = latencies.packed(&(1..=1_000));
//! let bytes = write_plain(2, 1_000, packed.words());
//! let mut read = Packing::with_room(bytes.len());
//! read_plain(&mut bytes.as_slice(), 1_000, |bucket| read.push(Buckets::place(bucket.lowest), bucket.count))?;
//! assert_eq!(read.packed(), packed);
//! # Ok::<(), howlate_histogram::HdrError>(())
//! ```

#![warn(missing_docs)]

mod buckets;
mod compact_counts;
mod hdr;
mod varint;

pub use buckets::{Bucket, Buckets, Full, Open, OpenPlaces};
pub use compact_counts::{Packed, Packing, Places};
pub use hdr::{HdrError, HdrLayout, read_plain, write_plain};
