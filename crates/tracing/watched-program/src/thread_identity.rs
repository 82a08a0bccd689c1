//! Identifies threads in results by name, and threads of one name by a number.
//!
//! A number is free again when its thread has ended, so that a program that starts threads without end has no more of them
//! in its result than it ever had at once. The statistics of a thread take memory until the end: a limited number of threads have
//! their own, further ones are counted together by the pattern of their name:
//!
//! ```text
//! req-1, req-2, … req-64          each by itself
//! req-65, req-66, … req-14470     req-# (others)
//! ```

use std::collections::{BTreeSet, HashMap, HashSet};

/// Threads with statistics of their own: each takes about 100 kB per kind of wake-up, for ten distributions.
const MAX_SEPARATE: usize = 128;
/// Of one name pattern, so that a large thread pool leaves room for other threads.
const MAX_SEPARATE_PER_PATTERN: usize = 64;
/// Name patterns under which further threads are counted together.
const MAX_PATTERNS: usize = 31;

/// A thread in results: its name, and its number among threads of that name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadIdentity {
    /// As in `/proc/TID/comm`, or a pattern.
    pub name: String,
    /// From 0.
    pub number: u32,
    /// Whether it stands for several threads at a time.
    pub is_joined: bool,
}

/// A running thread.
#[derive(Debug)]
struct NamedThread {
    name: String,
    /// `None`: not selected.
    identity: Option<ThreadIdentity>,
}

/// The numbers of one name.
#[derive(Debug, Default)]
struct NameNumbers {
    /// Numbers below were in use at some time: their statistics exist.
    used_before: u32,
    in_use: BTreeSet<u32>,
}

/// The identity of each running thread.
#[derive(Debug, Default)]
pub struct ThreadIdentities {
    /// Names of the selected threads; empty: all.
    selected: Vec<String>,
    threads: HashMap<u32, NamedThread>,
    numbers: HashMap<String, NameNumbers>,
    /// Number of threads with statistics of their own, by name pattern.
    separate: HashMap<String, usize>,
    patterns: HashSet<String>,
    joined: u64,
}

impl ThreadIdentities {
    pub fn for_names(selected: &[String]) -> Self {
        Self { selected: selected.to_vec(), ..Self::default() }
    }

    pub fn is_selected(&self, name: &str) -> bool {
        self.selected.is_empty() || self.selected.iter().any(|selected| selected == name)
    }

    /// Identity of a thread, whose `name` is read if it is new; `None` if it is not selected.
    pub fn identify(&mut self, tid: u32, name: impl FnOnce() -> String) -> Option<ThreadIdentity> {
        if let Some(thread) = self.threads.get(&tid) {
            return thread.identity.clone();
        }
        let name = name();
        let identity = self.is_selected(&name).then(|| match self.assign_number(&name) {
            Some(number) => ThreadIdentity { name: name.clone(), number, is_joined: false },
            None => self.join(&name),
        });
        self.threads.insert(tid, NamedThread { name, identity: identity.clone() });
        identity
    }

    /// A number of its own, if there is room for one.
    fn assign_number(&mut self, name: &str) -> Option<u32> {
        let (all, pattern) = (self.separate.values().sum::<usize>(), pattern(name));
        if let Some(numbers) = self.numbers.get_mut(name) {
            let free = (0..numbers.used_before).find(|number| !numbers.in_use.contains(number));
            if let Some(number) = free {
                numbers.in_use.insert(number);
                return Some(number);
            }
        }
        if all >= MAX_SEPARATE
            || self.separate.get(&pattern).is_some_and(|separate| *separate >= MAX_SEPARATE_PER_PATTERN)
        {
            return None;
        }
        *self.separate.entry(pattern).or_default() += 1;
        let numbers = self.numbers.entry(name.to_owned()).or_default();
        let number = numbers.used_before;
        numbers.used_before += 1;
        numbers.in_use.insert(number);
        Some(number)
    }

    fn join(&mut self, name: &str) -> ThreadIdentity {
        self.joined += 1;
        let pattern = pattern(name);
        let has_room = self.patterns.contains(&pattern)
            || self.patterns.len() < MAX_PATTERNS && self.patterns.insert(pattern.clone());
        let name = if has_room { format!("{pattern} (others)") } else { "(others)".to_owned() };
        ThreadIdentity { name, number: 0, is_joined: true }
    }

    /// The name that a thread had when it was identified.
    pub fn name(&self, tid: u32) -> Option<&str> {
        self.threads.get(&tid).map(|thread| thread.name.as_str())
    }

    /// Running threads and their names.
    pub fn all(&self) -> impl Iterator<Item = (u32, &str)> {
        self.threads.iter().map(|(tid, thread)| (*tid, thread.name.as_str()))
    }

    /// Threads that were counted together with others.
    pub const fn joined(&self) -> u64 {
        self.joined
    }

