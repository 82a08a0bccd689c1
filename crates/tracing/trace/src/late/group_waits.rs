//! How long the threads of each group have waited, as the kernel's side adds it up from its beginning.

use std::collections::HashMap;

use aya::Ebpf;
use aya::maps::{HashMap as KernelMap, MapData};
use howlate_model::{Distribution, Latency, TracerRefusal, WaitGroup};

use crate::fields::Fields;
use crate::loading::{damaged, refusal};

/// `LEAST_BITS`, `SUB_BITS` and `BUCKETS` of `bpf/late.h`.
const LEAST_BITS: u32 = 10;
const SUB_BITS: u32 = 2;
const BUCKETS: usize = 101;
/// 64-bit words before the buckets: twice the longest, of which reading that is, how many were late.
const BEFORE: usize = 5;
const LONGEST: usize = 0;
const OF: usize = 2;
const LATE: usize = 4;
/// The group's name: `struct group`, in 64-bit words.
type Key = [u64; 4];
type Counts = [u64; BEFORE + BUCKETS];

/// A group without a wait for so many readings is forgotten, by both sides.
const FORGOTTEN_AFTER: u32 = 60;

/// The kernel's groups, and what was known of each.
pub(super) struct Groups {
    map: KernelMap<MapData, Key, Counts>,
    known: HashMap<Key, Known>,
}

struct Known {
    counts: Counts,
    unchanged: u32,
}

impl Groups {
    pub(super) fn take(kernel: &mut Ebpf) -> Result<Self, TracerRefusal> {
        let map = kernel.take_map("groups").ok_or_else(|| damaged("groups"))?;
        let map = KernelMap::try_from(map).map_err(|error| refusal("read its groups", &error))?;
        Ok(Self { map, known: HashMap::new() })
    }

    /// What came to each group since the last call, which is the reading of this number; groups to which nothing came are left out.
    pub(super) fn since_the_last_time(&mut self, reading: u32) -> Result<Vec<WaitGroup>, TracerRefusal> {
        let all: Vec<(Key, Counts)> = self.map.iter().filter_map(Result::ok).collect();
        let mut groups = Vec::new();
        for (key, counts) in all {
            let known = self.known.entry(key).or_insert(Known { counts: [0; _], unchanged: 0 });
            match waits(&counts, &known.counts, reading) {
                Some((waits, late)) => {
                    groups.extend(named(key, waits, late));
                    *known = Known { counts, unchanged: 0 };
                }
                None => known.unchanged += 1,
            }
        }
        let gone: Vec<Key> = self
            .known
            .iter()
            .filter(|(_, known)| known.unchanged >= FORGOTTEN_AFTER)
            .map(|(key, _)| *key)
            .collect();
        for key in gone {
            self.known.remove(&key);
            // Somebody may have come back just now; that minute's counts are few.
            drop(self.map.remove(&key));
        }
        Ok(groups)
    }
}

fn named(key: Key, waits: Distribution, late: u64) -> Option<WaitGroup> {
    let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut fields = Fields(&bytes);
    let (cgroup, uid, policy) = (fields.u64()?, fields.u32()?, fields.u32()?);
    Some(WaitGroup { process: fields.comm()?, uid, cgroup, policy, waits, late })
}

/// What is new, and how much of it was late; `None`: nothing.
fn waits(now: &Counts, before: &Counts, reading: u32) -> Option<(Distribution, u64)> {
    let mut waits = Distribution::default();
    let new = |place: usize| now[BEFORE + place].saturating_sub(before[BEFORE + place]);
    let last = (0..BUCKETS).rev().find(|place| new(*place) > 0)?;
    for place in 0..last {
        if new(place) > 0 {
            waits.record_n(Latency::from_nanos(middle(place)), new(place));
        }
    }
    // A thread that ends during a reading may be in the next one with its longest, and in this one with its waits.
    let slot = (reading & 1) as usize;
    let is_of_this = now[OF + slot] == u64::from(reading);
    let exact = i64::try_from(now[LONGEST + slot]).ok().filter(|ns| is_of_this && is_in(last, *ns));
    let longest = exact.unwrap_or_else(|| middle(last));
    waits.record_n(Latency::from_nanos(longest), 1);
    if new(last) > 1 {
        waits.record_n(Latency::from_nanos(middle(last).min(longest)), new(last) - 1);
    }
    Some((waits, now[LATE].saturating_sub(before[LATE])))
}

/// The middle of a bucket, in nanoseconds.
fn middle(place: usize) -> i64 {
    let (from, width) = bounds(place);
    from + width / 2
}

/// Where a bucket begins, and its width.
fn bounds(place: usize) -> (i64, i64) {
    let Some(above) = place.checked_sub(1) else { return (0, 1 << LEAST_BITS) };
    let (doubling, quarter) = (above >> SUB_BITS, above & ((1 << SUB_BITS) - 1));
    let width = 1_i64 << (LEAST_BITS - SUB_BITS) << doubling;
    ((1_i64 << LEAST_BITS << doubling) + i64::try_from(quarter).unwrap_or(0) * width, width)
}

/// Whether a wait is counted there. The last bucket has no end.
fn is_in(place: usize, ns: i64) -> bool {
    let (from, width) = bounds(place);
    ns >= from && (ns < from + width || place + 1 == BUCKETS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(longest: [u64; 2], of: [u64; 2], buckets: &[(usize, u64)]) -> Counts {
        let mut counts = [0; BEFORE + BUCKETS];
        counts[LONGEST..OF].copy_from_slice(&longest);
        counts[OF..LATE].copy_from_slice(&of);
        for (place, count) in buckets {
            counts[BEFORE + place] = *count;
        }
        counts
    }

    #[test]
    fn the_middle_of_a_bucket_lies_within_it() {
        assert_eq!((middle(0), middle(1), middle(2)), (512, 1_152, 1_408));
        assert_eq!((middle(5), middle(100)), (2_304, 32_212_254_720));
        assert!((1..BUCKETS).all(|place| middle(place - 1) < middle(place)));
    }

    #[test]
    fn what_is_new_is_counted_and_the_longest_of_it_is_exact() {
        let first = counts([0, 5_000], [0, 1], &[(0, 10), (9, 1)]);
        let (waits, _) = super::waits(&first, &counts([0; 2], [0; 2], &[]), 1).unwrap();
        assert_eq!((waits.count(), waits.max()), (11, Some(Latency::from_nanos(5_000))));
        assert!(super::waits(&first, &first, 2).is_none());
        // Shorter than the longest that there was before.
        let second = counts([2_222, 5_000], [2, 1], &[(0, 12), (5, 1), (9, 1)]);
        let (waits, _) = super::waits(&second, &first, 2).unwrap();
        assert_eq!((waits.count(), waits.max()), (3, Some(Latency::from_nanos(2_222))));
        // Of an earlier reading, and of one whose waits are in another.
        for (longest, of) in [(2_222, 0), (5_000, 2)] {
            let third = counts([longest, 5_000], [of, 1], &[(0, 12), (5, 1), (9, 1)]);
            let (waits, _) = super::waits(&third, &first, 2).unwrap();
            assert_eq!(waits.max(), Some(Latency::from_nanos(middle(5))));
        }
    }
}
