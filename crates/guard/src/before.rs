//! What was there before a change.

use howlate_model::Caveat;
use serde::{Deserialize, Serialize};

use crate::setting::{read, write};

/// One change, as it is to be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Before {
    /// Counted up by the process that measures.
    pub(crate) id: u32,
    pub(crate) path: String,
    pub(crate) value: String,
}

impl Before {
    /// Puts the value back, and reads it; the reason if it is not there then.
    pub(crate) fn put_back(&self) -> Option<Caveat> {
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
    use std::fs;

    fn change(id: u32, path: &std::path::Path, value: &str) -> Before {
        Before { id, path: path.to_str().unwrap().to_owned(), value: value.to_owned() }
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
}
