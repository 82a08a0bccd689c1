//! Turns that are traced: their wake-ups are split into parts, and are none of the result.

use std::collections::HashMap;

use howlate_analyse::cause::Joiner;
use howlate_linux::clock;
use howlate_model::{AfterEach, Caveat, Line, MonotonicTime, Span, Turn, Wait, Wakeup, WhyBlock, Work};
use howlate_trace::{Choice, Refusal, Tracer, open};

use crate::error::Error;

/// What is to be traced, and how.
#[derive(Clone, Copy)]
pub(crate) struct Traced {
    /// The tracer that was asked for.
    pub(crate) tracer: Choice,
    /// Turns from this round on are traced; each is beside the one that many rounds before.
    pub(crate) from_round: u32,
    /// Which wake-ups count as late, if that was said.
    pub(crate) late_above: Option<Span>,
}

/// Causes of long turns are handed on this often, so that a crash costs no more.
const HANDED_ON_EVERY: Span = Span::from_secs(60);

/// Time for the kernel to settle after its code was patched, and for the last sleep of a thread to be told.
const SETTLING: Span = Span::from_millis(10);

/// A tracer, and the turn that it watches.
pub(super) struct Tracing {
    tracer: Box<dyn Tracer>,
    from_round: u32,
    turn: Option<TracedTurn>,
}

struct TracedTurn {
    from: MonotonicTime,
    /// In the order of the turn's tasks.
    threads: Vec<Thread>,
    /// When the tracer was last read.
    read_at: MonotonicTime,
    /// Which of them has which id.
    by_tid: HashMap<u32, usize>,
}

struct Thread {
    condition: u32,
    round: u32,
    has_slack: bool,
    joiner: Joiner,
}

impl Tracing {
    /// The tracer that is to be used, and what is to be said of those that are not. None at all is an error only where
    /// one was asked for by name.
    pub(super) fn begin(wanted: Traced) -> Result<(Option<Self>, Vec<Caveat>), Error> {
        let opened = open(wanted.tracer, &[std::process::id()]);
        if let (Choice::Only(tier), Some((_, refusal))) = (wanted.tracer, opened.refused.first()) {
            return Err(Error::Tracer { tier, refusal: refusal.clone() });
        }
        let refused = opened.refused.iter().map(|(tier, reason)| Caveat::TracerRefused {
            tracer: tier.name().to_owned(),
            reason: reason.to_string(),
        });
        let caveats = refused.collect();
        let from_round = wanted.from_round;
        Ok((opened.tracer.map(|tracer| Self { tracer, from_round, turn: None }), caveats))
    }

    /// Whether a turn is one to be traced.
    pub(super) fn is_traced(from_round: u32, turn: &Turn) -> bool {
        turn.tasks.iter().any(|task| task.round >= from_round)
    }

    /// Begins to trace, if `turn` is one to be traced.
    pub(super) fn turn_begins(&mut self, turn: &Turn) -> Result<(), Refusal> {
        if !Self::is_traced(self.from_round, turn) {
            return Ok(());
        }
        let is_notified = |work: &Work| matches!(work, Work::Notify { .. });
        self.tracer.with_calls(turn.tasks.iter().any(|task| is_notified(&task.work)));
        self.tracer.start()?;
        // An interruption shortens it, and is seen by the turn itself.
        drop(clock::pause(SETTLING));
        let threads = turn.tasks.iter().map(|task| Thread {
            condition: task.condition,
            round: task.round,
            has_slack: has_slack(&task.work),
            joiner: Joiner::new(is_notified(&task.work)),
        });
        let threads = threads.collect();
        let now = clock::now();
        self.turn = Some(TracedTurn { from: now, threads, read_at: now, by_tid: HashMap::new() });
        Ok(())
    }

