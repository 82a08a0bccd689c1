//! `howlate top`

use clap::{Args, ValueEnum};
use howlate_analyse::waits::{Order, WaitKind};
use howlate_model::Span;
use howlate_trace::WaitChoice;

/// Which process waits for what, now
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate top\n  \
howlate top --once --duration 10s\n  \
howlate top --process postgres --sort max\n  \
howlate top --kind cpu,disk --threads\n  \
howlate top --once --json > waits.json\n\n\
On a terminal, keys choose what comes first, and / which rows; q or Ctrl-C ends it.")]
pub(crate) struct Top {
    /// One process, with each of its threads and where in the kernel they wait: its id, or its name
    #[arg(long, value_name = "PID|NAME")]
    pub(crate) process: Option<String>,
    /// Threads rather than processes
    #[arg(long)]
    pub(crate) threads: bool,
    /// What comes first
    #[arg(long, value_enum, default_value_t = Sorting::HeldUp)]
    pub(crate) sort: Sorting,
    /// Only waits of these kinds: cpu, disk, page_fault, memory, lock, kernel, pipe, socket, futex, child, stopped,
    /// other, not_seen, timer, event, signal, terminal, idle
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    pub(crate) kind: Vec<WaitKind>,
    /// One table, of all that happens in --duration, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// End after this time; with q or Ctrl-C if left out, and after 5 s with --once
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) duration: Option<Span>,
    /// Time from one table to the next
    #[arg(
        long,
        value_name = "LENGTH",
        allow_hyphen_values = true,
        default_value = "2s",
        conflicts_with = "once"
    )]
    pub(crate) interval: Span,
    /// Where it is known from: auto takes the best that can be had here; or bpf, proc
    #[arg(long, value_name = "TRACER", default_value = "auto")]
    pub(crate) tracer: WaitChoice,
    /// Print for machines: one object for each table, each on a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What comes first.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sorting {
    /// Waits that hold work up; of those, the longest time
    HeldUp,
    /// The longest time
    Time,
    /// The most waits
    Count,
    /// The longest mean
    Mean,
    /// The longest wait
    Max,
}

impl From<Sorting> for Order {
    fn from(sorting: Sorting) -> Self {
        match sorting {
            Sorting::HeldUp => Self::HeldUp,
            Sorting::Time => Self::Time,
            Sorting::Count => Self::Count,
            Sorting::Mean => Self::Mean,
            Sorting::Max => Self::Longest,
        }
    }
}
