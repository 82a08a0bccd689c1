//! Incidents of several machines, side by side by the time of day.

use howlate_model::{Incident, Span, WallClockState};
use jiff::Timestamp;

use super::IncidentReport;
use super::text::row;
use super::title::counted;
use super::wording::span;
use crate::numbers::count;
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, WARN, paint};
use crate::table::TextTable;
use crate::untrusted_text::legible;

/// Most incidents that are listed.
const INCIDENTS: usize = 15;

/// Several machines with their names.
#[derive(Clone, Debug)]
pub struct NodesIncidentReport {
    /// Names of the machines, and their recordings.
    pub nodes: Vec<(String, IncidentReport)>,
}

/// How well the times of several machines can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockOrder {
    /// Incidents further apart than this happened in this order.
    KnownBeyond(Span),
    /// A clock is not synchronised.
    Unsynchronised,
    /// Not recorded.
    Unknown,
}

/// The largest clock error of a machine; `None` where it was not recorded.
pub(super) fn clock(report: &IncidentReport) -> Option<WallClockState> {
    let clocks = report.recording.minutes.iter().filter_map(|minute| minute.clock);
    clocks.reduce(|clock, other| WallClockState {
        synchronised: clock.synchronised && other.synchronised,
        max_error: clock.max_error.max(other.max_error),
    })
}

impl NodesIncidentReport {
    /// All incidents with their machines, in order of time.
    pub(super) fn in_order(&self) -> Vec<(&str, &IncidentReport, &Incident)> {
        let mut all = Vec::new();
        for (name, report) in &self.nodes {
            all.extend(report.recording.incidents.iter().map(|incident| (name.as_str(), report, incident)));
        }
        all.sort_by_cached_key(|(_, _, incident)| incident.at.parse::<Timestamp>().ok());
        all
    }

    /// Two clocks differ by at most the sum of their errors: that of the two worst.
    pub(super) fn order(&self) -> ClockOrder {
        let clocks: Option<Vec<WallClockState>> =
            self.nodes.iter().map(|(_, report)| clock(report)).collect();
        let Some(clocks) = clocks else { return ClockOrder::Unknown };
        if clocks.iter().any(|clock| !clock.synchronised) {
            return ClockOrder::Unsynchronised;
        }
        let mut errors: Vec<Span> = clocks.iter().map(|clock| clock.max_error).collect();
        errors.sort_unstable();
        ClockOrder::KnownBeyond(errors.iter().rev().take(2).fold(Span::ZERO, |sum, error| sum.plus(*error)))
    }

