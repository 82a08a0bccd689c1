//! For people.

use howlate_analyse::incidents::{Culprit, GroupWaits, culprits, groups};
use howlate_analyse::percentile;
use howlate_model::{CauseKind, Incident, IncidentCause, Latency, Span, WhyRemoved};
use jiff::Timestamp;

use super::Incidents;
use crate::cause_words::{percent, who};
use crate::numbers::{count, length};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, HEADING, WARN, paint};
use crate::table::Columns;
use crate::untrusted_text::legible;

/// Incidents, culprits and groups that are listed.
const INCIDENTS: usize = 15;
const CULPRITS: usize = 6;
const GROUPS: usize = 8;
/// Causes of one incident that are named, those with at least this share.
const CAUSES: usize = 3;
const WORTH: f64 = 0.02;

impl Incidents {
    /// For people: what makes it doubtful first, who held up others last, where eyes are.
    pub fn text(&self, width: usize) -> String {
        let parts = [
            format!("{}\n", paint(HEADING, wrapped(&self.title(), width, 0))),
            self.notes(width),
            self.groups(width),
            self.listed(width),
            self.culprits(width),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn title(&self) -> String {
        let all = self.kept.incidents.len() as u64 + self.kept.shorter;
        let incidents = if all == 1 { "1 incident".to_owned() } else { format!("{} incidents", count(all)) };
        let above = self.late_above.map_or_else(String::new, |above| format!(" above {}", length(above)));
        let first = self.from.or(self.oldest).map(|at| self.local(at));
        let until = self.until.map(|at| self.local(at));
        let when = match (first, until) {
            (Some(from), Some(until)) => format!(" · {from} to {until}"),
            (Some(from), None) => format!(" · since {from}"),
            (None, Some(until)) => format!(" · until {until}"),
            (None, None) => String::new(),
        };
        format!("Waits for a CPU · {incidents}{above}{when}")
    }

    fn local(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
    }

    /// The longest ones, in the order in which they happened.
    fn listed(&self, width: usize) -> String {
        let mut kept = self.kept.clone();
        kept.leave_out_the_shorter(INCIDENTS);
        if kept.incidents.is_empty() {
            return match self.kept.minutes.len() {
                0 => "Nothing was recorded then.\n".to_owned(),
                _ => "No wait was late.\n".to_owned(),
            };
        }
        let longest = kept.incidents.iter().map(|one| one.latency).max();
        let format = if self.is_one_day(&kept.incidents) { "%H:%M:%S.%3f" } else { "%m-%d %H:%M:%S.%3f" };
        let row = |one: &Incident| row(one, &self.time(one, format), Some(one.latency) == longest, width);
        let rows: String = kept.incidents.iter().map(row).collect();
        let more = more(usize::try_from(kept.shorter).unwrap_or(usize::MAX), "that were shorter");
        format!(
            "{}\n{rows}{more}{}",
            paint(HEADING, "What was late"),
            timeline_of_the_longest(&kept.incidents)
        )
    }

    fn time(&self, one: &Incident, format: &str) -> String {
        let at = one.at.parse::<Timestamp>().map(|at| at.to_zoned(self.zone.clone()));
        at.map_or_else(|_| legible(&one.at).into_owned(), |at| at.strftime(format).to_string())
    }

    /// Whether all of them are of the day that the title begins with, so that none need say which.
    fn is_one_day(&self, incidents: &[Incident]) -> bool {
        let day = "%Y-%m-%d";
        let first =
            self.from.or(self.oldest).map(|at| at.to_zoned(self.zone.clone()).strftime(day).to_string());
        first.is_some_and(|first| incidents.iter().all(|one| self.time(one, day) == first))
    }

    fn culprits(&self, width: usize) -> String {
        let all = culprits(self.kept.incidents.iter());
        if all.is_empty() {
            return String::new();
        }
        let headings = ["culprit", "took", "incidents", "longest", "mainly delayed"].map(str::to_owned);
        let mut table = Columns::new(&headings, 1);
        table.left(4);
        all.iter().take(CULPRITS).for_each(|one| table.row(culprit(one)));
        let more = more(all.len().saturating_sub(CULPRITS), "smaller causes");
        format!("{}\n{}{more}", paint(HEADING, "Causes"), table.text(width))
    }

    fn groups(&self, width: usize) -> String {
        let all = groups(self.kept.minutes.iter().flat_map(|minute| &minute.groups), self.by, &self.users);
        if all.is_empty() {
            return String::new();
        }
        let first = self.by.name().to_owned();
        let headings =
            [first, "waits".into(), "late".into(), "p50".into(), "p99".into(), "p99.9".into(), "max".into()];
        let mut table = Columns::new(&headings, 1);
        all.iter().take(GROUPS).for_each(|one| table.row(group(one)));
        let more = more(all.len().saturating_sub(GROUPS), "with shorter waits");
        format!("{}\n{}{more}", paint(HEADING, "All waits for a CPU"), table.text(width))
    }

    fn notes(&self, width: usize) -> String {
        let missing = self.kept.missing();
        let lost = |count_: u64, text: &str| (count_ > 0).then(|| format!("{} {text}", count(count_)));
        let removed = missing.removed.iter().map(|one| {
            let files =
                if one.files == 1 { "1 file".to_owned() } else { format!("{} files", count(one.files)) };
            let why = match one.reason {
                WhyRemoved::MaxSize => "reached --max-size",
                WhyRemoved::MaxAge => "exceeded --max-age",
                WhyRemoved::DiskFull => "filled the disk",
            };
            format!("{files} removed: the recording {why}.")
        });
        let notes = [
            lost(
                missing.left_out,
                "late waits exceeded the limit and are only counted; the longest were kept.",
            ),
            lost(missing.lost, "late waits found no room and are not listed."),
            lost(missing.unseen, "context switches were lost; what had the CPU then is unknown."),
            lost(
                self.cut_off,
                "files end in the middle of a line, as after a crash or while they are written.",
            ),
            self.begins_later(),
        ];
        let damaged = self.damaged.iter().map(|reason| legible(reason).into_owned());
        let all = notes.into_iter().flatten().chain(removed).chain(damaged);
        all.map(|note| format!("{}\n", wrapped(&format!("{} {note}", paint(WARN, "!")), width, 2))).collect()
    }

    fn begins_later(&self) -> Option<String> {
        let (from, oldest) = (self.from?, self.oldest?);
        (oldest > from).then(|| format!("The recording begins {}.", self.local(oldest)))
    }
}

/// How many are not listed, and where they are.
fn more(count_: usize, which: &str) -> String {
    let line = || paint(DIM, format!("  {} more {which}; `--json` has them.", count(count_ as u64))) + "\n";
    if count_ == 0 { String::new() } else { line() }
}

/// Who waited, and who held it up: behind it, or below where there is no room.
fn row(one: &Incident, time: &str, is_longest: bool, width: usize) -> String {
    let waited = format!("{:>8}", length_of(one.latency));
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
    let waited = length_of(one.latency);
    let heading = format!("  Timeline of all CPUs around the wait of {waited}, for ui.perfetto.dev:");
    format!("{}\n    {}\n", paint(DIM, heading), legible(name))
}

/// `nginx, thread worker (4711)`
fn victim(one: &Incident) -> String {
    let thread = &one.thread;
    let (process, name) = (legible(&thread.process), legible(&thread.name));
    let name = if name == process { String::new() } else { format!(" {name}") };
    format!("{process}{name} ({})", thread.tid)
}

fn held_up_by(one: &Incident) -> String {
    let worth: Vec<&IncidentCause> = one.causes.iter().filter(|cause| cause.share >= WORTH).collect();
    let named =
        worth.iter().take(CAUSES).map(|cause| format!("{} {}", incident_cause(cause), percent(cause.share)));
    let more = worth.len().saturating_sub(CAUSES);
    let more = (more > 0).then(|| format!("{more} more"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

/// `rustc, pid 812, of cargo`.
pub fn incident_cause(cause: &IncidentCause) -> String {
    let name = cause.name.as_deref().unwrap_or_default();
    let of = cause.process.as_deref().filter(|process| *process != name);
    let of = of.map_or_else(String::new, |process| format!(" of {}", legible(process)));
    format!("{}{of}", who(cause.kind, name, cause.pid))
}

fn culprit(one: &Culprit) -> Vec<String> {
    let name = match one.kind {
        CauseKind::Others => "others".to_owned(),
        kind => who(kind, &one.name, None),
    };
    let (victim, took) = &one.victim;
    let whom = format!("{} {}", legible(victim), length_of(*took));
    vec![name, length_of(one.took), count(one.incidents), length_of(one.longest), whom]
}

fn group(one: &GroupWaits) -> Vec<String> {
    let quantile = |quantile| {
        percentile(&one.waits, quantile).map_or_else(|| "–".to_owned(), |latency| latency.to_string())
    };
    let max = one.waits.max().map_or_else(String::new, |max| max.to_string());
    let (waits, late) = (count(one.waits.count()), count(one.late));
    let name = legible(&one.name).into_owned();
    vec![name, waits, late, quantile(0.5), quantile(0.99), quantile(0.999), max]
}

fn length_of(span: Span) -> String {
    Latency::from_span(span).to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use howlate_analyse::incidents::{Grouping, Kept};
    use howlate_model::{IncidentKind, LateThread, MonotonicTime};
    use jiff::tz::TimeZone;

    use super::*;

    fn incident(at: &str, ms: u64) -> Incident {
        let thread = LateThread {
            name: "worker".into(),
            process: "nginx".into(),
            pid: 70,
            tid: 71,
            uid: 0,
            group: None,
            policy: None,
        };
        let cause = IncidentCause {
            kind: CauseKind::Thread,
            name: Some("rsync".into()),
            pid: Some(9),
            process: None,
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
            timeline: None,
        }
    }

    fn text(days: &[&str], oldest: &str, width: usize) -> String {
        let incidents = days.iter().map(|day| incident(&format!("{day}T03:12:00.5Z"), 12)).collect();
        let kept = Kept { incidents, ..Kept::default() };
        let kept = Incidents {
            kept,
            late_above: Some(Span::from_millis(5)),
            from: None,
            until: None,
            oldest: Some(format!("{oldest}T00:00:00Z").parse().unwrap()),
            by: Grouping::default(),
            users: BTreeMap::new(),
            zone: TimeZone::UTC,
            cut_off: 0,
            damaged: vec![],
        };
        anstream::adapter::strip_str(&kept.text(width)).to_string()
    }

    #[test]
    fn who_held_it_up_stands_behind_it_or_below_and_last_of_all() {
        let wide = text(&["2026-11-25"], "2026-11-25", 80);
        assert!(
            wide.contains("  03:12:00.500   12.0 ms  nginx worker (71)  held up by rsync, pid 9 100 %\n"),
            "{wide}"
        );
        let narrow = text(&["2026-11-25"], "2026-11-25", 60);
        assert!(
            narrow.contains("nginx worker (71)\n                          held up by rsync, pid 9 100 %\n"),
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
