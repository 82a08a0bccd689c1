//! Caveats, each once: of a folder of many files there may be one for each.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use howlate_model::Caveat;

/// Where each caveat of a list is, by a hash of what is published of it: two that are equal say the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownCaveats {
    places: HashMap<u64, Vec<usize>>,
}

impl KnownCaveats {
    /// Adds a caveat that is not known yet to the list, which only grows.
    pub(crate) fn push_new(&mut self, caveats: &mut Vec<Caveat>, caveat: &Caveat) {
        let places = self.places.entry(hash(caveat)).or_default();
        if !places.iter().any(|place| caveats.get(*place) == Some(caveat)) {
            places.push(caveats.len());
            caveats.push(caveat.clone());
        }
    }
}

fn hash(caveat: &Caveat) -> u64 {
    let mut hasher = DefaultHasher::new();
    // What cannot be written is compared with whatever else cannot.
    serde_json::to_string(caveat).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{AsText, OsError, WriteFailure};

    fn lost(count: u64) -> Caveat {
        Caveat::SamplesLost { count }
    }

    #[test]
    fn each_is_there_once_and_in_order() {
        let (mut known, mut caveats) = (KnownCaveats::default(), Vec::new());
        for count in [3, 1, 3, 2, 1] {
            known.push_new(&mut caveats, &lost(count));
        }
        assert_eq!(caveats, [lost(3), lost(1), lost(2)]);
    }

    #[test]
    fn one_that_was_read_is_the_one_that_was_written() {
        let (mut known, mut caveats) = (KnownCaveats::default(), Vec::new());
        let written = Caveat::RecordingIncomplete {
            lines_lost: 1,
            reason: AsText::Value(WriteFailure::from(OsError(28))),
        };
        let read: Caveat = serde_json::from_str(&serde_json::to_string(&written).unwrap()).unwrap();
        known.push_new(&mut caveats, &written);
        known.push_new(&mut caveats, &read);
        assert_eq!(caveats.len(), 1);
    }

    #[test]
    fn a_new_one_is_compared_with_hardly_any_other() {
        let (mut known, mut caveats) = (KnownCaveats::default(), Vec::new());
        (0..20_000).for_each(|count| known.push_new(&mut caveats, &lost(count)));
        assert_eq!(caveats.len(), 20_000);
        assert!(known.places.values().all(|places| places.len() <= 2));
    }
}
