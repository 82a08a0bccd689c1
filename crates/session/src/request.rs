//! What a command asks of its session.

use std::path::Path;

use howlate_model::{Header, Span};
use howlate_record::CreateError;

use super::Traced;
use crate::cli::{Identity, Output, WholeRun};
use crate::environment::Environment;
use crate::recorder::{Intake, Recorder};

/// What a command asks of its session.
pub(crate) struct Request<'a> {
    /// `cyclic`, `sleep`, `notify`, `run` or `quick`.
    pub(crate) command: &'a str,
    pub(crate) seed: u64,
    /// Where the recording is to go.
    pub(crate) out: Option<&'a Path>,
    /// Where it is kept if it is to go nowhere.
    pub(crate) kept: Option<&'a Path>,
    /// Where every wake-up is to go, as Parquet.
    pub(crate) samples_out: Option<&'a Path>,
    /// What the recording calls this machine.
    pub(crate) identity: &'a Identity,
    pub(crate) dma_latency_us: Option<i32>,
    pub(crate) stop_above: Option<Span>,
    pub(crate) quiet: bool,
    /// The turns to trace, if any.
    pub(crate) traced: Option<Traced>,
}

impl<'a> Request<'a> {
    /// What was typed after `command`, with turns in an order drawn with `seed`.
    pub(crate) fn of(command: &'a str, seed: u64, run: &WholeRun, output: &'a Output) -> Self {
        Self {
            command,
            seed,
            out: output.out.as_deref(),
            kept: None,
            samples_out: output.samples_out.as_deref(),
            identity: &output.identity,
            dma_latency_us: run.dma_latency,
            stop_above: run.stop_above,
            quiet: output.printing.quiet,
            traced: None,
        }
    }

    /// Begins its recording.
    pub(super) fn recorder<T: Intake>(
        &self,
        header: Header,
        environment: &Environment,
    ) -> Result<Recorder<T>, CreateError> {
        Recorder::somewhere(header, self.out, self.kept, &environment.interrupted)
    }
}
