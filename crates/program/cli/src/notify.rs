//! Options of `howlate notify`.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use howlate_model::{Notifier, Peers, ReceiverCpu, Span};
use howlate_plan::{CpuPairs, deduplicate};

use super::{MeasureArgs, TracingArgs, completion_values};

/// Measure how long one process needs to wake another, by mechanism
///
/// By mechanism, idle gap and pair of CPUs.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate notify --policy other,fifo:80\n  \
howlate notify --mechanism all --after 100us\n  \
howlate notify --mechanism pipe,futex --after 1ms --why")]
#[command(after_long_help = "Examples:\n  \
howlate notify\n  \
howlate notify --policy other,fifo:80 --out notify.jsonl\n  \
howlate notify --mechanism all --after 100us\n  \
howlate notify --mechanism futex,eventfd --pair 0,1 --pair 1,1 \\\n      --receiver as_left,held_awake\n  \
howlate notify --mechanism pipe,futex --after 1ms --why")]
pub struct NotifyArgs {
    /// How to notify, or `all`; `--help` lists them
    ///
    /// futex, semaphore, condvar, signal, signalfd, eventfd, pipe, fifo, socketpair, socketpair_dgram, socketpair_seqpacket,
    /// unix_stream, tcp, udp, posix_mq, sysv_sem, sysv_mq, io_uring, epoll_eventfd, epoll_pipe, busy_wait,
    /// busy_wait_no_pause, sched_yield; `all` for every one.
    #[arg(long, alias = "by", value_name = "MECHANISM,…", value_delimiter = ',', value_parser = completion_values::completable::<NotifierChoice>(completion_values::notifiers), hide_possible_values = true)]
    #[arg(default_value = "semaphore,signal,pipe,socketpair,busy_wait")]
    pub mechanism: Vec<NotifierChoice>,
    /// Sleep of the sender before each notification
    #[arg(long, value_name = "LENGTH,…", value_delimiter = ',', default_value = "1us,10us,100us,1ms,10ms")]
    pub after: Vec<Span>,
    /// CPUs of sender and receiver, such as 0,1; can be repeated
    ///
    /// `all` for one pair of each placement. Default: two cores that share a cache, or the next best.
    #[arg(long, value_name = "S,R|all")]
    pub pair: Vec<PairChoice>,
    /// What sender and receiver are
    #[arg(
        long,
        alias = "between",
        value_name = "WHAT,…",
        value_delimiter = ',',
        default_value = "processes",
        hide_short_help = true
    )]
    pub peers: Vec<PeersChoice>,
    /// How the receiver's CPU waits: as the gap leaves it, or kept awake by an idle-class thread
    #[arg(
        long,
        value_name = "STATE,…",
        value_delimiter = ',',
        default_value = "as_left",
        hide_short_help = true
    )]
    pub receiver: Vec<ReceiverChoice>,
    /// Measure until the sender has an answer by the same mechanism
    #[arg(long, hide_short_help = true)]
    pub round_trip: bool,
    /// What all that measures take.
    #[command(flatten)]
    pub measuring: MeasureArgs,
    /// Whether and how it is asked why.
    #[command(flatten)]
    pub reasons: TracingArgs,
}

impl NotifyArgs {
    /// Requested notifiers, without duplicates.
    pub fn notifiers(&self) -> Vec<Notifier> {
        let each = |mechanism: &NotifierChoice| match mechanism {
            NotifierChoice::All => Notifier::ALL.to_vec(),
            NotifierChoice::One(notifier) => vec![*notifier],
        };
        deduplicate(&self.mechanism.iter().flat_map(each).collect::<Vec<_>>())
    }

    /// Requested pairs of CPUs.
    pub fn pairs(&self) -> CpuPairs {
        let cpus = |pair: &PairChoice| match pair {
            PairChoice::All => None,
            PairChoice::These(sender, receiver) => Some((*sender, *receiver)),
        };
        match self.pair.iter().map(cpus).collect::<Option<Vec<_>>>() {
            None => CpuPairs::All,
            Some(pairs) if pairs.is_empty() => CpuPairs::Nearest,
            Some(pairs) => CpuPairs::These(deduplicate(&pairs)),
        }
    }

    /// Requested states of the receiver's CPU.
    pub fn receivers(&self) -> Vec<ReceiverCpu> {
        deduplicate(&self.receiver.iter().map(|choice| choice.cpu()).collect::<Vec<_>>())
    }

    /// Requested kinds of peers.
    pub fn peers(&self) -> Vec<Peers> {
        let kind = |choice: &PeersChoice| match choice {
            PeersChoice::Processes => Peers::Processes,
            PeersChoice::Threads => Peers::Threads,
        };
        deduplicate(&self.peers.iter().map(kind).collect::<Vec<_>>())
    }
}

/// One notifier, or all.
#[derive(Clone, Copy)]
pub enum NotifierChoice {
    All,
    One(Notifier),
}

impl FromStr for NotifierChoice {
    type Err = howlate_model::UnknownNotifier;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "all" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}

/// A pair of CPUs, or one of each placement.
#[derive(Clone, Copy)]
pub enum PairChoice {
    All,
    These(u32, u32),
}

impl FromStr for PairChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let pair = text.split_once(',').and_then(|(sender, receiver)| {
            Some(Self::These(sender.trim().parse().ok()?, receiver.trim().parse().ok()?))
        });
        pair.ok_or_else(|| {
            format!(
                "`{text}` is no pair of CPUs; write the sender's and the receiver's, such as `0,1`, or `all`"
            )
        })
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PeersChoice {
    /// Two processes
    Processes,
    /// Two threads of one process
    Threads,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ReceiverChoice {
    /// As idle as it gets during the gap
    AsLeft,
    /// Kept from idling
    HeldAwake,
}

impl ReceiverChoice {
    const fn cpu(self) -> ReceiverCpu {
        match self {
            Self::AsLeft => ReceiverCpu::AsLeft,
            Self::HeldAwake => ReceiverCpu::HeldAwake,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_two_numbers_or_all() {
        assert!(matches!("0,1".parse(), Ok(PairChoice::These(0, 1))));
        assert!(matches!("all".parse(), Ok(PairChoice::All)));
        for wrong in ["", "0", "0,", "a,b", "0-1", "0,1,2"] {
            assert!(wrong.parse::<PairChoice>().is_err(), "{wrong}");
        }
    }
}
