//! What the recorders of several machines kept of the same time, side by side by the time of day.

use howlate_model::{Incident, Span, WallClockState};
use jiff::Timestamp;

use super::Incidents;
use super::text::row;
use super::title::counted;
use super::words::span;
use crate::numbers::count;
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, WARN, paint};
use crate::table::Columns;
use crate::untrusted_text::legible;

/// Incidents that are listed.
const INCIDENTS: usize = 15;

/// Several machines, each with what it is called.
#[derive(Clone, Debug)]
pub struct NodesIncidents {
    /// Their names, and what was kept there.
    pub nodes: Vec<(String, Incidents)>,
}

/// How well the times of two machines can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Incidents that are further apart than this happened in this order.
    KnownBeyond(Span),
    /// A clock is set by nothing.
    Unsynchronised,
    /// A recorder did not say.
    Unknown,
}

/// How well a machine's clock was set, at its worst; `None` where it was not recorded.
pub(super) fn clock(kept: &Incidents) -> Option<WallClockState> {
    let clocks = kept.kept.minutes.iter().filter_map(|minute| minute.clock);
    clocks.reduce(|one, other| WallClockState {
        synchronised: one.synchronised && other.synchronised,
        max_error: one.max_error.max(other.max_error),
    })
}

impl NodesIncidents {
    /// All incidents with their machines, in the order of time.
    pub(super) fn in_order(&self) -> Vec<(&str, &Incidents, &Incident)> {
        let mut all = Vec::new();
        for (name, kept) in &self.nodes {
            all.extend(kept.kept.incidents.iter().map(|one| (name.as_str(), kept, one)));
        }
        all.sort_by_cached_key(|(_, _, one)| one.at.parse::<Timestamp>().ok());
        all
    }

    /// Each may be off by its own error, so that two differ by the sum: that of the two that are set worst.
    pub(super) fn order(&self) -> Order {
        let clocks: Option<Vec<WallClockState>> = self.nodes.iter().map(|(_, kept)| clock(kept)).collect();
        let Some(clocks) = clocks else { return Order::Unknown };
        if clocks.iter().any(|clock| !clock.synchronised) {
            return Order::Unsynchronised;
        }
        let mut errors: Vec<Span> = clocks.iter().map(|clock| clock.max_error).collect();
        errors.sort_unstable();
        Order::KnownBeyond(errors.iter().rev().take(2).fold(Span::ZERO, |sum, error| sum.plus(*error)))
    }

