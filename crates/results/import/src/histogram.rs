//! Histograms of other programs, counted into a distribution, and held against what their files say of themselves.

use howlate_model::{Claim, Distribution, HistogramEnd, ImportNote, Latency, MOST_COUNTED, Span};

use crate::error::ImportError;

/// A linear histogram of one thread: values in some unit, with their counts.
pub(crate) struct Linear {
    program: &'static str,
    /// Nanoseconds of one unit.
    unit: u64,
    /// Units in one bucket.
    width: u64,
    label: BucketLabel,
    all: Distribution,
    /// The first and the last row that is not empty, which are counted once it is known where in them the extremes lie.
    first: Option<(u64, u64)>,
    last: Option<(u64, u64)>,
    /// The end of the last bucket that stands in the file, in units.
    edge: u64,
    /// Where the first bucket begins that does not stand in the file, between those that do.
    gap: Option<u64>,
    /// Where its buckets end, in units, and where that is known from.
    reach: Option<(u64, HistogramEnd)>,
    findings: Findings,
}

/// A bucket of a microsecond is what its program prints as a value.
const WHOLE: u64 = 1_000;

/// Which end of its bucket a row is labelled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BucketLabel {
    /// `10` is from 10 on.
    Start,
    /// `10` is up to 10.
    End,
}

/// What a file says of one histogram beside its rows; in units.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Claims {
    /// How many values its rows have.
    pub(crate) rows: Option<u64>,
    /// How many values there are, with those beyond the rows.
    pub(crate) total: Option<u64>,
    /// How many are beyond the rows; if it is not said, what the rows lack of the total.
    pub(crate) beyond: Option<u64>,
    pub(crate) min: Option<u64>,
    pub(crate) mean: Option<f64>,
    pub(crate) max: Option<u64>,
}

/// What was found of one histogram, to be said in notes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    overflow: Overflow,
    /// Values without a row, and where the rows leave room, in nanoseconds.
    missing: Option<(u64, u64)>,
    /// What is said, with its value in the file and in the rows.
    disagreements: Vec<(Claim, u64, u64)>,
}

/// How many values were larger than every bucket.
#[derive(Clone, Copy, Debug, Default)]
struct Overflow {
    count: u64,
    /// Where the buckets end, in nanoseconds.
    from: Option<u64>,
    end: HistogramEnd,
}

impl Overflow {
    /// That of two histograms: what is least sure of any is so of all.
    fn join(self, other: Self) -> Self {
        match (self.count, other.count) {
            (0, _) => other,
            (_, 0) => self,
            _ => Self {
                count: self.count.saturating_add(other.count),
                from: self.from.into_iter().chain(other.from).min(),
                end: self.end.max(other.end),
            },
        }
    }

    /// What is said of it; nothing where nothing overflowed.
    fn note(self) -> Option<ImportNote> {
        let Self { count, from, end } = self;
        let from = from.map(Span::from_nanos);
        (count > 0).then_some(ImportNote::BeyondTheLastBucket { count, from, end })
    }
}

impl Findings {
    /// What is said of several histograms: each thing once.
    pub(crate) fn notes<'a>(all: impl IntoIterator<Item = &'a Self>) -> Vec<ImportNote> {
        let (mut overflow, mut missing) = (Overflow::default(), None);
        let mut disagreements: Vec<(Claim, usize, u64, u64)> = Vec::new();
        for item in all {
            overflow = overflow.join(item.overflow);
            missing = missing
                .into_iter()
                .chain(item.missing)
                .reduce(|(count, from): (u64, u64), more| (count.saturating_add(more.0), from.min(more.1)));
            for (claim, says, rows) in &item.disagreements {
                match disagreements.iter_mut().find(|entry| entry.0 == *claim) {
                    Some(entry) => entry.1 = entry.1.saturating_add(1),
                    None => disagreements.push((*claim, 1, *says, *rows)),
                }
            }
        }
        let disagrees = |(claim, threads, says, rows)| ImportNote::Disagrees { claim, threads, says, rows };
        let mut notes: Vec<ImportNote> = disagreements.into_iter().map(disagrees).collect();
        notes.extend(
            missing.map(|(count, from)| ImportNote::RowsMissing { count, from: Span::from_nanos(from) }),
        );
        notes.extend(overflow.note());
        notes
    }

    pub(crate) fn disagree(&mut self, claim: Claim, says: u64, rows: u64) {
        self.disagreements.push((claim, says, rows));
    }
}

