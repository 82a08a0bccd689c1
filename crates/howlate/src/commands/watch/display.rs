//! The threads that are watched, on the terminal.

use std::cmp::Reverse;

use howlate_analyse::watch::ThreadSummary;
use howlate_model::Span;
use howlate_render::watched_live;
use howlate_watching::Display;

use crate::terminal::InPlace;

/// Threads that are shown meanwhile.
const SHOWN: usize = 12;

/// Those that were latest, one a line.
#[derive(Default)]
pub(super) struct Threads(InPlace);

impl Threads {
    pub(super) fn display() -> Box<dyn Display> {
        Box::new(Self::default())
    }
}

impl Display for Threads {
    fn show(&mut self, since: Span, threads: &[(&str, &ThreadSummary)]) {
        let mut latest_first = threads.to_vec();
        latest_first.sort_by_key(|(_, thread)| Reverse(thread.worst));
        let rows: Vec<String> =
            latest_first.iter().take(SHOWN).map(|(name, thread)| watched_live(name, thread)).collect();
        self.0.show(&format!("{:.0} s\n{}", since.as_secs_f64(), rows.join("\n")));
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
