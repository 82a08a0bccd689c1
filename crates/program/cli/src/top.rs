//! `howlate top`

use clap::{Args, ValueEnum};
use howlate_analyse::waits::{WaitKind, WaitOrder};
use howlate_model::Span;
use howlate_render::TopBy;
use howlate_trace::WaitChoice;

use super::time_range::TimeRangeArgs;

/// Show which process is waiting for what, right now
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate top\n  \
howlate top --once --duration 10s\n  \
howlate top postgres --sort max\n  \
howlate top --kind cpu,disk --by thread\n  \
howlate top --at 03:12 --by culprit\n  \
howlate top --once --json > waits.json\n\n\
On a terminal it takes the whole screen: ? lists its keys, and q or Ctrl-C ends it.")]
pub struct TopArgs {
    /// One process, by id or name: its threads, and where in the kernel they wait
    ///
    /// With --at, --since or --between, the folder of howlate record [default: /var/lib/howlate]
    #[arg(value_name = "PID|NAME")]
    process: Option<String>,
    /// The same as an option, as it was
    #[arg(long = "process", value_name = "PID|NAME", hide = true, conflicts_with = "process")]
    named: Option<String>,
    /// One row per process, thread, group or culprit; a group is a control group, a culprit had a CPU that others were ready to use
    #[arg(long, value_name = "WHAT", value_parser = by, default_value = "process")]
    pub by: TopBy,
    /// Only processes in this control group or below, such as /system.slice/nginx.service
    #[arg(long, value_name = "PATH", conflicts_with = "TimeRangeArgs")]
    pub group: Option<String>,
    /// What comes first
    #[arg(long, value_enum, default_value_t = Sorting::HeldUp)]
    pub sort: Sorting,
    /// Only waits of these kinds: cpu, disk, page_fault, memory, lock, kernel, pipe, socket, futex, child, stopped,
    /// other, not_seen, timer, event, signal, terminal, idle
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', conflicts_with = "TimeRangeArgs")]
    pub kind: Vec<WaitKind>,
    /// Print one table, of what happens within --duration, and exit
    #[arg(long)]
    pub once: bool,
    /// End after this time [default with --once: 5 s]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub duration: Option<Span>,
    /// Time between tables
    #[arg(
        long,
        value_name = "LENGTH",
        allow_hyphen_values = true,
        default_value = "2s",
        conflicts_with = "once"
    )]
    pub interval: Span,
    /// How to look: auto (the best available), bpf or proc
    #[arg(long, value_name = "TRACER", default_value = "auto", hide_short_help = true)]
    pub tracer: WaitChoice,
    /// Print more rows, and waits of sleeping and idle threads
    #[arg(long)]
    pub details: bool,
    /// Print each table as a line of JSON
    #[arg(long)]
    pub json: bool,
    /// Of when.
    #[command(flatten)]
    pub moments: TimeRangeArgs,
}

fn by(text: &str) -> Result<TopBy, String> {
    TopBy::ALL.into_iter().find(|by| by.name() == text).ok_or_else(|| {
        let all = TopBy::ALL.map(TopBy::name).join(", ");
        format!("no rows by `{text}`; choose from {all}")
    })
}

impl TopArgs {
    /// The process to show, if only one.
    pub fn process(&self) -> Option<&str> {
        self.process.as_deref().or(self.named.as_deref())
    }
}

/// What comes first.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sorting {
    /// Waits that hold up work, the longest time first
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

impl From<Sorting> for WaitOrder {
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
