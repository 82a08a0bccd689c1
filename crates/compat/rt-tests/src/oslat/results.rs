//! Results of oslat: a histogram per CPU.

use howlate_model::Span;

use super::options::OslatOptions;

/// Gap lengths of one CPU, in buckets of equal width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuHistogram {
    width_ns: u64,
    /// Subtracted from each length, in bucket widths.
    bias: u64,
    /// Iterations of each length; the last bucket holds all longer ones.
    pub(super) buckets: Vec<u64>,
    /// Sum of what the lengths in the last bucket exceed it by, in bucket widths.
    overflow_widths: u64,
    longest: Span,
}

impl CpuHistogram {
    /// An empty histogram. `bias`: bucket widths that are subtracted from each length.
    pub fn new(options: &OslatOptions, bias: u64) -> Self {
        Self {
            width_ns: options.width_ns.max(1),
            bias,
            buckets: vec![0; options.buckets],
            overflow_widths: 0,
            longest: Span::ZERO,
        }
    }

    /// A length in bucket widths, rounded up to the next whole one: an iteration of 20 ns has 1.
    pub fn bucket_widths(options: &OslatOptions, length: Span) -> u64 {
        length.as_nanos() / options.width_ns.max(1) + 1
    }

    pub fn add(&mut self, length: Span) {
        let widths = length.as_nanos() / self.width_ns + 1;
        self.longest = self.longest.max(length);
        let (bucket, last) = (self.bucket(widths), self.buckets.len() - 1);
        self.overflow_widths += bucket.saturating_sub(last) as u64;
        self.buckets[bucket.min(last)] += 1;
    }

    fn bucket(&self, widths: u64) -> usize {
        usize::try_from(widths.saturating_sub(self.bias + 1)).unwrap_or(usize::MAX)
    }

    /// Counts iterations that were not gaps: shorter than a bucket is wide.
    pub(super) fn add_short(&mut self, iterations: u64) {
        self.buckets[0] += iterations;
    }

    /// The longest gap, or `shortest` if there was no longer one.
    pub(super) fn longest(&self, shortest: Span) -> Span {
        self.longest.max(shortest)
    }

    /// Upper limit of a bucket, in bucket widths.
    pub(super) fn upper_limit(&self, bucket: usize) -> u64 {
        self.bias + bucket as u64 + 1
    }

    /// Mean in bucket widths; each iteration counts as the upper limit of its bucket.
    pub(super) fn mean(&self) -> f64 {
        let weighted = |(bucket, count): (usize, &u64)| *count as f64 * self.upper_limit(bucket) as f64;
        let sum: f64 = self.buckets.iter().enumerate().map(weighted).sum();
        let count: u64 = self.buckets.iter().sum();
        (sum + self.overflow_widths as f64) / count.max(1) as f64
    }
}

/// Measurements of one CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct OslatCpu {
    pub cpu: u32,
    /// Frequency of the counter that the measuring loop reads.
    pub megahertz: u64,
    pub shortest: Span,
    /// Iterations of the measuring loop.
    pub iterations: u64,
    pub seconds: f64,
    /// Gaps only.
    pub gaps: CpuHistogram,
}

impl OslatCpu {
    /// The gaps, and all other iterations in the first bucket.
    pub(super) fn histogram(&self) -> CpuHistogram {
        let mut histogram = self.gaps.clone();
        let gaps: u64 = histogram.buckets.iter().sum();
        histogram.add_short(self.iterations.saturating_sub(gaps));
        histogram
    }
}

/// Measurements of all CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct OslatResults {
    pub cpus: Vec<OslatCpu>,
}

#[cfg(test)]
mod tests {
    use super::super::options::parse;
    use super::*;
    use crate::compat::Compat;

    fn options(line: &str) -> OslatOptions {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments, &"0".parse().unwrap(), Compat::V2_6).unwrap()
    }

    #[test]
    fn a_gap_is_in_the_bucket_of_its_microsecond() {
        let mut histogram = CpuHistogram::new(&options("-b 5"), 0);
        histogram.add_short(90);
        for nanos in [1_000, 1_999, 2_000, 4_999, 5_000, 9_000] {
            histogram.add(Span::from_nanos(nanos));
        }
        assert_eq!(histogram.buckets, [90, 2, 1, 0, 3]);
        assert_eq!((histogram.longest(Span::ZERO), histogram.upper_limit(4)), (Span::from_nanos(9_000), 5));
        // 90·1 + 2·2 + 3 + 3·5, and the amounts by which 6 and 10 exceed 5.
        assert!((histogram.mean() - (90.0 + 4.0 + 3.0 + 15.0 + 1.0 + 5.0) / 96.0).abs() < 1e-12);
    }

    #[test]
    fn the_bias_is_subtracted() {
        let mut histogram = CpuHistogram::new(&options("-b 5"), 2);
        [1_000, 2_000, 3_000].into_iter().for_each(|nanos| histogram.add(Span::from_nanos(nanos)));
        assert_eq!(histogram.buckets, [2, 1, 0, 0, 0]);
        assert_eq!(histogram.upper_limit(0), 3);
    }

    #[test]
    fn bucket_widths_may_be_below_a_microsecond() {
        let options = options("-W 100");
        assert_eq!(CpuHistogram::bucket_widths(&options, Span::from_nanos(20)), 1);
        assert_eq!(CpuHistogram::bucket_widths(&options, Span::from_nanos(250)), 3);
    }
}
