//! `howlate notify`

use howlate_measure::probe;
use howlate_model::Notifier;
use howlate_plan::NotifyChoices;

use super::measure_and_print;
use crate::cli::{Notify, without_repeats};
use crate::error::Error;
use crate::session::Surroundings;
use crate::status::Status;

pub(crate) fn run(asked: &Notify) -> Result<Status, Error> {
    let measuring = &asked.measuring;
    let around = Surroundings::begin()?;
    let notifiers = asked.notifiers();
    let choices = NotifyChoices {
        circumstances: measuring.circumstances(&[]),
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
    measure_and_print("notify", measuring, &around, &plan, choices.circumstances.seed)
}

/// Why kernel or container refuse a mechanism, if they do.
fn refusal(notifier: Notifier) -> Option<(Notifier, String)> {
    let error = probe(notifier).err()?;
    Some((notifier, format!("the kernel or the container refuses it ({error})")))
}
