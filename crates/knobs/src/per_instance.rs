//! One setting that exists many times over: for each CPU, each policy, each interrupt.

use std::collections::BTreeMap;

use howlate_model::{Remedy, Write};
use howlate_procfs::{Reading, Root, chosen};

use crate::writes::{Writes, write_command};

/// The files `DIRECTORY/ENTRY/NAME` of all entries that have one.
pub struct Files {
    directory: String,
    name: String,
    /// The pattern that stands for all entries, while none was left out.
    pattern: Option<String>,
    entries: Vec<(String, Reading)>,
}

impl Files {
    /// Reads the setting `name` of every entry of `directory` that is `stem` and a number.
    pub fn list(root: &Root, directory: &str, stem: &str, name: &str) -> Self {
        let numbered = |entry: &str| {
            let number = entry.strip_prefix(stem).filter(|number| !number.is_empty());
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let entries = root.list(directory).into_iter().filter(|entry| numbered(entry));
        let read = |entry: String| {
            let reading = root.reading(format!("{directory}/{entry}/{name}"));
            (entry, reading)
        };
        let entries = entries.map(read).filter(|(_, reading)| reading.text().is_some()).collect();
        let pattern = Some(format!("{stem}*")).filter(|_| !stem.is_empty());
        Self { directory: directory.to_owned(), name: name.to_owned(), pattern, entries }
    }

    /// Only the entries whose value `wanted` accepts.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let kept = self.entries.iter().filter(|(_, reading)| reading.text().is_some_and(&wanted));
        let entries = kept.cloned().collect();
        Self { directory: self.directory.clone(), name: self.name.clone(), pattern: None, entries }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The names of the entries, joined.
    pub fn names(&self) -> String {
        self.entries.iter().map(|(entry, _)| entry.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Each value with the entries that hold it.
    fn by_value(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (entry, reading) in &self.entries {
            values.entry(reading.text().unwrap_or_default()).or_default().push(entry);
        }
        values
    }

    /// The distinct values, in alphabetical order.
    pub fn values(&self) -> Vec<&str> {
        self.by_value().into_keys().collect()
    }

    /// The first file of each distinct value.
    pub fn examples(&self) -> Vec<&Reading> {
        let first = |value: &str| self.entries.iter().find(|(_, reading)| reading.text() == Some(value));
        self.values().into_iter().filter_map(first).map(|(_, reading)| reading).collect()
    }

    /// What is to be written to have `value` in every one.
    pub fn write(&self, value: &str) -> Writes {
        let all: Vec<&str> = self.entries.iter().map(|(entry, _)| entry.as_str()).collect();
        let undo = self.by_value().into_iter().map(|(now, entries)| self.command(&entries, now));
        let remedy = Remedy { apply: vec![self.command(&all, value)], undo: undo.collect() };
        let (each, patterns, watched) = (self.each(value), self.patterns(value), Vec::new());
        Writes { each, watched, patterns, remedy }
    }

    fn each(&self, value: &str) -> Vec<Write> {
        let with_value = |now: Write| Write { value: value.to_owned(), ..now };
        self.as_they_are().into_iter().map(with_value).collect()
    }

    /// Every one with the value that it holds.
    pub(crate) fn as_they_are(&self) -> Vec<Write> {
        let write = |(_, reading): &(String, Reading)| {
            let now = reading.text().unwrap_or_default();
            let now = chosen(now).unwrap_or(now).to_owned();
            Write { path: reading.path.clone(), value: now.clone(), now, watched: false }
        };
        self.entries.iter().map(write).collect()
    }

    /// One pattern where all entries are meant and there are several.
    fn patterns(&self, value: &str) -> Vec<(String, String)> {
        let one = |entry: &str| (format!("{}/{entry}/{}", self.directory, self.name), value.to_owned());
        match &self.pattern {
            Some(pattern) if self.entries.len() > 1 => vec![one(pattern)],
            _ => self.entries.iter().map(|(entry, _)| one(entry)).collect(),
        }
    }

    fn command(&self, entries: &[&str], value: &str) -> String {
        let entry = match (entries, &self.pattern) {
            ([one], _) => (*one).to_owned(),
            (all, Some(pattern)) if all.len() == self.entries.len() => pattern.clone(),
            (many, _) => format!("{{{}}}", many.join(",")),
        };
        write_command(value, &format!("{}/{entry}/{}", self.directory, self.name))
    }
}
