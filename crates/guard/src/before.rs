//! What was there before a change.

use std::fs;
use std::io;

use howlate_linux::clock;
use howlate_model::{Caveat, Span};
use serde::{Deserialize, Serialize};

use crate::setting::{read, write};

/// One change, as it is to be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Before {
    /// Counted up by the process that measures.
    pub(crate) id: u32,
    pub(crate) path: String,
    pub(crate) value: String,
    /// It was not there at all: a control group that is made, and goes again.
    #[serde(default)]
    pub(crate) made: bool,
}

/// How long a control group may still be in use by processes that are ending.
const UNTIL_EMPTY: Span = Span::from_secs(2);
const LOOK_EVERY: Span = Span::from_millis(5);

impl Before {
    /// Removes what was made; the reason if it is still there then.
    fn remove(&self) -> Option<Caveat> {
        let mut patience = UNTIL_EMPTY;
        let reason = loop {
            match fs::remove_dir(&self.path) {
                Ok(()) => return None,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                Err(error) if patience.is_zero() => break error.to_string(),
                // A signal that ends the pause only makes the next try come earlier.
                Err(_) => drop(clock::pause(LOOK_EVERY)),
            }
            patience = patience.minus(LOOK_EVERY);
        };
        Some(Caveat::GroupNotRemoved { path: self.path.clone(), reason })
    }

    /// Puts the value back, and reads it; the reason if it is not there then.
    pub(crate) fn put_back(&self) -> Option<Caveat> {
        if self.made {
            return self.remove();
        }
        // What was never changed, or is back already, is not written.
        if read(&self.path).is_ok_and(|now| now == self.value) {
            return None;
        }
        let reason = match write(&self.path, &self.value).and_then(|()| read(&self.path)) {
            Ok(now) if now == self.value => return None,
            Ok(now) => format!("it is `{now}`"),
            Err(error) => error.to_string(),
        };
        let (path, before) = (self.path.clone(), self.value.clone());
        Some(Caveat::SettingNotRestored { path, before, reason })
    }
}

/// Changes in force, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    pub(crate) all: Vec<Before>,
}

impl Changes {
    /// Takes those of `ids` back, last change first; tells what could not be.
    pub(crate) fn undo(&mut self, ids: &[u32]) -> Vec<Caveat> {
        let (undone, kept) = std::mem::take(&mut self.all).into_iter().partition(|one| ids.contains(&one.id));
        self.all = kept;
        Self { all: undone }.put_all_back()
    }

    /// Takes all back, last change first; tells what could not be.
    pub(crate) fn put_all_back(self) -> Vec<Caveat> {
        self.all.iter().rev().filter_map(Before::put_back).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(id: u32, path: &std::path::Path, value: &str) -> Before {
        Before { id, path: path.to_str().unwrap().to_owned(), value: value.to_owned(), made: false }
    }

    #[test]
    fn the_last_change_is_taken_back_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("setting");
        fs::write(&file, "3").unwrap();
        let mut changes = Changes { all: vec![change(1, &file, "1"), change(2, &file, "2")] };
        assert_eq!(changes.undo(&[2]), []);
        assert_eq!(fs::read_to_string(&file).unwrap(), "2");
        assert_eq!(changes.undo(&[2]), []);
        assert_eq!(changes.put_all_back(), []);
        assert_eq!(fs::read_to_string(&file).unwrap(), "1");
    }

    #[test]
    fn what_was_never_changed_is_nothing_to_complain_of() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("setting");
        fs::write(&file, "1\n").unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o400)).unwrap();
        assert_eq!(change(1, &file, "1").put_back(), None);
        assert_eq!(fs::read_to_string(&file).unwrap(), "1\n", "it was not written either");
        let gone = change(1, &folder.path().join("none"), "1").put_back();
        assert!(matches!(gone, Some(Caveat::SettingNotRestored { .. })), "{gone:?}");
    }

    #[test]
    fn what_was_made_is_removed_and_only_when_it_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("group");
        fs::create_dir(&made).unwrap();
        let change = Before { made: true, ..change(1, &made, "") };
        assert_eq!((change.put_back(), made.exists()), (None, false));
        assert_eq!(change.put_back(), None, "gone already is what is wanted");
        fs::create_dir(&made).unwrap();
        fs::write(made.join("in_use"), "").unwrap();
        assert!(matches!(change.put_back(), Some(Caveat::GroupNotRemoved { .. })));
    }
}
