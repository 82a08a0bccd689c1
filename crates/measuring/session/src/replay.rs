//! Replays the decisions of an interrupted adaptive run from its recording.
//!
//! Decisions depend only on recorded turns, so every decision comes out as before, including how much of the error budget it
//! spends. The run continues with the first step that has missing turns.

use std::collections::{HashSet, VecDeque};
use std::iter::Peekable;

use howlate_analyse::compare::Track;
use howlate_model::{Line, Turn};
use howlate_recording::{ReadError, TurnId};

use crate::adaptive::{AdaptivePlan, AdaptiveStep};

/// Why a run cannot be continued.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Reading the recording failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its turns differ from those that the steps ask for.
    #[error("the recording holds other turns")]
    OtherTurns,
}

type Recorded = Result<Line, ReadError>;

/// Adds `lines` to `track`, step by step; returns the missing rest of the current step. `None`: the run had ended.
pub fn replay(
    lines: impl Iterator<Item = Recorded>,
    track: &mut Track,
    steps: &mut impl AdaptivePlan,
) -> Result<Option<AdaptiveStep>, ReplayError> {
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

/// Adds the recorded part of a step to `track`; returns the missing part.
fn take_in(
    step: AdaptiveStep,
    lines: &mut Peekable<impl Iterator<Item = Recorded>>,
    track: &mut Track,
) -> Result<AdaptiveStep, ReplayError> {
    let requested: HashSet<TurnId> = step.turns.iter().flat_map(parts).collect();
    let (mut conditions, mut done) = (VecDeque::from(step.conditions), HashSet::new());
    while let Some(line) = lines.next_if(|line| match line {
        Ok(Line::Condition(_)) => !conditions.is_empty(),
        Ok(line) => line.turns().next().is_none_or(|turn| requested.contains(&turn)),
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
    Ok(AdaptiveStep { conditions: conditions.into(), turns })
}

/// Condition and round of each thread of a turn.
pub(crate) fn parts(turn: &Turn) -> impl Iterator<Item = TurnId> + '_ {
    turn.tasks.iter().map(|task| (task.condition, task.round))
}
