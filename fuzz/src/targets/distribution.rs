//! Histograms in recordings: the bytes of an HdrHistogram and what stands beside them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use howlate_model::{Distribution, Latency, read_hdr};

use crate::Target;

pub(crate) const TARGET: Target = Target { name: "distribution", seeds, body };

fn seeds() -> Vec<Vec<u8>> {
    let of = |latencies: &[i64]| {
        let mut all = Distribution::default();
        latencies
            .iter()
            .for_each(|&nanos| all.record_n(Latency::from_nanos(nanos), 1 + nanos.unsigned_abs() % 9));
        let json = serde_json::to_value(&all).unwrap_or_default();
        BASE64.decode(json["hdr"].as_str().unwrap_or_default()).unwrap_or_default()
    };
    vec![of(&[]), of(&[0, 5, 300]), of(&[-7, 1_000, 55_000, 7_000_000_000]), of(&[7_200_000_000_000])]
}

fn body(input: &[u8]) {
    let (mut count, mut last) = (0_u64, None);
    let read = read_hdr(input, u64::MAX, |bucket| {
        assert!(bucket.count > 0 && bucket.lowest <= bucket.highest);
        assert!(last.is_none_or(|last| last < bucket.lowest));
        last = Some(bucket.highest);
        count = count.saturating_add(bucket.count);
    });
    if read.is_err() {
        return;
    }
    let hdr = BASE64.encode(input);
    for (min, max, sum) in [(0, 0, 0), (0, 1 << 40, 1 << 41), (i64::MIN, i64::MAX, i128::MAX)] {
        let text = format!(
            "{{\"count\":{count},\"min_ns\":{min},\"max_ns\":{max},\"sum_ns\":{sum},\"hdr\":\"{hdr}\"}}"
        );
        let Ok(mut one) = serde_json::from_str::<Distribution>(&text) else { continue };
        one.merge(&one.clone());
        assert!(
            one.quantile(0.5).is_none_or(|median| Some(median) >= one.min() && Some(median) <= one.max())
        );
        drop((one.to_hdr(), one.stddev_nanos()));
    }
}
