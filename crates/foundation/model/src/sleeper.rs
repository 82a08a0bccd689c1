//! Sleepers: a howlate thread, or a program in another language.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::{Runtime, Wait, nearest};

/// What sleeps for a length of time. One text in recordings and on the command line:
/// `clock_nanosleep`, `python`, `./my-probe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Sleeper {
    /// A thread of howlate, by one system call.
    Wait(Wait),
    /// A program, by its language's sleep function.
    Runtime(Runtime),
}

impl Sleeper {
    /// The name used on the command line and in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait(wait) => wait.name(),
            Self::Runtime(runtime) => runtime.name(),
        }
    }

    /// The system call, if a howlate thread sleeps.
    pub const fn wait(self) -> Option<Wait> {
        match self {
            Self::Wait(wait) => Some(wait),
            Self::Runtime(_) => None,
        }
    }

    /// The runtime, if a program sleeps.
    pub const fn runtime(self) -> Option<Runtime> {
        match self {
            Self::Wait(_) => None,
            Self::Runtime(runtime) => Some(runtime),
        }
    }
}

impl fmt::Display for Sleeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Not the name of a sleeper.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` is not a call that can be measured.{}\n  Calls: {}\n  Languages: {}\n  A program of your own is given by its path, such as ./{found}",
    suggestion(found),
    Wait::ALL.map(Wait::name).join(", "),
    Runtime::ALL.map(Runtime::name).join(", ")
)]
pub struct UnknownSleeper {
    /// What was typed.
    pub found: String,
}

fn suggestion(found: &str) -> String {
    let names = Wait::ALL.map(Wait::name).into_iter().chain(Runtime::ALL.map(Runtime::name));
    nearest(found, names).map_or_else(String::new, |name| format!(" Did you mean `{name}`?"))
}

impl FromStr for Sleeper {
    type Err = UnknownSleeper;

    fn from_str(text: &str) -> Result<Self, UnknownSleeper> {
        let text = match text.trim() {
            "python3" => "python",
            "c++" => "cpp",
            "nodejs" => "node",
            "bash" | "sh" => "shell",
            text => text,
        };
        let wait = text.parse().ok().map(Self::Wait);
        wait.or_else(|| Runtime::from_name(text).map(Self::Runtime))
            .ok_or_else(|| UnknownSleeper { found: text.to_owned() })
    }
}

impl TryFrom<String> for Sleeper {
    type Error = UnknownSleeper;
    fn try_from(text: String) -> Result<Self, UnknownSleeper> {
        text.parse()
    }
}

impl From<Sleeper> for String {
    fn from(sleeper: Sleeper) -> Self {
        sleeper.name().to_owned()
    }
}

impl JsonSchema for Sleeper {
    fn schema_name() -> Cow<'static, str> {
        "Sleeper".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let named = Wait::ALL.iter().map(|wait| wait.name());
        let named: Vec<&str> = named.chain(Runtime::ALL.map(Runtime::name)).collect();
        schemars::json_schema!({
            "description": "What sleeps for a length of time: a system call of howlate's own, a language, or the path of a program.",
            "anyOf": [{ "type": "string", "enum": named }, { "type": "string", "pattern": "/" }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_in_text_and_json() {
        let waits = Wait::ALL.into_iter().map(Sleeper::Wait);
        for sleeper in waits.chain(Runtime::ALL.into_iter().map(Sleeper::Runtime)) {
            assert_eq!(sleeper.name().parse(), Ok(sleeper));
            let json = serde_json::to_string(&sleeper).unwrap();
            assert_eq!(json, format!("\"{sleeper}\""));
            assert_eq!(serde_json::from_str::<Sleeper>(&json).unwrap(), sleeper);
        }
    }

    #[test]
    fn a_path_is_a_program_and_a_slip_is_not() {
        let own: Sleeper = "/opt/probe".parse().unwrap();
        assert_eq!((own.name(), own.wait()), ("/opt/probe", None));
        assert_eq!("python3".parse(), Ok(Sleeper::Runtime(Runtime::Python)));
        let error = "pyton".parse::<Sleeper>().unwrap_err().to_string();
        assert!(
            error.contains("`pyton`")
                && error.contains("Did you mean `python`?")
                && error.contains("./pyton"),
            "{error}"
        );
    }
}