impl Linear {
    /// Empty, as `program` fills it; `unit` is nanoseconds, and each bucket is one unit wide.
    pub(crate) fn new(program: &'static str, unit: u64) -> Self {
        Self {
            program,
            unit,
            width: 1,
            label: BucketLabel::Start,
            all: Distribution::default(),
            first: None,
            last: None,
            edge: 0,
            gap: None,
            reach: None,
            findings: Findings::default(),
        }
    }

    /// A histogram whose buckets are labelled with their ends.
    pub(crate) fn labelled(self, label: BucketLabel) -> Self {
        Self { label, ..self }
    }

    /// Says how many units wide each bucket is.
    pub(crate) fn set_width(&mut self, width: u64) {
        self.width = width.max(1);
    }

    /// How many values are in its buckets.
    pub(crate) fn counted(&self) -> u64 {
        let pending = self.first.iter().chain(&self.last).map(|row| row.1).fold(0, u64::saturating_add);
        self.all.count().saturating_add(pending)
    }

    /// The first row that is not empty, and the last.
    pub(crate) fn ends(&self) -> Option<(u64, u64)> {
        let first = self.first?.0;
        Some((first, self.last.map_or(first, |last| last.0)))
    }

    /// A bucket as it is printed; they ascend.
    pub(crate) fn add(&mut self, value: u64, count: u64) -> Result<(), ImportError> {
        if self.edge > 0 && value > self.edge && self.label == BucketLabel::Start {
            self.gap.get_or_insert(self.edge);
        }
        self.edge = match self.label {
            BucketLabel::Start => value.saturating_add(1),
            BucketLabel::End => value,
        };
        if count == 0 {
            return Ok(());
        }
        match self.first {
            None => self.first = Some((value, count)),
            Some(_) => {
                if let Some((value, count)) = self.last.replace((value, count)) {
                    self.count(value, count)?;
                }
            }
        }
        // More than there can be is refused before it is all read.
        self.check(0)
    }

