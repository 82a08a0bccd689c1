//! Values that are published as text, and errors of the kernel.

use std::{fmt, io};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value that recordings and `--json` hold as a sentence.
///
/// The published format has the sentence, so `T`'s `Display` is the only source of its wording. When read back it stays text, as
/// nothing decides by it. Values with equal text are equal, so that a line that was read equals the one that was written.
#[derive(Clone, Debug)]
pub enum AsText<T> {
    /// A value of this program.
    Value(T),
    /// Only text: read from a recording, or a message of another program.
    Text(String),
}

impl<T: fmt::Display> fmt::Display for AsText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl<T: fmt::Display> PartialEq for AsText<T> {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl<T: fmt::Display> Eq for AsText<T> {}

impl<T> From<T> for AsText<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl<T: From<OsError>> From<&io::Error> for AsText<T> {
    /// A kernel error by its number; another library's by its text.
    fn from(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::Value(OsError(number).into()),
            None => Self::Text(error.to_string()),
        }
    }
}

impl<T: From<OsError>> From<io::Error> for AsText<T> {
    fn from(error: io::Error) -> Self {
        (&error).into()
    }
}

impl<T: fmt::Display> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T> Deserialize<'de> for AsText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::Text)
    }
}

impl<T> JsonSchema for AsText<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

/// Error of a failed system call: `errno(3)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsError(pub i32);

impl OsError {
    /// The message without the error number.
    pub fn message(self) -> String {
        let text = self.to_string();
        text.split(" (os error").next().unwrap_or_default().to_owned()
    }
}

/// The message with the error number.
impl fmt::Display for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from_raw_os_error(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_written() {
        let refused: AsText<OsError> = (&io::Error::from_raw_os_error(16)).into();
        let json = serde_json::to_string(&refused).unwrap();
        let read: AsText<OsError> = serde_json::from_str(&json).unwrap();
        assert!(matches!((&refused, &read), (AsText::Value(OsError(16)), AsText::Text(_))));
        assert_eq!(read, refused);
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }

    #[test]
    fn what_no_kernel_has_said_is_kept_in_words() {
        let other: AsText<OsError> = (&io::Error::other("no such thing")).into();
        assert!(matches!(other, AsText::Text(words) if words == "no such thing"));
    }

    #[test]
    fn the_number_is_not_among_the_words() {
        let busy = OsError(16);
        assert_eq!(
            (busy.message().as_str(), busy.to_string().contains("16")),
            ("Device or resource busy", true)
        );
    }
}
