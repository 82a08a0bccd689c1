//! One turn of a program: start, read, judge, end.

use std::cell::RefCell;
use std::io;

use howlate_linux::child::SpawnReport;
use howlate_linux::clock;
use howlate_model::{
    AsText, EndReason, Engine, EngineError, Latency, Line, MonotonicTime, Runtime, Sink, Span, Task,
    ThreadSettings, Turn, TurnControl, TurnEnd, TurnFinished, TurnStarted, Usage, Wakeup,
};

use crate::blocks::Blocks;
use crate::clock_conversion::Conversion;
use crate::error::{Failed, ProtocolError};
use crate::probe_process::Sleeping;
use crate::protocol::{Hello, Report};
use crate::{Probes, settings};

/// How long a program may take until it says its first line: a virtual machine at nice 19 or of class idle under full load, in which it may have a fiftieth of a CPU.
const PATIENCE_TO_START: Span = Span::from_secs(60);

/// How often it is looked whether the turn should end.
const TICK: Span = Span::from_millis(100);

/// How often its threads' settings are read back, which takes a few files for each.
const LOOK_EVERY: Span = Span::from_secs(1);

/// The engine of turns in which a program of its own sleeps.
pub struct Programs<'a> {
    /// The programs, prepared before the first turn.
    pub probes: &'a RefCell<Probes>,
}

impl Engine for Programs<'_> {
    fn takes(&self, turn: &Turn) -> bool {
        program_of(turn).is_some()
    }

    /// A program that cannot be started, crashes, prints garbage or hangs is no error here: it is
    /// reported in [`TurnFinished`].
    fn run(
        &mut self,
        turn: &Turn,
        bounds: &TurnControl,
        sink: &mut dyn Sink,
    ) -> Result<TurnEnd, EngineError> {
        let Some((task, runtime)) = program_of(turn) else { return Ok(EndReason::Done.into()) };
        if bounds.is_interrupted() {
            return Ok(EndReason::Interrupted.into());
        }
        let began = clock::now();
        let mut turn = ProgramTurn {
            task,
            bounds,
            cut_after: turn.cut_after,
            wakeups: sink.wants_wakeups().then(Vec::new),
            sink,
            blocks: Blocks::new(task, began),
            conversion: None,
            began: Vec::new(),
            look_at: began,
            until: began.plus(PATIENCE_TO_START),
            how: EndReason::Done,
        };
        let (usage, error) = match turn.start(&self.probes.borrow(), runtime) {
            Ok((program, applied)) => turn.watch(program, &applied),
            Err(reason) => (None, Some(reason)),
        };
        let usage = usage.map(|usage| Usage { elapsed: clock::now().since(began), ..usage });
        turn.finish(usage, error);
        Ok(turn.how.into())
    }
}

fn program_of(turn: &Turn) -> Option<(&Task, Runtime)> {
    turn.tasks.iter().find_map(|task| Some((task, task.work.runtime()?)))
}

/// A turn under way.
struct ProgramTurn<'a> {
    task: &'a Task,
    bounds: &'a TurnControl,
    cut_after: Option<Span>,
    sink: &'a mut dyn Sink,
    blocks: Blocks,
    /// Wake-ups that were not handed on one by one yet; `None`: nobody wants them so.
    wakeups: Option<Vec<Wakeup>>,
    /// Known once the program has said its first line.
    conversion: Option<Conversion>,
    /// What each of its threads had when it started, until that is told to be otherwise.
    began: Vec<(u32, ThreadSettings)>,
    /// When that is looked at again.
    look_at: MonotonicTime,
    /// When it is cut, or given up where it has said nothing.
    until: MonotonicTime,
    how: EndReason,
}

/// Why reading stopped.
enum Stopped {
    /// The program said that it is done.
    AtItsEnd,
    /// Its output ended before that.
    Early,
    /// The turn is over, whatever the program does.
    Cut,
    /// Something is wrong with what it printed, or did not.
    Wrong(Failed),
}

