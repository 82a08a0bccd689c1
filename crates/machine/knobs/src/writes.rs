//! Files of the kernel, and what is to be written to them.

use howlate_model::{CpuSet, Remedy, SettingWrite};
use howlate_procfs::{Root, Unreadable, bracketed_choice};

/// All that is written for one knob.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Every file, with what it holds and what it is to hold.
    pub each: Vec<SettingWrite>,
    /// Files that the kernel may change together with these, each to hold what it holds: to be put back as well.
    pub watched: Vec<SettingWrite>,
    /// The same with patterns, as `tmpfiles.d(5)` takes them, each with its value.
    pub patterns: Vec<(String, String)>,
    /// The commands that do it, and those that write back what is there now.
    pub remedy: Remedy,
}

impl Writes {
    /// One file.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub fn to_file(root: &Root, path: &str, value: &str) -> Result<Self, Unreadable> {
        let text = root.read(path)?;
        Ok(Self::to_known_file(path, bracketed_choice(&text).unwrap_or(&text), value))
    }

    /// One file whose value is known already.
    pub fn to_known_file(path: &str, now: &str, value: &str) -> Self {
        let (path, now, value) = (path.to_owned(), now.to_owned(), value.to_owned());
        Self {
            patterns: vec![(path.clone(), value.clone())],
            remedy: Remedy {
                apply: vec![write_command(&value, &path)],
                undo: vec![write_command(&now, &path)],
                ..Remedy::default()
            },
            each: vec![SettingWrite { path, now, value, watched: false }],
            watched: Vec::new(),
        }
    }

    /// The same, with files that the kernel may change together with these.
    #[must_use]
    pub fn watching(mut self, files: Vec<SettingWrite>) -> Self {
        self.watched.extend(files.into_iter().map(|file| SettingWrite { watched: true, ..file }));
        self
    }

    /// These and then others.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.each.extend(others.each);
        self.watched.extend(others.watched);
        self.patterns.extend(others.patterns);
        self.remedy.apply.extend(others.remedy.apply);
        self.remedy.undo.extend(others.remedy.undo);
        self
    }

    /// Whether all of it is there already.
    pub fn is_in_force(&self) -> bool {
        self.each.iter().all(|write| write.now == write.value)
    }

    /// The values that are there now, each once.
    pub(crate) fn values_now(&self) -> String {
        distinct(self.each.iter().map(|write| write.now.as_str()))
    }

    /// Those that are to be.
    pub(crate) fn values_wanted(&self) -> String {
        distinct(self.each.iter().map(|write| write.value.as_str()))
    }
}

fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all.join(" and ")
}

/// The command that writes a value to one of the kernel's files.
pub fn write_command(value: &str, path: &str) -> String {
    format!("echo {value} | sudo tee {path}")
}

/// The kernel's way to write a set of CPUs where it wants a mask: groups of 32 bits, highest first.
///
/// Source: Documentation/core-api/printk-formats.rst, `%*pb`.
pub(crate) fn mask(cpus: &CpuSet) -> String {
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
        let mask = |list: &str| mask(&list.parse::<CpuSet>().unwrap());
        assert_eq!((mask("0-1"), mask("3")), ("3".to_owned(), "8".to_owned()));
        assert_eq!(mask("0,33,64"), "1,00000002,00000001");
    }
}
