//! Errors of the kernel.

use std::fmt;
use std::io;

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
    fn the_number_is_not_among_the_words() {
        let busy = OsError(16);
        assert_eq!(
            (busy.message().as_str(), busy.to_string().contains("16")),
            ("Device or resource busy", true)
        );
    }
}
