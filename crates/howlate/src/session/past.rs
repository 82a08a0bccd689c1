//! Where a session begins: anew, or where an interrupted one stopped.

use std::path::Path;

use howlate_analyse::Analysis;
use howlate_linux::clock;
use howlate_model::{Line, Resumed, Turn};
use howlate_plan::Plan;
use howlate_record::{Progress, Reader, TurnOf, Writer, is_stream, progress};

use super::{Request, Surroundings, header, now_in_words};
use crate::error::Error;

/// What an earlier part of the same run recorded, if there was one.
pub(crate) enum Past {
    None,
    Recorded(Box<Progress>),
}

/// A session that can go on.
pub(super) struct Begun {
    pub(super) analysis: Analysis,
    pub(super) writer: Option<Writer>,
    /// The turns that are still to be taken.
    pub(super) turns: Vec<Turn>,
}

impl Past {
    /// What the recording at `path` holds, if there is one and it is to be gone on with.
    pub(crate) fn of(path: &Path, resume: bool) -> Result<Self, Error> {
        match (path.exists(), resume) {
            (false, _) => Ok(Self::None),
            (true, false) if is_stream(path) => Ok(Self::None),
            (true, true) => Ok(Self::Recorded(Box::new(progress(path)?))),
            (true, false) => Err(Error::RunRecorded { path: path.to_owned() }),
        }
    }

    /// What the order of turns was drawn with.
    pub(crate) fn seed(&self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Recorded(past) => Some(past.header.seed),
        }
    }

    pub(super) fn begin(
        self,
        request: &Request<'_>,
        around: &Surroundings,
        plan: &Plan,
    ) -> Result<Begun, Error> {
        match (self, request.out) {
            (Self::Recorded(past), Some(path)) => go_on(&past, path, plan),
            (_, out) => {
                let header = header(request, around, plan);
                let writer =
                    out.map(|path| Writer::create_until(path, &header, &around.interrupted)).transpose()?;
                Ok(Begun { analysis: Analysis::new(header), writer, turns: plan.turns.clone() })
            }
        }
    }
}

fn go_on(past: &Progress, path: &Path, plan: &Plan) -> Result<Begun, Error> {
    if past.header.conditions != plan.conditions {
        return Err(Error::OtherConditions { path: path.to_owned() });
    }
    let (done, turns): (Vec<Turn>, Vec<Turn>) =
        plan.turns.iter().cloned().partition(|turn| is_done(turn, past));
    let kept: std::collections::HashSet<TurnOf> = done.iter().flat_map(parts).collect();
    let mut writer = Writer::resume(path, &|turn| kept.contains(&turn))?;
    let mut analysis = Analysis::new(past.header.clone());
    for line in Reader::open(path)? {
        analysis.add(&line?);
    }
    writer.write(&Line::Resumed(Resumed { at_ns: clock::now(), started: now_in_words() }));
    Ok(Begun { analysis, writer: Some(writer), turns })
}

/// A turn is done when every one of its threads was.
fn is_done(turn: &Turn, past: &Progress) -> bool {
    parts(turn).all(|part| past.finished.contains(&part))
}

fn parts(turn: &Turn) -> impl Iterator<Item = TurnOf> + '_ {
    turn.tasks.iter().map(|task| (task.condition, task.round))
}
