//! Serialised form of a distribution, and its plausibility checks when read.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use howlate_histogram::{Bucket, Buckets, HdrLayout, PackedBuckets, PackedBuilder, write_plain};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Distribution, HIGHEST_TRACKED, SIGNIFICANT_DIGITS};
use crate::Latency;
use crate::hdr::read_hdr;

/// A distribution as recordings hold it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Stored")]
pub(super) struct StoredDistribution<'a> {
    count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_ns: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_ns: Option<i64>,
    /// May pass 2^53 on very long runs; it is written as an integer all the same.
    sum_ns: i128,
    #[serde(default, skip_serializing_if = "is_zero")]
    early: u64,
    /// Latencies of this and more were not told apart by what measured them: they count here, but for the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clipped_at_ns: Option<i64>,
    /// Base64 of the HdrHistogram V2 encoding.
    #[serde(borrow)]
    hdr: Cow<'a, str>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = match &self.buckets {
            Buckets::Packed(packed) => self.as_hdr(packed),
            Buckets::Open(_) => self.as_hdr(&self.packed_buckets()),
        };
        let stored = StoredDistribution {
            count: self.count(),
            min_ns: self.min().map(Latency::as_nanos),
            max_ns: self.max().map(Latency::as_nanos),
            sum_ns: self.sum,
            early: self.early,
            clipped_at_ns: self.clipped,
            hdr: BASE64.encode(bytes).into(),
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(StoredDistribution::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl TryFrom<StoredDistribution<'_>> for Distribution {
    type Error = String;

    fn try_from(stored: StoredDistribution<'_>) -> Result<Self, String> {
        let bytes =
            BASE64.decode(stored.hdr.as_bytes()).map_err(|error| format!("hdr is not base64: {error}"))?;
        let (packed, seen) = decode(&bytes)?;
        let held = seen.count;
        if held != stored.count {
            return Err(format!("count is {}, but hdr holds {held}", stored.count));
        }
        if held > MOST_COUNTED {
            return Err(format!("count is {held}, more than any run can have"));
        }
        let (min, max) = match (held, stored.min_ns, stored.max_ns) {
            (0, ..) => (i64::MAX, i64::MIN),
            (_, Some(min), Some(max)) => (min, max),
            _ => return Err("min_ns and max_ns are missing".to_owned()),
        };
        let buckets = Buckets::Packed(packed);
        let read = Self {
            buckets,
            count: held,
            min,
            max,
            sum: stored.sum_ns,
            early: stored.early,
            clipped: stored.clipped_at_ns,
            printed: None,
        };
        read.check(&seen).map(|()| read)
    }
}

/// Facts about the buckets, against which the other fields are checked.
#[derive(Default)]
struct BucketCheck {
    /// Sum of all counts.
    count: u64,
    /// The first and the last non-empty bucket.
    first: Option<Bucket>,
    last: Option<Bucket>,
    /// Smallest and largest possible sum of the values.
    least: i128,
    most: i128,
}

impl BucketCheck {
    #[inline]
    fn add(&mut self, bucket: Bucket) {
        self.count = self.count.saturating_add(bucket.count);
        self.first.get_or_insert(bucket);
        self.last = Some(bucket);
        // At most 2⁴² times 2⁶⁴, of at most 2¹² buckets.
        let times = |value: u64| i128::from(value).saturating_mul(i128::from(bucket.count));
        self.least = self.least.saturating_add(times(bucket.lowest));
        self.most = self.most.saturating_add(times(bucket.highest));
    }
}

/// Decodes counts from untrusted `bytes`.
fn decode(bytes: &[u8]) -> Result<(PackedBuckets, BucketCheck), String> {
    let (mut builder, mut seen) = (PackedBuilder::with_capacity(bytes.len()), BucketCheck::default());
    let layout = read_hdr(bytes, HIGHEST_TRACKED, |bucket| {
        seen.add(bucket);
        builder.push(Buckets::index_of(bucket.lowest), bucket.count);
    });
    let HdrLayout { digits, lowest, .. } = layout.map_err(|error| format!("hdr cannot be read: {error}"))?;
    if digits != u32::from(SIGNIFICANT_DIGITS) || lowest != 1 {
        return Err("hdr has other buckets than this format".to_owned());
    }
    Ok((builder.build(), seen))
}

/// Plausible maximum count: ten million wake-ups a second for 28 years.
pub const MOST_COUNTED: u64 = 1 << 53;

impl Distribution {
    fn as_hdr(&self, counts: &PackedBuckets) -> Vec<u8> {
        write_plain(u32::from(SIGNIFICANT_DIGITS), self.hdr_highest(), counts.encoded())
    }

    /// Checks the other fields against the buckets.
    fn check(&self, seen: &BucketCheck) -> Result<(), String> {
        let Some((first, last)) = seen.first.zip(seen.last) else {
            let is_empty = self.sum == 0 && self.early == 0;
            return if is_empty {
                Ok(())
            } else {
                Err("sum_ns or early is of latencies that are not there".into())
            };
        };
        if !holds(first, self.min) {
            return Err(format!("min_ns is {}, but the lowest bucket of hdr is {first}", self.min));
        }
        if !holds(last, self.max) || self.max < self.min {
            return Err(format!("max_ns is {}, but the highest bucket of hdr is {last}", self.max));
        }
        let of_zero = if first.lowest == 0 { first.count } else { 0 };
        if (self.early > 0) != (self.min < 0) || self.early > of_zero {
            return Err(format!("early is {}, against min_ns and hdr", self.early));
        }
        if !self.sums(seen, last).contains(&self.sum) {
            return Err(format!("sum_ns is {}, which the buckets of hdr cannot give", self.sum));
        }
        Ok(())
    }

    /// Possible sums, given the buckets, the extremes and the number of early latencies.
    fn sums(&self, seen: &BucketCheck, last: Bucket) -> RangeInclusive<i128> {
        let early = i128::from(self.early);
        let beyond = i128::from(self.max).saturating_sub(i128::from(HIGHEST_TRACKED)).max(0);
        let lowest = seen.least.saturating_add(early.saturating_mul(i128::from(self.min)));
        let beyond = beyond.saturating_mul(i128::from(last.count));
        // Clipped latencies were larger than their buckets.
        let clipped_sum = if self.clipped.is_some() {
            i128::from(self.max).saturating_mul(i128::from(self.count))
        } else {
            0
        };
        let highest = seen.most.saturating_sub(early).saturating_add(beyond).max(clipped_sum);
        lowest..=highest
    }
}

/// Whether a latency is counted in this bucket: early ones in that of 0, those above an hour in the last.
fn holds(bucket: Bucket, nanos: i64) -> bool {
    let counted = nanos.max(0).unsigned_abs().min(HIGHEST_TRACKED);
    (bucket.lowest..=bucket.highest).contains(&counted)
}