    /// The text output: the machines, then the longest incidents of all.
    pub fn text(&self, width: usize) -> String {
        let parts = [
            format!("{}\n", paint(HEADING, wrapped(&self.title(), width, 0))),
            self.doubts(width),
            self.table(width),
            self.listed(width),
            format!("{}\n", paint(DIM, wrapped(&self.order_in_words(), width, 0))),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn title(&self) -> String {
        let when = self.nodes.first().map_or_else(String::new, |(_, report)| report.when());
        let all: u64 = self.nodes.iter().map(|(_, report)| report.all()).sum();
        let not_kept: u64 = self.nodes.iter().map(|(_, report)| report.not_kept()).sum();
        let incidents = counted(all, not_kept);
        format!("Late threads on {} machines · {incidents}{when}", count(self.nodes.len() as u64))
    }

    fn doubts(&self, width: usize) -> String {
        let notes = |(name, report): &(String, IncidentReport)| {
            let name = legible(name).into_owned();
            let line = move |note| format!("{} {name}: {note}", paint(WARN, "!"));
            report.doubts().into_iter().map(line).collect::<Vec<_>>()
        };
        self.nodes.iter().flat_map(notes).map(|line| wrapped(&line, width, 2) + "\n").collect()
    }

    fn table(&self, width: usize) -> String {
        let headings = ["machine", "incidents", "longest", "clock"].map(str::to_owned);
        let mut table = TextTable::new(&headings, 1);
        table.left(3);
        for (name, report) in &self.nodes {
            let longest = report.recording.incidents.iter().map(|incident| incident.latency).max();
            let longest = longest.map_or_else(|| "–".to_owned(), span);
            table.row(vec![
                legible(name).into_owned(),
                report.number(),
                longest,
                clock_in_words(clock(report)),
            ]);
        }
        format!("{}\n{}", paint(HEADING, "Machines"), table.text(width))
    }

    fn listed(&self, width: usize) -> String {
        let mut longest: Vec<Span> = self.in_order().iter().map(|(.., incident)| incident.latency).collect();
        longest.sort_unstable_by(|latency, other| other.cmp(latency));
        let least = longest.get(INCIDENTS.saturating_sub(1)).copied().unwrap_or_default();
        let all = self.in_order();
        let shown: Vec<_> =
            all.iter().filter(|(.., incident)| incident.latency >= least).take(INCIDENTS).collect();
        let Some(most) = longest.first() else { return "Nothing was late.\n".to_owned() };
        let days = shown.iter().map(|(_, report, incident)| report.time(incident, "%m-%d"));
        let is_one_day = days.collect::<std::collections::BTreeSet<_>>().len() == 1;
        let format = if is_one_day { "%H:%M:%S.%3f" } else { "%m-%d %H:%M:%S.%3f" };
        let widest = self.nodes.iter().map(|(name, _)| legible(name).chars().count()).max().unwrap_or(0);
        let line = |(name, report, incident): &&(&str, &IncidentReport, &Incident)| {
            let time = format!("{}  {:widest$}", report.time(incident, format), legible(name));
            row(incident, &time, incident.latency == *most, width)
        };
        let not_shown = all.len().saturating_sub(shown.len());
        let more = match not_shown {
            0 => String::new(),
            not_shown => {
                paint(
                    DIM,
                    format!(
                        "  {} more that were shorter; `--json --details` has them.",
                        count(not_shown as u64)
                    ),
                ) + "\n"
            }
        };
        format!("{}\n{}{more}", paint(HEADING, "What was late"), shown.iter().map(line).collect::<String>())
    }

    fn order_in_words(&self) -> String {
        let order = match self.order() {
            ClockOrder::KnownBeyond(apart) => format!(
                "Incidents of different machines that are less than {} apart may have been in either order.",
                span(apart)
            ),
            ClockOrder::Unsynchronised => {
                "A clock is not synchronised: the order of incidents on different machines is unknown."
                    .to_owned()
            }
            ClockOrder::Unknown => {
                "Clock accuracy was not recorded, so the order of incidents on different machines is unknown."
                    .to_owned()
            }
        };
        format!("{order} Each machine by itself: `howlate show FOLDER`; part by part: `howlate why FOLDER`.")
    }
}

fn clock_in_words(clock: Option<WallClockState>) -> String {
    match clock {
        None => "not recorded".to_owned(),
        Some(WallClockState { synchronised: false, .. }) => "not synchronised".to_owned(),
        Some(WallClockState { max_error, .. }) => format!("within {}", span(max_error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incidents::tests::{incident, incident_report};

    /// A machine with waits: the second in which each ended, and milliseconds.
    fn node(name: &str, clock: Option<(bool, u64)>, waits: &[(&str, u64)]) -> (String, IncidentReport) {
        let incident_at = |(second, ms): &(&str, u64)| Incident {
            at: format!("2026-11-25T03:12:{second}Z"),
            latency: Span::from_millis(*ms),
            ..incident()
        };
        let mut report = incident_report(waits.iter().map(incident_at).collect());
        for minute in &mut report.recording.minutes {
            minute.clock = clock
                .map(|(synchronised, ms)| WallClockState { synchronised, max_error: Span::from_millis(ms) });
            minute.incidents_left_out = 0;
        }
        (name.to_owned(), report)
    }

    fn plain(nodes: &NodesIncidentReport, width: usize) -> String {
        anstream::adapter::strip_str(&nodes.text(width)).to_string()
    }

    #[test]
    fn incidents_of_all_machines_are_in_the_order_of_time() {
        let first = node("n1", Some((true, 12)), &[("00.5", 12), ("02.5", 30)]);
        let second = node("n2-long", Some((true, 3)), &[("01.25", 20)]);
        let nodes = NodesIncidentReport { nodes: vec![first, second] };
        let names: Vec<&str> = nodes.in_order().iter().map(|(name, ..)| *name).collect();
        assert_eq!(names, ["n1", "n2-long", "n1"]);
        let text = plain(&nodes, 100);
        for expected in [
            "Late threads on 2 machines · 3 incidents",
            "  n1               2  30.0 ms  within 12.0 ms\n",
            "  03:12:01.250  n2-long   20.0 ms  nginx worker;1 (71)",
            "less than 15.0 ms apart may have been in either order",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        let narrow = plain(&nodes, 80);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    }

    #[test]
    fn late_waits_that_were_not_kept_are_counted_as_well() {
        let mut first = node("n1", None, &[("00.5", 12)]);
        first.1.recording.minutes[0].incidents_left_out = 8;
        let text = plain(&NodesIncidentReport { nodes: vec![first, node("n2", None, &[])] }, 100);
        assert!(
            text.contains("2 machines · 1 of about 9 incidents") && text.contains("1 of 9  12.0 ms"),
            "{text}"
        );
    }

    #[test]
    fn an_order_that_nobody_knows_is_not_claimed() {
        let with_clock = |clock| NodesIncidentReport {
            nodes: vec![node("n1", Some((true, 12)), &[]), node("n2", clock, &[("00.5", 12)])],
        };
        assert_eq!(with_clock(Some((true, 3))).order(), ClockOrder::KnownBeyond(Span::from_millis(15)));
        assert_eq!(with_clock(Some((false, 3))).order(), ClockOrder::Unsynchronised);
        assert_eq!(with_clock(None).order(), ClockOrder::Unknown);
        assert!(plain(&with_clock(Some((false, 3))), 80).contains("A clock is not synchronised"));
    }
}
