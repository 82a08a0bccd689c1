//! `howlate show DIR` as text.

use howlate_analyse::incidents::{Culprit, RecurringCulprit, culprits, recurring_culprits};
use howlate_model::Incident;

use super::IncidentReport;
use super::wording::{comes_back, culprit_name, held_up, span, victim};
use crate::detail::Detail;
use crate::numbers::count;
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, HEADING, WARN, paint};
use crate::table::TextTable;
use crate::untrusted_text::legible;

/// Most incidents, culprits, groups, periodic culprits and snaps: in brief for one screen, and in full.
const BRIEF: ListLimits = ListLimits { incidents: 3, culprits: 4, groups: 3, recurring: 1, snaps: 3 };
const FULL: ListLimits = ListLimits { incidents: 50, culprits: 20, groups: 20, recurring: 3, snaps: 50 };

pub(super) struct ListLimits {
    pub(super) incidents: usize,
    pub(super) culprits: usize,
    pub(super) groups: usize,
    pub(super) recurring: usize,
    pub(super) snaps: usize,
}

pub(super) const fn list_limits(detail: Detail) -> ListLimits {
    if matches!(detail, Detail::Full) { FULL } else { BRIEF }
}

impl IncidentReport {
    /// Single incidents first, then doubts, sums and culprits, so that those are on the last screen.
    pub fn text(&self, detail: Detail, width: usize) -> String {
        let parts = [
            format!("{}\n", paint(HEADING, wrapped(&self.title(), width, 0))),
            self.longest_incidents(detail, width),
            self.snaps(detail, width),
            self.notes(width),
            self.groups(detail, width),
            self.requests(detail, width),
            self.culprits(list_limits(detail).culprits, detail, width),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Caveats, one line each.
    pub(super) fn notes(&self, width: usize) -> String {
        let line = |note: String| format!("{}\n", wrapped(&format!("{} {note}", paint(WARN, "!")), width, 2));
        self.doubts().into_iter().map(line).collect()
    }

    /// The longest incidents, in order of time.
    fn longest_incidents(&self, detail: Detail, width: usize) -> String {
        let mut recording = self.recording.clone();
        recording.drop_shorter(list_limits(detail).incidents);
        if recording.incidents.is_empty() {
            return format!("{}\n", self.nothing());
        }
        let longest = recording.incidents.iter().map(|incident| incident.latency).max();
        let format =
            if self.is_one_day(&recording.incidents) { "%H:%M:%S.%3f" } else { "%m-%d %H:%M:%S.%3f" };
        let incident_row = |incident: &Incident| {
            row(incident, &self.time(incident, format), Some(incident.latency) == longest, width)
        };
        let rows: String = recording.incidents.iter().map(incident_row).collect();
        let more =
            more(usize::try_from(recording.shorter).unwrap_or(usize::MAX), "that were shorter", detail);
        format!(
            "{}\n{rows}{more}{}",
            paint(HEADING, "What was late"),
            timeline_of_the_longest(&recording.incidents)
        )
    }

    /// The first `rows` culprits, or half of them where each takes two lines.
    pub(super) fn culprits(&self, rows: usize, detail: Detail, width: usize) -> String {
        let all = culprits(self.recording.incidents.iter());
        if all.is_empty() {
            return String::new();
        }
        let (table, rows) = rows_with_room(rows, detail, width, |rows| culprit_table(&all, rows));
        let more = more(all.len().saturating_sub(rows), "smaller causes", detail);
        let how = paint(DIM, wrapped(&format!("  {HOW_ADDED}"), width, 2));
        let idle =
            self.idle_in_words().map_or_else(String::new, |idle| format!("  {}\n", wrapped(&idle, width, 2)));
        let recurring = self.recurring(list_limits(detail).recurring, width);
        format!("{}\n{}{more}{how}\n{idle}{recurring}", paint(HEADING, "Causes"), table.text(width))
    }

    /// `In 12 of 40 waits, another CPU on which the thread may run was idle for half of the time or longer.`
    pub fn idle_in_words(&self) -> Option<String> {
        let waits: Vec<&Incident> =
            self.recording.incidents.iter().filter(|incident| incident.kind.is_wait()).collect();
        let is_half = |incident: &&&Incident| {
            incident.idle_cpu.is_some_and(|of| of.idle.as_nanos() >= incident.latency.as_nanos().div_ceil(2))
        };
        let half = waits.iter().filter(is_half).count() as u64;
        let (half, all) = (Some(half).filter(|half| *half > 0)?, waits.len() as u64);
        Some(format!(
            "In {} of {} waits, another CPU on which the thread may run was idle for half of the time or longer.",
            count(half),
            count(all)
        ))
    }

    /// Culprits that recur periodically.
    fn recurring(&self, most: usize, width: usize) -> String {
        let line = |culprit: &RecurringCulprit| format!("  {}\n", wrapped(&comes_back(culprit), width, 2));
        recurring_culprits(&self.recording).iter().take(most).map(line).collect()
    }
}

/// A table of `rows` rows; on a screen half of them, where each takes two lines.
pub(super) fn rows_with_room(
    rows: usize,
    detail: Detail,
    width: usize,
    table: impl Fn(usize) -> TextTable,
) -> (TextTable, usize) {
    let whole = table(rows);
    if detail == Detail::Full || whole.stands_side_by_side(width) {
        return (whole, rows);
    }
    let rows = rows.div_ceil(2);
    (table(rows), rows)
}

fn culprit_table(all: &[Culprit], rows: usize) -> TextTable {
    let mut table = TextTable::new(&CULPRIT_HEADINGS.map(str::to_owned), 1);
    table.left(5);
    all.iter().take(rows).for_each(|culprit| table.row(culprit_row(culprit)));
    table
}

/// What stands above culprits.
const CULPRIT_HEADINGS: [&str; 6] = ["culprit", "own", "others", "times", "longest", "mainly delayed"];
/// Legend of the table.
const HOW_ADDED: &str =
    "own: how long it had what others waited for, counted once; others: added up over all who waited.";

/// How many rows are not shown, and where to find them.
pub(super) fn more(not_shown: usize, which: &str, detail: Detail) -> String {
    let place = if detail == Detail::Full { "`--json --details` has them" } else { "`--details`" };
    let line = || paint(DIM, format!("  {} more {which}: {place}.", count(not_shown as u64))) + "\n";
    if not_shown == 0 { String::new() } else { line() }
}

/// Who waited, and who held it up: behind it, or on the next line in a narrow terminal.
pub(super) fn row(incident: &Incident, time: &str, is_longest: bool, width: usize) -> String {
    let waited = format!("{:>8}", span(incident.latency));
    let waited = if is_longest { paint(BOLD, waited) } else { waited };
    let indent = 2 + time.chars().count() + 2 + 8 + 2;
    let (who, culprits) = (victim(incident), held_up(incident));
    if indent + who.chars().count() + 2 + culprits.chars().count() <= width {
        return format!("  {time}  {waited}  {who}  {culprits}\n");
    }
    let culprits =
        wrapped(&culprits, width.saturating_sub(indent), 2).replace('\n', &format!("\n{:indent$}", ""));
    format!("  {time}  {waited}  {who}\n{:indent$}{culprits}\n", "")
}

/// The timeline file of the longest incident that has one.
fn timeline_of_the_longest(incidents: &[Incident]) -> String {
    let longest = incidents
        .iter()
        .filter(|incident| incident.timeline.is_some())
        .max_by_key(|incident| incident.latency);
    let Some((incident, name)) = longest.and_then(|incident| Some((incident, incident.timeline.as_deref()?)))
    else {
        return String::new();
    };
    let waited = span(incident.latency);
    let heading = format!("  Timeline of all CPUs around the wait of {waited}, for ui.perfetto.dev:");
    format!("{}\n    {}\n", paint(DIM, heading), legible(name))
}

fn culprit_row(culprit: &Culprit) -> Vec<String> {
    let (victim, took) = &culprit.victim;
    // If only one process waited, its time is that of the column before.
    let time = if *took == culprit.took { String::new() } else { format!(" {}", span(*took)) };
    let victim = format!("{}{time}", legible(victim));
    let (own, took) = (span(culprit.own), span(culprit.took));
    vec![culprit_name(culprit), own, took, count(culprit.incidents), span(culprit.longest), victim]
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
    use crate::incidents::RecordingState;

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
            idle_cpu: None,
            late_above: None,
            timeline: None,
            turn: None,
            server: None,
        }
    }

    fn text(days: &[&str], oldest: &str, width: usize) -> String {
        let incidents = days.iter().map(|day| incident(&format!("{day}T03:12:00.5Z"), 12)).collect();
        let recording = RecordedIncidents { incidents, ..RecordedIncidents::default() };
        let report = IncidentReport {
            recording,
            machine: None,
            late_above: Some(LateThreshold::Length(Span::from_millis(5))),
            from: None,
            until: None,
            oldest: Some(format!("{oldest}T00:00:00Z").parse().unwrap()),
            written: RecordingState::default(),
            by: Grouping::default(),
            users: BTreeMap::new(),
            zone: TimeZone::UTC,
            cut_off: 0,
            damaged: vec![],
        };
        anstream::adapter::strip_str(&report.text(Detail::Brief, width)).to_string()
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
