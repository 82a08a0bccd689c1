//! `howlate top` of a recording: who waited for whom.

use std::collections::{BTreeMap, BTreeSet};

use howlate_analyse::incidents::{GroupWaits, VictimWaits, waits_by_victim};
use howlate_analyse::percentile;

use super::IncidentReport;
use super::text::{more, rows_with_room};
use super::wording::{bucketed, culprit_text, late_above, span};
use crate::detail::Detail;
use crate::numbers::count;
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, paint};
use crate::table::TextTable;

/// Most rows in brief and in full, and most culprits per victim, in a wide and a narrow terminal.
const BRIEF: usize = 12;
const FULL: usize = 20;
const MOST_CULPRITS: [usize; 2] = [2, 1];

impl IncidentReport {
    /// Who waited for whom, or with `by_culprit` who held up others.
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
        let held = waits_by_victim(self.recording.incidents.iter(), self.by, &self.users);
        if held.is_empty() && all.is_empty() {
            return format!("{}\n", self.nothing());
        }
        let table = |rows| {
            let [long, short] = MOST_CULPRITS.map(|most| self.table(&held, &all, rows, most));
            if long.stands_side_by_side(width) { long } else { short }
        };
        let (table, rows) = rows_with_room(rows, detail, width, table);
        let victims: BTreeSet<&str> = held.iter().map(|held| held.victim.as_str()).collect();
        let punctual = all.iter().filter(|group| !victims.contains(group.name.as_str())).count();
        let more = more((held.len() + punctual).saturating_sub(rows), "that waited less", detail);
        let heading = format!("Who waited for whom{}", self.counted_until());
        format!("{}\n{}{more}", paint(HEADING, heading), table.text(width))
    }

    /// First the late groups, then the others.
    fn table(&self, held: &[VictimWaits], all: &[GroupWaits], rows: usize, most: usize) -> TextTable {
        let mut waits: BTreeMap<&str, &GroupWaits> =
            all.iter().map(|group| (group.name.as_str(), group)).collect();
        let headings = [self.by.name(), "waits", "p99", "max", "kept", "in all", "mainly for"];
        let mut table = TextTable::new(&headings.map(str::to_owned), 1);
        table.left(6);
        for (place, victim) in held.iter().enumerate() {
            let waits = waits.remove(victim.victim.as_str());
            if place < rows {
                table.row(row(&self.display_name(&victim.victim), waits, Some((victim, most))));
            }
        }
        let room = rows.saturating_sub(held.len());
        let punctual = all.iter().filter(|group| waits.contains_key(group.name.as_str()));
        punctual
            .take(room)
            .for_each(|group| table.row(row(&self.display_name(&group.name), Some(group), None)));
        table
    }

    /// A note on the waits that were only counted.
    fn not_known(&self) -> String {
        let short = self.late_above.map_or_else(
            || "Waits that were not late are".to_owned(),
            |above| format!("Waits of up to {} are", late_above(above)),
        );
        format!(
            "kept: late waits recorded one by one. {short} only counted, by group and minute: their number and lengths are known, but not who caused them."
        )
    }
}

fn row(name: &str, waits: Option<&GroupWaits>, held: Option<(&VictimWaits, usize)>) -> Vec<String> {
    let unknown = || "–".to_owned();
    let waits_of = |text: fn(&GroupWaits) -> String| waits.map_or_else(unknown, text);
    vec![
        name.to_owned(),
        waits_of(|group| count(group.waits.count())),
        waits_of(|group| percentile(&group.waits, 0.99).map_or_else(|| "–".to_owned(), bucketed)),
        waits_of(|group| group.waits.max().map_or_else(|| "–".to_owned(), |at| at.to_string())),
        count(held.map_or(0, |(held, _)| held.incidents)),
        held.map_or_else(String::new, |(held, _)| span(held.waited)),
        held.map_or_else(String::new, |(held, most)| mainly(held, most)),
    ]
}

fn mainly(held: &VictimWaits, most: usize) -> String {
    let culprit =
        |(kind, name, took): &(_, String, _)| format!("{} {}", culprit_text(*kind, name), span(*took));
    held.by.iter().take(most).map(culprit).collect::<Vec<_>>().join(", ")
}
