//! One setting that exists many times over: for each CPU, each policy, each interrupt.

use howlate_procfs::{Reading, Root};
use std::collections::BTreeMap;

use super::draft::Draft;

/// The files `DIRECTORY/ENTRY/NAME` of all entries that have one.
pub(super) struct Settings {
    directory: String,
    name: String,
    /// The pattern that stands for all entries, while none was left out.
    pattern: Option<String>,
    entries: Vec<(String, Reading)>,
}

impl Settings {
    /// Reads the setting `name` of every entry of `directory` that is `stem` and a number.
    pub(super) fn of(root: &Root, directory: &str, stem: &str, name: &str) -> Self {
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
    pub(super) fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let kept = self.entries.iter().filter(|(_, reading)| reading.text().is_some_and(&wanted));
        let entries = kept.cloned().collect();
        Self { directory: self.directory.clone(), name: self.name.clone(), pattern: None, entries }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The names of the entries, joined.
    pub(super) fn names(&self) -> String {
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
    pub(super) fn values(&self) -> Vec<&str> {
        self.by_value().into_keys().collect()
    }

    /// The first file of each distinct value as evidence.
    pub(super) fn show(&self, draft: Draft) -> Draft {
        let first = |value: &str| self.entries.iter().find(|(_, reading)| reading.text() == Some(value));
        self.values().into_iter().filter_map(first).fold(draft, |draft, (_, reading)| draft.seen(reading))
    }

    /// Writes `value` to every entry; the undo writes back what each holds now.
    pub(super) fn write(&self, draft: Draft, value: &str) -> Draft {
        let all: Vec<&str> = self.entries.iter().map(|(entry, _)| entry.as_str()).collect();
        let draft = draft.apply(self.command(&all, value));
        let undo = |draft: Draft, (now, entries): (&str, Vec<&str>)| draft.undo(self.command(&entries, now));
        self.by_value().into_iter().fold(draft, undo)
    }

    fn command(&self, entries: &[&str], value: &str) -> String {
        let entry = match (entries, &self.pattern) {
            ([one], _) => (*one).to_owned(),
            (all, Some(pattern)) if all.len() == self.entries.len() => pattern.clone(),
            (many, _) => format!("{{{}}}", many.join(",")),
        };
        format!("echo {value} | sudo tee {}/{entry}/{}", self.directory, self.name)
    }
}
