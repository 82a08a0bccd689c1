//! Details of one row: latencies over time, their distribution, and causes.

use howlate_analyse::{LatencyColumns, LoopOutcomes, TimeSlice};
use howlate_model::Finding;
use howlate_render::CauseTable;

use crate::screenful::{
    HistoryInterval, LatencyBucket, LatencyHistogram, LatencyHistory, LiveCell, LiveColumn, LiveTable,
    LiveTableRow,
};

/// Its blocks in the order of their measurement, without gaps for the turns of other conditions.
pub(super) fn history(row: &LoopOutcomes<'_>) -> LatencyHistory {
    let mut slices: Vec<&TimeSlice> =
        row.outcomes().flat_map(|outcome| outcome.timeline().slices()).collect();
    slices.sort_by_key(|slice| slice.from);
    LatencyHistory { intervals: group_parallel(&slices).iter().map(|slices| interval(slices)).collect() }
}

/// Blocks of threads that ran side by side are one interval.
fn group_parallel<'a>(slices: &[&'a TimeSlice]) -> Vec<Vec<&'a TimeSlice>> {
    let mut intervals: Vec<Vec<&TimeSlice>> = Vec::new();
    for slice in slices {
        match intervals.last_mut() {
            // Parallel: it begins within the first half of the other.
            Some(last) if is_parallel(last[0], slice) => last.push(slice),
            _ => intervals.push(vec![slice]),
        }
    }
    intervals
}

fn is_parallel(first: &TimeSlice, slice: &TimeSlice) -> bool {
    let half = first.until.since(first.from).as_nanos() / 2;
    slice.from.since(first.from).as_nanos() < half
}

fn interval(slices: &[&TimeSlice]) -> HistoryInterval {
    let mut columns = LatencyColumns::default();
    slices.iter().for_each(|slice| columns.merge(&slice.columns));
    let max = slices.iter().map(|slice| slice.max).max().unwrap_or(0);
    let max = u64::try_from(max).unwrap_or(0);
    let first = slices[0];
    HistoryInterval {
        length: first.until.since(first.from),
        values: Some([p99(&columns).min(max), max]),
        missed: slices.iter().map(|slice| slice.missed_periods).sum(),
        counts: columns.iter().map(|column| (column.from, column.count)).collect(),
    }
}

/// The 99th percentile to the width of a column, an eighth of a doubling: enough for a picture.
fn p99(columns: &LatencyColumns) -> u64 {
    let beyond = columns.count() / 100;
    let mut remaining = columns.count();
    let p99_column = columns.iter().find(|column| {
        remaining -= column.count;
        remaining <= beyond
    });
    p99_column.map_or(0, |column| u64::midpoint(column.from, column.until))
}

pub(super) fn histogram(row: &LoopOutcomes<'_>) -> LatencyHistogram {
    let columns = LatencyColumns::from_distribution(&row.planned());
    let bucket = |column: howlate_analyse::LatencyColumn| LatencyBucket {
        from: column.from,
        until: column.until,
        count: column.count,
    };
    LatencyHistogram { buckets: columns.iter().map(bucket).collect() }
}

/// The causes of its late wake-ups, as the result lists them.
pub(super) fn causes(row: Option<&LoopOutcomes<'_>>, findings: &[Finding]) -> LiveTable {
    let columns = vec![
        LiveColumn::growing("cause", 16),
        LiveColumn::number("share", 7, 0),
        LiveColumn::number("wake-ups", 8, 2),
        LiveColumn::number("largest", 8, 1),
    ];
    let late = row.and_then(|row| Some((row.why_late(None)?, row.first())));
    let Some((late, first)) = late else {
        let empty_text = "Its turns that are traced come later.".to_owned();
        return LiveTable { title: "causes".to_owned(), columns, rows: Vec::new(), empty_text };
    };
    let causes = CauseTable::new(&late, first.policy_in_force(), first.relevant_findings(findings));
    let row = |(number, cause): (u64, &howlate_render::CauseRow<'_>)| LiveTableRow {
        key: number,
        cells: cause.cells().map(LiveCell::text).into(),
        ..LiveTableRow::default()
    };
    let title = format!("causes of the {} slowest", howlate_render::numbers::count(late.late.count));
    let rows = (0..).zip(&causes.rows).map(row).collect();
    LiveTable { title, columns, rows, empty_text: "No late wake-up has been traced yet.".to_owned() }
}
