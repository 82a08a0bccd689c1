//! How long the threads of each group waited: all waits, late or not.

use howlate_analyse::incidents::{GroupWaits, Grouping, waits_by_group};
use howlate_analyse::percentile;
use jiff::Timestamp;

use super::Incidents;
use super::text::{listed, more, rows_with_room};
use super::words::{bucketed, group_name};
use crate::detail::Detail;
use crate::numbers::count;
use crate::style::{HEADING, paint};
use crate::table::Columns;
use crate::untrusted_text::legible;

impl Incidents {
    pub(super) fn all_groups(&self) -> Vec<GroupWaits> {
        waits_by_group(self.kept.minutes.iter().flat_map(|minute| &minute.groups), self.by, &self.users)
    }

    pub(super) fn groups(&self, detail: Detail, width: usize) -> String {
        let (all, rows) = (self.all_groups(), listed(detail).groups);
        if all.is_empty() {
            return String::new();
        }
        let headings = [self.by.name(), "waits", "late waits", "p50", "p99", "p99.9", "max"];
        let of = |rows| {
            let mut table = Columns::new(&headings.map(str::to_owned), 1);
            all.iter().take(rows).for_each(|one| table.row(self.group(one)));
            table
        };
        let (table, rows) = rows_with_room(rows, detail, width, of);
        let more = more(all.len().saturating_sub(rows), "with fewer late waits", detail);
        let heading = format!("How late all threads ran{}", self.counted_until());
        format!("{}\n{}{more}", paint(HEADING, heading), table.text(width))
    }

    fn group(&self, one: &GroupWaits) -> Vec<String> {
        let quantile = |quantile| percentile(&one.waits, quantile).map_or_else(|| "–".to_owned(), bucketed);
        let max = one.waits.max().map_or_else(String::new, |max| max.to_string());
        let (waits, late) = (count(one.waits.count()), count(one.late));
        vec![self.shown(&one.name), waits, late, quantile(0.5), quantile(0.99), quantile(0.999), max]
    }

    /// What a group is called, for people.
    pub fn shown(&self, name: &str) -> String {
        if self.by == Grouping::Cgroup { group_name(name) } else { legible(name).into_owned() }
    }

    /// Incidents are written at once, counts when their minute is over: the two may not be of the same time.
    pub(super) fn counted_until(&self) -> String {
        let counted = self.kept.minutes.iter().rfind(|minute| !minute.groups.is_empty());
        let until = counted.and_then(|minute| minute.at.parse::<Timestamp>().ok());
        until.map_or_else(String::new, |at| {
            format!(", counted up to {}", at.to_zoned(self.zone.clone()).strftime("%H:%M:%S"))
        })
    }
}
