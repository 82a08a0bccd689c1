//! Options of `howlate sleep`.

use clap::Args;
use howlate_model::{Sleeper, Span};

use super::completion_values;
use super::measuring::Measuring;
use super::tracing::Reasons;

/// How late sleeps return, by length, call, policy and load
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate sleep --for 0,10ns,100ns,1us,10us,100us,1ms,2ms,10ms \\\n      --policy other,nice:-20,rr:99\n  \
howlate sleep --for 1ms --call clock_nanosleep,timerfd,ppoll,busy_wait \\\n      --out calls.jsonl\n  \
howlate sleep --for 100us,10ms --call python,cpp,node --policy other,fifo:99")]
pub(crate) struct Sleep {
    /// How long to ask to sleep
    #[arg(
        long = "for",
        value_name = "LENGTH,…",
        allow_hyphen_values = true,
        value_delimiter = ',',
        default_value = "10us,100us,1ms,10ms"
    )]
    pub(crate) lengths: Vec<Span>,
    /// What sleeps: a system call, a language such as python, or a program such as ./my-probe
    ///
    /// System calls: clock_nanosleep, clock_nanosleep_relative, nanosleep, timerfd, posix_timer, ppoll, epoll_pwait2, futex,
    /// busy_wait, sleep_then_spin. Languages: python, c, cpp, rust, tokio, go, java, java_park, node, shell.
    #[arg(long, value_name = "CALL,…", value_delimiter = ',', default_value = "clock_nanosleep",
        value_parser = completion_values::known::<Sleeper>(completion_values::sleepers), hide_possible_values = true)]
    pub(crate) call: Vec<Sleeper>,
    #[command(flatten)]
    pub(crate) measuring: Measuring,
    #[command(flatten)]
    pub(crate) reasons: Reasons,
}