    /// For people: the machines, then the longest incidents of all, in their order.
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
        let when = self.nodes.first().map_or_else(String::new, |(_, kept)| kept.when());
        let all: u64 = self.nodes.iter().map(|(_, kept)| kept.all()).sum();
        let not_kept: u64 = self.nodes.iter().map(|(_, kept)| kept.not_kept()).sum();
        let incidents = counted(all, not_kept);
        format!("Late threads on {} machines · {incidents}{when}", count(self.nodes.len() as u64))
    }

    fn doubts(&self, width: usize) -> String {
        let of = |(name, kept): &(String, Incidents)| {
            let name = legible(name).into_owned();
            let line = move |note| format!("{} {name}: {note}", paint(WARN, "!"));
            kept.doubts().into_iter().map(line).collect::<Vec<_>>()
        };
        self.nodes.iter().flat_map(of).map(|line| wrapped(&line, width, 2) + "\n").collect()
    }

    fn table(&self, width: usize) -> String {
        let headings = ["machine", "incidents", "longest", "clock"].map(str::to_owned);
        let mut table = Columns::new(&headings, 1);
        table.left(3);
        for (name, kept) in &self.nodes {
            let longest = kept.kept.incidents.iter().map(|one| one.latency).max();
            let longest = longest.map_or_else(|| "–".to_owned(), span);
            table.row(vec![legible(name).into_owned(), kept.number(), longest, clock_in_words(clock(kept))]);
        }
        format!("{}\n{}", paint(HEADING, "Machines"), table.text(width))
    }

    fn listed(&self, width: usize) -> String {
        let mut longest: Vec<Span> = self.in_order().iter().map(|(.., one)| one.latency).collect();
        longest.sort_unstable_by(|one, other| other.cmp(one));
        let least = longest.get(INCIDENTS.saturating_sub(1)).copied().unwrap_or_default();
        let all = self.in_order();
        let shown: Vec<_> = all.iter().filter(|(.., one)| one.latency >= least).take(INCIDENTS).collect();
        let Some(most) = longest.first() else { return "Nothing was late.\n".to_owned() };
        let days = shown.iter().map(|(_, kept, one)| kept.time(one, "%m-%d"));
        let is_one_day = days.collect::<std::collections::BTreeSet<_>>().len() == 1;
        let format = if is_one_day { "%H:%M:%S.%3f" } else { "%m-%d %H:%M:%S.%3f" };
        let widest = self.nodes.iter().map(|(name, _)| legible(name).chars().count()).max().unwrap_or(0);
        let line = |(name, kept, one): &&(&str, &Incidents, &Incident)| {
            let time = format!("{}  {:widest$}", kept.time(one, format), legible(name));
            row(one, &time, one.latency == *most, width)
        };
        let left = all.len().saturating_sub(shown.len());
        let more = match left {
            0 => String::new(),
            left => {
                paint(DIM, format!("  {} more that were shorter; `--json` has them.", count(left as u64)))
                    + "\n"
            }
        };
        format!("{}\n{}{more}", paint(HEADING, "What was late"), shown.iter().map(line).collect::<String>())
    }

    fn order_in_words(&self) -> String {
        let order = match self.order() {
            Order::KnownBeyond(apart) => format!(
                "Incidents of different machines that are less than {} apart may have been in either order.",
                span(apart)
            ),
            Order::Unsynchronised => {
                "A clock is not synchronised: in which order incidents of different machines were is not known."
                    .to_owned()
            }
            Order::Unknown => {
                "How well the clocks were set was not recorded: nor is the order of incidents of different machines."
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
    use crate::incidents::tests::{incident, kept};

    /// A machine with a wait of so many milliseconds at each of these seconds.
    fn node(name: &str, clock: Option<(bool, u64)>, waits: &[(&str, u64)]) -> (String, Incidents) {
        let one = |(second, ms): &(&str, u64)| Incident {
            at: format!("2026-11-25T03:12:{second}Z"),
            latency: Span::from_millis(*ms),
            ..incident()
        };
        let mut all = kept(waits.iter().map(one).collect());
        for minute in &mut all.kept.minutes {
            minute.clock = clock
                .map(|(synchronised, ms)| WallClockState { synchronised, max_error: Span::from_millis(ms) });
            minute.incidents_left_out = 0;
        }
        (name.to_owned(), all)
    }

    fn plain(nodes: &NodesIncidents, width: usize) -> String {
        anstream::adapter::strip_str(&nodes.text(width)).to_string()
    }

    #[test]
    fn incidents_of_all_machines_are_in_the_order_of_time() {
        let one = node("n1", Some((true, 12)), &[("00.5", 12), ("02.5", 30)]);
        let other = node("n2-long", Some((true, 3)), &[("01.25", 20)]);
        let nodes = NodesIncidents { nodes: vec![one, other] };
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
        let mut one = node("n1", None, &[("00.5", 12)]);
        one.1.kept.minutes[0].incidents_left_out = 8;
        let text = plain(&NodesIncidents { nodes: vec![one, node("n2", None, &[])] }, 100);
        assert!(
            text.contains("2 machines · 1 of about 9 incidents") && text.contains("1 of 9  12.0 ms"),
            "{text}"
        );
    }

    #[test]
    fn an_order_that_nobody_knows_is_not_claimed() {
        let of = |clock| NodesIncidents {
            nodes: vec![node("n1", Some((true, 12)), &[]), node("n2", clock, &[("00.5", 12)])],
        };
        assert_eq!(of(Some((true, 3))).order(), Order::KnownBeyond(Span::from_millis(15)));
        assert_eq!(of(Some((false, 3))).order(), Order::Unsynchronised);
        assert_eq!(of(None).order(), Order::Unknown);
        assert!(plain(&of(Some((false, 3))), 80).contains("A clock is not synchronised"));
    }
}
