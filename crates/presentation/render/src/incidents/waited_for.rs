//! Who waited for whom, from what was recorded.

use std::collections::{BTreeMap, BTreeSet};

use howlate_analyse::incidents::{GroupWaits, VictimWaits, waits_by_victim};
use howlate_analyse::percentile;

use super::Incidents;
use super::text::{more, rows_with_room};
use super::words::{bucketed, late_above, named, span};
use crate::detail::Detail;
use crate::numbers::count;
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, paint};
use crate::table::Columns;

/// Rows on a screen and at most, and how many whom each waited for are named, where there is room for them.
const BRIEF: usize = 12;
const FULL: usize = 20;
const NAMED: [usize; 2] = [2, 1];

impl Incidents {
    /// Who waited for whom; or, by culprit, who held up others.
    pub fn top(&self, by_culprit: bool, detail: Detail, width: usize) -> String {
        let rows = if detail == Detail::Full { FULL } else { BRIEF };
        let parts = [
            format!("{}\n", paint(HEADING, wrapped(&self.title(), width, 0))),
            self.notes(width),
            if by_culprit {
                self.culprits(rows, detail, width)
            } else {
                self.who_for_whom(rows, detail, width)
            },
            format!("{}\n", paint(DIM, wrapped(&format!("  {}", self.not_known()), width, 2))),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn who_for_whom(&self, rows: usize, detail: Detail, width: usize) -> String {
        let all = self.all_groups();
        let held = waits_by_victim(self.kept.incidents.iter(), self.by, &self.users);
        if held.is_empty() && all.is_empty() {
            return format!("{}\n", self.nothing());
        }
        let table = |rows| {
            let [long, short] = NAMED.map(|named| self.table(&held, &all, rows, named));
            if long.stands_side_by_side(width) { long } else { short }
        };
        let (table, rows) = rows_with_room(rows, detail, width, table);
        let are_held: BTreeSet<&str> = held.iter().map(|one| one.victim.as_str()).collect();
        let others = all.iter().filter(|one| !are_held.contains(one.name.as_str())).count();
        let more = more((held.len() + others).saturating_sub(rows), "that waited less", detail);
        let heading = format!("Who waited for whom{}", self.counted_until());
        format!("{}\n{}{more}", paint(HEADING, heading), table.text(width))
    }

    /// A row for each that was late, then for the others.
    fn table(&self, held: &[VictimWaits], all: &[GroupWaits], rows: usize, named: usize) -> Columns {
        let mut waits: BTreeMap<&str, &GroupWaits> = all.iter().map(|one| (one.name.as_str(), one)).collect();
        let headings = [self.by.name(), "waits", "p99", "max", "kept", "in all", "mainly for"];
        let mut table = Columns::new(&headings.map(str::to_owned), 1);
        table.left(6);
        for (place, one) in held.iter().enumerate() {
            let waits = waits.remove(one.victim.as_str());
            if place < rows {
                table.row(row(&self.shown(&one.victim), waits, Some((one, named))));
            }
        }
        let room = rows.saturating_sub(held.len());
        let others = all.iter().filter(|one| waits.contains_key(one.name.as_str()));
        others.take(room).for_each(|one| table.row(row(&self.shown(&one.name), Some(one), None)));
        table
    }

    /// What was not recorded one by one.
    fn not_known(&self) -> String {
        let short = self.late_above.map_or_else(
            || "Waits that were not late are".to_owned(),
            |above| format!("Waits of up to {} are", late_above(above)),
        );
        format!(
            "kept: late waits that are recorded one by one. {short} only counted, by group and whole minute: how many and how long they were is known, whom they were for is not."
        )
    }
}

fn row(name: &str, waits: Option<&GroupWaits>, held: Option<(&VictimWaits, usize)>) -> Vec<String> {
    let unknown = || "–".to_owned();
    let waits_of = |told: fn(&GroupWaits) -> String| waits.map_or_else(unknown, told);
    vec![
        name.to_owned(),
        waits_of(|one| count(one.waits.count())),
        waits_of(|one| percentile(&one.waits, 0.99).map_or_else(|| "–".to_owned(), bucketed)),
        waits_of(|one| one.waits.max().map_or_else(|| "–".to_owned(), |at| at.to_string())),
        count(held.map_or(0, |(one, _)| one.incidents)),
        held.map_or_else(String::new, |(one, _)| span(one.waited)),
        held.map_or_else(String::new, |(one, named)| mainly(one, named)),
    ]
}

fn mainly(held: &VictimWaits, most: usize) -> String {
    let one = |(kind, name, took): &(_, String, _)| format!("{} {}", named(*kind, name), span(*took));
    held.by.iter().take(most).map(one).collect::<Vec<_>>().join(", ")
}
