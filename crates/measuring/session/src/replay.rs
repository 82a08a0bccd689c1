//! The steps of an interrupted run, decided once more by what it has recorded.
//!
//! Decisions follow from the recorded turns alone, so that the same ones come of them, look by look: an error that was spent stays
//! spent. The run goes on with the first step of which turns are missing.

use std::collections::{HashSet, VecDeque};
use std::iter::Peekable;

use howlate_analyse::compare::Track;
use howlate_model::{Line, Turn};
use howlate_recording::{ReadError, TurnOf};

use crate::adaptive::{Step, Steps};

/// What a run cannot go on after.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It does not hold what these steps would have measured.
    #[error("the recording holds other turns")]
    OtherTurns,
}

type Recorded = Result<Line, ReadError>;

/// Takes `lines` in, step by step; returns the step that is to be taken now, or what is missing of it. `None` where the run had come
/// to its end.
pub fn replay(
    lines: impl Iterator<Item = Recorded>,
    track: &mut Track,
    steps: &mut impl Steps,
) -> Result<Option<Step>, ReplayError> {
    let mut lines = lines.peekable();
    while let Some(step) = steps.next(track) {
        let missing = take_in(step, &mut lines, track)?;
        if lines.peek().is_none() {
            return Ok(Some(missing));
        }
    }
    // What belongs to no turn is there also where no turn was ever begun.
    for line in lines {
        let line = line?;
        if matches!(line, Line::Condition(_)) || line.turns().next().is_some() {
            return Err(ReplayError::OtherTurns);
        }
        track.add(&line);
    }
    Ok(None)
}

/// Takes in what was recorded of a step; returns what was not.
fn take_in(
    step: Step,
    lines: &mut Peekable<impl Iterator<Item = Recorded>>,
    track: &mut Track,
) -> Result<Step, ReplayError> {
    let asked: HashSet<TurnOf> = step.turns.iter().flat_map(parts).collect();
    let (mut conditions, mut done) = (VecDeque::from(step.conditions), HashSet::new());
    while let Some(line) = lines.next_if(|line| match line {
        Ok(Line::Condition(_)) => !conditions.is_empty(),
        Ok(line) => line.turns().next().is_none_or(|turn| asked.contains(&turn)),
        Err(_) => true,
    }) {
        let line = line?;
        match &line {
            Line::Condition(found) if conditions.pop_front().as_ref() != Some(&**found) => {
                return Err(ReplayError::OtherTurns);
            }
            Line::Finished(finished) => {
                done.insert((finished.condition, finished.round));
            }
            _ => {}
        }
        track.add(&line);
    }
    let mut turns = step.turns;
    turns.retain(|turn| !parts(turn).all(|part| done.contains(&part)));
    Ok(Step { conditions: conditions.into(), turns })
}

/// The turns of threads that a turn consists of.
pub(crate) fn parts(turn: &Turn) -> impl Iterator<Item = TurnOf> + '_ {
    turn.tasks.iter().map(|task| (task.condition, task.round))
}
