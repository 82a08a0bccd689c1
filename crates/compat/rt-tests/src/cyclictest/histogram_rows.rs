//! Histograms as text: rows, totals, what overflowed.

use crate::compat::Compat;
use crate::cyclictest::histogram::Histogram;
use crate::cyclictest::tally::Tally;

/// The whole text, from `# Histogram` to the empty line. `sum`: with a column for all threads.
pub(crate) fn text(tallies: &[Tally], sum: bool, compat: Compat) -> String {
    let threads: Vec<_> =
        tallies.iter().filter_map(|tally| Some((tally, tally.histogram.as_ref()?))).collect();
    let columns = Columns { sum: sum && (threads.len() > 1 || compat.sums_one_thread()) };
    let overall = sum && threads.len() > 1;
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
        put(&mut text, format_args!("# Total:{}\n", numbers(&with_sum(totals, overall), 9)));
    }
    let values = |value: fn(&Tally) -> i64| threads.iter().map(move |(tally, _)| value(tally));
    let max = values(|tally| tally.max);
    let overall_max = max.clone().max().filter(|_| overall);
    put(&mut text, format_args!("# Min Latencies:{}\n", numbers(&values(|tally| tally.min), 5)));
    put(&mut text, format_args!("# Avg Latencies:{}\n", numbers(&values(Tally::whole_mean), 5)));
    put(&mut text, format_args!("# Max Latencies:{}\n", numbers(&max.chain(overall_max), 5)));
    let overflows = threads.iter().map(|(_, histogram)| histogram.overflows);
    put(&mut text, format_args!("# Histogram Overflows:{}\n", numbers(&with_sum(overflows, overall), 5)));
    text.push_str("# Histogram Overflow at cycle number:\n");
    for (tally, histogram) in &threads {
        put(&mut text, format_args!("# Thread {}:{}\n", tally.thread, overflow_list(histogram, compat)));
    }
    let smis: Vec<u64> = tallies.iter().filter_map(|tally| tally.smis).collect();
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
        let all = self.sum.then(|| counts.iter().sum::<u64>());
        let cells: Vec<String> =
            counts.iter().copied().chain(all).map(|count| format!("{count:06}")).collect();
        cells.join("\t")
    }
}

fn with_sum(values: impl Iterator<Item = u64> + Clone, wanted: bool) -> impl Iterator<Item = u64> + Clone {
    let sum = wanted.then(|| values.clone().sum());
    values.chain(sum)
}

/// Each number behind a blank, with leading zeroes.
fn numbers<T: std::fmt::Display>(values: &(impl Iterator<Item = T> + Clone), width: usize) -> String {
    values.clone().fold(String::new(), |mut text, value| {
        put(&mut text, format_args!(" {value:0width$}"));
        text
    })
}

/// 2.10 and later leave a blank behind the colon, whether or not a number follows.
fn overflow_list(histogram: &Histogram, compat: Compat) -> String {
    let listed = numbers(&histogram.overflowed.iter(), 5);
    let others = histogram.overflows - histogram.overflowed.len() as u64;
    let others = if others > 0 { format!(" # {others:05} others") } else { String::new() };
    let text = format!("{listed}{others}");
    if text.is_empty() && compat >= Compat::V2_10 { " ".to_owned() } else { text }
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.push_str(&what.to_string());
}
