//! `howlate sleep`

use howlate_plan::SleepChoices;

use super::measure_and_print;
use crate::cli::{Sleep, without_repeats};
use crate::error::Error;
use crate::session::Surroundings;
use crate::status::Status;

pub(crate) fn run(asked: &Sleep) -> Result<Status, Error> {
    let measuring = &asked.measuring;
    let around = Surroundings::begin()?;
    let choices = SleepChoices {
        circumstances: measuring.circumstances(&asked.call),
        lengths: without_repeats(&asked.lengths),
        samples: measuring.samples,
        duration: measuring.duration,
        rounds: measuring.rounds,
    };
    let plan = choices.plan(&around.machine())?;
    measure_and_print("sleep", measuring, &around, &plan, choices.circumstances.seed)
}
