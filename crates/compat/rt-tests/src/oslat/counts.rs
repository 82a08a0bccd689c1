//! Counts of one CPU, as oslat's buckets have them.

use howlate_model::Span;

use super::options::Options;

/// What is counted of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    width: u64,
    bias: u64,
    /// Turns of each length; what is longer is in the last one.
    pub(super) buckets: Vec<u64>,
    /// What those in the last bucket were longer than it, in widths.
    beyond: u64,
    /// The longest one.
    longest: Span,
}

impl Counts {
    /// Nothing yet; `bias` widths are taken off each.
    pub fn new(options: &Options, bias: u64) -> Self {
        Self {
            width: options.width_ns.max(1),
            bias,
            buckets: vec![0; options.buckets],
            beyond: 0,
            longest: Span::ZERO,
        }
    }

    /// How many widths a time is, begun ones included: a turn of 20 ns is one.
    pub fn widths(options: &Options, length: Span) -> u64 {
        length.as_nanos() / options.width_ns.max(1) + 1
    }

    /// A gap.
    pub fn add(&mut self, length: Span) {
        let widths = length.as_nanos() / self.width + 1;
        self.longest = self.longest.max(length);
        let (place, last) = (self.place(widths), self.buckets.len() - 1);
        self.beyond += place.saturating_sub(last) as u64;
        self.buckets[place.min(last)] += 1;
    }

    fn place(&self, widths: u64) -> usize {
        usize::try_from(widths.saturating_sub(self.bias + 1)).unwrap_or(usize::MAX)
    }

    /// All turns that were no gaps: shorter than a bucket is wide.
    pub(super) fn add_short(&mut self, turns: u64) {
        self.buckets[0] += turns;
    }

    /// The longest one.
    pub(super) fn longest(&self, shortest: Span) -> Span {
        self.longest.max(shortest)
    }

    /// What a bucket holds at most, in widths.
    pub(super) fn upper(&self, place: usize) -> u64 {
        self.bias + place as u64 + 1
    }

    /// The mean in widths, each turn counted as the whole bucket that it is in.
    pub(super) fn mean(&self) -> f64 {
        let upper = |(place, count): (usize, &u64)| *count as f64 * self.upper(place) as f64;
        let sum: f64 = self.buckets.iter().enumerate().map(upper).sum();
        let count: u64 = self.buckets.iter().sum();
        (sum + self.beyond as f64) / count.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::read;
    use super::*;
    use crate::compat::Compat;

    fn options(line: &str) -> Options {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words, &"0".parse().unwrap(), Compat::V2_6).unwrap()
    }

    #[test]
    fn a_time_is_in_the_bucket_of_its_microsecond() {
        let mut counts = Counts::new(&options("-b 5"), 0);
        counts.add_short(90);
        for nanos in [1_000, 1_999, 2_000, 4_999, 5_000, 9_000] {
            counts.add(Span::from_nanos(nanos));
        }
        assert_eq!(counts.buckets, [90, 2, 1, 0, 3]);
        assert_eq!((counts.longest(Span::ZERO), counts.upper(4)), (Span::from_nanos(9_000), 5));
        // 90·1 + 2·2 + 3 + 3·5, and what 6 and 10 exceed 5 by.
        assert!((counts.mean() - (90.0 + 4.0 + 3.0 + 15.0 + 1.0 + 5.0) / 96.0).abs() < 1e-12);
    }

    #[test]
    fn what_the_warm_up_took_at_least_is_taken_off() {
        let mut counts = Counts::new(&options("-b 5"), 2);
        [1_000, 2_000, 3_000].into_iter().for_each(|nanos| counts.add(Span::from_nanos(nanos)));
        assert_eq!(counts.buckets, [2, 1, 0, 0, 0]);
        assert_eq!(counts.upper(0), 3);
    }

    #[test]
    fn widths_may_be_of_nanoseconds() {
        let options = options("-W 100");
        assert_eq!(Counts::widths(&options, Span::from_nanos(20)), 1);
        assert_eq!(Counts::widths(&options, Span::from_nanos(250)), 3);
    }
}