    pub(crate) fn add_all(
        &mut self,
        buckets: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<(), ImportError> {
        buckets.into_iter().try_for_each(|(value, count)| self.add(value, count))
    }

    /// Says up to where its buckets reach, in units, which the rows that stand in a file need not tell.
    pub(crate) const fn reaches(&mut self, end: u64, end_kind: HistogramEnd) {
        self.reach = Some((end, end_kind));
    }

    /// Holds the rows against what else the file says, and takes from that what they do not have: what was beyond the last
    /// bucket counts at its end, what has no row where the rows first leave room, the extremes as themselves.
    pub(crate) fn settle(&mut self, claims: &Claims) -> Result<(), ImportError> {
        if self.label == BucketLabel::Start && self.edge > 0 {
            self.edge = self.edge.saturating_add(self.width.saturating_sub(1));
        }
        let rows = self.counted();
        let beyond = self.beyond(claims, rows);
        let lacking = claims.rows.unwrap_or(0).saturating_sub(rows);
        let missing = lacking.max(claims.total.unwrap_or(0).saturating_sub(rows).saturating_sub(beyond));
        self.compare_counts(claims, rows, beyond);
        let (min, max) = self.extremes_without_row(claims, beyond);
        let missing = missing.max(u64::from(min.is_some()).saturating_add(u64::from(max.is_some())));
        self.count_ends(claims)?;
        self.count_overflow(beyond, claims.max)?;
        self.count_missing(missing, min, max)?;
        self.say_width();
        self.take_mean(claims.mean);
        Ok(())
    }

    /// How many values were beyond the last bucket: as it is said, or as far as the largest allows it.
    fn beyond(&self, claims: &Claims, rows: u64) -> u64 {
        let rest = claims.total.unwrap_or(0).saturating_sub(rows);
        let end = self.reach.map_or(self.edge, |(end, _)| end.max(self.edge));
        let is_below = claims.max.is_some_and(|max| max < end) && self.reach_can_be(claims.max);
        claims.beyond.unwrap_or(if is_below { 0 } else { rest })
    }

    fn compare_counts(&mut self, claims: &Claims, rows: u64, beyond: u64) {
        if let Some(says) = claims.rows.filter(|says| *says != rows) {
            self.findings.disagree(Claim::Total, says, rows);
        }
        let found = rows.saturating_add(beyond);
        if let Some(says) = claims.total.filter(|says| *says != found) {
            self.findings.disagree(Claim::Total, says, found);
        }
    }

    /// The smallest value and the largest that the file names where no row has them.
    fn extremes_without_row(&mut self, claims: &Claims, beyond: u64) -> (Option<u64>, Option<u64>) {
        let Some((first, last)) = self.ends() else { return (None, None) };
        let (smallest, largest) = (self.values_in(first), self.values_in(last));
        let nanos = |value: u64| value.saturating_mul(self.unit);
        let min = claims.min.filter(|min| !smallest.contains(min));
        let max = claims.max.filter(|max| !largest.contains(max) && (beyond == 0 || *max < *largest.start()));
        let found = [(Claim::Minimum, min, first), (Claim::Maximum, max, last)];
        for (claim, says, rows) in
            found.into_iter().filter_map(|(claim, says, rows)| Some((claim, says?, rows)))
        {
            let (says, rows) = (nanos(says), nanos(rows));
            self.findings.disagree(claim, says, rows);
        }
        (min.filter(|min| min < smallest.start()), max.filter(|max| max > largest.end()))
    }

    /// The values that count in a row.
    fn values_in(&self, label: u64) -> std::ops::RangeInclusive<u64> {
        let more = self.width.saturating_sub(1);
        match self.label {
            BucketLabel::Start => label..=label.saturating_add(more),
            // What is 0 counts in the first.
            BucketLabel::End if label <= self.width => 0..=label,
            BucketLabel::End => label.saturating_sub(more)..=label,
        }
    }

    /// Counts the first row and the last: the extremes as the file names them, where they lie in these.
    fn count_ends(&mut self, claims: &Claims) -> Result<(), ImportError> {
        let (first, last) = (self.first.take(), self.last.take());
        let Some((low, count)) = first else { return Ok(()) };
        let within = |claim: Option<u64>, label: u64| {
            claim.filter(|value| self.width > 1 && self.values_in(label).contains(value))
        };
        // What lies in the same bucket as an extreme is not beyond that.
        let min = within(claims.min, low);
        let Some((high, high_count)) = last else {
            let max = within(claims.max, low).filter(|_| count > 1);
            let label = low.max(min.unwrap_or(low)).min(max.unwrap_or(u64::MAX));
            return self.count_apart(label, count, min.into_iter().chain(max).collect());
        };
        let max = within(claims.max, high);
        self.count_apart(low.max(min.unwrap_or(low)), count, min.into_iter().collect())?;
        self.count_apart(high.min(max.unwrap_or(high)), high_count, max.into_iter().collect())
    }

    /// Counts some values of a row as themselves, and the others as its label.
    fn count_apart(&mut self, label: u64, count: u64, apart: Vec<u64>) -> Result<(), ImportError> {
        self.count(label, count.saturating_sub(apart.len() as u64))?;
        apart.into_iter().try_for_each(|value| self.count(value, 1))
    }

    fn reach_can_be(&self, max: Option<u64>) -> bool {
        self.reach.is_none_or(|(end, end_kind)| {
            end >= self.edge && (end_kind == HistogramEnd::Said || max.is_none_or(|max| max >= end))
        })
    }

    /// What was beyond the last bucket counts at its end; the largest, where it is known, as itself. Without [`Self::reaches`],
    /// or where that cannot be true, the last bucket that stands in the file is taken for the last.
    fn count_overflow(&mut self, count: u64, max: Option<u64>) -> Result<(), ImportError> {
        if count == 0 {
            return Ok(());
        }
        let can_be =
            |reach: &(u64, HistogramEnd)| reach.0 >= self.edge && max.is_none_or(|max| max >= reach.0);
        let (from, end) = self.reach.filter(can_be).unwrap_or((self.edge, HistogramEnd::Unknown));
        let largest = max.filter(|max| *max >= from);
        self.count(from, count.saturating_sub(u64::from(largest.is_some())))?;
        largest.map_or(Ok(()), |max| self.count(max, 1))?;
        let nanos = from.saturating_mul(self.unit);
        self.findings.overflow = Overflow { count, from: Some(nanos), end };
        self.clip(nanos);
        Ok(())
    }

    /// What has no row could be wherever rows are missing, and beyond them: from there on nothing is known but the extremes.
    fn count_missing(&mut self, count: u64, min: Option<u64>, max: Option<u64>) -> Result<(), ImportError> {
        if count == 0 {
            return Ok(());
        }
        let from = min.unwrap_or_else(|| self.gap.unwrap_or(self.edge));
        let apart: Vec<u64> = min.into_iter().chain(max).collect();
        self.count_apart(from, count.max(apart.len() as u64), apart)?;
        let nanos = from.saturating_mul(self.unit);
        self.findings.missing = Some((count, nanos));
        self.clip(nanos);
        Ok(())
    }

    fn clip(&mut self, nanos: u64) {
        self.all.clip(Latency::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX)));
    }

    /// Whole microseconds are taken as printed; of wider buckets it is known how wide they are.
    fn say_width(&mut self) {
        let width = Span::from_nanos(self.width.saturating_sub(1).saturating_mul(self.unit));
        match self.label {
            _ if self.width == 1 || self.width.saturating_mul(self.unit) == WHOLE => {}
            BucketLabel::Start => self.all.set_printed_width(Span::ZERO, width),
            BucketLabel::End => self.all.set_printed_width(width, Span::ZERO),
        }
    }

    /// The mean that the file has, in units: it knows what was beyond the last bucket, and where in wide ones values lie.
    #[allow(clippy::cast_possible_truncation, reason = "whole nanoseconds are enough of a sum")]
    fn take_mean(&mut self, units: Option<f64>) {
        let Some(sum) = units.map(|units| units * self.unit as f64 * self.all.count() as f64) else { return };
        if !sum.is_finite() {
            return;
        }
        match self.all.clipped() {
            Some(_) => self.all.set_clipped_sum(sum as i128),
            None if self.width > 1 => self.all.set_printed_sum(sum as i128),
            None => {}
        }
    }

    /// That nothing is known of what comes after the last row.
    pub(crate) fn cut_off(&mut self) {
        self.clip(self.edge.saturating_mul(self.unit));
    }

    pub(crate) const fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The largest value so far, in units.
    pub(crate) fn largest(&self) -> u64 {
        let nanos = self.all.max().map_or(0, |max| max.as_nanos().max(0).unsigned_abs());
        nanos.checked_div(self.unit).unwrap_or(nanos)
    }

    /// Counts as a value of its own what no row has.
    pub(crate) fn add_lost(&mut self, claim: Claim, value: u64) -> Result<(), ImportError> {
        let (says, rows) = (value.saturating_mul(self.unit), self.largest().saturating_mul(self.unit));
        self.findings.disagree(claim, says, rows);
        self.count_missing(1, None, Some(value))
    }

    fn count(&mut self, value: u64, count: u64) -> Result<(), ImportError> {
        let nanos = i64::try_from(value.saturating_mul(self.unit)).unwrap_or(i64::MAX);
        count_in(&mut self.all, self.program, nanos, count)
    }

    fn check(&self, more: u64) -> Result<(), ImportError> {
        check_count(self.program, self.counted().checked_add(more))
    }

    pub(crate) fn distribution(self) -> Distribution {
        self.all
    }
}

