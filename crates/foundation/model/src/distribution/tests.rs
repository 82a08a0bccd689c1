//! Against the library, and with what nobody should write.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};
use proptest::prelude::*;

fn counting(nanos: &[i64]) -> Distribution {
    let mut all = Distribution::default();
    nanos.iter().for_each(|n| all.record(Latency::from_nanos(*n)));
    all
}

fn nanos(latency: Option<Latency>) -> i64 {
    latency.unwrap().as_nanos()
}

#[test]
fn exact_values_stay_exact() {
    let all = counting(&[5_614, 1_234_567, 83]);
    assert_eq!((nanos(all.min()), nanos(all.max())), (83, 1_234_567));
    assert_eq!(format!("{:.1}", all.mean_nanos().unwrap()), "413421.3");
    assert_eq!(counting(&[]).min(), None);
}

/// Stores `all`, changes one value, and reads it.
fn changed(all: &Distribution, name: &str, value: serde_json::Value) -> Result<Distribution, String> {
    let mut json = serde_json::to_value(all).unwrap();
    json[name] = value;
    serde_json::from_value(json).map_err(|error| error.to_string())
}

#[test]
fn what_contradicts_the_buckets_is_refused() {
    let all = counting(&[-40, 300, 5_614, 1_234_567]);
    for (name, value, says) in [
        ("min_ns", 0, "early is 1"),
        ("min_ns", 300, "lowest bucket of hdr is 0..=0 ns"),
        ("min_ns", 2_000_000, "min_ns is 2000000"),
        ("max_ns", 1_000, "max_ns is 1000"),
        ("max_ns", 2_000_000, "highest bucket"),
        ("sum_ns", 5_000, "sum_ns is 5000"),
        ("sum_ns", 9_000_000, "sum_ns is 9000000"),
        ("early", 0, "early is 0"),
        ("early", 2, "early is 2"),
        ("count", 5, "count is 5, but hdr holds 4"),
    ] {
        let error = changed(&all, name, value.into()).unwrap_err();
        assert!(error.contains(says), "{name} = {value}: {error}");
    }
    let max = changed(&all, "max_ns", serde_json::Value::Null).unwrap_err();
    assert!(max.contains("missing"), "{max}");
    assert!(changed(&counting(&[]), "sum_ns", 7.into()).unwrap_err().contains("not there"));
    let hours = counting(&[i64::try_from(HIGHEST_TRACKED).unwrap() * 3, 7]);
    assert_eq!(changed(&hours, "early", 0.into()), Ok(hours));
}

#[test]
fn counts_that_no_run_can_have_are_refused() {
    let mut many = Distribution::default();
    many.record_n(Latency::from_nanos(7), MOST_COUNTED + 1);
    assert!(changed(&many, "early", 0.into()).unwrap_err().contains("more than any run"));
}

#[test]
fn early_wake_ups_are_counted_not_hidden() {
    let all = counting(&[-40, 10]);
    assert_eq!((all.count(), all.early(), nanos(all.min())), (2, 1, -40));
}

#[test]
fn the_longest_latency_has_no_upper_limit() {
    let all = counting(&[i64::try_from(HIGHEST_TRACKED).unwrap() * 3]);
    assert_eq!(nanos(all.max()), 10_800_000_000_000);
    assert_eq!(all.count(), 1);
}

#[test]
fn one_late_wake_up_hides_the_periods_it_swallowed() {
    // Late 3.4 ms at a period of 1 ms: 2.4, 1.4 and 0.4 ms were never seen.
    let mut hidden = Distribution::default();
    hidden.record_swallowed(Latency::from_nanos(3_400_000), Span::from_millis(1), u64::MAX);
    assert_eq!(hidden.count(), 3);
    assert_eq!((nanos(hidden.min()), nanos(hidden.max())), (400_000, 2_400_000));
    assert_eq!(format!("{:.0}", hidden.mean_nanos().unwrap()), "1400000");
}

