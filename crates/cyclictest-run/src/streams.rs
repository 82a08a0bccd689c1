//! Where cyclictest prints to, as the program has it.

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
    pub(crate) fn print(self, text: &str) -> io::Result<()> {
        (self.print)(text)
    }

    pub(crate) fn say(self, text: &str) {
        (self.say)(text);
    }
}
