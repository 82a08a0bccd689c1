//! Calendar of incidents: a cell per hour of each day, or per minute or five minutes of each hour, by range.

use std::collections::BTreeMap;

use howlate_model::{Latency, Span, WaitMinute};
use howlate_render::IncidentReport;
use jiff::{SignedDuration, Timestamp, Zoned};
use maud::{Markup, html};

use crate::chart::{Matrix, MatrixCell, MatrixRow, Room, shade};

/// Ranges up to which a cell is a minute, or five minutes; above, an hour.
const MINUTES: SignedDuration = SignedDuration::from_hours(3);
const HOURS: SignedDuration = SignedDuration::from_hours(36);
/// Maximum rows, the latest.
const ROWS: usize = 92;

/// Duration of a cell.
#[derive(Clone, Copy)]
enum CellDuration {
    Minutes(i8),
    Hour,
}

/// Incidents within a cell.
#[derive(Default)]
struct IncidentCount {
    incidents: u64,
    longest: Span,
}

/// Row as a sort key, row name, column.
type CalendarPosition = (i64, String, usize);

/// `None` where nothing was recorded.
pub(super) fn calendar(incidents: &IncidentReport) -> Option<Markup> {
    let moments: Vec<(Timestamp, Span)> = incidents
        .recording
        .incidents
        .iter()
        .filter_map(|incident| Some((incident.at.parse().ok()?, incident.latency)))
        .collect();
    let minutes: Vec<Timestamp> = incidents.recording.minutes.iter().filter_map(middle).collect();
    let all = || moments.iter().map(|(at, _)| *at).chain(minutes.iter().copied());
    let step = CellDuration::for_range(all().max()?.duration_since(all().min()?));
    let mut cells: BTreeMap<(i64, usize), IncidentCount> = BTreeMap::new();
    let mut rows: BTreeMap<i64, String> = BTreeMap::new();
    for (at, latency) in
        minutes.iter().map(|at| (*at, None)).chain(moments.iter().map(|(at, of)| (*at, Some(*of))))
    {
        let (row, name, column) = step.place(&at.to_zoned(incidents.zone.clone()));
        rows.insert(row, name);
        let cell = cells.entry((row, column)).or_default();
        if let Some(latency) = latency {
            cell.incidents += 1;
            cell.longest = cell.longest.max(latency);
        }
    }
    let latest: Vec<(&i64, &String)> = rows.iter().rev().take(ROWS).collect();
    let calendar_rows: Vec<MatrixRow> =
        latest.into_iter().rev().map(|(row, name)| fields(step, (*row, name), &cells)).collect();
    Some(drawing(incidents, step, calendar_rows))
}

fn middle(minute: &WaitMinute) -> Option<Timestamp> {
    let half = minute.until.since(minute.from).as_nanos() / 2;
    let end: Timestamp = minute.at.parse().ok()?;
    end.checked_sub(SignedDuration::from_nanos(i64::try_from(half).ok()?)).ok()
}

impl CellDuration {
    fn for_range(range: SignedDuration) -> Self {
        match range {
            short if short <= MINUTES => Self::Minutes(1),
            day if day <= HOURS => Self::Minutes(5),
            _ => Self::Hour,
        }
    }

    fn place(self, at: &Zoned) -> CalendarPosition {
        let second = at.timestamp().as_second();
        match self {
            Self::Minutes(step) => {
                let within = i64::from(at.minute()) * 60 + i64::from(at.second());
                (second - within, at.strftime("%m-%d %H h").to_string(), column(at.minute() / step))
            }
            // Days may have 23 or 25 hours, so that rows are dates.
            Self::Hour => (
                i64::from(at.date().to_string().replace('-', "").parse::<i32>().unwrap_or(0)),
                at.strftime("%a %m-%d").to_string(),
                column(at.hour()),
            ),
        }
    }

    fn columns(self) -> usize {
        match self {
            Self::Minutes(step) => column(60 / step),
            Self::Hour => 24,
        }
    }

    /// Heading of a column; narrow columns have one every few.
    fn heading(self, number: usize) -> String {
        match self {
            Self::Minutes(1) if !number.is_multiple_of(5) => String::new(),
            Self::Minutes(1) => format!("{number:02}"),
            Self::Minutes(step) => format!("{:02}", number * usize::try_from(step).unwrap_or(1)),
            Self::Hour if !number.is_multiple_of(3) => String::new(),
            Self::Hour => format!("{number:02}"),
        }
    }

