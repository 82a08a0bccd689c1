//! Language runtimes whose sleep can be measured, and user programs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Language of a probe program, which sleeps by the language's own function.
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
    /// Bash: the program `sleep`; its start is part of the measurement.
    Shell,
    /// A user's program that follows the protocol of `docs/probes.md`.
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

    /// Whether it needs further threads or processes to sleep.
    pub const fn needs_threads(self) -> bool {
        matches!(self, Self::Tokio | Self::Go | Self::Java | Self::JavaPark | Self::Node | Self::Shell)
    }

    /// Whether its first thread is the one that sleeps.
    pub const fn sleeps_in_first_thread(self) -> bool {
        !self.needs_threads() || matches!(self, Self::Node)
    }

    /// Parses a name; a text with a `/` is the path of a program.
    pub(crate) fn from_name(text: &str) -> Option<Self> {
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

/// The path of a user's program, interned.
///
/// Conditions are `Copy`, so each distinct path is leaked once: a few bytes per program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnProgram(&'static str);

impl OwnProgram {
    /// The program at `path`.
    pub fn new(path: &str) -> Self {
        static PATHS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut paths = PATHS.lock().unwrap_or_else(PoisonError::into_inner);
        let interned = paths.get(path).copied().unwrap_or_else(|| Box::leak(path.into()));
        paths.insert(interned);
        Self(interned)
    }

    /// Its path, as typed.
    pub const fn path(self) -> &'static str {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_kept_once() {
        let (first, other) = (OwnProgram::new("./one"), OwnProgram::new("./other"));
        assert_eq!(OwnProgram::new("./one").path().as_ptr(), first.path().as_ptr());
        assert_ne!(first, other);
    }

    #[test]
    fn every_name_leads_back_to_its_runtime() {
        for runtime in Runtime::ALL {
            assert_eq!(Runtime::from_name(runtime.name()), Some(runtime));
        }
        assert_eq!(Runtime::from_name("./python").map(Runtime::name), Some("./python"));
        assert_eq!(Runtime::from_name("haskell"), None);
    }
}
