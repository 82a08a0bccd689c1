//! What a command asks of its session.

use std::path::Path;

use howlate_model::{Header, Node, Span, StopRule};
use howlate_recording::CreateError;
use howlate_render::Screen;

use crate::environment::Environment;
use crate::recorder::{Intake, Recorder};
use crate::tracing::TraceOptions;

/// What a command asks of its session.
pub struct Request<'a> {
    /// `cyclic`, `sleep`, `notify`, `run` or `quick`.
    pub command: &'a str,
    /// What the order of turns was drawn with.
    pub seed: u64,
    /// Where the recording is to go.
    pub out: Option<&'a Path>,
    /// Where it is kept if it is to go nowhere.
    pub kept: Option<&'a Path>,
    /// Where every wake-up is to go, as Parquet.
    pub samples_out: Option<&'a Path>,
    /// This machine as the recording calls it.
    pub node: Node,
    /// What `/dev/cpu_dma_latency` is to be held at.
    pub dma_latency_us: Option<i32>,
    /// It is stopped by a wake-up that is later than this.
    pub stop_above: Option<Span>,
    /// What it goes on until.
    pub until: Option<StopRule>,
    /// Where progress is shown, if anywhere.
    pub screen: Option<Box<dyn Screen>>,
    /// The turns to trace, if any.
    pub traced: Option<TraceOptions>,
}

impl Request<'_> {
    /// Begins its recording.
    pub(crate) fn recorder<T: Intake>(
        &self,
        header: Header,
        environment: &Environment,
    ) -> Result<Recorder<T>, CreateError> {
        Recorder::somewhere(header, self.out, self.kept, &environment.interrupted)
    }
}
