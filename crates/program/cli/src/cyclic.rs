//! Options of `howlate cyclic`.

use clap::Args;
use howlate_model::{Span, Wait};

use super::measuring::{ClockArgs, MeasureArgs, ThreadCount};
use super::tracing::TracingArgs;
use super::{RowPer, completion_values};

/// Measure how late periodic threads wake, as cyclictest does
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate cyclic --policy fifo:80 --duration 1m\n  \
howlate cyclic --threads 5 --policy fifo:99 --staircase --distance 500us\n  \
howlate cyclic --policy other,fifo:80 --load idle,cpu \\\n      --fail-above 'p99.9>100us'")]
pub struct CyclicArgs {
    /// Time between planned wake-ups
    #[arg(
        long,
        value_name = "LENGTH,…",
        allow_hyphen_values = true,
        value_delimiter = ',',
        default_value = "1ms"
    )]
    pub period: Vec<Span>,
    /// Threads side by side: a number, or `per-cpu` for one bound to each CPU
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value = "per-cpu")]
    pub threads: ThreadCount,
    /// How the threads wait
    ///
    /// clock_nanosleep (until a time), clock_nanosleep_relative, nanosleep, timerfd, posix_timer, ppoll, epoll_pwait2, futex,
    /// busy_wait, sleep_then_spin.
    #[arg(long, value_name = "CALL,…", value_delimiter = ',', default_value = "clock_nanosleep",
        value_parser = completion_values::completable::<Wait>(completion_values::waits), hide_possible_values = true)]
    pub call: Vec<Wait>,
    /// Added to the period of each further thread
    #[arg(
        long,
        value_name = "LENGTH",
        allow_hyphen_values = true,
        default_value = "0",
        hide_short_help = true
    )]
    pub distance: Span,
    /// Give each further thread the next lower priority
    #[arg(long, hide_short_help = true)]
    pub staircase: bool,
    /// Wake all threads at the same moment, rather than spread over the period
    #[arg(long, hide_short_help = true)]
    pub aligned: bool,
    /// Move each planned time by a random part of half a period: rhythms found are then no echo of the period itself
    #[arg(long, hide_short_help = true)]
    pub dither: bool,
    /// The clocks that are waited on.
    #[command(flatten)]
    pub clock: ClockArgs,
    /// What all that measures take.
    #[command(flatten)]
    pub measuring: MeasureArgs,
    /// Whether and how it is asked why.
    #[command(flatten)]
    pub reasons: TracingArgs,
    /// One row per CPU: `cpu`; otherwise one row per condition
    #[arg(long, value_name = "ROWS", conflicts_with_all = ["details", "json", "format"], hide_short_help = true, help_heading = "Output")]
    pub by: Option<RowPer>,
}
