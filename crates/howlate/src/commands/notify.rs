//! `howlate notify`

use howlate_measure::probe;
use howlate_model::Notifier;
use howlate_plan::{NotifyChoices, Plan, PlanError};

use super::measure_and_print;
use crate::cli::{Notify, without_repeats};
use crate::error::Error;
use crate::session::Surroundings;
use crate::status::Status;

pub(crate) fn run(asked: &Notify) -> Result<Status, Error> {
    let around = Surroundings::begin()?;
    let (plan, seed) = plan(asked, &around)?;
    measure_and_print("notify", &asked.measuring, &around, &plan, seed)
}

/// What is to be measured, and what its order was drawn with.
pub(crate) fn plan(asked: &Notify, around: &Surroundings) -> Result<(Plan, u64), PlanError> {
    let measuring = &asked.measuring;
    let notifiers = asked.notifiers();
    let choices = NotifyChoices {
        circumstances: measuring.circumstances(),
        refused: notifiers.iter().filter_map(|notifier| refusal(*notifier)).collect(),
        notifiers,
        gaps: without_repeats(&asked.after),
        between: asked.kinds(),
        receivers: asked.receivers(),
        pairs: asked.pairs(),
        cpus: around.system.cpus.clone(),
        round_trip: asked.round_trip,
        samples: measuring.samples,
        duration: measuring.duration,
        rounds: measuring.rounds,
    };
    let plan = choices.plan(&around.machine())?;
    Ok((measuring.cut(plan), choices.circumstances.seed))
}

/// Why kernel or container refuse a mechanism, if they do.
fn refusal(notifier: Notifier) -> Option<(Notifier, String)> {
    let error = probe(notifier).err()?;
    Some((notifier, format!("the kernel or the container refuses it ({error})")))
}
