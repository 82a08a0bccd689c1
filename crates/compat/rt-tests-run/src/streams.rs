//! Where a program in another's place prints to, as the program has it.

use std::io;

/// The two streams of whoever calls: this crate prints nothing itself.
#[derive(Clone, Copy)]
pub struct Streams {
    /// Standard output: exactly what is given, for programs that read it.
    pub print: fn(&str) -> io::Result<()>,
    /// Standard error, for warnings and what signals ask for.
    pub say: fn(&str),
}

impl Streams {
    /// Prints a result.
    ///
    /// # Errors
    ///
    /// When nobody reads it any more.
    pub fn print(self, text: &str) -> io::Result<()> {
        (self.print)(text)
    }

    /// Says what is no result.
    pub fn say(self, text: &str) {
        (self.say)(text);
    }
}
