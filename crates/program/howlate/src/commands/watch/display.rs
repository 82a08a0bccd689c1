//! Display of watched threads: in place, or as lines among the output of the program.

use std::cmp::Reverse;

use howlate_analyse::Analysis;
use howlate_analyse::watch::ThreadSummary;
use howlate_live::LiveRun;
use howlate_model::{MonotonicTime, Span};
use howlate_render::{RunState, Screen, watched_beside, watched_live};
use howlate_watch_session::WatchDisplay;

use crate::terminal::{InPlace, eprint_wrapped};

/// Threads in the list.
const MAX_THREADS: usize = 12;

/// Wake-ups from which on a thread is listed first.
const MIN_WAKEUPS: u64 = 100;
/// Seconds after which a line is printed; then again after each interval of the last one.
const LINE_TIMES: [u64; 3] = [2, 10, 60];

/// A list of the threads with the worst latencies, in place.
#[derive(Default)]
pub(super) struct ThreadList(InPlace);

impl ThreadList {
    pub(super) fn display() -> Box<dyn WatchDisplay> {
        Box::new(Self::default())
    }
}

impl WatchDisplay for ThreadList {
    fn show(&mut self, since: Span, threads: &[(&str, &ThreadSummary)], _so_far: &Analysis) {
        let mut latest_first = threads.to_vec();
        // Few wake-ups say little.
        latest_first.sort_by_key(|(_, thread)| Reverse((thread.count >= MIN_WAKEUPS, thread.worst)));
        let rows: Vec<String> =
            latest_first.iter().take(MAX_THREADS).map(|(name, thread)| watched_live(name, thread)).collect();
        self.0.show(&format!("{:.0} s\n{}", since.as_secs_f64(), rows.join("\n")));
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

pub(super) struct LiveWatchDisplay {
    live: LiveRun,
    duration: Option<Span>,
}

impl LiveWatchDisplay {
    pub(super) fn display(live: LiveRun, duration: Option<Span>) -> Box<dyn WatchDisplay> {
        Box::new(Self { live, duration })
    }
}

impl WatchDisplay for LiveWatchDisplay {
    fn show(&mut self, since: Span, _threads: &[(&str, &ThreadSummary)], so_far: &Analysis) {
        let time = self.duration.map(|duration| [duration.minus(since), duration]);
        let (stage, turns, now, away) = (None, None, None, None);
        let run = RunState { analysis: so_far, threads: &[], now, stage, turns, lasts: since, time, away };
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

/// Lines about the busiest threads, at growing intervals, that do not disturb the output of the program.
#[derive(Default)]
pub(super) struct ThreadLines {
    last_second: u64,
}

impl ThreadLines {
    pub(super) fn display() -> Box<dyn WatchDisplay> {
        Box::new(Self::default())
    }

    /// Whether the next line is due.
    fn is_due(&mut self, second: u64) -> bool {
        let next = LINE_TIMES
            .into_iter()
            .find(|time| *time > self.last_second)
            .unwrap_or(self.last_second + LINE_TIMES[2]);
        let is_due = second >= next;
        if is_due {
            self.last_second = second;
        }
        is_due
    }
}

impl WatchDisplay for ThreadLines {
    fn show(&mut self, since: Span, threads: &[(&str, &ThreadSummary)], _so_far: &Analysis) {
        if self.is_due(since.as_nanos() / 1_000_000_000) {
            eprint_wrapped(&format!("{}\n", watched_beside(since, threads)));
        }
    }

    fn clear(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_less_and_less_often() {
        let mut lines = ThreadLines::default();
        let seconds: Vec<u64> = (0..300).filter(|second| lines.is_due(*second)).collect();
        assert_eq!(seconds, [2, 10, 60, 120, 180, 240]);
    }
}
