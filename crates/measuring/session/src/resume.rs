//! Starting a session anew or where an interrupted one stopped.

use std::path::Path;

use howlate_analyse::Analysis;
use howlate_analyse::compare::Track;
use howlate_linux::clock;
use howlate_model::{Line, Resumption, Turn};
use howlate_plan::Plan;
use howlate_recording::{Reader, RecordingProgress, TurnId, Writer, is_stream, progress};

use crate::adaptive::{AdaptivePlan, AdaptiveStep};
use crate::environment::Environment;
use crate::error::SessionError;
use crate::recorder::{Recorder, date_and_time, header};
use crate::replay::{ReplayError, parts, replay};
use crate::request::Request;

/// Whether a session resumes an earlier part of the same run.
pub enum Resume {
    /// A new run.
    No,
    /// Continues this run.
    From(Box<RecordingProgress>),
}

/// A started session.
pub(crate) struct StartedSession {
    pub(crate) recorder: Recorder<Analysis>,
    /// The remaining turns.
    pub(crate) turns: Vec<Turn>,
}

/// A started adaptive session.
pub(crate) struct StartedAdaptiveSession {
    pub(crate) recorder: Recorder<Track>,
    /// The first step, if any is left.
    pub(crate) step: Option<AdaptiveStep>,
}

impl Resume {
    /// Reads the recording at `path` if it exists and `resume` is set.
    pub fn open(path: &Path, resume: bool) -> Result<Self, SessionError> {
        match (path.exists(), resume) {
            (false, _) => Ok(Self::No),
            (true, false) if is_stream(path) => Ok(Self::No),
            (true, true) => Ok(Self::From(Box::new(progress(path)?))),
            (true, false) => Err(SessionError::RunRecorded { path: path.to_owned() }),
        }
    }

    /// Seed of the order of turns.
    pub fn seed(&self) -> Option<u64> {
        match self {
            Self::No => None,
            Self::From(past) => Some(past.header.seed),
        }
    }

    /// Starts an adaptive session.
    pub(crate) fn begin_in_steps(
        self,
        request: &Request<'_>,
        environment: &Environment,
        plan: &Plan,
        steps: &mut impl AdaptivePlan,
    ) -> Result<StartedAdaptiveSession, SessionError> {
        if let (Self::From(past), Some(path)) = (self, request.out) {
            return resume_in_steps(&past, path, plan, steps);
        }
        let mut header = header(request.command, request.seed, environment, plan.conditions.clone());
        header.node = request.node.clone();
        header.tuning = Some(steps.tuning());
        let recorder = request.recorder::<Track>(header, environment)?;
        let step = steps.next(recorder.intake());
        Ok(StartedAdaptiveSession { recorder, step })
    }

    pub(crate) fn begin(
        self,
        request: &Request<'_>,
        environment: &Environment,
        plan: &Plan,
    ) -> Result<StartedSession, SessionError> {
        match (self, request.out) {
            (Self::From(past), Some(path)) => resume(&past, path, plan),
            _ => {
                let mut header = header(request.command, request.seed, environment, plan.conditions.clone());
                header.node = request.node.clone();
                header.until = request.until;
                header.late_above = request.traced.and_then(|traced| traced.late_above);
                let recorder = request.recorder(header, environment)?;
                Ok(StartedSession { recorder, turns: plan.turns.clone() })
            }
        }
    }
}

fn resume_in_steps(
    past: &RecordingProgress,
    path: &Path,
    plan: &Plan,
    steps: &mut impl AdaptivePlan,
) -> Result<StartedAdaptiveSession, SessionError> {
    let header = &past.header;
    let is_other = header.conditions != plan.conditions
        || header.tuning.as_ref() != Some(&steps.tuning())
        || header.howlate != env!("CARGO_PKG_VERSION");
    if is_other {
        return Err(SessionError::OtherConditions { path: path.to_owned() });
    }
    // Threads side by side have neighbouring conditions, and a turn counts only with all of them.
    let width = plan.turns.first().map_or(1, |turn| turn.tasks.len().max(1));
    let width = u32::try_from(width).unwrap_or(u32::MAX);
    let is_whole = |(condition, round): TurnId| {
        let first = condition / width * width;
        (first..first.saturating_add(width)).all(|condition| past.finished.contains(&(condition, round)))
    };
    let writer = Writer::resume(path, &is_whole)?;
    let mut track = Track::new(past.header.clone());
    let step = replay(Reader::open(path)?, &mut track, steps).map_err(|error| match error {
        ReplayError::Read(error) => error.into(),
        ReplayError::OtherTurns => SessionError::OtherConditions { path: path.to_owned() },
    })?;
    let mut recorder = Recorder::resume(track, writer);
    recorder.keep(&Line::Resumed(Resumption { at: clock::now(), started: date_and_time() }));
    Ok(StartedAdaptiveSession { recorder, step })
}

fn resume(past: &RecordingProgress, path: &Path, plan: &Plan) -> Result<StartedSession, SessionError> {
    if past.header.conditions != plan.conditions {
        return Err(SessionError::OtherConditions { path: path.to_owned() });
    }
    let (done, turns): (Vec<Turn>, Vec<Turn>) =
        plan.turns.iter().cloned().partition(|turn| is_done(turn, past));
    let kept_turns: std::collections::HashSet<TurnId> = done.iter().flat_map(parts).collect();
    let writer = Writer::resume(path, &|turn| kept_turns.contains(&turn))?;
    let mut analysis = Analysis::new(past.header.clone());
    for line in Reader::open(path)? {
        analysis.add(&line?);
    }
    let mut recorder = Recorder::resume(analysis, writer);
    recorder.keep(&Line::Resumed(Resumption { at: clock::now(), started: date_and_time() }));
    Ok(StartedSession { recorder, turns })
}

/// Whether all threads of `turn` are finished.
fn is_done(turn: &Turn, past: &RecordingProgress) -> bool {
    parts(turn).all(|part| past.finished.contains(&part))
}