    fn cell_name(self, row: &str, number: usize) -> String {
        match self {
            Self::Minutes(step) => {
                format!("{}:{:02}", row.trim_end_matches(" h"), number * usize::try_from(step).unwrap_or(1))
            }
            Self::Hour => format!("{row} {number:02} h"),
        }
    }
}

fn column(number: i8) -> usize {
    usize::try_from(number).unwrap_or(0)
}

fn fields(
    step: CellDuration,
    (row, name): (i64, &String),
    cells: &BTreeMap<(i64, usize), IncidentCount>,
) -> MatrixRow {
    let most = cells.values().map(|cell| cell.incidents).max().unwrap_or(0);
    let field = |number: usize| {
        let place = step.cell_name(name, number);
        Some(match cells.get(&(row, number)) {
            None => field("gap", String::new(), format!("{place}: nothing recorded")),
            Some(IncidentCount { incidents: 0, .. }) => {
                field(shade(0), String::new(), format!("{place}: no wait was late"))
            }
            Some(cell) => counted_cell(cell, most, &place),
        })
    };
    MatrixRow { name: name.clone(), cells: (0..step.columns()).map(field).collect() }
}

fn counted_cell(cell: &IncidentCount, most: u64, place: &str) -> MatrixCell {
    let incidents =
        if cell.incidents == 1 { "1 incident".to_owned() } else { format!("{} incidents", cell.incidents) };
    let tooltip = format!("{place}: {incidents}, the longest {}", Latency::from_span(cell.longest));
    field(shade(strength(cell.incidents, most)), cell.incidents.to_string(), tooltip)
}

/// Shade by the logarithm of the number of incidents, `most` being the darkest.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place is 0 to 1")]
fn strength(incidents: u64, most: u64) -> usize {
    let place = if most > 1 { (incidents as f64).ln() / (most as f64).ln() } else { 1.0 };
    2 + (place * 2.0).round() as usize
}

const fn field(shade: &'static str, label: String, tooltip: String) -> MatrixCell {
    MatrixCell { shade, label, tooltip, is_marked: false }
}

fn drawing(incidents: &IncidentReport, step: CellDuration, rows: Vec<MatrixRow>) -> Markup {
    let (across, down, unit) = match step {
        CellDuration::Minutes(1) => ("minute", "hour", "A field is a minute"),
        CellDuration::Minutes(_) => ("minute", "hour", "A field is five minutes"),
        CellDuration::Hour => ("hour", "day", "A field is an hour"),
    };
    let columns = (0..step.columns()).map(|number| step.heading(number)).collect();
    let matrix = Matrix {
        across: across.to_owned(),
        down: down.to_owned(),
        columns,
        rows,
        is_dense: true,
        ..Matrix::default()
    };
    let name = "When incidents happened";
    html! {
        figure id="calendar" {
            figcaption {
                p class="quiet" {
                    (unit) ": the stronger its colour, the more incidents; dashed: nothing was recorded."
                    @if incidents.not_kept() > 0 { " Counted are those that were kept: " (incidents.counted()) "." }
                }
            }
            div class="panels" { div class="panel" {
                p class="tip" role="status" {}
                (matrix.svg(Room::Wide, name))
                (matrix.svg(Room::Narrow, name))
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn fields_are_as_large_as_the_range_asks_for() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap().to_zoned(TimeZone::UTC);
        let place = |hours: i64, text: &str| {
            let (_, row, column) =
                CellDuration::for_range(SignedDuration::from_hours(hours)).place(&at(text));
            (row, column)
        };
        assert_eq!(place(1, "2026-11-25T03:12:59Z"), ("11-25 03 h".to_owned(), 12));
        assert_eq!(place(24, "2026-11-25T03:12:59Z"), ("11-25 03 h".to_owned(), 2));
        assert_eq!(place(100, "2026-11-25T03:12:59Z"), ("Wed 11-25".to_owned(), 3));
    }

    #[test]
    fn the_more_the_stronger() {
        assert_eq!((strength(1, 1), strength(1, 9), strength(3, 9), strength(9, 9)), (4, 2, 3, 4));
    }
}
