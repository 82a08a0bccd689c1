//! Selection of traced turns and of the tracer.

use howlate_linux::clock;
use howlate_model::{Caveat, Span, Turn, Work};
use howlate_trace::{Choice, Tier, Tracer, open_chosen};

use crate::error::SessionError;
use crate::joining::{SETTLING, TurnJoiner, refusal};
use crate::late_actions::LateActions;
use crate::timelines::{Keep, Timelines};

/// Options of traced turns.
#[derive(Clone, Copy, Debug)]
pub struct TraceOptions {
    /// The requested tracer.
    pub tracer: Choice,
    /// Turns from this round on are traced. Each repeats an untraced turn, that of as many rounds before.
    pub from_round: u32,
    /// Threshold of late wake-ups; `None`: automatic.
    pub late_above: Option<Span>,
    /// How much of the activity of all CPUs is kept.
    pub keep: Option<Keep>,
    /// Tracing was not requested: only a tracer that names the causes of late wake-ups is used, and without one there is no
    /// caveat.
    pub unasked: bool,
}

/// The tracer of a session.
pub(crate) struct Tracing {
    tracer: Box<dyn Tracer>,
    from_round: u32,
    timelines: Option<Timelines>,
    late_actions: Option<LateActions>,
}

impl Tracing {
    /// Starts the best tracer; returns caveats about tracers that are not available. Having no tracer is an error only if one
    /// was requested by name.
    pub(crate) fn begin(options: TraceOptions) -> Result<(Option<Self>, Vec<Caveat>), SessionError> {
        let opened = match open_chosen(options.tracer, &[std::process::id()]) {
            Err(_) if options.unasked => return Ok((None, Vec::new())),
            opened => opened?,
        };
        let names = opened.tracer.as_ref().is_some_and(|tracer| tracer.tier() != Tier::Switches);
        if options.unasked && !names {
            return Ok((None, Vec::new()));
        }
        let (caveats, from_round) = (opened.caveats(), options.from_round);
        Ok((
            opened.tracer.map(|tracer| Self { tracer, from_round, timelines: None, late_actions: None }),
            caveats,
        ))
    }

    /// Also keeps timelines of late wake-ups.
    pub(crate) fn keep(&mut self, timelines: Timelines) {
        self.timelines = Some(timelines);
    }

    /// Also acts on late wake-ups.
    pub(crate) fn act(&mut self, actions: LateActions) {
        self.late_actions = Some(actions);
    }

    /// Caveat about commands that were not run.
    pub(crate) fn commands_left_out(&self) -> Option<Caveat> {
        self.late_actions.as_ref().and_then(LateActions::left_out)
    }

    /// Caveat about timelines that were not written.
    pub(crate) fn missing_timelines(&self) -> Option<Caveat> {
        self.timelines.as_ref().and_then(Timelines::missing)
    }

    /// Whether `turn` is traced.
    pub(crate) fn is_traced(from_round: u32, turn: &Turn) -> bool {
        turn.tasks.iter().any(|task| task.round >= from_round)
    }

    /// Starts the tracer, if `turn` is traced.
    pub(crate) fn turn_begins(&mut self, turn: &Turn) -> Result<Option<TurnJoiner<'_>>, Box<Caveat>> {
        if !Self::is_traced(self.from_round, turn) {
            return Ok(None);
        }
        let is_notified = turn.tasks.iter().any(|task| matches!(task.work, Work::Notify { .. }));
        self.tracer.with_calls(is_notified);
        self.tracer.start().map_err(|reason| Box::new(refusal(self.tracer.tier().name(), reason)))?;
        if let Some(timelines) = &mut self.timelines {
            timelines.start()?;
        }
        // An interruption shortens it, and is seen by the turn itself.
        drop(clock::sleep_for(SETTLING));
        let joining = TurnJoiner::begin(self.tracer.as_mut(), self.from_round, turn);
        Ok(Some(joining.handling_late(self.timelines.as_mut(), self.late_actions.as_mut())))
    }
}
