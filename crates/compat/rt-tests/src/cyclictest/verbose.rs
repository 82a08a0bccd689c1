//! `-v`: text before the run, and the line of each wake-up.

use crate::cyclictest::affinity::CpuMasks;
use crate::cyclictest::options::{Affinity, CyclictestOptions};

/// `-o`: reduces each group of `group_size` values to its largest.
#[derive(Clone, Debug)]
pub(crate) struct Oscope {
    group_size: u64,
    /// Values of the current group so far.
    count: u64,
    /// Cycle and value.
    largest: (u64, i64),
}

impl Oscope {
    pub(crate) const fn new(group_size: u64) -> Self {
        Self { group_size, count: 0, largest: (0, i64::MIN) }
    }

    /// Adds a value; at the end of a group returns the cycle and the value to print.
    pub(crate) fn add(&mut self, cycle: u64, value: i64) -> Option<(u64, i64)> {
        if value > self.largest.1 {
            self.largest = (cycle, value);
        }
        self.count += 1;
        if self.count < self.group_size {
            return None;
        }
        self.count = 0;
        Some(std::mem::replace(&mut self.largest, (0, i64::MIN)))
    }
}

/// Appends a value as `%8d:%8lu:%8ld`.
pub(crate) fn put_value(text: &mut String, thread: usize, (cycle, value): (u64, i64), smis: bool) {
    let smis = if smis { format!("{:8}", 0) } else { String::new() };
    text.push_str(&format!("{thread:8}:{cycle:8}:{value:8}{smis}\n"));
}

/// Text of `-v` before and after `/dev/cpu_dma_latency` is set.
pub fn preamble(options: &CyclictestOptions, masks: &CpuMasks, cpus: &[Option<u32>]) -> (String, String) {
    if !options.verbose {
        return Default::default();
    }
    let mut before = format!("Max CPUs = {}\nOnline CPUs = {}\n", masks.configured, masks.online);
    let mut after = String::new();
    let set = match &options.affinity {
        Affinity::Set(set) => Some(set),
        Affinity::All | Affinity::Unset => None,
    };
    if let Some(set) = set {
        before.push_str(&format!("Using {} cpus.\n", set.len()));
    }
    for (thread, cpu) in cpus.iter().enumerate() {
        if let (Some(_), Some(cpu)) = (set, cpu) {
            after.push_str(&format!("Thread {thread} using cpu {cpu}.\n"));
        }
        // The original prints the interval of the next thread; reproduced, because scripts may read it.
        after.push_str(&format!("Thread {thread} Interval: {}\n", options.interval_of(thread + 1)));
    }
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduced_oscilloscope_shows_the_largest_of_each_group() {
        let mut oscope = Oscope::new(3);
        let shown: Vec<_> = [4, 9, 2, 1, 1, 1, 7]
            .iter()
            .zip(0..)
            .filter_map(|(&value, cycle)| oscope.add(cycle, value))
            .collect();
        assert_eq!(shown, [(1, 9), (3, 1)]);
    }
}
