//! What threads that ask for all of a CPU do not get of it, and who had it: spins, traces, and joins both.

mod account;
mod request;
mod run;
mod watcher;

use std::sync::atomic::AtomicBool;

use howlate_analyse::gaps::GapRun;
use howlate_linux::{memory, sched};
use howlate_measure::allow_realtime;
use howlate_model::CpuSet;
use howlate_trace::CpuEventReader;

pub use request::{GapRequest, NoGaps};
pub use watcher::{GapProgress, GapWatcher};

use run::Run;

/// Measures as asked, until it is over, `interrupted`, or ended by `watcher`.
///
/// # Errors
///
/// When nothing can be measured as asked.
pub fn measure(
    asked: &GapRequest,
    interrupted: &AtomicBool,
    watcher: &mut dyn GapWatcher,
) -> Result<GapRun, NoGaps> {
    let raised = allow_realtime([asked.policy]);
    let (plan, leaves_one) = request::plan(asked)?;
    raised.iter().for_each(|caveat| watcher.told(caveat));
    let (reader, not_traced) = match asked.traces.then(|| CpuEventReader::begin(&plan.cpus)) {
        Some(Ok(reader)) => (Some(reader), None),
        Some(Err(refusal)) => (None, Some(refusal)),
        None => (None, None),
    };
    // What cannot be locked is touched beforehand.
    drop(memory::lock_all());
    let here = step_aside(&plan.cpus);
    let run = Run::begin(&plan, reader).map(|run| run.collect(&plan, interrupted, watcher));
    here.iter().for_each(|here| drop(sched::bind(here)));
    run.map(|run| GapRun { leaves_one, not_traced, ..run }).map_err(NoGaps::from)
}

/// Leaves the measured CPUs, if there are others; returns where the calling thread was allowed before.
fn step_aside(cpus: &CpuSet) -> Option<CpuSet> {
    let here = sched::affinity().ok()?;
    let others = here.without(cpus);
    (!others.is_empty() && sched::bind(&others).is_ok()).then_some(here)
}
