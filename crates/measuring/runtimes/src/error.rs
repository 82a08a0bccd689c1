//! Errors of probe programs.

use std::path::PathBuf;
use std::process::ExitStatus;

use howlate_model::{Runtime, Span, shell_path};

/// Why a runtime cannot be measured on this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingRuntime {
    /// An interpreter or a compiler is not installed.
    #[error("{} is not installed; on Debian: `apt-get install {package}`", names.join(" or "))]
    NotInstalled {
        /// Its possible names.
        names: &'static [&'static str],
        /// The Debian package.
        package: &'static str,
    },
    /// The user's own program does not exist.
    #[error("there is no such program")]
    NoSuchProgram,
    /// The user's own program is a folder.
    #[error("it is a folder, not a program")]
    Folder,
    /// The user's own program is not executable.
    #[error("it may not be executed; try `chmod +x {}`", shell_path(path))]
    NotExecutable { path: PathBuf },
    /// Its crates could not be fetched.
    #[error("its crates are not here and could not be fetched ({0})")]
    Offline(Box<ProbeError>),
}

/// Why a probe program failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// It was not prepared before the first turn.
    #[error("it was not prepared")]
    NotPrepared,
    /// The runtime is missing.
    #[error(transparent)]
    Missing(#[from] MissingRuntime),
    /// The cache has no usable folder.
    #[error("there is no place for its program: {reason}")]
    NoPlace {
        /// The message of the kernel.
        reason: String,
    },
    /// A file could not be written.
    #[error("cannot write {}: {reason}", path.display())]
    NotWritten {
        /// The file that was to be written.
        path: PathBuf,
        /// The message of the kernel.
        reason: String,
    },
    /// A folder of the cache could not be written to.
    #[error("cannot write to {}: {reason}", folder.display())]
    CacheNotWritten {
        /// The folder for the compiled program.
        folder: PathBuf,
        /// The message of the kernel.
        reason: String,
    },
    /// The interpreter has disappeared.
    #[error("its interpreter is gone")]
    InterpreterGone,
    /// The compiler has disappeared.
    #[error("{tool} is gone")]
    ToolGone {
        /// Name of the compiler.
        tool: &'static str,
    },
    /// A program did not start.
    #[error("{program} cannot be started: {reason}")]
    NotStarted {
        /// Name of the program.
        program: String,
        /// The message of the kernel.
        reason: String,
    },
    /// A compiler ended with an error.
    #[error("{tool} failed ({status}): {output}")]
    NotCompiled {
        /// Name of the compiler.
        tool: &'static str,
        status: ExitStatus,
        /// The beginning of its output.
        output: String,
    },
    /// The program ended without `end`.
    #[error("the program ended too early{}", status.map_or_else(String::new, |status| format!(" ({status})")))]
    EndedEarly {
        /// Its exit status, if known.
        status: Option<ExitStatus>,
    },
    /// The program printed `end` too early.
    #[error("the program said `end` after {got} of {requested} sleeps")]
    TooFewSleeps {
        /// Number of sleeps.
        got: u64,
        /// Requested number of sleeps.
        requested: u64,
    },
    /// The program printed nothing.
    #[error("the program said nothing within {patience}")]
    Silent {
        /// The timeout.
        patience: Span,
    },
    /// The program violated the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// Its output could not be read.
    #[error("{reason}")]
    NotRead {
        /// The message of the kernel.
        reason: String,
    },
    /// Another error with the end of standard error.
    #[error("{problem}; its last words: {output}")]
    WithLastWords {
        /// The error.
        problem: Box<ProbeError>,
        /// The end of its standard error.
        output: String,
    },
}

/// Violations of the probe protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The first line is not that of a probe.
    #[error("its first line must be `howlate-probe {wanted} monotonic …`, and is {found}")]
    FirstLine {
        /// The known version.
        wanted: &'static str,
        /// The line.
        found: String,
    },
    /// The protocol version is unknown.
    #[error("it speaks version `{found}` of the protocol; this howlate knows {supported}")]
    Version {
        /// Its version.
        found: String,
        /// The known version.
        supported: &'static str,
    },
    /// The clock is unknown.
    #[error("its clock must be `monotonic` or `realtime`, and is `{found}`")]
    Clock {
        /// Its clock.
        found: String,
    },
    /// A line is not a pair of clock readings.
    #[error("it printed {found}; two clock readings in nanoseconds, or `end`, must come here")]
    Reading {
        /// The line.
        found: String,
    },
    /// More sleeps than requested.
    #[error("it slept more often than asked")]
    TooMany,
    /// Readings in the future or out of order.
    #[error(
        "its readings {begins} and {ends} are not in order between {before} and {now}; is its clock CLOCK_MONOTONIC?"
    )]
    OutOfOrder {
        /// The clock before the sleep, in nanoseconds.
        begins: i64,
        /// The clock after the sleep.
        ends: i64,
        /// The previous reading.
        before: i64,
        /// The current time.
        now: i64,
    },
}

impl ProbeError {
    /// Whether cargo failed because it could not fetch crates.
    pub(crate) fn is_offline(&self, runtime: Runtime) -> bool {
        const WORDS: [&str; 5] = ["download", "resolve host", "network", "fetch", "index"];
        let says = |output: &str| WORDS.iter().any(|word| output.contains(word));
        runtime == Runtime::Tokio && matches!(self, Self::NotCompiled { output, .. } if says(output))
    }
}
