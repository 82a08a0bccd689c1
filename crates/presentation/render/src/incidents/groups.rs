//! How long the threads of each group waited, and how long requests to servers took: all of them, late or not.

use howlate_analyse::incidents::{GroupWaits, Grouping, requests_by_server, waits_by_group};
use howlate_analyse::percentile;
use jiff::Timestamp;

use super::IncidentReport;
use super::text::{list_limits, more, rows_with_room};
use super::wording::{bucketed, group_name};
use crate::detail::Detail;
use crate::numbers::count;
use crate::prose::wrapped;
use crate::style::{HEADING, paint};
use crate::table::TextTable;
use crate::untrusted_text::legible;
use crate::watch::omitted_answers;

impl IncidentReport {
    pub(super) fn all_groups(&self) -> Vec<GroupWaits> {
        waits_by_group(self.recording.minutes.iter().flat_map(|minute| &minute.groups), self.by, &self.users)
    }

    pub(super) fn groups(&self, detail: Detail, width: usize) -> String {
        let (all, rows) = (self.all_groups(), list_limits(detail).groups);
        if all.is_empty() {
            return String::new();
        }
        let headings = [self.by.name(), "waits", "late waits", "p50", "p99", "p99.9", "max"];
        let table = |rows| {
            let mut table = TextTable::new(&headings.map(str::to_owned), 1);
            all.iter()
                .take(rows)
                .for_each(|group| table.row(self.row(self.display_name(&group.name), group)));
            table
        };
        let (table, rows) = rows_with_room(rows, detail, width, table);
        let more = more(all.len().saturating_sub(rows), "with fewer late waits", detail);
        let heading = format!("How late all threads ran{}", self.counted_until());
        format!("{}\n{}{more}", paint(HEADING, heading), table.text(width))
    }

    /// Requests to servers, where they were measured.
    pub(super) fn requests(&self, detail: Detail, width: usize) -> String {
        let counts = self.recording.minutes.iter().flat_map(|minute| &minute.requests);
        let (all, omitted) = requests_by_server(counts);
        if all.is_empty() {
            return String::new();
        }
        let headings = ["server", "requests", "late", "p50", "p99", "p99.9", "max"];
        let table = |rows| {
            let mut table = TextTable::new(&headings.map(str::to_owned), 1);
            let name = |group: &GroupWaits| legible(&group.name).into_owned();
            all.iter().take(rows).for_each(|group| table.row(self.row(name(group), group)));
            table
        };
        let (table, rows) = rows_with_room(list_limits(detail).groups, detail, width, table);
        let more = more(all.len().saturating_sub(rows), "with fewer late requests", detail);
        let omitted = omitted_answers(&omitted)
            .map_or_else(String::new, |omitted| format!("  {}\n", wrapped(&omitted, width, 2)));
        let heading = format!("How long requests took{}", self.counted_until());
        format!("{}\n{}{more}{omitted}", paint(HEADING, heading), table.text(width))
    }

    fn row(&self, name: String, group: &GroupWaits) -> Vec<String> {
        let quantile = |quantile| percentile(&group.waits, quantile).map_or_else(|| "–".to_owned(), bucketed);
        let max = group.waits.max().map_or_else(String::new, |max| max.to_string());
        let (waits, late) = (count(group.waits.count()), count(group.late));
        vec![name, waits, late, quantile(0.5), quantile(0.99), quantile(0.999), max]
    }

    /// Name of a group as text.
    pub fn display_name(&self, name: &str) -> String {
        if self.by == Grouping::Cgroup { group_name(name) } else { legible(name).into_owned() }
    }

    /// Incidents are written at once, counts after each minute: the counts may end earlier.
    pub(super) fn counted_until(&self) -> String {
        let counted = self.recording.minutes.iter().rfind(|minute| !minute.groups.is_empty());
        let until = counted.and_then(|minute| minute.at.parse::<Timestamp>().ok());
        until.map_or_else(String::new, |at| {
            format!(", counted up to {}", at.to_zoned(self.zone.clone()).strftime("%H:%M:%S"))
        })
    }
}
