//! Measures gaps: times in which a spinning thread does not get its CPU. Kernel events tell who had the CPU meanwhile.

mod counters;
mod request;
mod run;

use std::sync::atomic::AtomicBool;

use howlate_analyse::gaps::GapRun;
use howlate_linux::{memory, sched};
use howlate_measure::allow_realtime;
use howlate_model::CpuSet;
use howlate_trace::CpuEventReader;

pub use request::{GapError, GapRequest};
pub use run::{GapProgress, GapWatcher};

use run::GapMeasurement;

/// Measures gaps until the end of the duration, until `interrupted` is set, or until `watcher` ends it.
///
/// # Errors
///
/// When gaps cannot be measured as requested.
pub fn measure(
    request: &GapRequest,
    interrupted: &AtomicBool,
    watcher: &mut dyn GapWatcher,
) -> Result<GapRun, GapError> {
    let raised = allow_realtime([request.policy]);
    let (plan, leaves_one) = request::plan(request)?;
    raised.iter().for_each(|caveat| watcher.caveat(caveat));
    let (reader, not_traced) = match request.use_tracing.then(|| CpuEventReader::begin(&plan.cpus)) {
        Some(Ok(reader)) => (Some(reader), None),
        Some(Err(refusal)) => (None, Some(refusal)),
        None => (None, None),
    };
    // Without the right to lock memory, the loops still touch their pages beforehand.
    drop(memory::lock_all());
    let previous_affinity = leave_measured_cpus(&plan.cpus);
    let run = GapMeasurement::begin(&plan, reader).map(|run| run.collect(&plan, interrupted, watcher));
    previous_affinity.iter().for_each(|cpus| drop(sched::bind(cpus)));
    run.map(|run| GapRun { leaves_one, not_traced, ..run }).map_err(GapError::from)
}

/// Moves the calling thread to other CPUs, if there are any; returns its previous affinity.
fn leave_measured_cpus(cpus: &CpuSet) -> Option<CpuSet> {
    let previous = sched::affinity().ok()?;
    let other_cpus = previous.without(cpus);
    (!other_cpus.is_empty() && sched::bind(&other_cpus).is_ok()).then_some(previous)
}
