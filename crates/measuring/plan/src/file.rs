//! Plan files: the command lines of an experiment, written as TOML.
//!
//! A table is one measuring command, its keys are the command's options. This module knows
//! neither commands nor options; it gives what was written, and where.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A plan as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanFile {
    /// What the experiment is about, in a sentence.
    pub about: Option<String>,
    /// Other plans whose measurements belong to this one.
    pub include: Vec<PlanEntry>,
    /// Options of the whole run.
    pub options: Vec<PlanEntry>,
    /// Settings of the machine.
    pub settings: Vec<PlanEntry>,
    /// Measuring commands, in the order in which they are written.
    pub measures: Vec<Measure>,
}

/// One measuring command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The command's name, such as `tune sleep`.
    pub command: String,
    /// What stands in its table.
    pub options: Vec<PlanEntry>,
    /// The line it begins on, from 1.
    pub line: usize,
}

/// One key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEntry {
    /// The key, which is an option's name without `--`.
    pub name: String,
    /// Its values: one, or those of a list; none for `false`, an empty one for `true`.
    pub values: Vec<String>,
    /// The line it is on, from 1.
    pub line: usize,
}

/// A plan that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct FileError {
    /// Where, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

impl PlanFile {
    /// Reads the text of a plan.
    ///
    /// # Errors
    ///
    /// When it is not TOML, or a value is of a kind that no option takes.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let lines = Lines(text);
        let table = DeTable::parse(text)
            .map_err(|error| lines.error(error.span().unwrap_or(0..0), error.message().replace('\n', " ")))?;
        let mut plan = Self::default();
        for (key, value) in table.get_ref() {
            plan.take(&lines, "", key, value)?;
        }
        plan.measures.sort_by_key(|measure| measure.line);
        plan.options.sort_by_key(|written| written.line);
        Ok(plan)
    }

    /// `within` is the command that the table is one of: `[[tune.sleep]]` is `howlate tune sleep`.
    fn take(
        &mut self,
        lines: &Lines,
        within: &str,
        key: &Key,
        value: &Spanned<DeValue>,
    ) -> Result<(), FileError> {
        let name = format!("{within} {}", key.get_ref());
        let name = name.trim_start();
        match (name, value.get_ref()) {
            ("system", DeValue::Table(table)) => self.settings = lines.settings(table)?,
            (_, DeValue::Table(table)) if within.is_empty() && holds_commands(table) => {
                for (key, value) in table {
                    self.take(lines, name, key, value)?;
                }
            }
            (_, DeValue::Table(table)) => self.measures.push(lines.measure(name, key.span(), table)?),
            (_, DeValue::Array(array)) if holds_tables(array) => {
                for one in array {
                    let DeValue::Table(table) = one.get_ref() else {
                        return Err(lines.error(
                            one.span(),
                            format!("each `{name}` must be a table: write `[[{name}]]`"),
                        ));
                    };
                    self.measures.push(lines.measure(name, one.span(), table)?);
                }
            }
            ("about", DeValue::String(about)) => self.about = Some(about.to_string()),
            ("include", _) => self.include.push(lines.written(key, value)?),
            _ => self.options.push(lines.written(key, value)?),
        }
        Ok(())
    }
}

type Key<'a> = Spanned<toml::de::DeString<'a>>;

/// Whether all that is in a table are tables.
fn holds_commands(table: &DeTable<'_>) -> bool {
    let is_command = |value: &DeValue| match value {
        DeValue::Table(_) => true,
        DeValue::Array(array) => holds_tables(array),
        _ => false,
    };
    !table.is_empty() && table.iter().all(|(_, value)| is_command(value.get_ref()))
}

fn holds_tables(array: &DeArray<'_>) -> bool {
    array.iter().any(|one| matches!(one.get_ref(), DeValue::Table(_)))
}

/// The text, to tell lines from positions.
struct Lines<'a>(&'a str);

