//! What goes wrong with the program of a language.

use std::path::PathBuf;
use std::process::ExitStatus;

use howlate_model::{Runtime, Span, shell_path};

/// Why a runtime cannot be measured on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// An interpreter or a compiler is not there.
    #[error("{} is not installed; on Debian: `apt-get install {package}`", names.join(" or "))]
    NotInstalled {
        /// What it may be called.
        names: &'static [&'static str],
        /// The package that has it.
        package: &'static str,
    },
    /// The user's own program is not there.
    #[error("there is no such program")]
    NoSuchProgram,
    /// The user's own program is none.
    #[error("it is a folder, not a program")]
    Folder,
    /// The user's own program may not be run.
    #[error("it may not be executed; try `chmod +x {}`", shell_path(path))]
    NotExecutable {
        /// Where it is.
        path: PathBuf,
    },
    /// What it is made of has to be fetched, and cannot be.
    #[error("its crates are not here and could not be fetched ({0})")]
    Offline(Box<Failed>),
}

/// Why a program that should have worked did not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// Nobody asked for it beforehand.
    #[error("it was not prepared")]
    NotPrepared,
    /// The machine lacks something.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// There is no folder for it.
    #[error("there is no place for its program: {words}")]
    NoPlace {
        /// The kernel's words.
        words: String,
    },
    /// A file could not be written.
    #[error("cannot write {}: {words}", path.display())]
    NotWritten {
        /// The file that was to be written.
        path: PathBuf,
        /// The kernel's words.
        words: String,
    },
    /// A folder of the cache could not be written to.
    #[error("cannot write to {}: {words}", folder.display())]
    CacheNotWritten {
        /// The folder that was to hold what is compiled.
        folder: PathBuf,
        /// The kernel's words.
        words: String,
    },
    /// An interpreter that was there is gone.
    #[error("its interpreter is gone")]
    InterpreterGone,
    /// A compiler that was there is gone.
    #[error("{tool} is gone")]
    ToolGone {
        /// The compiler's name on the path.
        tool: &'static str,
    },
    /// A program did not start.
    #[error("{program} cannot be started: {words}")]
    NotStarted {
        /// The program that was to be measured.
        program: String,
        /// The kernel's words.
        words: String,
    },
    /// A compiler ended with an error.
    #[error("{tool} failed ({status}): {said}")]
    NotCompiled {
        /// The compiler's name on the path.
        tool: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The beginning of what it said.
        said: String,
    },
    /// The program ended before it had said that it was done.
    #[error("the program ended too early{}", status.map_or_else(String::new, |status| format!(" ({status})")))]
    EndedEarly {
        /// How, where that is known.
        status: Option<ExitStatus>,
    },
    /// The program said that it was done when it was not.
    #[error("the program said `end` after {got} of {asked} sleeps")]
    TooFewSleeps {
        /// How often it slept.
        got: u64,
        /// How often it was to.
        asked: u64,
    },
    /// The program said nothing.
    #[error("the program said nothing within {patience}")]
    Silent {
        /// How long it was waited for.
        patience: Span,
    },
    /// The program did not keep to the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// Its output could not be read.
    #[error("{words}")]
    NotRead {
        /// The kernel's words.
        words: String,
    },
    /// What went wrong, and what the program said last.
    #[error("{problem}; its last words: {said}")]
    WithLastWords {
        /// What went wrong.
        problem: Box<Failed>,
        /// The end of its standard error.
        said: String,
    },
}

/// What is wrong with what a program printed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The first line is another program's.
    #[error("its first line must be `howlate-probe {wanted} monotonic …`, and is {found}")]
    FirstLine {
        /// The version that is known.
        wanted: &'static str,
        /// What the line was.
        found: String,
    },
    /// It was written for another howlate.
    #[error("it speaks version `{found}` of the protocol; this howlate knows {known}")]
    Version {
        /// The version of the protocol that it names.
        found: String,
        /// The version that is known.
        known: &'static str,
    },
    /// Its clock is not one that can be converted.
    #[error("its clock must be `monotonic` or `realtime`, and is `{found}`")]
    Clock {
        /// What it said.
        found: String,
    },
    /// A line is no pair of clock readings.
    #[error("it printed {found}; two clock readings in nanoseconds, or `end`, must come here")]
    Reading {
        /// What the line was.
        found: String,
    },
    /// More sleeps than asked for.
    #[error("it slept more often than asked")]
    TooMany,
    /// Readings that are not of the past, or not in order.
    #[error(
        "its readings {begins} and {ends} are not in order between {before} and {now}; is its clock CLOCK_MONOTONIC?"
    )]
    OutOfOrder {
        /// The clock before the sleep, in nanoseconds.
        begins: i64,
        /// And after it.
        ends: i64,
        /// The reading before these.
        before: i64,
        /// What time it is.
        now: i64,
    },
}

impl Failed {
    /// Whether it is that cargo could not get the crates that a program consists of.
    pub(crate) fn is_offline(&self, runtime: Runtime) -> bool {
        const WORDS: [&str; 5] = ["download", "resolve host", "network", "fetch", "index"];
        let says = |said: &str| WORDS.iter().any(|word| said.contains(word));
        runtime == Runtime::Tokio && matches!(self, Self::NotCompiled { said, .. } if says(said))
    }
}
