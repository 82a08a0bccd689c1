//! JSON among other lines, found by its braces.

use serde_json::Value;

use crate::LONGEST_JSON;
use crate::error::ImportError;

/// Collects the lines of one value.
#[derive(Default)]
pub(crate) struct JsonText {
    text: String,
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

/// What a line was to it.
pub(crate) enum JsonLine {
    /// None of a value.
    None,
    /// Part of one that goes on.
    Part,
    /// The last of one.
    End(Value),
}

impl JsonText {
    /// Whether a value has begun that has not ended.
    pub(crate) const fn is_open(&self) -> bool {
        !self.text.is_empty()
    }

    /// The value that was not finished, as far as it came: with less than a name in it, it could be anything.
    pub(crate) fn cut_off(&self, line: usize) -> Option<ImportError> {
        (self.is_open() && self.text.contains('"')).then_some(ImportError::CutOff { line })
    }

    pub(crate) fn line(&mut self, line: &str) -> Result<JsonLine, ImportError> {
        if !self.is_open() && !begins(line) {
            return Ok(JsonLine::None);
        }
        if self.text.len().saturating_add(line.len()) > LONGEST_JSON {
            return Err(ImportError::LongJson);
        }
        self.text.push_str(line);
        self.text.push('\n');
        line.bytes().for_each(|byte| self.byte(byte));
        if self.depth > 0 {
            return Ok(JsonLine::Part);
        }
        let text = std::mem::take(self).text;
        // What only looked like it is text.
        Ok(serde_json::from_str(&text).map_or(JsonLine::None, JsonLine::End))
    }

    fn byte(&mut self, byte: u8) {
        match byte {
            _ if std::mem::take(&mut self.is_escaped) => {}
            b'\\' if self.is_in_string => self.is_escaped = true,
            b'"' => self.is_in_string = !self.is_in_string,
            _ if self.is_in_string => {}
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// A list of numbers in brackets is what other programs print too.
fn begins(line: &str) -> bool {
    matches!(line.as_bytes(), [b'{', ..] | [b'['] | [b'[', b'{', ..])
}
