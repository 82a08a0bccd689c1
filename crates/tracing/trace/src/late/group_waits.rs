//! Waits of each group of threads, which the BPF side counts from its start.

use std::collections::HashMap;

use aya::Ebpf;
use aya::maps::{HashMap as KernelMap, MapData};
use howlate_model::{Distribution, Latency, TracerRefusal, WaitGroup};

use crate::fields::FieldReader;
use crate::loading::{damaged, refusal};

/// `LEAST_BITS`, `SUB_BITS` and `BUCKETS` of `bpf/late.h`.
const LEAST_BITS: u32 = 10;
const SUB_BITS: u32 = 2;
const BUCKETS: usize = 101;
/// 64-bit words before the buckets: the longest wait of two readings, which readings those are, and how many were late.
const BEFORE: usize = 5;
const LONGEST: usize = 0;
const OF: usize = 2;
const LATE: usize = 4;
/// `struct group`, the name of a group, in 64-bit words.
type Key = [u64; 4];
type Counts = [u64; BEFORE + BUCKETS];

/// After this many readings without a wait, a group is removed on both sides.
const MAX_UNCHANGED: u32 = 60;

/// The groups in the BPF map, and their last counts.
pub(super) struct WaitGroups {
    map: KernelMap<MapData, Key, Counts>,
    last_counts: HashMap<Key, LastCounts>,
}

struct LastCounts {
    counts: Counts,
    unchanged: u32,
}

impl WaitGroups {
    pub(super) fn take(kernel: &mut Ebpf) -> Result<Self, TracerRefusal> {
        let map = kernel.take_map("groups").ok_or_else(|| damaged("groups"))?;
        let map = KernelMap::try_from(map).map_err(|error| refusal("read its groups", &error))?;
        Ok(Self { map, last_counts: HashMap::new() })
    }

    /// Waits of each group since the last call; `reading` is the number of this one. Groups without waits are left out.
    pub(super) fn new_waits(&mut self, reading: u32) -> Result<Vec<WaitGroup>, TracerRefusal> {
        let all: Vec<(Key, Counts)> = self.map.iter().filter_map(Result::ok).collect();
        let mut groups = Vec::new();
        for (key, counts) in all {
            let last = self.last_counts.entry(key).or_insert(LastCounts { counts: [0; _], unchanged: 0 });
            match waits(&counts, &last.counts, reading) {
                Some((waits, late)) => {
                    groups.extend(wait_group(key, waits, late));
                    *last = LastCounts { counts, unchanged: 0 };
                }
                None => last.unchanged += 1,
            }
        }
        let unused: Vec<Key> = self
            .last_counts
            .iter()
            .filter(|(_, last)| last.unchanged >= MAX_UNCHANGED)
            .map(|(key, _)| *key)
            .collect();
        for key in unused {
            self.last_counts.remove(&key);
            // The group may have just got new waits: those few are lost.
            drop(self.map.remove(&key));
        }
        Ok(groups)
    }
}

fn wait_group(key: Key, waits: Distribution, late: u64) -> Option<WaitGroup> {
    let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut fields = FieldReader(&bytes);
    let (cgroup, uid, policy) = (fields.u64()?, fields.u32()?, fields.u32()?);
    Some(WaitGroup { process: fields.comm()?, uid, cgroup, policy, waits, late })
}

/// New waits, and how many of them were late; `None`: no waits.
fn waits(now: &Counts, before: &Counts, reading: u32) -> Option<(Distribution, u64)> {
    let mut waits = Distribution::default();
    let new = |bucket: usize| now[BEFORE + bucket].saturating_sub(before[BEFORE + bucket]);
    let last = (0..BUCKETS).rev().find(|bucket| new(*bucket) > 0)?;
    for bucket in 0..last {
        if new(bucket) > 0 {
            waits.record_n(Latency::from_nanos(middle(bucket)), new(bucket));
        }
    }
    // A thread that ends during a reading may have its longest wait in the next reading, and its counts in this one.
    let slot = (reading & 1) as usize;
    let is_current = now[OF + slot] == u64::from(reading);
    let exact = i64::try_from(now[LONGEST + slot]).ok().filter(|ns| is_current && is_in(last, *ns));
    let longest = exact.unwrap_or_else(|| middle(last));
    waits.record_n(Latency::from_nanos(longest), 1);
    if new(last) > 1 {
        waits.record_n(Latency::from_nanos(middle(last).min(longest)), new(last) - 1);
    }
    Some((waits, now[LATE].saturating_sub(before[LATE])))
}

/// Middle of a bucket in nanoseconds.
fn middle(bucket: usize) -> i64 {
    let (from, width) = bounds(bucket);
    from + width / 2
}

/// Start and width of a bucket.
fn bounds(bucket: usize) -> (i64, i64) {
    let Some(above) = bucket.checked_sub(1) else { return (0, 1 << LEAST_BITS) };
    let (doubling, quarter) = (above >> SUB_BITS, above & ((1 << SUB_BITS) - 1));
    let width = 1_i64 << (LEAST_BITS - SUB_BITS) << doubling;
    ((1_i64 << LEAST_BITS << doubling) + i64::try_from(quarter).unwrap_or(0) * width, width)
}

/// Whether a wait belongs to the bucket. The last bucket has no end.
fn is_in(bucket: usize, ns: i64) -> bool {
    let (from, width) = bounds(bucket);
    ns >= from && (ns < from + width || bucket + 1 == BUCKETS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(longest: [u64; 2], of: [u64; 2], buckets: &[(usize, u64)]) -> Counts {
        let mut counts = [0; BEFORE + BUCKETS];
        counts[LONGEST..OF].copy_from_slice(&longest);
        counts[OF..LATE].copy_from_slice(&of);
        for (bucket, count) in buckets {
            counts[BEFORE + bucket] = *count;
        }
        counts
    }

    #[test]
    fn the_middle_of_a_bucket_lies_within_it() {
        assert_eq!((middle(0), middle(1), middle(2)), (512, 1_152, 1_408));
        assert_eq!((middle(5), middle(100)), (2_304, 32_212_254_720));
        assert!((1..BUCKETS).all(|bucket| middle(bucket - 1) < middle(bucket)));
    }

    #[test]
    fn what_is_new_is_counted_and_the_longest_of_it_is_exact() {
        let first = counts([0, 5_000], [0, 1], &[(0, 10), (9, 1)]);
        let (waits, _) = super::waits(&first, &counts([0; 2], [0; 2], &[]), 1).unwrap();
        assert_eq!((waits.count(), waits.max()), (11, Some(Latency::from_nanos(5_000))));
        assert!(super::waits(&first, &first, 2).is_none());
        // Shorter than the longest wait before.
        let second = counts([2_222, 5_000], [2, 1], &[(0, 12), (5, 1), (9, 1)]);
        let (waits, _) = super::waits(&second, &first, 2).unwrap();
        assert_eq!((waits.count(), waits.max()), (3, Some(Latency::from_nanos(2_222))));
        // The longest wait belongs to an earlier reading, or its counts to another one.
        for (longest, of) in [(2_222, 0), (5_000, 2)] {
            let third = counts([longest, 5_000], [of, 1], &[(0, 12), (5, 1), (9, 1)]);
            let (waits, _) = super::waits(&third, &first, 2).unwrap();
            assert_eq!(waits.max(), Some(Latency::from_nanos(middle(5))));
        }
    }
}
