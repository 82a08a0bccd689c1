//! A setting with one file per CPU, frequency policy, interrupt or queue.

use std::collections::BTreeMap;

use howlate_model::{Remedy, SettingWrite};
use howlate_procfs::{Reading, Root, bracketed_choice};

use crate::settings::writes::{Writes, write_command};

/// The files `DIRECTORY/STEM<number>/NAME` of all entries that have one.
pub(crate) struct NumberedFiles {
    directory: String,
    name: String,
    /// A glob pattern for all entries; `None` once some were filtered out.
    pattern: Option<String>,
    /// Name of each entry before its number.
    stem: String,
    entries: Vec<(String, Reading)>,
}

/// With more values, or longer commands, the old values are restored from a backup file.
const MOST_VALUES: usize = 4;
const LONGEST_COMMAND: usize = 200;

impl NumberedFiles {
    /// Reads the file `name` of every entry of `directory` whose name is `stem` and a number.
    pub(crate) fn list(root: &Root, directory: &str, stem: &str, name: &str) -> Self {
        let has_number = |entry: &str| {
            let number = entry.strip_prefix(stem).filter(|number| !number.is_empty());
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let entries = root.list(directory).into_iter().filter(|entry| has_number(entry));
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

    /// The entries with a value for which `predicate` is true.
    #[must_use]
    pub(crate) fn filter_values(&self, predicate: impl Fn(&str) -> bool) -> Self {
        self.filter(|_, reading| reading.text().is_some_and(&predicate))
    }

    /// The entries with a number for which `predicate` is true.
    #[must_use]
    pub(crate) fn filter_numbers(&self, predicate: impl Fn(u32) -> bool) -> Self {
        self.filter(|number, _| predicate(number))
    }

    /// Keeps the pattern if all entries remain.
    fn filter(&self, predicate: impl Fn(u32, &Reading) -> bool) -> Self {
        let is_wanted = |(entry, reading): &&(String, Reading)| {
            let number = entry.strip_prefix(&self.stem).and_then(|number| number.parse().ok());
            number.is_some_and(|number| predicate(number, reading))
        };
        let entries: Vec<_> = self.entries.iter().filter(is_wanted).cloned().collect();
        let pattern = self.pattern.clone().filter(|_| entries.len() == self.entries.len());
        let (directory, name, stem) = (self.directory.clone(), self.name.clone(), self.stem.clone());
        Self { directory, name, pattern, stem, entries }
    }

    /// Another file of each entry, assumed to have the value of this one.
    pub(crate) fn sibling_files(&self, name: &str) -> Self {
        let path = |entry: &str| format!("{}/{entry}/{name}", self.directory);
        let renamed = |(entry, reading): &(String, Reading)| {
            (entry.clone(), Reading { path: path(entry), content: reading.content.clone() })
        };
        let entries = self.entries.iter().map(renamed).collect();
        let (directory, pattern, stem) = (self.directory.clone(), self.pattern.clone(), self.stem.clone());
        Self { directory, name: name.to_owned(), pattern, stem, entries }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The numbers of the entries, in ranges: `24, 126-129`.
    pub(crate) fn numbers(&self) -> String {
        let range = |run: &(u64, u64)| {
            if run.0 == run.1 { run.0.to_string() } else { format!("{}-{}", run.0, run.1) }
        };
        runs(self.parsed_numbers()).iter().map(range).collect::<Vec<_>>().join(", ")
    }

    /// Whether the numbers form too many ranges for a command line.
    pub(crate) fn are_scattered(&self) -> bool {
        const MOST_RUNS: usize = 8;
        runs(self.parsed_numbers()).len() > MOST_RUNS
    }

    fn parsed_numbers(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().filter_map(|(entry, _)| entry.strip_prefix(&self.stem)?.parse().ok())
    }

    /// The entries with each value.
    fn by_value(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (entry, reading) in &self.entries {
            values.entry(reading.text().unwrap_or_default()).or_default().push(entry);
        }
        values
    }

    /// The distinct values, in alphabetical order.
    pub(crate) fn values(&self) -> Vec<&str> {
        self.by_value().into_keys().collect()
    }

    /// The first file with each distinct value.
    pub(crate) fn examples(&self) -> Vec<&Reading> {
        let first = |value: &str| self.entries.iter().find(|(_, reading)| reading.text() == Some(value));
        self.values().into_iter().filter_map(first).map(|(_, reading)| reading).collect()
    }

    /// Writes `value` to every file.
    pub(crate) fn write(&self, value: &str) -> Writes {
        let entries: Vec<&str> = self.entries.iter().map(|(entry, _)| entry.as_str()).collect();
        let undo: Vec<String> =
            self.by_value().into_iter().map(|(now, entries)| self.command(&entries, now)).collect();
        let apply = self.command(&entries, value);
        let remedy =
            match undo.len() > MOST_VALUES || undo.iter().any(|command| command.len() > LONGEST_COMMAND) {
                true => self.with_backup_file(apply),
                false => Remedy { apply: vec![apply], undo, ..Remedy::default() },
            };
        Writes { files: self.writes(value), watched: Vec::new(), patterns: self.patterns(value), remedy }
    }

    /// Saves the current values to a file, and restores them from it.
    fn with_backup_file(&self, apply: String) -> Remedy {
        let file = format!("howlate-{}", self.name.replace('/', "-"));
        let save = format!("grep -H . {}/{}*/{} > {file}", self.directory, self.stem, self.name);
        let undo = format!("while IFS=: read -r f v; do echo $v | sudo tee $f; done < {file}");
        Remedy { apply: vec![save, apply], undo: vec![undo], ..Remedy::default() }
    }

    fn writes(&self, value: &str) -> Vec<SettingWrite> {
        let with_value = |write: SettingWrite| SettingWrite { value: value.to_owned(), ..write };
        self.unchanged().into_iter().map(with_value).collect()
    }

    /// Writes its current value to every file.
    pub(crate) fn unchanged(&self) -> Vec<SettingWrite> {
        let write = |(_, reading): &(String, Reading)| {
            let now = reading.text().unwrap_or_default();
            let now = bracketed_choice(now).unwrap_or(now).to_owned();
            SettingWrite { path: reading.path.clone(), value: now.clone(), now, watched: false }
        };
        self.entries.iter().map(write).collect()
    }

    /// One glob pattern if it covers all of several entries.
    fn patterns(&self, value: &str) -> Vec<(String, String)> {
        let line = |entry: &str| (format!("{}/{entry}/{}", self.directory, self.name), value.to_owned());
        match &self.pattern {
            Some(pattern) if self.entries.len() > 1 => vec![line(pattern)],
            _ => self.entries.iter().map(|(entry, _)| line(entry)).collect(),
        }
    }

    fn command(&self, entries: &[&str], value: &str) -> String {
        let entry = match (entries, &self.pattern) {
            ([entry], _) => (*entry).to_owned(),
            (_, Some(pattern)) if entries.len() == self.entries.len() => pattern.clone(),
            _ => return self.loop_command(entries, value),
        };
        write_command(value, &format!("{}/{entry}/{}", self.directory, self.name))
    }

    /// A loop over the numbers: not every shell has brace expansion.
    fn loop_command(&self, entries: &[&str], value: &str) -> String {
        let stem = self.stem.as_str();
        let numbers = entries.iter().filter_map(|entry| entry.strip_prefix(stem)?.parse().ok());
        let path = format!("{}/{stem}$n/{}", self.directory, self.name);
        format!("for n in {}; do {}; done", shell_numbers(numbers), write_command(value, &path))
    }
}

/// First and last number of each run of consecutive numbers.
fn runs(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some(run) if run.1.checked_add(1) == Some(number) => run.1 = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}

/// Shorter runs are written number by number.
const LEAST_RUN: u64 = 4;

/// Words of a shell loop: `3 6 $(seq 8 26)`.
fn shell_numbers(numbers: impl Iterator<Item = u64>) -> String {
    let shell_list = |(from, to): (u64, u64)| match to - from < LEAST_RUN {
        true => (from..=to).map(|number| number.to_string()).collect::<Vec<_>>().join(" "),
        false => format!("$(seq {from} {to})"),
    };
    runs(numbers).into_iter().map(shell_list).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::testing::tree;

    #[test]
    fn entries_of_one_value_are_written_by_a_pattern_or_in_a_loop() {
        let (_folder, root) = tree(&[
            ("/proc/irq/8/a", "0-3"),
            ("/proc/irq/9/a", "0"),
            ("/proc/irq/24/a", "0-3"),
            ("/sys/x/cpu0/a", "0"),
            ("/sys/x/cpu1/a", "1"),
        ]);
        let wide = NumberedFiles::list(&root, "/proc/irq", "", "a").filter_values(|value| value == "0-3");
        assert_eq!(wide.numbers(), "8, 24");
        let remedy = wide.write("0").remedy;
        assert_eq!(remedy.apply, ["for n in 8 24; do echo 0 | sudo tee /proc/irq/$n/a; done"]);
        assert_eq!(remedy.undo, ["for n in 8 24; do echo 0-3 | sudo tee /proc/irq/$n/a; done"]);
        let cpus = NumberedFiles::list(&root, "/sys/x", "cpu", "a");
        assert_eq!(cpus.write("1").remedy.apply, ["echo 1 | sudo tee /sys/x/cpu*/a"]);
        assert_eq!(
            cpus.filter_numbers(|_| true).write("1").remedy.apply,
            ["echo 1 | sudo tee /sys/x/cpu*/a"]
        );
        assert_eq!(
            cpus.filter_numbers(|cpu| cpu == 1).write("0").remedy.apply,
            ["echo 0 | sudo tee /sys/x/cpu1/a"]
        );
    }

    #[test]
    fn long_runs_are_written_by_their_ends() {
        assert_eq!(shell_numbers([3, 6, 8, 9, 10, 11, 12, 20].into_iter()), "3 6 $(seq 8 12) 20");
        assert_eq!(shell_numbers([1, 2, 3, 4].into_iter()), "1 2 3 4");
    }
}
