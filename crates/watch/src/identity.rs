//! What threads are called in results: by their name, and among those of one name by a number.
//!
//! A number is free again when its thread has ended, so that a program that begins threads without end has no more of them
//! in its result than it ever had at once.

use std::collections::{BTreeSet, HashMap};

/// A thread's name, and which of that name it is, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// Which one.
    pub number: u32,
}

/// What each thread is called.
#[derive(Debug, Default)]
pub struct Identities {
    of: HashMap<u32, Identity>,
    taken: HashMap<String, BTreeSet<u32>>,
}

impl Identities {
    /// What `tid` is called; `name` is asked for where that is new.
    pub fn identify(&mut self, tid: u32, name: impl FnOnce() -> String) -> Identity {
        if let Some(known) = self.of.get(&tid) {
            return known.clone();
        }
        let name = name();
        let taken = self.taken.entry(name.clone()).or_default();
        let number = (0..).find(|number| !taken.contains(number)).unwrap_or(u32::MAX);
        taken.insert(number);
        let identity = Identity { name, number };
        self.of.insert(tid, identity.clone());
        identity
    }

    /// What it was called when it was last asked, if ever.
    pub fn known(&self, tid: u32) -> Option<&Identity> {
        self.of.get(&tid)
    }

    /// The threads that have one, and their names.
    pub fn all(&self) -> impl Iterator<Item = (u32, &str)> {
        self.of.iter().map(|(tid, identity)| (*tid, identity.name.as_str()))
    }

    /// The thread has ended, or is called something else now.
    pub fn forget(&mut self, tid: u32) -> Option<Identity> {
        let identity = self.of.remove(&tid)?;
        if let Some(taken) = self.taken.get_mut(&identity.name) {
            taken.remove(&identity.number);
        }
        self.taken.retain(|_, taken| !taken.is_empty());
        Some(identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_one_name_are_numbered_and_numbers_are_used_again() {
        let mut all = Identities::default();
        let mut number = |tid, name: &str| all.identify(tid, || name.to_owned()).number;
        assert_eq!([number(7, "pool"), number(8, "pool"), number(9, "main"), number(7, "?")], [0, 1, 0, 0]);
        assert_eq!(all.forget(7), Some(Identity { name: "pool".to_owned(), number: 0 }));
        assert_eq!(all.forget(7), None);
        assert_eq!(all.identify(10, || "pool".to_owned()).number, 0);
        assert_eq!(all.identify(11, || "pool".to_owned()).number, 2);
        for tid in 100..10_000 {
            all.identify(tid, || "short".to_owned());
            assert_eq!(all.forget(tid).unwrap().number, 0);
        }
        assert_eq!(all.all().count(), 4);
    }
}
