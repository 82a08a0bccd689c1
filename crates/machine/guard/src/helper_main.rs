//! The guardian process: restores settings when the measuring process ends.
//!
//! Orders and answers are one line of JSON each.

use std::fs::File;
use std::io::Write;
use std::io::{self, BufRead, stdin, stdout};
use std::os::fd::AsFd;

use howlate_linux::helper::{Helper, Lifetime};
use howlate_linux::signal;
use howlate_model::Caveat;
use serde::{Deserialize, Serialize};

use crate::journal::Journal;
use crate::saved_setting::{Changes, SavedSetting};

/// The helper process that restores settings.
pub const GUARDIAN: Helper =
    Helper { role: "__guardian", name: c"howlate-guard", lifetime: Lifetime::OfInput, serve: |_| serve() };

/// A request to the guardian.
#[derive(Serialize, Deserialize)]
pub(crate) enum Order {
    /// A change that is about to be made.
    Remember(SavedSetting),
    /// The value read back after change `id`: at the restore, any other value is another program's, and is kept.
    #[serde(rename = "Lend")]
    SetExpected(u32, String),
    /// Changes to undo now.
    Undo(Vec<u32>),
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Answer {
    Remembered,
    /// The change could not be recorded, so it must not be made.
    NotRemembered(String),
    /// Done; caveats about what could not be undone.
    Undone(Vec<Caveat>),
}

/// Handles orders until standard input ends; then restores, last change first.
fn serve() -> io::Result<()> {
    signal::block_all_but_wake_up();
    let journal = Journal::inherited(File::from(io::stderr().as_fd().try_clone_to_owned()?));
    let mut guardian = GuardianState { journal, changes: Changes::default() };
    // After an order that cannot be read or answered, the measuring process has ended.
    for line in stdin().lock().lines().map_while(Result::ok) {
        let Ok(order) = serde_json::from_str(&line) else { break };
        if send(&guardian.handle(order)).is_err() {
            break;
        }
    }
    let caveats = guardian.journal.end(guardian.changes);
    // Fails when the measuring process was killed.
    send(&Answer::Undone(caveats))
}

struct GuardianState {
    journal: Journal,
    changes: Changes,
}

impl GuardianState {
    fn handle(&mut self, order: Order) -> Answer {
        match order {
            Order::Remember(change) => self.remember(change),
            Order::SetExpected(id, value) => self.set_expected(id, &value),
            Order::Undo(ids) => Answer::Undone(self.undo(&ids)),
        }
    }

    fn remember(&mut self, change: SavedSetting) -> Answer {
        match self.journal.record(&change) {
            Ok(()) => {
                self.changes.all.push(change);
                Answer::Remembered
            }
            Err(error) => Answer::NotRemembered(format!("the journal cannot be written: {error}")),
        }
    }

    fn set_expected(&mut self, id: u32, value: &str) -> Answer {
        match self.journal.record_expected(id, value) {
            Ok(()) => {
                self.changes.set_expected(id, value);
                Answer::Remembered
            }
            Err(error) => Answer::NotRemembered(format!("the journal cannot be written: {error}")),
        }
    }

    fn undo(&mut self, ids: &[u32]) -> Vec<Caveat> {
        let caveats = self.changes.undo(ids);
        let is_undone = |id: &&u32| self.changes.all.iter().all(|change| change.id != **id);
        // A missing line only makes the next start check a value that is restored already.
        ids.iter().filter(is_undone).for_each(|id| drop(self.journal.record_undone(*id)));
        caveats
    }
}

fn send(answer: &Answer) -> io::Result<()> {
    writeln!(stdout(), "{}", serde_json::to_string(answer)?)
}
