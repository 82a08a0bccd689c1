//! Requests from a command to a session.

use std::path::Path;

use howlate_model::{Header, Node, Span, StopRule};
use howlate_recording::CreateError;
use howlate_render::Screen;

use crate::environment::Environment;
use crate::late_actions::LateAction;
use crate::recorder::{Intake, Recorder};
use crate::tracing::TraceOptions;

/// A request from a command to a session.
pub struct Request<'a> {
    /// `cyclic`, `sleep`, `notify`, `run` or `quick`.
    pub command: &'a str,
    /// Seed of the order of turns.
    pub seed: u64,
    /// Path of the recording.
    pub out: Option<&'a Path>,
    /// Path of the kept recording if `out` is `None`.
    pub kept: Option<&'a Path>,
    /// Path of a Parquet file with every wake-up.
    pub samples_out: Option<&'a Path>,
    /// Identity of this machine in the recording.
    pub node: Node,
    /// Value for `/dev/cpu_dma_latency`.
    pub dma_latency_us: Option<i32>,
    /// A wake-up later than this ends the run.
    pub stop_above: Option<Span>,
    /// The run ends when this rule is satisfied.
    pub until: Option<StopRule>,
    /// Display of the progress.
    pub screen: Option<Box<dyn Screen>>,
    /// Options of traced turns, if any.
    pub traced: Option<TraceOptions>,
    /// What is done about each wake-up of traced turns above their threshold.
    pub on_late: Vec<LateAction>,
}

impl Request<'_> {
    /// Starts the recording.
    pub(crate) fn recorder<T: Intake>(
        &self,
        header: Header,
        environment: &Environment,
    ) -> Result<Recorder<T>, CreateError> {
        Recorder::somewhere(header, self.out, self.kept, &environment.interrupted)
    }
}