#[test]
fn correction_moves_the_percentiles_of_the_textbook_case() {
    // 999 wake-ups of 10 µs and one stall of 100 ms at a period of 1 ms. As latencies
    // (not response times) the stall hides 100 wake-ups: 99 ms, 98 ms, … 0 ms.
    let mut all = counting(&[10_000; 999]);
    all.record(Latency::from_nanos(100_000_000));
    let raw_p99 = nanos(all.quantile(0.99));
    all.record_swallowed(Latency::from_nanos(100_000_000), Span::from_millis(1), u64::MAX);
    assert_eq!(all.count(), 1_100);
    assert!(raw_p99 < 11_000);
    let corrected_p99 = nanos(all.quantile(0.99));
    assert!((89_000_000..=91_000_000).contains(&corrected_p99), "{corrected_p99}");
}

proptest! {
    #[test]
    fn swallowed_wake_ups_are_all_counted(late in 0..50_000_000i64, period in 1..1_000_000u64,
                                          most in prop_oneof![Just(u64::MAX), 0..2_000u64]) {
        let mut fast = Distribution::default();
        fast.record_swallowed(Latency::from_nanos(late), Span::from_nanos(period), most);
        let step = i64::try_from(period).unwrap();
        let mut slow = Distribution::default();
        if late / step < 20_000 {
            let mut rest = late - step;
            while rest >= 0 && slow.count() < most {
                slow.record(Latency::from_nanos(rest));
                rest -= step;
            }
            prop_assert_eq!(&fast, &slow);
        }
        prop_assert_eq!(fast.count(), (late.unsigned_abs() / period).min(most));
    }

    #[test]
    fn merging_equals_counting_together(a in proptest::collection::vec(-100..10_000_000i64, 0..50),
                                        b in proptest::collection::vec(-100..10_000_000i64, 0..50)) {
        let mut merged = counting(&a);
        merged.merge(&counting(&b));
        prop_assert_eq!(merged, counting(&[a, b].concat()));
    }

    #[test]
    fn a_recording_gives_it_back(a in proptest::collection::vec(-100..10_000_000_000i64, 0..50)) {
        let before = counting(&a);
        let json = serde_json::to_string(&before).unwrap();
        prop_assert_eq!(serde_json::from_str::<Distribution>(&json).unwrap(), before);
    }

    #[test]
    fn a_recording_has_the_bytes_of_the_library(
        counts in proptest::collection::vec((-100..1_i64 << 43, 1..1_u64 << 40), 0..50),
    ) {
        let mut all = Distribution::default();
        counts.iter().for_each(|&(late, count)| all.record_n(Latency::from_nanos(late), count));
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&all.to_hdr(), &mut bytes).unwrap();
        let written = serde_json::to_string(&all).unwrap();
        let hdr = format!("\"hdr\":\"{}\"", BASE64.encode(bytes));
        prop_assert!(written.contains(&hdr), "{written}");
    }

    #[test]
    fn quantiles_match_exact_ranks(mut a in proptest::collection::vec(0..10_000_000i64, 1..200), rank in 1..=200usize) {
        let rank = rank.min(a.len());
        let quantile = (rank as f64 - 0.5) / a.len() as f64;
        let all = counting(&a);
        a.sort_unstable();
        let (exact, got) = (a[rank - 1], nanos(all.quantile(quantile)));
        prop_assert!((got - exact).abs() <= exact / 100 + 1, "{got} against {exact}");
    }

    #[test]
    fn the_median_is_finer_than_a_bucket_where_many_share_it(
        from in 15_000..15_300i64,
        spread in 1..3_000i64,
    ) {
        let values: Vec<i64> = (0..2_000).map(|n| from + n * spread / 2_000).collect();
        let (exact, got) = (values[1_000], nanos(counting(&values).median()));
        // A bucket there is 64 ns wide; at its edges it is not full.
        let off = if spread < 128 { 64 } else { 8 };
        prop_assert!((got - exact).abs() <= off, "{got} against {exact}");
    }

    /// In whole numbers: p/q of n values are at most the one of rank ⌈n·p / q⌉.
    #[test]
    fn ranks_match_exact_arithmetic(n in 1..100_000_000_000u64, share in 0..10_000u64, of in 0..4usize) {
        let (p, q) = [(50, 100), (99, 100), (999, 1_000), (share, 10_000)][of];
        let rank = u64::try_from((u128::from(n) * u128::from(p)).div_ceil(q)).unwrap().max(1);
        let quantile = p as f64 / q as f64;
        // As many low values as the rank: the quantile is low; one fewer: it is high.
        let split = |low: u64| {
            let mut all = Distribution::default();
            if low > 0 { all.record_n(Latency::from_nanos(5), low) }
            if low < n { all.record_n(Latency::from_nanos(100), n - low) }
            nanos(all.quantile(quantile))
        };
        prop_assert_eq!((split(rank), split(rank - 1)), (5, 100));
    }

    #[test]
    fn percentiles_never_fall(a in proptest::collection::vec(0..10_000_000i64, 1..100)) {
        let all = counting(&a);
        let values: Vec<i64> = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0].iter().map(|q| nanos(all.quantile(*q))).collect();
        prop_assert!(values.is_sorted());
        prop_assert_eq!(nanos(all.quantile(1.0)), nanos(all.max()));
    }
}