fn check_count(program: &'static str, count: Option<u64>) -> Result<(), ImportError> {
    if count.is_some_and(|count| count <= MOST_COUNTED) {
        return Ok(());
    }
    Err(ImportError::damaged(program, "it counts more values than any run can have"))
}

/// Counts `count` latencies of `nanos`, as printed, if `all` is not more then than there can be.
pub(crate) fn count_in(
    all: &mut Distribution,
    program: &'static str,
    nanos: i64,
    count: u64,
) -> Result<(), ImportError> {
    check_count(program, all.count().checked_add(count))?;
    if count > 0 {
        all.record_printed(Latency::from_nanos(nanos), count);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(rows: &[(u64, u64)], width: u64, claims: Claims) -> Linear {
        let mut item = Linear::new("a program", 1_000);
        item.set_width(width);
        item.add_all(rows.iter().copied()).unwrap();
        item.settle(&claims).unwrap();
        item
    }

    fn micros(latency: Option<Latency>) -> i64 {
        latency.unwrap().as_nanos() / 1_000
    }

    #[test]
    fn what_overflowed_is_counted_once_and_the_largest_is_known() {
        let claims = Claims { beyond: Some(2), max: Some(70), ..Claims::default() };
        let all = linear(&[(5, 3), (9, 1)], 1, claims).distribution();
        assert_eq!(all.count(), 6);
        assert_eq!(all.buckets().map(|bucket| bucket.count).collect::<Vec<_>>(), [3, 1, 1, 1]);
        assert_eq!(all.sum_nanos(), (3 * 5 + 9 + 10 + 70) * 1_000);
        assert_eq!(all.clipped(), Some(Latency::from_nanos(10_000)));
        let claims = Claims { beyond: Some(0), max: Some(5), ..Claims::default() };
        let within = linear(&[(5, 3)], 1, claims);
        assert!(Findings::notes([within.findings()]).is_empty());
        assert_eq!((within.all.count(), micros(within.all.max())), (3, 5));
    }

    #[test]
    fn a_limit_that_the_file_is_against_is_not_believed() {
        let of = |reach: u64, max: Option<u64>| {
            let mut item = Linear::new("a program", 1);
            item.add_all([(5, 3), (9, 1)]).unwrap();
            item.reaches(reach, HistogramEnd::Assumed);
            item.settle(&Claims { beyond: Some(2), max, ..Claims::default() }).unwrap();
            (item.findings.overflow.from, item.findings.overflow.end)
        };
        assert_eq!(of(256, Some(300)), (Some(256), HistogramEnd::Assumed));
        assert_eq!(of(256, None), (Some(256), HistogramEnd::Assumed));
        assert_eq!(of(256, Some(70)), (Some(10), HistogramEnd::Unknown), "the largest lies below the limit");
        assert_eq!(of(7, Some(70)), (Some(10), HistogramEnd::Unknown), "a bucket lies beyond it");
    }

    #[test]
    fn the_mean_of_a_file_counts_what_its_buckets_do_not_tell() {
        let mut item = Linear::new("a program", 1_000);
        item.add(20, 990).unwrap();
        item.reaches(400, HistogramEnd::Said);
        item.settle(&Claims { beyond: Some(10), max: Some(5_000), ..Claims::default() }).unwrap();
        assert_eq!(item.distribution().mean_nanos(), Some(28_400.0), "(990 × 20 + 9 × 400 + 5000) / 1000");
        let claims = Claims { beyond: Some(10), max: Some(5_000), mean: Some(60.0), ..Claims::default() };
        assert_eq!(linear(&[(20, 990)], 1, claims).distribution().mean_nanos(), Some(60_000.0));
    }

    #[test]
    fn rows_that_were_cut_out_are_missing_and_the_largest_is_still_the_files() {
        let claims =
            Claims { rows: Some(103), beyond: Some(0), max: Some(72), min: Some(5), ..Claims::default() };
        let item = linear(&[(5, 90), (6, 10)], 1, claims);
        let notes = Findings::notes([item.findings()]);
        assert!(
            notes.contains(&ImportNote::RowsMissing { count: 3, from: Span::from_micros(7) }),
            "{notes:?}"
        );
        let disagrees =
            ImportNote::Disagrees { claim: Claim::Maximum, threads: 1, says: 72_000, rows: 6_000 };
        assert!(notes.contains(&disagrees), "{notes:?}");
        let all = item.distribution();
        assert_eq!((all.count(), micros(all.max()), micros(all.clipped())), (103, 72, 7));
        assert_eq!([0.5, 0.99].map(|item| micros(all.quantile(item))), [5, 7]);
        // In the middle they may have been anywhere from the first one that is not there.
        let claims = Claims { rows: Some(103), max: Some(9), ..Claims::default() };
        let all = linear(&[(5, 50), (6, 10), (8, 30), (9, 10)], 1, claims).distribution();
        assert_eq!((all.count(), micros(all.max()), micros(all.clipped())), (103, 9, 7));
        assert_eq!([0.4, 0.9].map(|item| micros(all.quantile(item))), [5, 7]);
    }

    #[test]
    fn the_smallest_of_a_file_is_counted_where_its_row_was_cut_out() {
        let claims = Claims { min: Some(2), max: Some(6), ..Claims::default() };
        let item = linear(&[(5, 90), (6, 10)], 1, claims);
        assert!(item.findings().missing.is_some());
        let all = item.distribution();
        assert_eq!((all.count(), micros(all.min()), micros(all.clipped())), (101, 2, 2));
    }

    #[test]
    fn extremes_lie_where_in_a_wide_bucket_the_file_says() {
        let claims = Claims { min: Some(4), max: Some(27), mean: Some(15.0), ..Claims::default() };
        let all = linear(&[(0, 9), (10, 70), (20, 21)], 10, claims).distribution();
        assert_eq!((all.count(), micros(all.min()), micros(all.max())), (100, 4, 27));
        assert_eq!((micros(all.quantile(0.5)), all.mean_nanos()), (10, Some(15_000.0)));
        let bounds = all.quantile_bounds(0.5).unwrap();
        assert_eq!((micros(Some(bounds.0)), micros(Some(bounds.1))), (10, 19));
        let mut item = Linear::new("a program", 1).labelled(BucketLabel::End);
        item.set_width(500);
        item.add_all([(500, 90), (1_000, 10)]).unwrap();
        item.settle(&Claims { min: Some(31), max: Some(777), ..Claims::default() }).unwrap();
        assert!(Findings::notes([item.findings()]).is_empty());
        let all = item.distribution();
        assert_eq!((all.min(), all.max()), (Some(Latency::from_nanos(31)), Some(Latency::from_nanos(777))));
    }
}
