//! The language runtimes whose own sleep can be measured, and programs of a user's own.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What a small program is written in that sleeps the way its language does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Runtime {
    /// Python: `time.sleep`.
    Python,
    /// C: `nanosleep`.
    C,
    /// C++: `std::this_thread::sleep_for`.
    Cpp,
    /// Rust: `std::thread::sleep`.
    Rust,
    /// Rust on tokio: `tokio::time::sleep`.
    Tokio,
    /// Go: `time.Sleep`.
    Go,
    /// Java: `Thread.sleep`.
    Java,
    /// Java: `LockSupport.parkNanos`.
    JavaPark,
    /// JavaScript on Node.js: `setTimeout`.
    Node,
    /// Bash: the program `sleep`, whose start is part of what is measured.
    Shell,
    /// A program of the user's own that follows the protocol of `docs/probes.md`.
    Own(OwnProgram),
}

impl Runtime {
    /// Every runtime that has a name, in the order in which they are listed.
    pub const ALL: [Self; 10] = [
        Self::Python,
        Self::C,
        Self::Cpp,
        Self::Rust,
        Self::Tokio,
        Self::Go,
        Self::Java,
        Self::JavaPark,
        Self::Node,
        Self::Shell,
    ];

    /// The name used on the command line and in recordings; of a user's own program, its path.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Rust => "rust",
            Self::Tokio => "tokio",
            Self::Go => "go",
            Self::Java => "java",
            Self::JavaPark => "java_park",
            Self::Node => "node",
            Self::Shell => "shell",
            Self::Own(program) => program.path(),
        }
    }

    /// Whether it cannot even sleep without threads or processes beside its first one.
    pub const fn needs_threads(self) -> bool {
        matches!(self, Self::Tokio | Self::Go | Self::Java | Self::JavaPark | Self::Node | Self::Shell)
    }

    /// Whether it is its first thread that sleeps and comes back.
    pub const fn sleeps_in_first_thread(self) -> bool {
        !self.needs_threads() || matches!(self, Self::Node)
    }

    /// The runtime that `text` names; a text with a `/` is the path of a program.
    pub(crate) fn named(text: &str) -> Option<Self> {
        if text.contains('/') {
            return Some(Self::Own(OwnProgram::new(text)));
        }
        Self::ALL.into_iter().find(|runtime| runtime.name() == text)
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The path of a user's own program.
///
/// Conditions are copied freely, so the path is kept once for as long as the process lives: a few
/// bytes for each different program that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnProgram(&'static str);

impl OwnProgram {
    /// The program at `path`.
    pub fn new(path: &str) -> Self {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = known.get(path).copied().unwrap_or_else(|| Box::leak(path.into()));
        known.insert(kept);
        Self(kept)
    }

    /// Where it is, as typed.
    pub const fn path(self) -> &'static str {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_kept_once() {
        let (one, other) = (OwnProgram::new("./one"), OwnProgram::new("./other"));
        assert_eq!(OwnProgram::new("./one").path().as_ptr(), one.path().as_ptr());
        assert_ne!(one, other);
    }

    #[test]
    fn every_name_leads_back_to_its_runtime() {
        for runtime in Runtime::ALL {
            assert_eq!(Runtime::named(runtime.name()), Some(runtime));
        }
        assert_eq!(Runtime::named("./python").map(Runtime::name), Some("./python"));
        assert_eq!(Runtime::named("haskell"), None);
    }
}
