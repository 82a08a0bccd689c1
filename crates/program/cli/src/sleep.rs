//! Options of `howlate sleep`.

use std::str::FromStr;

use clap::Args;
use howlate_model::{Sleeper, Span, Wait};

use super::completion_values;
use super::measuring::{ClockArgs, MeasureArgs};
use super::tracing::TracingArgs;

/// Measure how late sleeps return, by length, call, policy and load
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate sleep 1ms python\n  \
howlate sleep 0,100ns,10us,1ms,10ms --policy other,nice:-20,rr:99\n  \
howlate sleep --for 1ms --call clock_nanosleep,timerfd,ppoll")]
pub struct SleepArgs {
    /// Lengths and calls: short for --for and --call
    #[arg(value_name = "LENGTH|CALL", value_delimiter = ',', value_parser = SleepArgument::parse)]
    arguments: Vec<SleepArgument>,
    /// How long to ask to sleep [default: 10us,100us,1ms,10ms]
    #[arg(long = "for", value_name = "LENGTH,…", allow_hyphen_values = true, value_delimiter = ',')]
    pub lengths: Vec<Span>,
    /// Find from which lengths on sleeps are later, and why
    ///
    /// Sleeps of 10 µs to 20 ms on one CPU, in random order, about 30 s; the same with the CPU kept awake, with /dev/cpu_dma_latency held at
    /// 0 (as root), and with a timer slack of 1 ns, to tell the cause of each step.
    #[arg(long, conflicts_with_all = ["arguments", "lengths", "duration", "until", "why", "load", "load_cpus", "cut_after"])]
    pub steps: bool,
    /// What sleeps: a system call, a language, or a program
    ///
    /// Such as ./my-probe, a program of your own. System calls: clock_nanosleep, clock_nanosleep_relative, nanosleep, timerfd, posix_timer, ppoll, epoll_pwait2, futex,
    /// busy_wait, sleep_then_spin. Languages: python, c, cpp, rust, tokio, go, java, java_park, node, shell. Default:
    /// clock_nanosleep.
    #[arg(long, value_name = "CALL,…", value_delimiter = ',',
        value_parser = completion_values::completable::<Sleeper>(completion_values::sleepers), hide_possible_values = true)]
    pub call: Vec<Sleeper>,
    /// The clocks that are waited on.
    #[command(flatten)]
    pub clock: ClockArgs,
    /// What all that measures take.
    #[command(flatten)]
    pub measuring: MeasureArgs,
    /// Whether and how it is asked why.
    #[command(flatten)]
    pub reasons: TracingArgs,
}

impl SleepArgs {
    /// Requested lengths, or the default ones.
    pub fn lengths(&self) -> Vec<Span> {
        let positional = self.arguments.iter().filter_map(SleepArgument::length);
        let lengths: Vec<Span> = positional.chain(self.lengths.iter().copied()).collect();
        if lengths.is_empty() { LENGTHS.to_vec() } else { lengths }
    }

    /// Requested calls and runtimes, or the default.
    pub fn calls(&self) -> Vec<Sleeper> {
        let positional = self.arguments.iter().filter_map(SleepArgument::call);
        let calls: Vec<Sleeper> = positional.chain(self.call.iter().copied()).collect();
        if calls.is_empty() { vec![Sleeper::Wait(Wait::ClockNanosleep)] } else { calls }
    }
}

/// Default lengths: from less than a tick to typical loop periods.
const LENGTHS: [Span; 4] =
    [Span::from_micros(10), Span::from_micros(100), Span::from_millis(1), Span::from_millis(10)];

/// A positional argument: a length if it begins with a digit, otherwise a call.
#[derive(Clone, Debug, PartialEq)]
enum SleepArgument {
    Length(Span),
    Call(Sleeper),
}

impl SleepArgument {
    fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with(|letter: char| letter.is_ascii_digit()) {
            return text.parse().map(Self::Length).map_err(|error: <Span as FromStr>::Err| error.to_string());
        }
        let refused = |error: <Sleeper as FromStr>::Err| {
            format!("{error}\n  A length begins with a digit, such as 1ms")
        };
        text.parse().map(Self::Call).map_err(refused)
    }

    const fn length(&self) -> Option<Span> {
        if let Self::Length(length) = self { Some(*length) } else { None }
    }

    const fn call(&self) -> Option<Sleeper> {
        if let Self::Call(call) = self { Some(*call) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        sleep: SleepArgs,
    }

    fn parse(line: &str) -> Result<(String, String), clap::Error> {
        let arguments = std::iter::once("sleep").chain(line.split_whitespace());
        let sleep = Program::try_parse_from(arguments)?.sleep;
        let lengths: Vec<String> = sleep.lengths().iter().map(ToString::to_string).collect();
        let calls: Vec<String> = sleep.calls().iter().map(ToString::to_string).collect();
        Ok((lengths.join(","), calls.join(",")))
    }

    #[test]
    fn lengths_and_calls_need_no_option() {
        let of = |lengths: &str, calls: &str| (lengths.to_owned(), calls.to_owned());
        assert_eq!(parse("").unwrap(), of("10us,100us,1ms,10ms", "clock_nanosleep"));
        assert_eq!(parse("1ms").unwrap(), of("1ms", "clock_nanosleep"));
        assert_eq!(parse("1ms,2ms python --call c").unwrap(), of("1ms,2ms", "python,c"));
        assert_eq!(parse("python --for 5ms").unwrap(), of("5ms", "python"));
        let refused = parse("banana").map(drop).unwrap_err().to_string();
        assert!(refused.contains("A length begins with a digit"), "{refused}");
        assert!(refused.lines().all(|line| line.len() < 150), "{refused}");
    }
}
