//! Plan files: the command lines of an experiment, written as TOML.
//!
//! A table is one measuring command, its keys are the command's options. This module knows
//! neither commands nor options; it returns the entries with their line numbers.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A parsed plan file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanFile {
    /// Description of the experiment, in a sentence.
    pub about: Option<String>,
    /// Other plans to include.
    pub include: Vec<PlanEntry>,
    /// Options for the whole run.
    pub options: Vec<PlanEntry>,
    /// Settings of the machine.
    pub settings: Vec<PlanEntry>,
    /// Measuring commands, in file order.
    pub measures: Vec<MeasureTable>,
}

/// One measuring command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasureTable {
    /// The command's name, such as `tune sleep`.
    pub command: String,
    /// Entries of its table.
    pub options: Vec<PlanEntry>,
    /// Line number, from 1.
    pub line: usize,
}

/// One key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEntry {
    /// The key: an option's name without `--`.
    pub name: String,
    /// One value, or those of a list; empty for `false`, one empty value for `true`.
    pub values: Vec<String>,
    /// Line number, from 1.
    pub line: usize,
}

/// Why a plan file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct PlanFileError {
    /// Line number, from 1.
    pub line: usize,
    pub reason: String,
}

impl PlanFile {
    /// Parses the text of a plan file.
    ///
    /// # Errors
    ///
    /// If it is not TOML, or a value has a type that no option takes.
    pub fn parse(text: &str) -> Result<Self, PlanFileError> {
        let lines = LineIndex(text);
        let table = DeTable::parse(text)
            .map_err(|error| lines.error(error.span().unwrap_or(0..0), error.message().replace('\n', " ")))?;
        let mut plan = Self::default();
        for (key, value) in table.get_ref() {
            plan.add(&lines, "", key, value)?;
        }
        plan.measures.sort_by_key(|measure| measure.line);
        plan.options.sort_by_key(|entry| entry.line);
        Ok(plan)
    }

    /// Adds one key. `parent` is the command that contains the table: `[[tune.sleep]]` is `howlate tune sleep`.
    fn add(
        &mut self,
        lines: &LineIndex,
        parent: &str,
        key: &Key,
        value: &Spanned<DeValue>,
    ) -> Result<(), PlanFileError> {
        let name = format!("{parent} {}", key.get_ref());
        let name = name.trim_start();
        match (name, value.get_ref()) {
            ("system", DeValue::Table(table)) => self.settings = lines.settings(table)?,
            (_, DeValue::Table(table)) if parent.is_empty() && holds_commands(table) => {
                for (key, value) in table {
                    self.add(lines, name, key, value)?;
                }
            }
            (_, DeValue::Table(table)) => self.measures.push(lines.measure(name, key.span(), table)?),
            (_, DeValue::Array(array)) if holds_tables(array) => {
                for element in array {
                    let DeValue::Table(table) = element.get_ref() else {
                        return Err(lines.error(
                            element.span(),
                            format!("each `{name}` must be a table: write `[[{name}]]`"),
                        ));
                    };
                    self.measures.push(lines.measure(name, element.span(), table)?);
                }
            }
            ("about", DeValue::String(about)) => self.about = Some(about.to_string()),
            ("include", _) => self.include.push(lines.entry(key, value)?),
            _ => self.options.push(lines.entry(key, value)?),
        }
        Ok(())
    }
}

type Key<'a> = Spanned<toml::de::DeString<'a>>;

/// Whether a table contains only tables.
fn holds_commands(table: &DeTable<'_>) -> bool {
    let is_command = |value: &DeValue| match value {
        DeValue::Table(_) => true,
        DeValue::Array(array) => holds_tables(array),
        _ => false,
    };
    !table.is_empty() && table.iter().all(|(_, value)| is_command(value.get_ref()))
}

fn holds_tables(array: &DeArray<'_>) -> bool {
    array.iter().any(|element| matches!(element.get_ref(), DeValue::Table(_)))
}

/// The text, for converting positions to line numbers.
struct LineIndex<'a>(&'a str);

