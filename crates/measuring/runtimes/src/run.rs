//! A turn of a probe: start, read, check, end.

use std::cell::RefCell;
use std::io;

use howlate_linux::child::SpawnReport;
use howlate_linux::clock;
use howlate_model::{
    AsText, EndReason, Engine, EngineError, Latency, Line, MonotonicTime, Runtime, Sink, Span, Task,
    ThreadSettings, Turn, TurnControl, TurnEnd, TurnFinished, TurnStarted, Usage, Wakeup,
};

use crate::blocks::BlockCollector;
use crate::clock_conversion::ClockConversion;
use crate::error::{ProbeError, ProtocolError};
use crate::probe_process::ProbeProcess;
use crate::protocol::{ProbeHeader, ProbeLine};
use crate::{Probes, settings};

/// Maximum time until the first line. A Java virtual machine at nice 19 or with the idle policy may get only 2 % of a CPU under full load.
const START_TIMEOUT: Span = Span::from_secs(60);

/// Interval between checks for the end of the turn.
const POLL_INTERVAL: Span = Span::from_millis(100);

/// Interval between checks of the settings of its threads, which read a few files for each thread.
const SETTINGS_CHECK_INTERVAL: Span = Span::from_secs(1);

/// The engine for turns with a probe program.
pub struct ProbeEngine<'a> {
    /// The programs, prepared before the first turn.
    pub probes: &'a RefCell<Probes>,
}

impl Engine for ProbeEngine<'_> {
    fn takes(&self, turn: &Turn) -> bool {
        program_of(turn).is_some()
    }

    /// A program that cannot be started, crashes, violates the protocol or hangs is not an error here; it is
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
            blocks: BlockCollector::new(task, began),
            conversion: None,
            began: Vec::new(),
            next_settings_check: began,
            until: began.plus(START_TIMEOUT),
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

/// A running turn.
struct ProgramTurn<'a> {
    task: &'a Task,
    bounds: &'a TurnControl,
    cut_after: Option<Span>,
    sink: &'a mut dyn Sink,
    blocks: BlockCollector,
    /// Wake-ups that have not been passed to the sink yet; `None`: the sink does not want them one by one.
    wakeups: Option<Vec<Wakeup>>,
    /// Set after the first line.
    conversion: Option<ClockConversion>,
    /// Settings of each thread at the start, until a change has been reported.
    began: Vec<(u32, ThreadSettings)>,
    /// Time of the next check of the settings.
    next_settings_check: MonotonicTime,
    /// Time at which the turn is cut, or given up without a first line.
    until: MonotonicTime,
    how: EndReason,
}

/// Why reading ended.
enum ProbeStop {
    /// The program printed `end`.
    AtItsEnd,
    /// Its output ended without `end`.
    Early,
    /// The turn was cut.
    Cut,
    /// The program failed.
    Wrong(ProbeError),
}

