//! What one row is made of: its latencies along the time, how many were how late, and who took the time.

use howlate_analyse::{Columns, Slice, Together};
use howlate_model::Finding;
use howlate_render::CauseTable;

use crate::screenful::{Bucket, Cell, Column, Grid, Histogram, History, Moment, Row};

/// Its blocks in the order in which they were measured, one after the other: turns of other conditions in between are left out.
pub(super) fn history(row: &Together<'_>) -> History {
    let mut slices: Vec<&Slice> = row.outcomes().flat_map(|one| one.timeline().slices()).collect();
    slices.sort_by_key(|slice| slice.from);
    History { moments: side_by_side(&slices).iter().map(|one| moment(one)).collect() }
}

/// Blocks of threads that ran side by side belong to one moment.
fn side_by_side<'a>(slices: &[&'a Slice]) -> Vec<Vec<&'a Slice>> {
    let mut moments: Vec<Vec<&Slice>> = Vec::new();
    for slice in slices {
        match moments.last_mut() {
            // One that begins before the first half of another is over runs beside it.
            Some(last) if is_beside(last[0], slice) => last.push(slice),
            _ => moments.push(vec![slice]),
        }
    }
    moments
}

fn is_beside(first: &Slice, slice: &Slice) -> bool {
    let half = first.until.since(first.from).as_nanos() / 2;
    slice.from.since(first.from).as_nanos() < half
}

fn moment(slices: &[&Slice]) -> Moment {
    let mut columns = Columns::default();
    slices.iter().for_each(|slice| columns.merge(&slice.columns));
    let max = slices.iter().map(|slice| slice.max).max().unwrap_or(0);
    let max = u64::try_from(max).unwrap_or(0);
    let first = slices[0];
    Moment {
        lasts: first.until.since(first.from),
        values: Some([p99(&columns).min(max), max]),
        missed: slices.iter().map(|slice| slice.missed_periods).sum(),
        counts: columns.iter().map(|column| (column.from, column.count)).collect(),
    }
}

/// 99 % are at most this, to the width of a column, which is an eighth of a doubling: enough for a picture.
fn p99(columns: &Columns) -> u64 {
    let beyond = columns.count() / 100;
    let mut left = columns.count();
    let reached = columns.iter().find(|column| {
        left -= column.count;
        left <= beyond
    });
    reached.map_or(0, |column| u64::midpoint(column.from, column.until))
}

/// Every planned wake-up.
pub(super) fn histogram(row: &Together<'_>) -> Histogram {
    let columns = Columns::from_distribution(&row.planned());
    let bucket = |column: howlate_analyse::Column| Bucket {
        from: column.from,
        until: column.until,
        count: column.count,
    };
    Histogram { buckets: columns.iter().map(bucket).collect() }
}

/// Who made its late wake-ups late: the ledger as the result has it.
pub(super) fn causes(row: Option<&Together<'_>>, findings: &[Finding]) -> Grid {
    let columns = vec![
        Column::growing("cause", 16),
        Column::number("share", 7, 0),
        Column::number("wake-ups", 8, 2),
        Column::number("largest", 8, 1),
    ];
    let why = row.and_then(|row| Some((row.why_late(None)?, row.first().policy_in_force())));
    let Some((why, policy)) = why else {
        let nothing = "Its turns that are traced come later.".to_owned();
        return Grid { title: "causes".to_owned(), columns, rows: Vec::new(), nothing };
    };
    let causes = CauseTable::new(&why, policy, findings);
    let row = |(number, cause): (u64, &howlate_render::CauseRow<'_>)| Row {
        key: number,
        cells: cause.cells().map(Cell::text).into(),
        ..Row::default()
    };
    let title = format!("causes of the {} slowest", howlate_render::numbers::count(why.late.count));
    let rows = (0..).zip(&causes.rows).map(row).collect();
    Grid { title, columns, rows, nothing: "No late wake-up has been traced yet.".to_owned() }
}