impl LineIndex<'_> {
    fn line(&self, span: Range<usize>) -> usize {
        let before = self.0.as_bytes().iter().take(span.start);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    fn error(&self, span: Range<usize>, reason: String) -> PlanFileError {
        PlanFileError { line: self.line(span), reason }
    }

    fn measure(
        &self,
        command: &str,
        span: Range<usize>,
        table: &DeTable<'_>,
    ) -> Result<MeasureTable, PlanFileError> {
        let mut options: Vec<PlanEntry> =
            table.iter().map(|(key, value)| self.entry(key, value)).collect::<Result<_, _>>()?;
        options.sort_by_key(|entry| entry.line);
        Ok(MeasureTable { command: command.to_owned(), options, line: self.line(span) })
    }

    /// `kernel.x = 1` is a nested table in TOML, but means the sysctl of this name.
    fn settings(&self, table: &DeTable<'_>) -> Result<Vec<PlanEntry>, PlanFileError> {
        let mut settings = Vec::new();
        for (key, value) in table {
            if let DeValue::Table(inner) = value.get_ref() {
                let prefix = key.get_ref();
                let inner = self.settings(inner)?.into_iter();
                settings.extend(
                    inner.map(|entry| PlanEntry { name: format!("{prefix}.{}", entry.name), ..entry }),
                );
            } else {
                settings.push(self.entry(key, value)?);
            }
        }
        settings.sort_by_key(|entry| entry.line);
        Ok(settings)
    }

    fn entry(&self, key: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Result<PlanEntry, PlanFileError> {
        let values = match value.get_ref() {
            DeValue::Array(array) if array.is_empty() => {
                let reason =
                    format!("`{}` is empty; give it at least one value, or leave it out", key.get_ref());
                return Err(self.error(value.span(), reason));
            }
            DeValue::Array(array) => {
                array.iter().map(|element| self.scalar(key, element)).collect::<Result<_, _>>()?
            }
            DeValue::Boolean(false) => Vec::new(),
            _ => vec![self.scalar(key, value)?],
        };
        Ok(PlanEntry { name: key.get_ref().to_string(), values, line: self.line(key.span()) })
    }

    fn scalar(&self, key: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Result<String, PlanFileError> {
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

    fn entry(name: &str, values: &[&str], line: usize) -> PlanEntry {
        PlanEntry { name: name.into(), values: values.iter().map(|&value| value.into()).collect(), line }
    }

    #[test]
    fn a_plan_is_command_lines() {
        let plan = PlanFile::parse(
            "about = \"why\"\nseed = 1_000\n[[sleep]]\nfor = [\"1ms\", \"1s\"]\nsamples = 3\n\n[cyclic]\nstaircase = true\naligned = false\n\n[[sleep]]\n[system]\ngovernor = \"performance\"\nkernel.sched_rt_runtime_us = -1\n",
        )
        .unwrap();
        assert_eq!(plan.about.as_deref(), Some("why"));
        assert_eq!(plan.options, [entry("seed", &["1000"], 2)]);
        let commands: Vec<_> =
            plan.measures.iter().map(|measure| (measure.command.as_str(), measure.line)).collect();
        assert_eq!(commands, [("sleep", 3), ("cyclic", 7), ("sleep", 11)]);
        assert_eq!(plan.measures[0].options, [entry("for", &["1ms", "1s"], 4), entry("samples", &["3"], 5)]);
        assert_eq!(plan.measures[1].options, [entry("staircase", &[""], 8), entry("aligned", &[], 9)]);
        assert_eq!(
            plan.settings,
            [entry("governor", &["performance"], 13), entry("kernel.sched_rt_runtime_us", &["-1"], 14)]
        );
    }

    #[test]
    fn a_table_within_a_table_is_a_command_of_two_words() {
        let plan =
            PlanFile::parse("[[tune.sleep]]\nfor = \"1ms\"\n\n[tune.cyclic]\nperiod = \"1ms\"\n").unwrap();
        let found: Vec<_> = plan
            .measures
            .iter()
            .map(|measure| (measure.command.as_str(), measure.line, measure.options.len()))
            .collect();
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
