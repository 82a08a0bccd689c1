//! The threads that are watched, on the terminal: in place where it is ours, line by line beside the output of a program.

use std::cmp::Reverse;

use howlate_analyse::Analysis;
use howlate_analyse::watch::ThreadSummary;
use howlate_live::LiveRun;
use howlate_model::{MonotonicTime, Span};
use howlate_render::{Screen, SoFar, watched_beside, watched_live};
use howlate_watch_session::WatchDisplay;

use crate::terminal::{InPlace, tell};

/// Threads that are shown meanwhile.
const SHOWN: usize = 12;

/// So many wake-ups make a thread one that is looked at first.
const ENOUGH: u64 = 100;
/// When a line is shown beside a program's own output, in seconds; after the last one as often again.
const LINES_AT: [u64; 3] = [2, 10, 60];

/// Those that were latest, one a line.
#[derive(Default)]
pub(super) struct Threads(InPlace);

impl Threads {
    pub(super) fn display() -> Box<dyn WatchDisplay> {
        Box::new(Self::default())
    }
}

impl WatchDisplay for Threads {
    fn show(&mut self, since: Span, threads: &[(&str, &ThreadSummary)], _so_far: &Analysis) {
        let mut latest_first = threads.to_vec();
        // One that woke once or twice says little.
        latest_first.sort_by_key(|(_, thread)| Reverse((thread.count >= ENOUGH, thread.worst)));
        let rows: Vec<String> =
            latest_first.iter().take(SHOWN).map(|(name, thread)| watched_live(name, thread)).collect();
        self.0.show(&format!("{:.0} s\n{}", since.as_secs_f64(), rows.join("\n")));
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// The whole screen.
pub(super) struct Whole {
    live: LiveRun,
    duration: Option<Span>,
}

impl Whole {
    pub(super) fn display(live: LiveRun, duration: Option<Span>) -> Box<dyn WatchDisplay> {
        Box::new(Self { live, duration })
    }
}

impl WatchDisplay for Whole {
    fn show(&mut self, since: Span, _threads: &[(&str, &ThreadSummary)], so_far: &Analysis) {
        let time = self.duration.map(|whole| [whole.minus(since), whole]);
        let (stage, turns, now, away) = (None, None, None, None);
        let run = SoFar { analysis: so_far, threads: &[], now, stage, turns, lasts: since, time, away };
        self.live.draw(&run);
    }

    fn clear(&mut self) {
        self.live.clear();
    }

    fn is_live(&self) -> bool {
        true
    }

    fn marks(&mut self) -> Vec<MonotonicTime> {
        self.live.marks()
    }
}

/// A line now and then, of the busiest thread: what a program writes on the same terminal is not touched.
#[derive(Default)]
pub(super) struct Beside {
    shown: u64,
}

impl Beside {
    pub(super) fn display() -> Box<dyn WatchDisplay> {
        Box::new(Self::default())
    }

    /// Whether it is time for another line.
    fn is_due(&mut self, since: u64) -> bool {
        let next = LINES_AT.into_iter().find(|at| *at > self.shown).unwrap_or(self.shown + LINES_AT[2]);
        let is_due = since >= next;
        if is_due {
            self.shown = since;
        }
        is_due
    }
}

impl WatchDisplay for Beside {
    fn show(&mut self, since: Span, threads: &[(&str, &ThreadSummary)], _so_far: &Analysis) {
        if self.is_due(since.as_nanos() / 1_000_000_000) {
            tell(&format!("{}\n", watched_beside(since, threads)));
        }
    }

    fn clear(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_less_and_less_often() {
        let mut beside = Beside::default();
        let shown: Vec<u64> = (0..300).filter(|second| beside.is_due(*second)).collect();
        assert_eq!(shown, [2, 10, 60, 120, 180, 240]);
    }
}
