//! One setting that exists many times over: for each CPU, each policy, each interrupt.

use std::collections::BTreeMap;

use howlate_model::{Remedy, SettingWrite};
use howlate_procfs::{Reading, Root, bracketed_choice};

use crate::writes::{Writes, write_command};

/// The files `DIRECTORY/ENTRY/NAME` of all entries that have one.
pub struct Files {
    directory: String,
    name: String,
    /// The pattern that stands for all entries, while none was left out.
    pattern: Option<String>,
    /// What stands before the number of each.
    stem: String,
    entries: Vec<(String, Reading)>,
}

/// More values, or longer commands, are not put back one by one.
const MOST_VALUES: usize = 4;
const LONGEST: usize = 200;

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
        Self {
            directory: directory.to_owned(),
            name: name.to_owned(),
            pattern,
            stem: stem.to_owned(),
            entries,
        }
    }

    /// Only the entries whose value `wanted` accepts.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        self.kept(|_, reading| reading.text().is_some_and(&wanted))
    }

    /// Only the entries whose number `wanted` accepts.
    #[must_use]
    pub fn numbered(&self, wanted: impl Fn(u32) -> bool) -> Self {
        self.kept(|number, _| wanted(number))
    }

    /// All stay one pattern where none was left out.
    fn kept(&self, wanted: impl Fn(u32, &Reading) -> bool) -> Self {
        let is_kept = |(entry, reading): &&(String, Reading)| {
            let number = entry.strip_prefix(&self.stem).and_then(|number| number.parse().ok());
            number.is_some_and(|number| wanted(number, reading))
        };
        let entries: Vec<_> = self.entries.iter().filter(is_kept).cloned().collect();
        let pattern = self.pattern.clone().filter(|_| entries.len() == self.entries.len());
        let (directory, name, stem) = (self.directory.clone(), self.name.clone(), self.stem.clone());
        Self { directory, name, pattern, stem, entries }
    }

    /// Another file of the same entries, as if it held the same.
    pub(crate) fn named(&self, name: &str) -> Self {
        let path = |entry: &str| format!("{}/{entry}/{name}", self.directory);
        let renamed = |(entry, reading): &(String, Reading)| {
            (entry.clone(), Reading { path: path(entry), content: reading.content.clone() })
        };
        let entries = self.entries.iter().map(renamed).collect();
        let (directory, pattern, stem) = (self.directory.clone(), self.pattern.clone(), self.stem.clone());
        Self { directory, name: name.to_owned(), pattern, stem, entries }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The numbers of the entries, in ranges: `24, 126-129`.
    pub fn numbers(&self) -> String {
        let in_words = |run: &(u64, u64)| {
            if run.0 == run.1 { run.0.to_string() } else { format!("{}-{}", run.0, run.1) }
        };
        runs(self.parsed_numbers()).iter().map(in_words).collect::<Vec<_>>().join(", ")
    }

    /// Whether their numbers are too scattered to be typed.
    pub(crate) fn are_scattered(&self) -> bool {
        const MOST_RUNS: usize = 8;
        runs(self.parsed_numbers()).len() > MOST_RUNS
    }

    fn parsed_numbers(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().filter_map(|(entry, _)| entry.strip_prefix(&self.stem)?.parse().ok())
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
        let undo: Vec<String> =
            self.by_value().into_iter().map(|(now, entries)| self.command(&entries, now)).collect();
        let apply = self.command(&all, value);
        let remedy = match undo.len() > MOST_VALUES || undo.iter().any(|command| command.len() > LONGEST) {
            true => self.kept_in_a_file(apply),
            false => Remedy { apply: vec![apply], undo, ..Remedy::default() },
        };
        let (each, patterns, watched) = (self.each(value), self.patterns(value), Vec::new());
        Writes { each, watched, patterns, remedy }
    }

    /// What there is now goes to a file, from which it is put back.
    fn kept_in_a_file(&self, apply: String) -> Remedy {
        let file = format!("howlate-{}", self.name.replace('/', "-"));
        let keep = format!("grep -H . {}/{}*/{} > {file}", self.directory, self.stem, self.name);
        let undo = format!("while IFS=: read -r f v; do echo $v | sudo tee $f; done < {file}");
        Remedy { apply: vec![keep, apply], undo: vec![undo], ..Remedy::default() }
    }

    fn each(&self, value: &str) -> Vec<SettingWrite> {
        let with_value = |now: SettingWrite| SettingWrite { value: value.to_owned(), ..now };
        self.as_they_are().into_iter().map(with_value).collect()
    }

    /// Every one with the value that it holds.
    pub(crate) fn as_they_are(&self) -> Vec<SettingWrite> {
        let write = |(_, reading): &(String, Reading)| {
            let now = reading.text().unwrap_or_default();
            let now = bracketed_choice(now).unwrap_or(now).to_owned();
            SettingWrite { path: reading.path.clone(), value: now.clone(), now, watched: false }
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
            (many, _) => return self.loop_command(many, value),
        };
        write_command(value, &format!("{}/{entry}/{}", self.directory, self.name))
    }

    /// A loop over their numbers: not every shell has lists in braces.
    fn loop_command(&self, entries: &[&str], value: &str) -> String {
        let stem = self.stem.as_str();
        let numbers = entries.iter().filter_map(|entry| entry.strip_prefix(stem)?.parse().ok());
        let path = format!("{}/{stem}$n/{}", self.directory, self.name);
        format!("for n in {}; do {}; done", numbers_to_type(numbers), write_command(value, &path))
    }
}