impl ProgramTurn<'_> {
    fn start(&self, probes: &Probes, runtime: Runtime) -> Result<(ProbeProcess, SpawnReport), ProbeError> {
        let count = self.task.samples.unwrap_or(u64::MAX).saturating_add(self.task.warm_up);
        let command = probes.command(runtime, self.task.work.length(), count)?;
        let name = command.get_program().display().to_string();
        ProbeProcess::start(command, settings::from_task(self.task))
            .map_err(|error| ProbeError::NotStarted { program: name, reason: error.to_string() })
    }

    /// Reads until the end of the program or of the turn; returns its usage and its error.
    fn watch(
        &mut self,
        mut program: ProbeProcess,
        applied: &SpawnReport,
    ) -> (Option<Usage>, Option<ProbeError>) {
        self.sink.program_started(self.task.condition, program.id(), applied.slack_in_force);
        let unread = |error: io::Error| ProbeStop::Wrong(ProbeError::NotRead { reason: error.to_string() });
        let stopped = self.read(&mut program, applied).unwrap_or_else(unread);
        self.pass_wakeups();
        // One that has ended by itself still has its own, until it is reaped.
        self.check_settings();
        let now = clock::now();
        if let Some(block) = self.blocks.close(now) {
            self.sink.line(Line::Block(Box::new(block)));
        }
        let graceful = matches!(stopped, ProbeStop::AtItsEnd | ProbeStop::Early);
        let stderr_tail = if matches!(stopped, ProbeStop::AtItsEnd | ProbeStop::Cut) {
            String::new()
        } else {
            program.stderr_tail()
        };
        let (status, usage) = match program.end(graceful) {
            Ok((status, usage)) => (Some(status), Some(usage)),
            Err(_) => (None, None),
        };
        let problem = match stopped {
            ProbeStop::AtItsEnd => self.short_of_samples(),
            ProbeStop::Cut => None,
            ProbeStop::Early => Some(ProbeError::EndedEarly { status }),
            ProbeStop::Wrong(reason) => Some(reason),
        };
        (usage, problem.map(|problem| with_stderr_tail(problem, stderr_tail)))
    }

    /// Passes wake-ups to the sink. The program is the only task of its turn.
    fn pass_wakeups(&mut self) {
        if let Some(wakeups) = &mut self.wakeups {
            self.sink.wakeups(0, wakeups);
            wakeups.clear();
        }
    }

    fn short_of_samples(&self) -> Option<ProbeError> {
        let requested = self.task.samples.unwrap_or(0);
        let got = self.blocks.count();
        (got < requested).then_some(ProbeError::TooFewSleeps { got, requested })
    }

    /// Reads until there is a reason to end.
    fn read(&mut self, program: &mut ProbeProcess, applied: &SpawnReport) -> io::Result<ProbeStop> {
        loop {
            let lines = program.lines(POLL_INTERVAL.min(self.until.since(clock::now())))?;
            let now = clock::now();
            for line in lines {
                if let Some(stopped) = self.interpret(program, applied, &line, now)? {
                    return Ok(stopped);
                }
            }
            if let Some(block) = self.blocks.close_if_due(now) {
                self.sink.line(Line::Block(Box::new(block)));
            }
            if now >= self.next_settings_check {
                self.check_settings();
                self.next_settings_check = now.plus(SETTINGS_CHECK_INTERVAL);
            }
            self.pass_wakeups();
            self.sink.progress(&[]);
            if let Some(stopped) = self.is_over(program, now) {
                return Ok(stopped);
            }
        }
    }

    fn interpret(
        &mut self,
        program: &ProbeProcess,
        applied: &SpawnReport,
        line: &str,
        now: MonotonicTime,
    ) -> io::Result<Option<ProbeStop>> {
        let interpreted = match self.conversion {
            Some(conversion) => self.take(conversion, line, now),
            None => match ProbeHeader::parse(line) {
                Ok(hello) => return self.started(program, applied, &hello, now).map(|()| None),
                Err(reason) => Err(reason),
            },
        };
        Ok(interpreted.unwrap_or_else(|reason| Some(ProbeStop::Wrong(reason.into()))))
    }

    /// Reports a change of settings by another process once.
    fn check_settings(&mut self) {
        let changes = settings::changed_since(&self.began);
        if changes.is_empty() {
            return;
        }
        self.began.clear();
        changes.into_iter().for_each(|caveat| self.sink.line(Line::Caveat(caveat)));
    }

    /// Reports the start of the program, with its settings.
    fn started(
        &mut self,
        program: &ProbeProcess,
        applied: &SpawnReport,
        hello: &ProbeHeader,
        now: MonotonicTime,
    ) -> io::Result<()> {
        self.conversion = Some(ClockConversion::for_clock(hello.clock));
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
        conversion: ClockConversion,
        line: &str,
        now: MonotonicTime,
    ) -> Result<Option<ProbeStop>, ProtocolError> {
        let (start, end) = match ProbeLine::parse(line)? {
            ProbeLine::End => return Ok(Some(ProbeStop::AtItsEnd)),
            ProbeLine::Slept { start, end } => (conversion.to_monotonic(start), conversion.to_monotonic(end)),
        };
        if self.blocks.count() == self.task.samples.unwrap_or(u64::MAX) {
            return Err(ProtocolError::TooMany);
        }
        let Some(wakeup) = self.blocks.take(start, end, now)? else { return Ok(None) };
        self.wakeups.iter_mut().for_each(|pending| pending.push(wakeup));
        let late = wakeup.latency();
        if self.bounds.stop_above.is_none_or(|most| late <= Latency::from_span(most)) {
            return Ok(None);
        }
        self.how = EndReason::StoppedAbove;
        Ok(Some(ProbeStop::Cut))
    }

    fn is_over(&mut self, program: &ProbeProcess, now: MonotonicTime) -> Option<ProbeStop> {
        if program.has_closed() {
            return Some(ProbeStop::Early);
        }
        if self.bounds.is_interrupted() {
            self.how = EndReason::Interrupted;
            return Some(ProbeStop::Cut);
        }
        (now >= self.until).then_some(match self.conversion {
            Some(_) => ProbeStop::Cut,
            None => ProbeStop::Wrong(ProbeError::Silent { patience: START_TIMEOUT }),
        })
    }

    fn finish(&mut self, usage: Option<Usage>, error: Option<ProbeError>) {
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

fn with_stderr_tail(problem: ProbeError, output: String) -> ProbeError {
    if output.is_empty() { problem } else { ProbeError::WithLastWords { problem: Box::new(problem), output } }
}
