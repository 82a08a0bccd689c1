//! Which turns are traced, and by what.

use howlate_linux::clock;
use howlate_model::{Caveat, Span, Turn, Work};
use howlate_trace::{Choice, Tier, Tracer, open_chosen};

use crate::error::SessionError;
use crate::joining::{Joining, SETTLING, refusal};
use crate::timelines::{Keep, Timelines};

/// What is to be traced, and how.
#[derive(Clone, Copy, Debug)]
pub struct TraceOptions {
    /// The tracer that was asked for.
    pub tracer: Choice,
    /// Turns from this round on are traced; each is beside the one that many rounds before.
    pub from_round: u32,
    /// Which wake-ups count as late, if that was said.
    pub late_above: Option<Span>,
    /// What is to be kept of what all CPUs did.
    pub keep: Option<Keep>,
    /// Nobody asked for it: only a tracer that names who made wake-ups late is worth the time, and where there is none,
    /// nothing is missing.
    pub unasked: bool,
}

/// The tracer of a session.
pub(crate) struct Tracing {
    tracer: Box<dyn Tracer>,
    from_round: u32,
    timelines: Option<Timelines>,
}

impl Tracing {
    /// The tracer that is to be used, and what is to be said of those that are not. None at all is an error only where
    /// one was asked for by name.
    pub(crate) fn begin(wanted: TraceOptions) -> Result<(Option<Self>, Vec<Caveat>), SessionError> {
        let opened = match open_chosen(wanted.tracer, &[std::process::id()]) {
            Err(_) if wanted.unasked => return Ok((None, Vec::new())),
            opened => opened?,
        };
        let names = opened.tracer.as_ref().is_some_and(|tracer| tracer.tier() != Tier::Switches);
        if wanted.unasked && !names {
            return Ok((None, Vec::new()));
        }
        let (caveats, from_round) = (opened.caveats(), wanted.from_round);
        Ok((opened.tracer.map(|tracer| Self { tracer, from_round, timelines: None }), caveats))
    }

    /// What all CPUs did around late wake-ups is kept as well.
    pub(crate) fn keep(&mut self, timelines: Timelines) {
        self.timelines = Some(timelines);
    }

    /// What is to be said of those at the end.
    pub(crate) fn missing_timelines(&self) -> Option<Caveat> {
        self.timelines.as_ref().and_then(Timelines::missing)
    }

    /// Whether a turn is one to be traced.
    pub(crate) fn is_traced(from_round: u32, turn: &Turn) -> bool {
        turn.tasks.iter().any(|task| task.round >= from_round)
    }

    /// Begins to trace, if `turn` is one to be traced.
    pub(crate) fn turn_begins(&mut self, turn: &Turn) -> Result<Option<Joining<'_>>, Box<Caveat>> {
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
        let joining = Joining::begin(self.tracer.as_mut(), self.from_round, turn);
        Ok(Some(joining.keeping(self.timelines.as_mut())))
    }
}
