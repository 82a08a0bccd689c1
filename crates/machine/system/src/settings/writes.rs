//! Kernel files and the values to write to them.

use howlate_model::{CpuSet, Remedy, SettingWrite};
use howlate_procfs::{Root, Unreadable, bracketed_choice};

/// All writes of one setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Each file with its current and its new value.
    pub files: Vec<SettingWrite>,
    /// Files that the kernel may change together with these: restored as well.
    pub watched: Vec<SettingWrite>,
    /// Glob patterns, as in `tmpfiles.d(5)`, with their values.
    pub patterns: Vec<(String, String)>,
    /// Commands that write the new values, and that restore the current ones.
    pub remedy: Remedy,
}

impl Writes {
    /// Writes `value` to one file; an error if it cannot be read.
    pub fn to_file(root: &Root, path: &str, value: &str) -> Result<Self, Unreadable> {
        let text = root.read(path)?;
        Ok(Self::to_known_file(path, bracketed_choice(&text).unwrap_or(&text), value))
    }

    /// Writes `value` to one file with the current value `now`.
    pub fn to_known_file(path: &str, now: &str, value: &str) -> Self {
        let (path, now, value) = (path.to_owned(), now.to_owned(), value.to_owned());
        Self {
            patterns: vec![(path.clone(), value.clone())],
            remedy: Remedy {
                apply: vec![write_command(&value, &path)],
                undo: vec![write_command(&now, &path)],
                ..Remedy::default()
            },
            files: vec![SettingWrite { path, now, value, watched: false }],
            watched: Vec::new(),
        }
    }

    /// Adds files that the kernel may change together with these.
    #[must_use]
    pub fn watching(mut self, files: Vec<SettingWrite>) -> Self {
        self.watched.extend(files.into_iter().map(|file| SettingWrite { watched: true, ..file }));
        self
    }

    /// Appends further writes.
    #[must_use]
    pub fn and(mut self, next: Self) -> Self {
        self.files.extend(next.files);
        self.watched.extend(next.watched);
        self.patterns.extend(next.patterns);
        self.remedy.apply.extend(next.remedy.apply);
        self.remedy.undo.extend(next.remedy.undo);
        self
    }

    /// Whether every file already has its new value.
    pub fn is_in_force(&self) -> bool {
        self.files.iter().all(|write| write.now == write.value)
    }

    /// Distinct current values, joined by `and`.
    pub(crate) fn current_values(&self) -> String {
        distinct(self.files.iter().map(|write| write.now.as_str()))
    }

    /// Distinct new values, joined by `and`.
    pub(crate) fn target_values(&self) -> String {
        distinct(self.files.iter().map(|write| write.value.as_str()))
    }
}

fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct.join(" and ")
}

/// The shell command that writes a value to a kernel file.
pub(crate) fn write_command(value: &str, path: &str) -> String {
    format!("echo {value} | sudo tee {path}")
}

/// A CPU mask as the kernel reads it: groups of 32 bits, highest first.
///
/// Source: Documentation/core-api/printk-formats.rst, `%*pb`.
pub(crate) fn cpu_mask(cpus: &CpuSet) -> String {
    let groups = cpus.iter().last().map_or(0, |last| last / 32);
    let group = |number: u32| {
        let bits = cpus.iter().filter(|cpu| cpu / 32 == number);
        bits.fold(0_u32, |mask, cpu| mask | (1 << (cpu % 32)))
    };
    let first = format!("{:x}", group(groups));
    (0..groups).rev().fold(first, |text, number| format!("{text},{:08x}", group(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_groups_of_32_bits() {
        let mask = |list: &str| cpu_mask(&list.parse::<CpuSet>().unwrap());
        assert_eq!((mask("0-1"), mask("3")), ("3".to_owned(), "8".to_owned()));
        assert_eq!(mask("0,33,64"), "1,00000002,00000001");
    }
}