/// A distribution as a file prints it: values in microseconds, with their counts.
fn printed(rows: &[(i64, u64)]) -> Distribution {
    let mut all = Distribution::default();
    rows.iter().for_each(|(micros, count)| all.record_printed(Latency::from_nanos(micros * 1_000), *count));
    all
}

#[test]
fn percentiles_of_printed_values_are_printed_values() {
    let all = printed(&[(9, 985), (14, 14), (20, 1)]);
    assert_eq!([0.5, 0.99, 1.0].map(|quantile| nanos(all.quantile(quantile))), [9_000, 14_000, 20_000]);
    assert_eq!((nanos(all.packed().quantile(0.99)), nanos(all.median())), (14_000, 9_000));
    assert_eq!(all.quantile_bounds(0.99), None, "each is exact");
    let all = printed(&[(300, 500), (301, 500), (900, 1)]);
    assert_eq!([0.4, 0.6].map(|quantile| nanos(all.quantile(quantile))), [300_000, 301_000], "of one bucket");
    // More than are counted one by one cannot be told apart.
    let rows: Vec<(i64, u64)> = (5_000..5_020).map(|micros| (micros, 10)).collect();
    let all = printed(&rows);
    let (least, most) = all.quantile_bounds(0.2).unwrap();
    let p20 = nanos(all.quantile(0.2));
    assert!(least.as_nanos() <= 5_003_000 && most.as_nanos() >= 5_003_000 && p20 == most.as_nanos());
    assert_eq!(all.quantile_bounds(1.0), None, "the largest is exact");
}

#[test]
fn a_printed_value_may_have_been_as_much_more_as_its_bucket_is_wide() {
    let mut all = printed(&[(10, 500), (20, 500), (377, 1)]);
    all.set_printed_width(Span::ZERO, Span::from_micros(9));
    let bounds = all.quantile_bounds(0.4).map(|(least, most)| (least.as_nanos(), most.as_nanos()));
    assert_eq!(bounds, Some((10_000, 19_000)));
}

#[test]
fn printed_values_are_so_only_where_all_are() {
    let (first, other) = (printed(&[(14, 10)]), printed(&[(15, 10)]));
    let mut both = Distribution::default();
    both.merge(&first);
    both.merge(&other);
    assert_eq!([0.5, 1.0].map(|quantile| nanos(both.quantile(quantile))), [14_000, 15_000]);
    both.merge(&Distribution::default());
    assert_eq!(nanos(both.quantile(0.5)), 14_000);
    both.merge(&counting(&[1, 2, 3]));
    assert_eq!(nanos(both.quantile(0.5)), 14_015, "the end of a bucket");
}
