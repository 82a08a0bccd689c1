//! The process that puts settings back: its own side.

use std::fs::File;
use std::io::Write;
use std::io::{self, BufRead, stdin, stdout};
use std::os::fd::AsFd;

use howlate_linux::helper::{Helper, Lifetime};
use howlate_linux::signal;
use howlate_model::Caveat;

use crate::journal::Journal;
use crate::protocol::{Answer, Order};
use crate::saved_setting::{Changes, SavedSetting};

/// The helper process that puts settings back.
pub const GUARDIAN: Helper =
    Helper { role: "__guardian", name: c"howlate-guard", lifetime: Lifetime::OfInput, serve: |_| serve() };

/// Remembers what it is told, until nothing more can come; then puts it back, last change first.
fn serve() -> io::Result<()> {
    signal::block_all_but_wake_up();
    let journal = Journal::inherited(File::from(io::stderr().as_fd().try_clone_to_owned()?));
    let mut serving = Serving { journal, changes: Changes::default() };
    // An order that cannot be read or answered is the last: whoever gave it is gone.
    for line in stdin().lock().lines().map_while(Result::ok) {
        let Ok(order) = serde_json::from_str(&line) else { break };
        if answer(&serving.take(order)).is_err() {
            break;
        }
    }
    let caveats = serving.journal.end(serving.changes);
    // Nobody hears this when the other process was killed.
    answer(&Answer::Undone(caveats))
}

struct Serving {
    journal: Journal,
    changes: Changes,
}

impl Serving {
    fn take(&mut self, order: Order) -> Answer {
        match order {
            Order::Remember(change) => self.remember(change),
            Order::Lend(id, found) => self.lend(id, &found),
            Order::Undo(ids) => Answer::Undone(self.undo(&ids)),
        }
    }

    fn remember(&mut self, change: SavedSetting) -> Answer {
        match self.journal.note(&change) {
            Ok(()) => {
                self.changes.all.push(change);
                Answer::Remembered
            }
            Err(error) => Answer::NotRemembered(format!("the journal cannot be written: {error}")),
        }
    }

    fn lend(&mut self, id: u32, found: &str) -> Answer {
        match self.journal.note_lent(id, found) {
            Ok(()) => {
                self.changes.lend(id, found);
                Answer::Remembered
            }
            Err(error) => Answer::NotRemembered(format!("the journal cannot be written: {error}")),
        }
    }

    fn undo(&mut self, ids: &[u32]) -> Vec<Caveat> {
        let caveats = self.changes.undo(ids);
        let is_back = |id: &&u32| self.changes.all.iter().all(|one| one.id != **id);
        // A line that is missing only makes the next start look at what is back already.
        ids.iter().filter(is_back).for_each(|id| drop(self.journal.note_undone(*id)));
        caveats
    }
}

fn answer(answer: &Answer) -> io::Result<()> {
    writeln!(stdout(), "{}", serde_json::to_string(answer)?)
}
