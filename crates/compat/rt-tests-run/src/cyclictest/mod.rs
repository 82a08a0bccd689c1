//! `howlate cyclictest`, and howlate under the name `cyclictest`: the adapter between cyclictest's command line and howlate's
//! measuring engine. Options and texts are in `howlate-rt-tests`; here is what touches the machine.

mod clocks;
mod failure;
mod fifo;
mod idle_states;
mod masks;
mod outcome;
mod permission;
mod recording;
mod screen;
mod signals;
mod smi;
mod snapshot_file;
mod watcher;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use howlate_measure::{ProcessSetup, ThreadEngine};
use howlate_model::{Caveat, Engine, TurnControl};
use howlate_rt_tests::cyclictest::{
    CpuMasks, Options, Power, Refusal, Results, Warning, preamble, read, turn, usage,
};
use howlate_rt_tests::{Compat, UnknownCompat};

use self::failure::Failure;
use self::recording::Recording;
use self::signals::Signals;
pub use self::snapshot_file::sweep;
use self::watcher::Watcher;
use crate::run_facts::now;
use crate::streams::Streams;

/// The name under which the program takes cyclictest's place; `cyclictest-2.4` says the dialect too.
const NAME: &str = "cyclictest";
/// Says the dialect where neither `--compat` nor the program's name does.
const DIALECT: &str = "HOWLATE_COMPAT";

/// A call as cyclictest: under its name, or by the command.
pub struct Call {
    program: String,
    words: Vec<String>,
    /// The dialect that the program's name asks for.
    named: Option<Compat>,
}

impl Call {
    /// The call, if the program's name or the first word says `cyclictest`.
    pub fn from_arguments(arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
        let program = words.first()?.clone();
        let name = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let named = Compat::of_name(&name);
        if name == NAME || named.is_some() {
            return Some(Self { program, words: words.split_off(1), named });
        }
        let commanded = words.get(1).is_some_and(|word| word == NAME);
        commanded.then(|| Self::with(words.split_off(2)))
    }

    /// A call by the command, with these words behind it.
    pub fn with(words: Vec<String>) -> Self {
        Self { program: NAME.to_owned(), words, named: None }
    }

    /// The dialect of a command line that does not ask for one.
    fn dialect(&self) -> Result<Compat, Refusal> {
        let (Some(asked), None) = (std::env::var_os(DIALECT), self.named) else {
            return Ok(self.named.unwrap_or_default());
        };
        asked.to_string_lossy().parse().map_err(|error: UnknownCompat| {
            Refusal::Fatal(Warning::UnknownCompat { from: DIALECT, text: error.to_string() })
        })
    }

    /// Does what cyclictest would do. Once signals are received, `clear_up` removes what killed howlates have left, and puts
    /// their settings back; it tells which.
    pub fn run(&self, streams: Streams, clear_up: fn() -> Vec<Caveat>) -> ExitCode {
        let masks = masks::read();
        match self.dialect().and_then(|dialect| read(&self.words, &masks, dialect)) {
            Err(refusal) => self.refuse(&refusal, streams),
            Ok(request) => {
                request.warnings.iter().for_each(|warning| streams.say(&warning.to_string()));
                let measured = measure(&request.options, &masks, streams, clear_up);
                let status = measured.unwrap_or_else(|failure| {
                    streams.say(&failure.message());
                    failure.status()
                });
                ExitCode::from(status)
            }
        }
    }

    /// Says what is wrong, and prints the usage. An unknown option ends with status 0, as in the original.
    fn refuse(&self, refusal: &Refusal, streams: Streams) -> ExitCode {
        let (compat, status) = match refusal {
            Refusal::Help(compat) => (*compat, 0),
            Refusal::Unreadable(compat, text) => {
                streams.say(&format!("{}: {text}\n", self.program));
                (*compat, 0)
            }
            Refusal::Invalid(compat, warnings) => {
                warnings.iter().for_each(|warning| streams.say(&warning.to_string()));
                (*compat, 1)
            }
            Refusal::Fatal(warning) => {
                streams.say(&warning.to_string());
                return ExitCode::FAILURE;
            }
        };
        let printed = streams.print(&usage(compat)).map_err(Failure::Output);
        ExitCode::from(printed.map_or_else(|failure| failure.status(), |()| status))
    }
}

/// Sets up, measures, prints; returns the exit status.
fn measure(
    options: &Options,
    masks: &CpuMasks,
    streams: Streams,
    clear_up: fn() -> Vec<Caveat>,
) -> Result<u8, Failure> {
    let started = now();
    clocks::check(options, streams);
    let turn = turn(options, masks);
    turn.tasks.iter().try_for_each(|task| permission::check(task.policy))?;
    let signals = Signals::receive()?;
    idle_states::warn(&clear_up(), streams);
    let smi = options.smi.then(|| smi::Counters::open(&turn)).transpose()?;
    let cpus: Vec<_> = turn.tasks.iter().map(|task| task.cpu).collect();
    let (before, after) = preamble(options, masks, &cpus);
    streams.print(&before)?;
    let _idle = idle_states::limit(options, &turn, masks, streams);
    let process = prepare(options, streams)?;
    streams.print(&after)?;
    let recording = Recording::begin(options, &turn, signals.interrupted(), streams)?;
    let results = Results::new(options, &turn, clocks::ahead(options));
    let mut watcher = Watcher::new(options, results, &signals, recording, streams)?;
    watcher.begin();
    let interrupted = Arc::clone(signals.interrupted());
    let bounds = TurnControl {
        interrupted,
        process: process.state(),
        ..masks::bounds(options, &turn, masks, streams)
    };
    let ended = ThreadEngine.run(&turn, &bounds, &mut watcher)?;
    let mut results = watcher.end(ended.how)?;
    if let Some(smi) = smi {
        smi.count(&mut results);
    }
    outcome::print(options, &results, started, &cpus, streams)
}

/// Locks memory, and holds `/dev/cpu_dma_latency` as asked.
fn prepare(options: &Options, streams: Streams) -> Result<ProcessSetup, Failure> {
    let asked = match options.power {
        Power::Latency(micros) => Some(micros),
        Power::Laptop => {
            streams.say("WARN: not setting cpu_dma_latency to save battery power\n");
            None
        }
        Power::DefaultSystem => {
            streams.say("WARN: not setting cpu_dma_latency from cyclictest\n");
            None
        }
        Power::DeepestIdleState(_) => None,
    };
    let process = ProcessSetup::prepare(asked);
    if options.mlockall && !process.memory_locked() {
        return Err(Failure::Mlockall(failure::memory_reason(&process)));
    }
    match (asked, process.dma_latency_us()) {
        (Some(_), Some(micros)) => streams.print(&format!("# /dev/cpu_dma_latency set to {micros}us\n"))?,
        (Some(_), None) => streams.say(&format!("WARN: {}\n", failure::dma_latency_reason(&process))),
        (None, _) => {}
    }
    Ok(process)
}
