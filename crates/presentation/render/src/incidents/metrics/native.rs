//! Native buckets of a histogram as protobuf.

use howlate_model::Distribution;

use crate::native_buckets::{NativeBuckets, SCHEMA, ZERO};
use crate::protobuf::Message;

/// Fields of `Histogram` of `metrics.proto`.
const SCHEMA_FIELD: u32 = 5;
const ZERO_THRESHOLD: u32 = 6;
const ZERO_COUNT: u32 = 7;
const POSITIVE_SPAN: u32 = 12;
const POSITIVE_DELTA: u32 = 13;

/// Adds the buckets to a histogram.
pub(super) fn with_buckets(histogram: Message, waits: &Distribution) -> Message {
    let NativeBuckets { zero, spans, counts } = NativeBuckets::of(waits);
    let histogram =
        histogram.signed(SCHEMA_FIELD, i64::from(SCHEMA)).real(ZERO_THRESHOLD, ZERO).number(ZERO_COUNT, zero);
    let span = |(gap, length): (i32, u64)| Message::default().signed(1, i64::from(gap)).number(2, length);
    let histogram = histogram.messages(POSITIVE_SPAN, spans.into_iter().map(span));
    differences(&counts)
        .into_iter()
        .fold(histogram, |histogram, delta| histogram.signed(POSITIVE_DELTA, delta))
}

/// By how much each differs from the one before it.
fn differences(counts: &[u64]) -> Vec<i64> {
    let counts = counts.iter().map(|count| i64::try_from(*count).unwrap_or(i64::MAX));
    let before = std::iter::once(0).chain(counts.clone());
    counts.zip(before).map(|(count, before)| count - before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_told_by_their_differences() {
        assert_eq!(differences(&[5, 7, 1]), [5, 2, -6]);
    }
}
