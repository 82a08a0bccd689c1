//! What threads are called in results: by their name, and among those of one name by a number.
//!
//! A number is free again when its thread has ended, so that a program that begins threads without end has no more of them
//! in its result than it ever had at once. What is known of a thread costs memory for good, whoever is watched: so
//! many have a number of their own, and the others are counted together with those of the same kind of name:
//!
//! ```text
//! req-1, req-2, … req-64          each by itself
//! req-65, req-66, … req-14470     req-# (others)
//! ```

use std::collections::{BTreeSet, HashMap, HashSet};

/// Threads that are told apart, all together: each costs about 100 kB for every way in which it wakes up, as a result has ten distributions of it.
const ALONE: usize = 128;
/// Those of one kind of name, so that a crowd leaves room for whoever comes later.
const ALONE_OF_A_KIND: usize = 64;
/// Kinds of names under which others are counted together.
const KINDS: usize = 31;

/// What a thread is called: its name, and which of that name it is, from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The thread's name, as `/proc` has it.
    pub name: String,
    /// Which of that name it is, from 0.
    pub number: u32,
    /// Whether it stands for several threads at a time.
    pub is_joined: bool,
}

/// A thread that there is.
#[derive(Debug)]
struct Named {
    name: String,
    /// None where it is not one of those that are meant.
    identity: Option<Identity>,
}

/// The numbers of one name.
#[derive(Debug, Default)]
struct Numbers {
    /// Those below were handed out at some time: there is room for them.
    ever: u32,
    taken: BTreeSet<u32>,
}

/// What each thread is called.
#[derive(Debug, Default)]
pub struct Identities {
    /// Names of those that are meant; all if there are none.
    chosen: Vec<String>,
    of: HashMap<u32, Named>,
    numbers: HashMap<String, Numbers>,
    /// Threads told apart, by the kind of their name.
    alone: HashMap<String, usize>,
    kinds: HashSet<String>,
    joined: u64,
}

impl Identities {
    /// Of threads with these names; of all if there are none.
    pub fn choosing(chosen: &[String]) -> Self {
        Self { chosen: chosen.to_vec(), ..Self::default() }
    }

    /// Whether threads of this name are meant.
    pub fn is_chosen(&self, name: &str) -> bool {
        self.chosen.is_empty() || self.chosen.iter().any(|chosen| chosen == name)
    }

    /// What `tid` is called, whose `name` is asked for where that is new; `None` where it is not meant.
    pub fn identify(&mut self, tid: u32, name: impl FnOnce() -> String) -> Option<Identity> {
        if let Some(known) = self.of.get(&tid) {
            return known.identity.clone();
        }
        let name = name();
        let identity = self.is_chosen(&name).then(|| match self.number(&name) {
            Some(number) => Identity { name: name.clone(), number, is_joined: false },
            None => self.join(&name),
        });
        self.of.insert(tid, Named { name, identity: identity.clone() });
        identity
    }

    /// A number of its own, if there is room for one.
    fn number(&mut self, name: &str) -> Option<u32> {
        let (all, kind) = (self.alone.values().sum::<usize>(), kind(name));
        if let Some(numbers) = self.numbers.get_mut(name) {
            let free = (0..numbers.ever).find(|number| !numbers.taken.contains(number));
            if let Some(number) = free {
                numbers.taken.insert(number);
                return Some(number);
            }
        }
        if all >= ALONE || self.alone.get(&kind).is_some_and(|alone| *alone >= ALONE_OF_A_KIND) {
            return None;
        }
        *self.alone.entry(kind).or_default() += 1;
        let numbers = self.numbers.entry(name.to_owned()).or_default();
        let number = numbers.ever;
        numbers.ever += 1;
        numbers.taken.insert(number);
        Some(number)
    }

    fn join(&mut self, name: &str) -> Identity {
        self.joined += 1;
        let kind = kind(name);
        let is_kept =
            self.kinds.contains(&kind) || self.kinds.len() < KINDS && self.kinds.insert(kind.clone());
        let name = if is_kept { format!("{kind} (others)") } else { "(others)".to_owned() };
        Identity { name, number: 0, is_joined: true }
    }

    /// The name that a thread had when it was last asked, if ever.
    pub fn name(&self, tid: u32) -> Option<&str> {
        self.of.get(&tid).map(|known| known.name.as_str())
    }

    /// The threads that have one, and their names.
    pub fn all(&self) -> impl Iterator<Item = (u32, &str)> {
        self.of.iter().map(|(tid, known)| (*tid, known.name.as_str()))
    }

    /// Threads that were counted together with others so far.
    pub const fn joined(&self) -> u64 {
        self.joined
    }