impl ProgramTurn<'_> {
    fn start(&self, probes: &Probes, runtime: Runtime) -> Result<(Sleeping, SpawnReport), Failed> {
        let count = self.task.samples.unwrap_or(u64::MAX).saturating_add(self.task.warm_up);
        let command = probes.command(runtime, self.task.work.length(), count)?;
        let name = command.get_program().display().to_string();
        Sleeping::start(command, settings::from_task(self.task))
            .map_err(|error| Failed::NotStarted { program: name, words: error.to_string() })
    }

    /// Reads until the program ends or must; returns what it used and what went wrong.
    fn watch(&mut self, mut program: Sleeping, applied: &SpawnReport) -> (Option<Usage>, Option<Failed>) {
        self.sink.program_started(self.task.condition, program.id(), applied.slack_in_force);
        let unread = |error: io::Error| Stopped::Wrong(Failed::NotRead { words: error.to_string() });
        let stopped = self.read(&mut program, applied).unwrap_or_else(unread);
        self.hand_on();
        // One that has ended by itself still has its own, until it is reaped.
        self.check_settings();
        let now = clock::now();
        if let Some(block) = self.blocks.close(now) {
            self.sink.line(Line::Block(Box::new(block)));
        }
        let graceful = matches!(stopped, Stopped::AtItsEnd | Stopped::Early);
        let stderr_tail = if matches!(stopped, Stopped::AtItsEnd | Stopped::Cut) {
            String::new()
        } else {
            program.stderr_tail()
        };
        let (status, usage) = match program.end(graceful) {
            Ok((status, usage)) => (Some(status), Some(usage)),
            Err(_) => (None, None),
        };
        let problem = match stopped {
            Stopped::AtItsEnd => self.short_of_samples(),
            Stopped::Cut => None,
            Stopped::Early => Some(Failed::EndedEarly { status }),
            Stopped::Wrong(reason) => Some(reason),
        };
        (usage, problem.map(|problem| with_stderr_tail(problem, stderr_tail)))
    }

    /// A program is the one task of its turn.
    fn hand_on(&mut self) {
        if let Some(wakeups) = &mut self.wakeups {
            self.sink.wakeups(0, wakeups);
            wakeups.clear();
        }
    }

    fn short_of_samples(&self) -> Option<Failed> {
        let asked = self.task.samples.unwrap_or(0);
        let got = self.blocks.count();
        (got < asked).then_some(Failed::TooFewSleeps { got, asked })
    }

    /// Reads until there is a reason to stop.
    fn read(&mut self, program: &mut Sleeping, applied: &SpawnReport) -> io::Result<Stopped> {
        loop {
            let lines = program.lines(TICK.min(self.until.since(clock::now())))?;
            let now = clock::now();
            for line in lines {
                if let Some(stopped) = self.interpret(program, applied, &line, now)? {
                    return Ok(stopped);
                }
            }
            if let Some(block) = self.blocks.close_if_due(now) {
                self.sink.line(Line::Block(Box::new(block)));
            }
            if now >= self.look_at {
                self.check_settings();
                self.look_at = now.plus(LOOK_EVERY);
            }
            self.hand_on();
            self.sink.progress(&[]);
            if let Some(stopped) = self.is_over(program, now) {
                return Ok(stopped);
            }
        }
    }

    fn interpret(
        &mut self,
        program: &Sleeping,
        applied: &SpawnReport,
        line: &str,
        now: MonotonicTime,
    ) -> io::Result<Option<Stopped>> {
        let interpreted = match self.conversion {
            Some(conversion) => self.take(conversion, line, now),
            None => match Hello::parse(line) {
                Ok(hello) => return self.started(program, applied, &hello, now).map(|()| None),
                Err(reason) => Err(reason),
            },
        };
        Ok(interpreted.unwrap_or_else(|reason| Some(Stopped::Wrong(reason.into()))))
    }

    /// Tells once if somebody gave it other settings, which it cannot tell itself.
    fn check_settings(&mut self) {
        let changes = settings::changed_since(&self.began);
        if changes.is_empty() {
            return;
        }
        self.began.clear();
        changes.into_iter().for_each(|caveat| self.sink.line(Line::Caveat(caveat)));
    }

    /// The program runs, and its settings are those that it will measure with.
    fn started(
        &mut self,
        program: &Sleeping,
        applied: &SpawnReport,
        hello: &Hello,
        now: MonotonicTime,
    ) -> io::Result<()> {
        self.conversion = Some(Conversion::for_clock(hello.clock));
        self.until = self.cut_after.map_or(NEVER, |span| now.plus(span));
        let in_force = program.in_force(applied.slack_in_force, self.bounds.process.dma_latency_us)?;
        let apart = program.threads_apart(in_force.policy);
        self.began = settings::of_threads(program.id());
        let caveats = settings::caveats(self.task, applied, &in_force, apart);
        self.sink.line(Line::Started(TurnStarted {
            condition: self.task.condition,
            round: self.task.round,
            at: now,
            in_force,
            sender_in_force: None,
            warm_up: Some(self.task.warm_up),
            runtime: Some(hello.text.clone()).filter(|text| !text.is_empty()),
            caveats,
        }));
        Ok(())
    }

    fn take(
        &mut self,
        conversion: Conversion,
        line: &str,
        now: MonotonicTime,
    ) -> Result<Option<Stopped>, ProtocolError> {
        let (start, end) = match Report::parse(line)? {
            Report::End => return Ok(Some(Stopped::AtItsEnd)),
            Report::Slept { start, end } => (conversion.to_monotonic(start), conversion.to_monotonic(end)),
        };
        if self.blocks.count() == self.task.samples.unwrap_or(u64::MAX) {
            return Err(ProtocolError::TooMany);
        }
        let Some(wakeup) = self.blocks.take(start, end, now)? else { return Ok(None) };
        self.wakeups.iter_mut().for_each(|kept| kept.push(wakeup));
        let late = wakeup.latency();
        if self.bounds.stop_above.is_none_or(|most| late <= Latency::from_span(most)) {
            return Ok(None);
        }
        self.how = EndReason::StoppedAbove;
        Ok(Some(Stopped::Cut))
    }

    fn is_over(&mut self, program: &Sleeping, now: MonotonicTime) -> Option<Stopped> {
        if program.has_closed() {
            return Some(Stopped::Early);
        }
        if self.bounds.is_interrupted() {
            self.how = EndReason::Interrupted;
            return Some(Stopped::Cut);
        }
        (now >= self.until).then_some(match self.conversion {
            Some(_) => Stopped::Cut,
            None => Stopped::Wrong(Failed::Silent { patience: PATIENCE_TO_START }),
        })
    }

    fn finish(&mut self, usage: Option<Usage>, error: Option<Failed>) {
        let short = self.task.samples.is_some_and(|samples| self.blocks.count() < samples);
        self.sink.line(Line::Finished(TurnFinished {
            condition: self.task.condition,
            round: self.task.round,
            at: clock::now(),
            usage,
            load: None,
            unfinished: error.is_some() || (short && self.how == EndReason::Done),
            error: error.map(|error| AsText::Text(error.to_string())),
        }));
    }
}

const NEVER: MonotonicTime = MonotonicTime::from_nanos(i64::MAX);

fn with_stderr_tail(problem: Failed, said: String) -> Failed {
    if said.is_empty() { problem } else { Failed::WithLastWords { problem: Box::new(problem), said } }
}
