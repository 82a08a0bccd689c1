//! A process to do something to.

use std::process::{Child, Command};

/// A process that sleeps, and is gone at the end of a test, also of one that fails.
pub struct Sleeps(pub Child);

impl Sleeps {
    /// Starts it.
    ///
    /// # Panics
    ///
    /// Where `sleep(1)` is not there.
    #[allow(clippy::new_without_default, reason = "it starts a process")]
    pub fn new() -> Self {
        Self(Command::new("sleep").arg("infinity").spawn().expect("sleep(1) is there"))
    }
}

impl Drop for Sleeps {
    fn drop(&mut self) {
        self.0.kill().expect("it is there until it is killed");
        self.0.wait().expect("it is our child");
    }
}
