//! Lists of distinct caveats: a folder of many files may repeat one for each.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use howlate_model::Caveat;

/// Positions of the caveats in a list, by a hash of their JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaveatIndex {
    places: HashMap<u64, Vec<usize>>,
}

impl CaveatIndex {
    /// Adds a caveat to the list unless it is there; the list must only grow.
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
    // Caveats that cannot be serialised share one hash and are compared with each other.
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
        let (mut index, mut caveats) = (CaveatIndex::default(), Vec::new());
        for count in [3, 1, 3, 2, 1] {
            index.push_new(&mut caveats, &lost(count));
        }
        assert_eq!(caveats, [lost(3), lost(1), lost(2)]);
    }

    #[test]
    fn one_that_was_read_is_the_one_that_was_written() {
        let (mut index, mut caveats) = (CaveatIndex::default(), Vec::new());
        let written = Caveat::RecordingIncomplete {
            lines_lost: 1,
            reason: AsText::Value(WriteFailure::from(OsError(28))),
        };
        let read: Caveat = serde_json::from_str(&serde_json::to_string(&written).unwrap()).unwrap();
        index.push_new(&mut caveats, &written);
        index.push_new(&mut caveats, &read);
        assert_eq!(caveats.len(), 1);
    }

    #[test]
    fn a_new_one_is_compared_with_hardly_any_other() {
        let (mut index, mut caveats) = (CaveatIndex::default(), Vec::new());
        (0..20_000).for_each(|count| index.push_new(&mut caveats, &lost(count)));
        assert_eq!(caveats.len(), 20_000);
        assert!(index.places.values().all(|places| places.len() <= 2));
    }
}
