//! The longest gaps one by one, and how long all of them were.

use howlate_analyse::gaps::{CpuGaps, ExplainedGap};
use howlate_model::{Latency, MonotonicTime, Span};

use super::GapsReport;
use super::wording::cause;
use crate::detail::Detail;
use crate::numbers::{count, length};
use crate::prose::wrapped;
use crate::style::{HEADING, paint};

/// Most gaps listed in brief and in full.
const BRIEF: usize = 3;
const FULL: usize = 10;
/// Width of the longest bar.
const BAR: usize = 40;
/// Most parts of a gap that are listed.
const PARTS: usize = 2;

impl GapsReport {
    /// The longest gaps of all CPUs.
    pub(super) fn longest(&self, detail: Detail, width: usize) -> String {
        let mut all: Vec<&ExplainedGap> = self.run.cpus.iter().flat_map(|cpu| &cpu.worst).collect();
        all.sort_by_key(|explained| std::cmp::Reverse(explained.gap.length));
        if all.is_empty() {
            return String::new();
        }
        let line = |explained: &&ExplainedGap| {
            let (length, cpu, at) =
                (Latency::from_span(explained.gap.length), explained.gap.cpu, self.clock(explained.gap.from));
            let parts = if self.is_traced() { format!(": {}", self.parts(explained)) } else { String::new() };
            format!("{}\n", wrapped(&format!("  {length} on CPU {cpu} at {at}{parts}"), width, 4))
        };
        let lines: String =
            all.iter().take(if detail == Detail::Full { FULL } else { BRIEF }).map(line).collect();
        format!("{}\n{lines}\n", paint(HEADING, "The longest gaps:"))
    }

    fn clock(&self, at: MonotonicTime) -> String {
        self.when(at).to_zoned(self.zone.clone()).strftime("%H:%M:%S%.6f").to_string()
    }

    fn parts(&self, gap: &ExplainedGap) -> String {
        let part = |part: &howlate_analyse::gaps::GapPart| match gap.parts.len() {
            1 => cause(&part.cause, self.is_guest),
            _ => format!("{} {}", Latency::from_span(part.length), cause(&part.cause, self.is_guest)),
        };
        let parts: Vec<String> = gap.parts.iter().take(PARTS).map(part).collect();
        parts.join(", ")
    }

    /// Histogram of the gaps of all CPUs.
    pub(super) fn lengths(&self) -> String {
        let rows = ranges(self.run.above, &self.run.cpus);
        let most = rows.iter().map(|(.., gaps)| *gaps).max().unwrap_or(0);
        if most == 0 {
            return String::new();
        }
        let names: Vec<String> = rows.iter().map(|(from, _)| length(*from)).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let counts: Vec<String> = rows.iter().map(|(.., gaps)| count(*gaps)).collect();
        let digits = counts.iter().map(|count| count.chars().count()).max().unwrap_or(0);
        let line = |((name, count), (_, gaps)): ((&String, &String), &(Span, u64))| {
            let bar = "▇".repeat(bar(*gaps, most));
            format!("  from {name:>widest$}  {count:>digits$}  {bar}").trim_end().to_owned() + "\n"
        };
        let lines: String = names.iter().zip(&counts).zip(&rows).map(line).collect();
        format!("{}\n{lines}\n", paint(HEADING, "How long they were (bars: logarithmic):"))
    }
}

/// Width of a bar, on a logarithmic scale, so that a single gap is visible.
fn bar(gaps: u64, most: u64) -> usize {
    let digits = |count: u64| count.checked_ilog2().map_or(0, |digits| digits as usize + 1);
    (BAR * digits(gaps)).div_ceil(digits(most).max(1))
}

/// Lower edges and counts of the ranges 1, 2, 5, 10, … µs above the threshold, up to the longest gap.
fn ranges(above: Span, cpus: &[CpuGaps]) -> Vec<(Span, u64)> {
    let buckets = || cpus.iter().flat_map(|cpu| cpu.histogram.buckets());
    let longest = buckets().map(|bucket| bucket.lowest).max().unwrap_or(0);
    let above = above.as_nanos();
    let decades = (0..14).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let from = decades.filter(|from| *from > above && *from <= longest);
    let edges: Vec<u64> = std::iter::once(above).chain(from).collect();
    let row = |(place, from): (usize, &u64)| {
        // The bucket that contains the threshold counts in the first range.
        let lowest = if place == 0 { 0 } else { *from };
        let until = edges.get(place + 1).copied().unwrap_or(u64::MAX);
        let within = buckets().filter(|bucket| (lowest..until).contains(&bucket.lowest));
        (Span::from_nanos(*from), within.map(|bucket| bucket.count).sum())
    };
    edges.iter().enumerate().map(row).collect()
}