impl Lines<'_> {
    fn line(&self, span: Range<usize>) -> usize {
        let before = self.0.as_bytes().iter().take(span.start);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    fn error(&self, span: Range<usize>, reason: String) -> FileError {
        FileError { line: self.line(span), reason }
    }

    fn measure(&self, command: &str, span: Range<usize>, table: &DeTable<'_>) -> Result<Measure, FileError> {
        let mut options: Vec<PlanEntry> =
            table.iter().map(|(key, value)| self.written(key, value)).collect::<Result<_, _>>()?;
        options.sort_by_key(|written| written.line);
        Ok(Measure { command: command.to_owned(), options, line: self.line(span) })
    }

    /// `kernel.x = 1` is TOML for a table in a table; people mean the sysctl.
    fn settings(&self, table: &DeTable<'_>) -> Result<Vec<PlanEntry>, FileError> {
        let mut settings = Vec::new();
        for (key, value) in table {
            if let DeValue::Table(inner) = value.get_ref() {
                let prefix = key.get_ref();
                let inner = self.settings(inner)?.into_iter();
                settings.extend(inner.map(|one| PlanEntry { name: format!("{prefix}.{}", one.name), ..one }));
            } else {
                settings.push(self.written(key, value)?);
            }
        }
        settings.sort_by_key(|written| written.line);
        Ok(settings)
    }

    fn written(&self, key: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Result<PlanEntry, FileError> {
        let values = match value.get_ref() {
            DeValue::Array(array) if array.is_empty() => {
                let reason =
                    format!("`{}` is empty; give it at least one value, or leave it out", key.get_ref());
                return Err(self.error(value.span(), reason));
            }
            DeValue::Array(array) => {
                array.iter().map(|one| self.scalar(key, one)).collect::<Result<_, _>>()?
            }
            DeValue::Boolean(false) => Vec::new(),
            _ => vec![self.scalar(key, value)?],
        };
        Ok(PlanEntry { name: key.get_ref().to_string(), values, line: self.line(key.span()) })
    }

    fn scalar(&self, key: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Result<String, FileError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => Ok(number.as_str().replace('_', "")),
            DeValue::Boolean(true) => Ok(String::new()),
            other => {
                let (kind, name) = (other.type_str(), key.get_ref());
                let reason = format!(
                    "`{name}` cannot be a {kind}; write a text such as \"1ms\", a number, true, or a list of texts"
                );
                Err(self.error(value.span(), reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &str, values: &[&str], line: usize) -> PlanEntry {
        PlanEntry { name: name.into(), values: values.iter().map(|&value| value.into()).collect(), line }
    }

    #[test]
    fn a_plan_is_command_lines() {
        let plan = PlanFile::parse(
            "about = \"why\"\nseed = 1_000\n[[sleep]]\nfor = [\"1ms\", \"1s\"]\nsamples = 3\n\n[cyclic]\nstaircase = true\naligned = false\n\n[[sleep]]\n[system]\ngovernor = \"performance\"\nkernel.sched_rt_runtime_us = -1\n",
        )
        .unwrap();
        assert_eq!(plan.about.as_deref(), Some("why"));
        assert_eq!(plan.options, [written("seed", &["1000"], 2)]);
        let commands: Vec<_> = plan.measures.iter().map(|one| (one.command.as_str(), one.line)).collect();
        assert_eq!(commands, [("sleep", 3), ("cyclic", 7), ("sleep", 11)]);
        assert_eq!(
            plan.measures[0].options,
            [written("for", &["1ms", "1s"], 4), written("samples", &["3"], 5)]
        );
        assert_eq!(plan.measures[1].options, [written("staircase", &[""], 8), written("aligned", &[], 9)]);
        assert_eq!(
            plan.settings,
            [written("governor", &["performance"], 13), written("kernel.sched_rt_runtime_us", &["-1"], 14)]
        );
    }

    #[test]
    fn a_table_within_a_table_is_a_command_of_two_words() {
        let plan =
            PlanFile::parse("[[tune.sleep]]\nfor = \"1ms\"\n\n[tune.cyclic]\nperiod = \"1ms\"\n").unwrap();
        let found: Vec<_> =
            plan.measures.iter().map(|one| (one.command.as_str(), one.line, one.options.len())).collect();
        assert_eq!(found, [("tune sleep", 1, 1), ("tune cyclic", 4, 1)]);
        assert!(plan.options.is_empty());
    }

    #[track_caller]
    fn check(text: &str, line: usize, says: &str) {
        let error = PlanFile::parse(text).unwrap_err();
        assert!(error.line == line && error.reason.contains(says), "{error}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        check("[[sleep]]\nfor = [\"1ms\"\n", 2, "array");
        check("\n[[sleep]]\nfor = []\n", 3, "`for` is empty");
        check("[[sleep]]\nfor = 1.5\n", 2, "cannot be a float");
        check("[[sleep]]\nfor = \"1ms\"\nfor = \"2ms\"\n", 3, "duplicate key");
        check("sleep = [{}, 1]\n", 1, "must be a table");
    }
}
