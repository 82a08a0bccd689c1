//! Runs as cyclictest: connects cyclictest's options and output, which are in `howlate-rt-tests`, with howlate's measuring
//! engine and the machine.

mod error;
mod fifo;
mod idle_states;
mod masks;
mod outcome;
mod preconditions;
mod recording;
mod screen;
mod signals;
mod smi;
mod status_file;
mod watcher;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use howlate_measure::{ProcessSetup, ThreadEngine};
use howlate_model::{Caveat, Engine, TurnControl};
use howlate_rt_tests::cyclictest::{
    CpuMasks, CyclictestEarlyExit, CyclictestOptions, CyclictestResults, CyclictestWarning, PowerManagement,
    parse, preamble, turn, usage,
};
use howlate_rt_tests::{Compat, UnknownCompat};

use self::error::CyclictestError;
use self::recording::Recording;
use self::signals::Signals;
pub use self::status_file::sweep;
use self::watcher::Watcher;
use crate::common::{COMPAT_VARIABLE, now};
use crate::output::Streams;

/// Program name and subcommand. A name such as `cyclictest-2.4` also selects the version.
const NAME: &str = "cyclictest";

/// A call by the name `cyclictest`, or by `howlate cyclictest`.
pub struct CyclictestCall {
    program: String,
    arguments: Vec<String>,
    /// Version in the program name, as in `cyclictest-2.4`.
    program_compat: Option<Compat>,
}

impl CyclictestCall {
    /// The call, if the program name or the first argument is `cyclictest`; else `None`.
    pub fn from_arguments(arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut arguments: Vec<String> =
            arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
        let program = arguments.first()?.clone();
        let name = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let program_compat = Compat::from_program_name(&name);
        if name == NAME || program_compat.is_some() {
            return Some(Self { program, arguments: arguments.split_off(1), program_compat });
        }
        let is_subcommand = arguments.get(1).is_some_and(|argument| argument == NAME);
        is_subcommand.then(|| Self::with_arguments(arguments.split_off(2)))
    }

    /// `howlate cyclictest` with these arguments.
    pub fn with_arguments(arguments: Vec<String>) -> Self {
        Self { program: NAME.to_owned(), arguments, program_compat: None }
    }

    /// The version that applies without `--compat`.
    fn default_compat(&self) -> Result<Compat, CyclictestEarlyExit> {
        let (Some(value), None) = (std::env::var_os(COMPAT_VARIABLE), self.program_compat) else {
            return Ok(self.program_compat.unwrap_or_default());
        };
        value.to_string_lossy().parse().map_err(|error: UnknownCompat| {
            CyclictestEarlyExit::Fatal(CyclictestWarning::UnknownCompat {
                source: COMPAT_VARIABLE,
                message: error.to_string(),
            })
        })
    }

    /// Runs as cyclictest. `clean_up` is called once signals are handled; it removes leftovers of killed howlate processes,
    /// restores their settings, and returns notes about them.
    pub fn run(&self, streams: Streams, clean_up: fn() -> Vec<Caveat>) -> ExitCode {
        let masks = masks::read();
        match self.default_compat().and_then(|compat| parse(&self.arguments, &masks, compat)) {
            Err(exit) => self.exit_early(&exit, streams),
            Ok(request) => {
                request.warnings.iter().for_each(|warning| streams.say(&warning.to_string()));
                let measured = measure(&request.options, &masks, streams, clean_up);
                let status = measured.unwrap_or_else(|error| {
                    streams.say(&error.message());
                    error.status()
                });
                ExitCode::from(status)
            }
        }
    }

    /// Prints errors and the usage. An unknown option ends with status 0, as in the original.
    fn exit_early(&self, exit: &CyclictestEarlyExit, streams: Streams) -> ExitCode {
        let (compat, status) = match exit {
            CyclictestEarlyExit::Help(compat) => (*compat, 0),
            CyclictestEarlyExit::GetoptError(compat, text) => {
                streams.say(&format!("{}: {text}\n", self.program));
                (*compat, 0)
            }
            CyclictestEarlyExit::Invalid(compat, warnings) => {
                warnings.iter().for_each(|warning| streams.say(&warning.to_string()));
                (*compat, 1)
            }
            CyclictestEarlyExit::Fatal(warning) => {
                streams.say(&warning.to_string());
                return ExitCode::FAILURE;
            }
        };
        let printed = streams.print(&usage(compat)).map_err(CyclictestError::Output);
        ExitCode::from(printed.map_or_else(|error| error.status(), |()| status))
    }
}

/// Sets up, measures, prints; returns the exit status.
fn measure(
    options: &CyclictestOptions,
    masks: &CpuMasks,
    streams: Streams,
    clean_up: fn() -> Vec<Caveat>,
) -> Result<u8, CyclictestError> {
    let started = now();
    preconditions::check_clock(options, streams);
    let turn = turn(options, masks);
    turn.tasks.iter().try_for_each(|task| preconditions::check_policy(task.policy))?;
    let signals = Signals::receive()?;
    idle_states::warn(&clean_up(), streams);
    let smi = options.smi.then(|| smi::SmiCounters::open(&turn)).transpose()?;
    let cpus: Vec<_> = turn.tasks.iter().map(|task| task.cpu).collect();
    let (before, after) = preamble(options, masks, &cpus);
    streams.print(&before)?;
    let _idle = idle_states::disable_deeper_states(options, &turn, masks, streams);
    let process = prepare(options, streams)?;
    streams.print(&after)?;
    let recording = Recording::begin(options, &turn, signals.interrupted(), streams)?;
    let results = CyclictestResults::new(options, &turn, preconditions::clock_offset(options));
    let mut watcher = Watcher::new(options, results, &signals, recording, streams)?;
    watcher.begin();
    let interrupted = Arc::clone(signals.interrupted());
    let control = TurnControl {
        interrupted,
        process: process.state(),
        ..masks::turn_control(options, &turn, masks, streams)
    };
    let ended = ThreadEngine.run(&turn, &control, &mut watcher)?;
    let mut results = watcher.end(ended.how)?;
    if let Some(smi) = smi {
        smi.count(&mut results);
    }
    outcome::print(options, &results, started, &cpus, streams)
}

/// Locks memory, and holds `/dev/cpu_dma_latency` as the options require.
fn prepare(options: &CyclictestOptions, streams: Streams) -> Result<ProcessSetup, CyclictestError> {
    let dma_latency_us = match options.power {
        PowerManagement::Latency(micros) => Some(micros),
        PowerManagement::Laptop => {
            streams.say("WARN: not setting cpu_dma_latency to save battery power\n");
            None
        }
        PowerManagement::DefaultSystem => {
            streams.say("WARN: not setting cpu_dma_latency from cyclictest\n");
            None
        }
        PowerManagement::DeepestIdleState(_) => None,
    };
    let process = ProcessSetup::prepare(dma_latency_us);
    if options.mlockall && !process.memory_locked() {
        return Err(CyclictestError::Mlockall(error::memory_reason(&process)));
    }
    match (dma_latency_us, process.dma_latency_us()) {
        (Some(_), Some(micros)) => streams.print(&format!("# /dev/cpu_dma_latency set to {micros}us\n"))?,
        (Some(_), None) => streams.say(&format!("WARN: {}\n", error::dma_latency_reason(&process))),
        (None, _) => {}
    }
    Ok(process)
}