/// Numbers that follow one another, from and to.
fn runs(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match all.last_mut() {
            Some(run) if run.1.checked_add(1) == Some(number) => run.1 = number,
            _ => all.push((number, number)),
        }
    }
    all
}

/// Fewer numbers in a row are written one by one.
const LEAST_RUN: u64 = 4;

/// Numbers as every shell takes them in a loop: `3 6 $(seq 8 26)`.
fn numbers_to_type(numbers: impl Iterator<Item = u64>) -> String {
    let typed = |(from, to): (u64, u64)| match to - from < LEAST_RUN {
        true => (from..=to).map(|one| one.to_string()).collect::<Vec<_>>().join(" "),
        false => format!("$(seq {from} {to})"),
    };
    runs(numbers).into_iter().map(typed).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn entries_of_one_value_are_written_by_a_pattern_or_in_a_loop() {
        let (_folder, root) = tree(&[
            ("/proc/irq/8/a", "0-3"),
            ("/proc/irq/9/a", "0"),
            ("/proc/irq/24/a", "0-3"),
            ("/sys/x/cpu0/a", "0"),
            ("/sys/x/cpu1/a", "1"),
        ]);
        let wide = Files::list(&root, "/proc/irq", "", "a").only(|value| value == "0-3");
        assert_eq!(wide.numbers(), "8, 24");
        let remedy = wide.write("0").remedy;
        assert_eq!(remedy.apply, ["for n in 8 24; do echo 0 | sudo tee /proc/irq/$n/a; done"]);
        assert_eq!(remedy.undo, ["for n in 8 24; do echo 0-3 | sudo tee /proc/irq/$n/a; done"]);
        let cpus = Files::list(&root, "/sys/x", "cpu", "a");
        assert_eq!(cpus.write("1").remedy.apply, ["echo 1 | sudo tee /sys/x/cpu*/a"]);
        assert_eq!(cpus.numbered(|_| true).write("1").remedy.apply, ["echo 1 | sudo tee /sys/x/cpu*/a"]);
        assert_eq!(
            cpus.numbered(|cpu| cpu == 1).write("0").remedy.apply,
            ["echo 0 | sudo tee /sys/x/cpu1/a"]
        );
    }

    #[test]
    fn long_runs_are_written_by_their_ends() {
        assert_eq!(numbers_to_type([3, 6, 8, 9, 10, 11, 12, 20].into_iter()), "3 6 $(seq 8 12) 20");
        assert_eq!(numbers_to_type([1, 2, 3, 4].into_iter()), "1 2 3 4");
    }
}
