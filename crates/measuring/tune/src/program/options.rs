//! What is asked of trying settings on a program.

use howlate_model::Span;

use crate::options::Options;

/// How settings are tried on somebody's program.
#[derive(Clone)]
pub struct ProgramOptions {
    /// Threads of other names are left out, if there are any names.
    pub threads: Vec<String>,
    /// Also those of the processes that it starts.
    pub follow: bool,
    /// How long a turn lasts; `None`: as long as the goal takes.
    pub turn: Option<Span>,
    /// Which settings, and for what.
    pub options: Options,
}