    /// The thread has ended, or is called something else now.
    pub fn forget(&mut self, tid: u32) -> Option<Identity> {
        let identity = self.of.remove(&tid)?.identity?;
        if let Some(numbers) = self.numbers.get_mut(&identity.name).filter(|_| !identity.is_joined) {
            numbers.taken.remove(&identity.number);
        }
        Some(identity)
    }
}

/// A name without the numbers in it: `req-14470` and `req-2` are of one kind, `req-#`.
fn kind(name: &str) -> String {
    let mut kind = String::with_capacity(name.len());
    for one in name.chars() {
        match one.is_ascii_digit() {
            true if kind.ends_with('#') => {}
            true => kind.push('#'),
            false => kind.push(one),
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(name: &str, number: u32) -> Identity {
        Identity { name: name.to_owned(), number, is_joined: false }
    }

    fn identify(all: &mut Identities, tid: u32, name: &str) -> Identity {
        all.identify(tid, || name.to_owned()).unwrap()
    }

    #[test]
    fn one_that_is_not_meant_takes_nobodys_number() {
        let mut all = Identities::choosing(&["pool".to_owned()]);
        for tid in 0..1_000 {
            assert_eq!(all.identify(tid, || format!("req-{tid}")), None);
        }
        assert_eq!((identify(&mut all, 7_000, "pool"), all.joined()), (alone("pool", 0), 0));
        assert_eq!((all.name(7), all.all().count()), (Some("req-7"), 1_001));
        assert_eq!(all.forget(7), None);
        assert_eq!(all.name(7), None);
    }

    #[test]
    fn those_of_one_name_are_numbered_and_numbers_are_used_again() {
        let mut all = Identities::default();
        let mut number = |tid, name: &str| identify(&mut all, tid, name).number;
        assert_eq!([number(7, "pool"), number(8, "pool"), number(9, "main"), number(7, "?")], [0, 1, 0, 0]);
        assert_eq!(all.forget(7), Some(alone("pool", 0)));
        assert_eq!(all.forget(7), None);
        assert_eq!(identify(&mut all, 10, "pool").number, 0);
        assert_eq!(identify(&mut all, 11, "pool").number, 2);
        for tid in 100..10_000 {
            identify(&mut all, tid, "short");
            assert_eq!(all.forget(tid), Some(alone("short", 0)));
        }
        assert_eq!((all.all().count(), all.joined()), (4, 0));
    }

    #[test]
    fn a_crowd_of_one_kind_is_counted_together_and_leaves_room_for_others() {
        let mut all = Identities::default();
        let mut found = HashSet::new();
        for tid in 0..10_000 {
            found.insert(identify(&mut all, tid, &format!("req-{tid}")));
        }
        assert_eq!(found.len(), ALONE_OF_A_KIND + 1);
        let joined: Vec<_> = found.iter().filter(|one| one.is_joined).map(|one| one.name.as_str()).collect();
        assert_eq!((joined, all.joined()), (vec!["req-# (others)"], 10_000 - ALONE_OF_A_KIND as u64));
        assert_eq!(identify(&mut all, 20_000, "main"), alone("main", 0));
        assert_eq!(all.name(9_999), Some("req-9999"), "its own name is known all the same");
    }

    #[test]
    fn threads_that_come_and_go_under_ever_new_names_are_bounded_too() {
        let mut all = Identities::default();
        let mut found = HashSet::new();
        for tid in 0..10_000 {
            // Letters, so that each name is a kind of its own.
            let name: String = tid.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
            found.insert(identify(&mut all, tid, &name));
            all.forget(tid);
        }
        assert_eq!(found.len(), ALONE + KINDS + 1);
        assert_eq!(all.all().count() + all.kinds.len(), KINDS);
        assert!(all.numbers.len() <= ALONE && all.alone.len() <= ALONE);
        assert!(found.iter().any(|one| one.name == "(others)"));
    }

    #[test]
    fn a_number_that_was_free_again_is_used_where_there_is_no_room_for_another() {
        let mut all = Identities::default();
        (0..100).for_each(|tid| drop(identify(&mut all, tid, "pool")));
        assert!(identify(&mut all, 100, "pool").is_joined);
        all.forget(5);
        assert_eq!(identify(&mut all, 101, "pool"), alone("pool", 5));
    }

    #[test]
    fn kinds_are_names_without_their_numbers() {
        for (name, expected) in
            [("req-14470", "req-#"), ("pool-1-thread-3", "pool-#-thread-#"), ("main", "main")]
        {
            assert_eq!(kind(name), expected);
        }
    }
}
