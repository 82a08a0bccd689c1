//! Linear histograms: one bucket per unit.

/// Counts per unit, and what was too late for the last bucket.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    pub(crate) buckets: Vec<u64>,
    pub(crate) overflows: u64,
    /// Cycles that overflowed, the first ones; as many as there are buckets.
    pub(crate) overflowed: Vec<u64>,
}

impl Histogram {
    pub(crate) fn new(buckets: usize) -> Self {
        Self { buckets: vec![0; buckets], overflows: 0, overflowed: Vec::new() }
    }

    /// A value below 0 — the clock was set back — counts as 0.
    pub(crate) fn add(&mut self, value: i64, cycle: u64) {
        let bucket = usize::try_from(value.max(0)).unwrap_or(usize::MAX);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
            return;
        }
        self.overflows += 1;
        if self.overflowed.len() < self.buckets.len() {
            self.overflowed.push(cycle);
        }
    }

    /// Buckets that are not empty.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.buckets.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    pub(crate) fn total(&self) -> u64 {
        self.buckets.iter().sum()
    }
}
