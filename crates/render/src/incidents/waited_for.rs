//! Who waited for whom, from what was recorded.

use std::collections::BTreeMap;

use howlate_analyse::incidents::{GroupWaits, Held, groups, waited_for};
use howlate_analyse::percentile;

use super::Incidents;
use super::words::span;
use crate::cause_words::who;
use crate::legible::legible;
use crate::numbers::{count, length};
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, paint};
use crate::table::Columns;

/// Rows, and whom each waited for.
const ROWS: usize = 20;
const NAMED: usize = 2;

impl Incidents {
    /// Who waited for whom; or, by culprit, who held up others.
    pub fn top(&self, by_culprit: bool, width: usize) -> String {
        let parts = [
            format!("{}\n", paint(HEADING, wrapped(&self.title(), width, 0))),
            self.notes(width),
            if by_culprit { self.culprits(width) } else { self.who_for_whom(width) },
            format!("{}\n", paint(DIM, wrapped(&format!("  {}", self.not_known()), width, 2))),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn who_for_whom(&self, width: usize) -> String {
        let all = groups(self.kept.minutes.iter().flat_map(|minute| &minute.groups), self.by, &self.users);
        let held = waited_for(self.kept.incidents.iter(), self.by, &self.users);
        let mut waits: BTreeMap<&str, &GroupWaits> = all.iter().map(|one| (one.name.as_str(), one)).collect();
        let headings = [self.by.name(), "waits", "p99", "max", "late", "in all", "mainly for"];
        let mut table = Columns::new(&headings.map(str::to_owned), 1);
        table.left(6);
        for one in held.iter().take(ROWS) {
            table.row(row(&one.victim, waits.remove(one.victim.as_str()), Some(one)));
        }
        let room = ROWS.saturating_sub(held.len());
        let others = all.iter().filter(|one| waits.contains_key(one.name.as_str()));
        others.clone().take(room).for_each(|one| table.row(row(&one.name, Some(one), None)));
        let more = (held.len() + others.count()).saturating_sub(ROWS);
        let more = match more {
            0 => String::new(),
            more => paint(DIM, format!("  {} more waited less; `--json` has them.", count(more as u64))) + "\n",
        };
        if held.is_empty() && all.is_empty() {
            return self.nothing().to_owned();
        }
        format!("{}\n{}{more}", paint(HEADING, "Who waited for whom"), table.text(width))
    }

    /// What was not recorded one by one.
    fn not_known(&self) -> String {
        let short = self.late_above.map_or_else(
            || "Waits that were not late are".to_owned(),
            |above| format!("Waits of up to {} are", length(above)),
        );
        format!("{short} only counted, by group and whole minute: how many and how long they were is known, whom they were for is not.")
    }
}

fn row(name: &str, waits: Option<&GroupWaits>, held: Option<&Held>) -> Vec<String> {
    let unknown = || "–".to_owned();
    let waits_of = |told: fn(&GroupWaits) -> String| waits.map_or_else(unknown, told);
    vec![
        legible(name).into_owned(),
        waits_of(|one| count(one.waits.count())),
        waits_of(|one| percentile(&one.waits, 0.99).map_or_else(|| "–".to_owned(), |at| at.to_string())),
        waits_of(|one| one.waits.max().map_or_else(|| "–".to_owned(), |at| at.to_string())),
        held.map_or_else(|| waits_of(|one| count(one.late)), |one| count(one.incidents)),
        held.map_or_else(String::new, |one| span(one.waited)),
        held.map_or_else(String::new, mainly),
    ]
}

fn mainly(held: &Held) -> String {
    let one = |(kind, name, took): &(_, String, _)| format!("{} {}", who(*kind, name, None), span(*took));
    let named: Vec<String> = held.by.iter().take(NAMED).map(one).collect();
    named.join(", ")
}