    /// Removes a thread that has ended or was renamed.
    pub fn forget(&mut self, tid: u32) -> Option<ThreadIdentity> {
        let identity = self.threads.remove(&tid)?.identity?;
        if let Some(numbers) = self.numbers.get_mut(&identity.name).filter(|_| !identity.is_joined) {
            numbers.in_use.remove(&identity.number);
        }
        Some(identity)
    }
}

/// A name with its numbers replaced: `req-14470` and `req-2` have the pattern `req-#`.
fn pattern(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter.is_ascii_digit() {
            true if pattern.ends_with('#') => {}
            true => pattern.push('#'),
            false => pattern.push(letter),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn separate(name: &str, number: u32) -> ThreadIdentity {
        ThreadIdentity { name: name.to_owned(), number, is_joined: false }
    }

    fn identify(identities: &mut ThreadIdentities, tid: u32, name: &str) -> ThreadIdentity {
        identities.identify(tid, || name.to_owned()).unwrap()
    }

    #[test]
    fn a_thread_that_is_not_selected_takes_no_number() {
        let mut identities = ThreadIdentities::for_names(&["pool".to_owned()]);
        for tid in 0..1_000 {
            assert_eq!(identities.identify(tid, || format!("req-{tid}")), None);
        }
        assert_eq!((identify(&mut identities, 7_000, "pool"), identities.joined()), (separate("pool", 0), 0));
        assert_eq!((identities.name(7), identities.all().count()), (Some("req-7"), 1_001));
        assert_eq!(identities.forget(7), None);
        assert_eq!(identities.name(7), None);
    }

    #[test]
    fn threads_of_one_name_are_numbered_and_numbers_are_reused() {
        let mut identities = ThreadIdentities::default();
        let mut number = |tid, name: &str| identify(&mut identities, tid, name).number;
        assert_eq!([number(7, "pool"), number(8, "pool"), number(9, "main"), number(7, "?")], [0, 1, 0, 0]);
        assert_eq!(identities.forget(7), Some(separate("pool", 0)));
        assert_eq!(identities.forget(7), None);
        assert_eq!(identify(&mut identities, 10, "pool").number, 0);
        assert_eq!(identify(&mut identities, 11, "pool").number, 2);
        for tid in 100..10_000 {
            identify(&mut identities, tid, "short");
            assert_eq!(identities.forget(tid), Some(separate("short", 0)));
        }
        assert_eq!((identities.all().count(), identities.joined()), (4, 0));
    }

    #[test]
    fn threads_of_one_pattern_beyond_the_limit_are_counted_together() {
        let mut identities = ThreadIdentities::default();
        let mut found = HashSet::new();
        for tid in 0..10_000 {
            found.insert(identify(&mut identities, tid, &format!("req-{tid}")));
        }
        assert_eq!(found.len(), MAX_SEPARATE_PER_PATTERN + 1);
        let joined: Vec<_> = found
            .iter()
            .filter(|identity| identity.is_joined)
            .map(|identity| identity.name.as_str())
            .collect();
        assert_eq!(
            (joined, identities.joined()),
            (vec!["req-# (others)"], 10_000 - MAX_SEPARATE_PER_PATTERN as u64)
        );
        assert_eq!(identify(&mut identities, 20_000, "main"), separate("main", 0));
        assert_eq!(identities.name(9_999), Some("req-9999"), "its own name is known all the same");
    }

    #[test]
    fn short_lived_threads_with_new_names_are_bounded() {
        let mut identities = ThreadIdentities::default();
        let mut found = HashSet::new();
        for tid in 0..10_000 {
            // Letters, so that each name is a kind of its own.
            let name: String = tid.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
            found.insert(identify(&mut identities, tid, &name));
            identities.forget(tid);
        }
        assert_eq!(found.len(), MAX_SEPARATE + MAX_PATTERNS + 1);
        assert_eq!(identities.all().count() + identities.patterns.len(), MAX_PATTERNS);
        assert!(identities.numbers.len() <= MAX_SEPARATE && identities.separate.len() <= MAX_SEPARATE);
        assert!(found.iter().any(|letter| letter.name == "(others)"));
    }

    #[test]
    fn a_free_number_is_reused_at_the_limit() {
        let mut identities = ThreadIdentities::default();
        (0..100).for_each(|tid| drop(identify(&mut identities, tid, "pool")));
        assert!(identify(&mut identities, 100, "pool").is_joined);
        identities.forget(5);
        assert_eq!(identify(&mut identities, 101, "pool"), separate("pool", 5));
    }

    #[test]
    fn patterns_are_names_without_their_numbers() {
        for (name, expected) in
            [("req-14470", "req-#"), ("pool-1-thread-3", "pool-#-thread-#"), ("main", "main")]
        {
            assert_eq!(pattern(name), expected);
        }
    }
}
