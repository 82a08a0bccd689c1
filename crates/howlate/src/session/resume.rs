//! Where a session begins: anew, or where an interrupted one stopped.

use std::path::Path;

use howlate_analyse::Analysis;
use howlate_linux::clock;
use howlate_model::{Line, Resumed, Turn};
use howlate_plan::Plan;
use howlate_record::{Progress, Reader, TurnOf, Writer, is_stream, progress};

use super::Request;
use crate::environment::Environment;
use crate::error::Error;
use crate::recorder::{Recorder, date_and_time, header};

/// Whether a session resumes an earlier part of the same run.
pub(crate) enum Resume {
    No,
    From(Box<Progress>),
}

/// A session that can go on.
pub(super) struct Begun {
    pub(super) recorder: Recorder<Analysis>,
    /// The turns that are still to be taken.
    pub(super) turns: Vec<Turn>,
}

impl Resume {
    /// What the recording at `path` holds, if there is one and it is to be resumed.
    pub(crate) fn of(path: &Path, resume: bool) -> Result<Self, Error> {
        match (path.exists(), resume) {
            (false, _) => Ok(Self::No),
            (true, false) if is_stream(path) => Ok(Self::No),
            (true, true) => Ok(Self::From(Box::new(progress(path)?))),
            (true, false) => Err(Error::RunRecorded { path: path.to_owned() }),
        }
    }

    /// What the order of turns was drawn with.
    pub(crate) fn seed(&self) -> Option<u64> {
        match self {
            Self::No => None,
            Self::From(past) => Some(past.header.seed),
        }
    }

    pub(super) fn begin(
        self,
        request: &Request<'_>,
        environment: &Environment,
        plan: &Plan,
    ) -> Result<Begun, Error> {
        match (self, request.out) {
            (Self::From(past), Some(path)) => resume(&past, path, plan),
            _ => {
                let mut header = header(request.command, request.seed, environment, plan.conditions.clone());
                header.node = request.identity.of(header.node);
                header.late_above_ns = request.traced.and_then(|traced| traced.late_above);
                let recorder = request.recorder(header, environment)?;
                Ok(Begun { recorder, turns: plan.turns.clone() })
            }
        }
    }
}

fn resume(past: &Progress, path: &Path, plan: &Plan) -> Result<Begun, Error> {
    if past.header.conditions != plan.conditions {
        return Err(Error::OtherConditions { path: path.to_owned() });
    }
    let (done, turns): (Vec<Turn>, Vec<Turn>) =
        plan.turns.iter().cloned().partition(|turn| is_done(turn, past));
    let kept: std::collections::HashSet<TurnOf> = done.iter().flat_map(parts).collect();
    let writer = Writer::resume(path, &|turn| kept.contains(&turn))?;
    let mut analysis = Analysis::new(past.header.clone());
    for line in Reader::open(path)? {
        analysis.add(&line?);
    }
    let mut recorder = Recorder::resume(analysis, writer);
    recorder.keep(&Line::Resumed(Resumed { at_ns: clock::now(), started: date_and_time() }));
    Ok(Begun { recorder, turns })
}

/// A turn is done when every one of its threads was.
fn is_done(turn: &Turn, past: &Progress) -> bool {
    parts(turn).all(|part| past.finished.contains(&part))
}

fn parts(turn: &Turn) -> impl Iterator<Item = TurnOf> + '_ {
    turn.tasks.iter().map(|task| (task.condition, task.round))
}