    /// The tracer's name.
    pub(super) fn name(&self) -> &'static str {
        self.tracer.tier().name()
    }

    /// What each thread of the current turn is to do after its wake-ups, if it is traced.
    pub(super) fn after_each(&self) -> Option<AfterEach> {
        self.turn.as_ref().and_then(|_| self.tracer.after_each())
    }

    /// Whether the current turn is traced.
    pub(super) const fn is_under_way(&self) -> bool {
        self.turn.is_some()
    }

    /// A thread of the turn has begun; its timer slack is `slack`.
    pub(super) fn started(&mut self, condition: u32, tid: u32, slack: Span) -> Result<(), Refusal> {
        let Some(turn) = &mut self.turn else { return Ok(()) };
        // A program is told of when it starts, and again when it says that it is ready.
        if turn.by_tid.contains_key(&tid) {
            return Ok(());
        }
        if let Some(number) = turn.threads.iter().position(|thread| thread.condition == condition) {
            turn.by_tid.insert(tid, number);
            let has_slack = turn.threads[number].has_slack;
            return self.tracer.follow(tid, if has_slack { slack } else { Span::ZERO });
        }
        Ok(())
    }

    /// Wake-ups of a thread of the turn.
    pub(super) fn wakeups(&mut self, thread: usize, wakeups: &[Wakeup]) {
        let joiner = self.turn.as_mut().and_then(|turn| turn.threads.get_mut(thread));
        if let Some(thread) = joiner {
            thread.joiner.woke(wakeups.iter().copied());
        }
    }

    /// Takes in what the tracer saw. Often enough, so that it need not lose anything.
    pub(super) fn poll(&mut self) -> Vec<Line> {
        let Some(turn) = &mut self.turn else { return Vec::new() };
        let TracedTurn { threads, by_tid, read_at, .. } = turn;
        let (mut seen, began) = (Vec::new(), clock::now());
        let lost = self.tracer.read(&mut |one| seen.push(one));
        let now = clock::now();
        let since = std::mem::replace(read_at, began);
        // Which thread's they were cannot be told, so that they spoil the wake-ups of all.
        threads.iter_mut().for_each(|thread| thread.joiner.lost(lost, since, now));
        for one in seen {
            if let Some(thread) = by_tid.get(&one.tid).and_then(|number| threads.get_mut(*number)) {
                thread.joiner.saw(one);
            }
        }
        if now.since(turn.from) < HANDED_ON_EVERY {
            return Vec::new();
        }
        self.emit(now)
    }

    /// The turn is over: what came of it.
    pub(super) fn turn_ended(&mut self) -> Vec<Line> {
        if self.turn.is_none() {
            return Vec::new();
        }
        drop(clock::pause(SETTLING));
        self.tracer.stop();
        let mut lines = self.poll();
        if let Some(turn) = &mut self.turn {
            turn.threads.iter_mut().for_each(|thread| thread.joiner.end());
        }
        lines.extend(self.emit(clock::now()));
        self.turn = None;
        lines
    }

    /// The causes since the last time, one line per thread.
    fn emit(&mut self, now: MonotonicTime) -> Vec<Line> {
        let Some(turn) = &mut self.turn else { return Vec::new() };
        let from = std::mem::replace(&mut turn.from, now);
        let (tracer, from_round) = (self.tracer.tier().name(), self.from_round);
        let line = |thread: &mut Thread| {
            Line::Why(Box::new(WhyBlock {
                condition: thread.condition,
                round: thread.round,
                beside: thread.round.saturating_sub(from_round),
                from_ns: from,
                until_ns: now,
                tracer: tracer.to_owned(),
                ledger: std::mem::take(&mut thread.joiner.ledger),
            }))
        };
        turn.threads.iter_mut().map(line).collect()
    }
}

/// Whether the wait of such work is one that timer slack lengthens. A receiver waits for no time.
fn has_slack(work: &Work) -> bool {
    !matches!(work, Work::Notify { .. }) && work.wait().is_none_or(Wait::has_slack)
}
