//! For people.

use howlate_analyse::incidents::{Culprit, RecurringCulprit, culprits, recurring_culprits};
use howlate_model::Incident;

use super::Incidents;
use super::words::{comes_back, culprit_name, held_up_by, span, victim};
use crate::detail::Detail;
use crate::numbers::count;
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, HEADING, WARN, paint};
use crate::table::Columns;
use crate::untrusted_text::legible;

/// Incidents, culprits and groups that are listed on a screen, those in a rhythm, and requests; and how many of each at most.
const BRIEF: Listed = Listed { incidents: 3, culprits: 4, groups: 3, recurring: 1, snaps: 3 };
const FULL: Listed = Listed { incidents: 50, culprits: 20, groups: 20, recurring: 3, snaps: 50 };

pub(super) struct Listed {
    pub(super) incidents: usize,
    pub(super) culprits: usize,
    pub(super) groups: usize,
    pub(super) recurring: usize,
    pub(super) snaps: usize,
}

pub(super) const fn listed(detail: Detail) -> Listed {
    if matches!(detail, Detail::Full) { FULL } else { BRIEF }
}

impl Incidents {
    /// For people: single waits first, so that what makes the sums doubtful, the sums, and who held up others are on one screen.
    pub fn text(&self, detail: Detail, width: usize) -> String {
        let parts = [
            format!("{}\n", paint(HEADING, wrapped(&self.title(), width, 0))),
            self.listed(detail, width),
            self.snaps(detail, width),
            self.notes(width),
            self.groups(detail, width),
            self.culprits(listed(detail).culprits, detail, width),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// What makes it doubtful, a line each.
    pub(super) fn notes(&self, width: usize) -> String {
        let line = |note: String| format!("{}\n", wrapped(&format!("{} {note}", paint(WARN, "!")), width, 2));
        self.doubts().into_iter().map(line).collect()
    }

    /// The longest ones, in the order in which they happened.
    fn listed(&self, detail: Detail, width: usize) -> String {
        let mut kept = self.kept.clone();
        kept.drop_shorter(listed(detail).incidents);
        if kept.incidents.is_empty() {
            return format!("{}\n", self.nothing());
        }
        let longest = kept.incidents.iter().map(|one| one.latency).max();
        let format = if self.is_one_day(&kept.incidents) { "%H:%M:%S.%3f" } else { "%m-%d %H:%M:%S.%3f" };
        let row = |one: &Incident| row(one, &self.time(one, format), Some(one.latency) == longest, width);
        let rows: String = kept.incidents.iter().map(row).collect();
        let more = more(usize::try_from(kept.shorter).unwrap_or(usize::MAX), "that were shorter", detail);
        format!(
            "{}\n{rows}{more}{}",
            paint(HEADING, "What was late"),
            timeline_of_the_longest(&kept.incidents)
        )
    }

    /// The first so many; or half of them, where each takes two lines.
    pub(super) fn culprits(&self, rows: usize, detail: Detail, width: usize) -> String {
        let all = culprits(self.kept.incidents.iter());
        if all.is_empty() {
            return String::new();
        }
        let (table, rows) = rows_with_room(rows, detail, width, |rows| culprit_table(&all, rows));
        let more = more(all.len().saturating_sub(rows), "smaller causes", detail);
        let how = paint(DIM, wrapped(&format!("  {HOW_ADDED}"), width, 2));
        let recurring = self.recurring(listed(detail).recurring, width);
        format!("{}\n{}{more}{how}\n{recurring}", paint(HEADING, "Causes"), table.text(width))
    }

    /// Those who come back in a rhythm.
    fn recurring(&self, most: usize, width: usize) -> String {
        let line = |one: &RecurringCulprit| format!("  {}\n", wrapped(&comes_back(one), width, 2));
        recurring_culprits(&self.kept).iter().take(most).map(line).collect()
    }
}

/// A table of so many rows, which on a screen that is to hold it are half of them where each takes two lines.
pub(super) fn rows_with_room(
    rows: usize,
    detail: Detail,
    width: usize,
    table: impl Fn(usize) -> Columns,
) -> (Columns, usize) {
    let whole = table(rows);
    if detail == Detail::Full || whole.stands_side_by_side(width) {
        return (whole, rows);
    }
    let rows = rows.div_ceil(2);
    (table(rows), rows)
}

fn culprit_table(all: &[Culprit], rows: usize) -> Columns {
    let mut table = Columns::new(&CULPRIT_HEADINGS.map(str::to_owned), 1);
    table.left(5);
    all.iter().take(rows).for_each(|one| table.row(culprit(one)));
    table
}

/// What stands above culprits.
const CULPRIT_HEADINGS: [&str; 6] = ["culprit", "own", "others", "times", "longest", "mainly delayed"];
/// How their times are added up.
const HOW_ADDED: &str =
    "own: how long it had what others waited for, counted once; others: added up over all who waited.";

/// How many are not listed, and where they are.
pub(super) fn more(left: usize, which: &str, detail: Detail) -> String {
    let place = if detail == Detail::Full { "`--json` has them" } else { "`--details`" };
    let line = || paint(DIM, format!("  {} more {which}: {place}.", count(left as u64))) + "\n";
    if left == 0 { String::new() } else { line() }
}

/// Who waited, and who held it up: behind it, or below where there is no room.
pub(super) fn row(one: &Incident, time: &str, is_longest: bool, width: usize) -> String {
    let waited = format!("{:>8}", span(one.latency));
    let waited = if is_longest { paint(BOLD, waited) } else { waited };
    let indent = 2 + time.chars().count() + 2 + 8 + 2;
    let (who, by) = (victim(one), format!("held up by {}", held_up_by(one)));
    if indent + who.chars().count() + 2 + by.chars().count() <= width {
        return format!("  {time}  {waited}  {who}  {by}\n");
    }
    let by = wrapped(&by, width.saturating_sub(indent), 2).replace('\n', &format!("\n{:indent$}", ""));
    format!("  {time}  {waited}  {who}\n{:indent$}{by}\n", "")
}

/// The file that shows what all CPUs did around the longest of those that have one.
fn timeline_of_the_longest(incidents: &[Incident]) -> String {
    let longest = incidents.iter().filter(|one| one.timeline.is_some()).max_by_key(|one| one.latency);
    let Some((one, name)) = longest.and_then(|one| Some((one, one.timeline.as_deref()?))) else {
        return String::new();
    };
    let waited = span(one.latency);
    let heading = format!("  Timeline of all CPUs around the wait of {waited}, for ui.perfetto.dev:");
    format!("{}\n    {}\n", paint(DIM, heading), legible(name))
}

fn culprit(one: &Culprit) -> Vec<String> {
    let (victim, took) = &one.victim;
    // Where nobody else waited, it is all of it.
    let whom = if *took == one.took { String::new() } else { format!(" {}", span(*took)) };
    let whom = format!("{}{whom}", legible(victim));
    let (own, took) = (span(one.own), span(one.took));
    vec![culprit_name(one), own, took, count(one.incidents), span(one.longest), whom]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use howlate_analyse::incidents::{Grouping, RecordedIncidents};
    use howlate_model::{
        CauseKind, IncidentCause, IncidentKind, LateThread, LateThreshold, MonotonicTime, Span,
    };
    use jiff::tz::TimeZone;

    use super::*;
    use crate::incidents::Written;

    fn incident(at: &str, ms: u64) -> Incident {
        let thread = LateThread {
            command: None,
            name: "worker".into(),
            process: "nginx".into(),
            pid: 70,
            tid: 71,
            uid: 0,
            group: None,
            policy: None,
        };
        let cause = IncidentCause {
            process_id: None,
            command: None,
            is_recorder: false,
            kind: CauseKind::Thread,
            name: Some("rsync".into()),
            pid: Some(9),
            process: None,
            policy: None,
            group: None,
            took: Span::from_millis(ms),
            share: 1.0,
        };
        Incident {
            at: at.to_owned(),
            at_ns: MonotonicTime::default(),
            latency: Span::from_millis(ms),
            thread,
            kind: IncidentKind::Woken,
            cpu: 0,
            parts: vec![],
            causes: vec![cause],
            late_above: None,
            timeline: None,
            turn: None,
        }
    }

    fn text(days: &[&str], oldest: &str, width: usize) -> String {
        let incidents = days.iter().map(|day| incident(&format!("{day}T03:12:00.5Z"), 12)).collect();
        let kept = RecordedIncidents { incidents, ..RecordedIncidents::default() };
        let kept = Incidents {
            kept,
            machine: None,
            late_above: Some(LateThreshold::Length(Span::from_millis(5))),
            from: None,
            until: None,
            oldest: Some(format!("{oldest}T00:00:00Z").parse().unwrap()),
            written: Written::default(),
            by: Grouping::default(),
            users: BTreeMap::new(),
            zone: TimeZone::UTC,
            cut_off: 0,
            damaged: vec![],
        };
        anstream::adapter::strip_str(&kept.text(Detail::Brief, width)).to_string()
    }

    #[test]
    fn who_held_it_up_stands_behind_it_or_below_and_last_of_all() {
        let wide = text(&["2026-11-25"], "2026-11-25", 80);
        assert!(
            wide.contains("  03:12:00.500   12.0 ms  nginx worker (71)  held up by rsync, thread 9 100 %\n"),
            "{wide}"
        );
        let narrow = text(&["2026-11-25"], "2026-11-25", 60);
        assert!(
            narrow
                .contains("nginx worker (71)\n                          held up by rsync, thread 9 100 %\n"),
            "{narrow}"
        );
        assert!(wide.find("What was late") < wide.find("Causes"), "{wide}");
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    }

    #[test]
    fn a_time_has_its_day_where_the_title_does_not_say_it() {
        assert!(text(&["2026-11-25"], "2026-11-20", 80).contains("  11-25 03:12:00.500"));
        assert!(text(&["2026-11-24", "2026-11-25"], "2026-11-24", 80).contains("  11-24 03:12:00.500"));
        assert!(!text(&["2026-11-25"], "2026-11-25", 80).contains("11-25 03"));
    }
}
