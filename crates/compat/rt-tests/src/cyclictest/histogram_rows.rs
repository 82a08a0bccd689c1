//! Text of `-h` and `-H`: histogram rows, totals, overflows.

use crate::compat::Compat;
use crate::cyclictest::stats::{Histogram, ThreadStats};

/// From `# Histogram` to the empty line. `sum`: with a column for the sum of all threads.
pub(crate) fn text(thread_stats: &[ThreadStats], sum: bool, compat: Compat) -> String {
    let threads: Vec<_> =
        thread_stats.iter().filter_map(|stats| Some((stats, stats.histogram.as_ref()?))).collect();
    let columns = Columns { sum: sum && (threads.len() > 1 || compat.sums_one_thread()) };
    let totals_all_threads = sum && threads.len() > 1;
    let mut text = "# Histogram\n".to_owned();
    let buckets = threads.iter().map(|(_, histogram)| histogram.buckets.len()).max().unwrap_or(0);
    for bucket in 0..buckets {
        let counts: Vec<u64> = threads.iter().map(|(_, histogram)| histogram.buckets[bucket]).collect();
        if compat.prints_empty_rows() || counts.iter().any(|count| *count > 0) {
            put(&mut text, format_args!("{bucket:06} {}\n", columns.row(&counts)));
        }
    }
    if compat.prints_totals() {
        let totals = threads.iter().map(|(_, histogram)| histogram.total());
        put(&mut text, format_args!("# Total:{}\n", numbers(&with_sum(totals, totals_all_threads), 9)));
    }
    let values = |value: fn(&ThreadStats) -> i64| threads.iter().map(move |(stats, _)| value(stats));
    let max = values(|stats| stats.max);
    let overall_max = max.clone().max().filter(|_| totals_all_threads);
    put(&mut text, format_args!("# Min Latencies:{}\n", numbers(&values(|stats| stats.min), 5)));
    put(&mut text, format_args!("# Avg Latencies:{}\n", numbers(&values(ThreadStats::whole_mean), 5)));
    put(&mut text, format_args!("# Max Latencies:{}\n", numbers(&max.chain(overall_max), 5)));
    let overflows = threads.iter().map(|(_, histogram)| histogram.overflows);
    put(
        &mut text,
        format_args!("# Histogram Overflows:{}\n", numbers(&with_sum(overflows, totals_all_threads), 5)),
    );
    text.push_str("# Histogram Overflow at cycle number:\n");
    for (stats, histogram) in &threads {
        put(&mut text, format_args!("# Thread {}:{}\n", stats.thread, overflow_list(histogram, compat)));
    }
    let smis: Vec<u64> = thread_stats.iter().filter_map(|stats| stats.smis).collect();
    if !smis.is_empty() {
        put(&mut text, format_args!("# SMIs:{}\n", numbers(&smis.into_iter(), 5)));
    }
    text.push('\n');
    text
}

struct Columns {
    sum: bool,
}

impl Columns {
    fn row(&self, counts: &[u64]) -> String {
        let total = self.sum.then(|| counts.iter().sum::<u64>());
        let cells: Vec<String> =
            counts.iter().copied().chain(total).map(|count| format!("{count:06}")).collect();
        cells.join("\t")
    }
}

/// Appends the sum of `values` if `has_sum`.
fn with_sum(values: impl Iterator<Item = u64> + Clone, has_sum: bool) -> impl Iterator<Item = u64> + Clone {
    let sum = has_sum.then(|| values.clone().sum());
    values.chain(sum)
}

/// Numbers with leading zeroes, each after a blank.
fn numbers<T: std::fmt::Display>(values: &(impl Iterator<Item = T> + Clone), width: usize) -> String {
    values.clone().fold(String::new(), |mut text, value| {
        put(&mut text, format_args!(" {value:0width$}"));
        text
    })
}

/// Cycles of the overflows. 2.10 and later write a blank after the colon even if the list is empty.
fn overflow_list(histogram: &Histogram, compat: Compat) -> String {
    let cycles = numbers(&histogram.overflow_cycles.iter(), 5);
    let unlisted = histogram.overflows - histogram.overflow_cycles.len() as u64;
    let unlisted = if unlisted > 0 { format!(" # {unlisted:05} others") } else { String::new() };
    let text = format!("{cycles}{unlisted}");
    if text.is_empty() && compat >= Compat::V2_10 { " ".to_owned() } else { text }
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.push_str(&line.to_string());
}
