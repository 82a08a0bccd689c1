//! The command that wrote a recording.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command of howlate that measures, or the program that measured instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Command {
    /// `howlate` alone: the quick look.
    Quick,
    /// `howlate cyclic`
    Cyclic,
    /// `howlate sleep`
    Sleep,
    /// `howlate notify`
    Notify,
    /// `howlate run`
    Run,
    /// `howlate guest`
    Guest,
    /// `howlate watch`
    Watch,
    /// `howlate tune`
    Tune,
    /// `howlate record`
    Record,
    /// `howlate merge`, or a folder read as one.
    Merge,
    /// Any other name, such as that of a program whose file was imported.
    Other(String),
}

impl Command {
    /// Commands that this version knows.
    const KNOWN: [Self; 10] = [
        Self::Quick,
        Self::Cyclic,
        Self::Sleep,
        Self::Notify,
        Self::Run,
        Self::Guest,
        Self::Watch,
        Self::Tune,
        Self::Record,
        Self::Merge,
    ];

    pub fn name(&self) -> &str {
        match self {
            Self::Quick => "quick",
            Self::Cyclic => "cyclic",
            Self::Sleep => "sleep",
            Self::Notify => "notify",
            Self::Run => "run",
            Self::Guest => "guest",
            Self::Watch => "watch",
            Self::Tune => "tune",
            Self::Record => "record",
            Self::Merge => "merge",
            Self::Other(name) => name,
        }
    }
}

/// For a recording without metadata.
impl Default for Command {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// In recordings it is its name and nothing else.
impl JsonSchema for Command {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<&str> for Command {
    fn from(name: &str) -> Self {
        let found = Self::KNOWN.into_iter().find(|command| command.name() == name);
        found.unwrap_or_else(|| Self::Other(name.to_owned()))
    }
}

impl From<String> for Command {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<Command> for String {
    fn from(command: Command) -> Self {
        command.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_written_as_it_was_read() {
        for (name, is_known) in
            [("quick", true), ("watch", true), ("merge", true), ("rtla timerlat", false), ("", false)]
        {
            let command: Command = serde_json::from_value(name.into()).unwrap();
            assert_eq!(!matches!(command, Command::Other(_)), is_known, "{name}");
            assert_eq!(serde_json::to_value(&command).unwrap(), name);
        }
    }
}
