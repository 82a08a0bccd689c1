//! One measurement from plan to result: load, threads, recording, display.

mod display;
mod disturbed;
mod engines;
mod past;
mod place;
mod samples;
mod surroundings;
mod under;

use std::mem::take;
use std::path::Path;
use std::sync::Arc;

use howlate_analyse::Analysis;
use howlate_linux::clock;
use howlate_load::{Running, StartError};
use howlate_measure::Process;
use howlate_model::{
    Bounds, End, FORMAT, Finished, Header, HowEnded, Line, MonotonicTime, Progress, Sink, Span, Turn, Wakeup,
};
use howlate_plan::Plan;
use howlate_record::Writer;

use crate::cli::without_repeats;
use crate::error::Error;
use crate::remedy;
use display::Display;
use disturbed::Disturbed;
use engines::Engines;
use past::Begun;
pub(crate) use past::Past;
use place::{crowding, observer_cpus};
use samples::Keeping;
pub(crate) use surroundings::{Surroundings, on_interrupt};
use under::UnderLoad;

/// What a command asks of its session.
pub(crate) struct Request<'a> {
    /// `cyclic`, `sleep`, `notify`, `run` or `quick`.
    pub(crate) command: &'a str,
    pub(crate) seed: u64,
    pub(crate) out: Option<&'a Path>,
    /// Where every wake-up is to go, as Parquet.
    pub(crate) samples_out: Option<&'a Path>,
    pub(crate) dma_latency_us: Option<i32>,
    pub(crate) stop_above: Option<Span>,
    pub(crate) quiet: bool,
}

/// Takes all turns of `plan` that are not in the `past`; returns what was found.
pub(crate) fn measure(
    request: &Request<'_>,
    around: &Surroundings,
    plan: &Plan,
    past: Past,
) -> Result<Analysis, Error> {
    check_loads(plan)?;
    let Begun { analysis, writer, turns } = past.begin(request, around, plan)?;
    let samples = request.samples_out.map(|path| Keeping::create(path, &analysis.header)).transpose()?;
    let display = Display::new(request.quiet, &plan.conditions, &turns);
    let mut session = Session {
        analysis,
        writer,
        samples,
        display,
        disturbed: Disturbed::new(),
        under: None,
        finished: Vec::new(),
        failed: Vec::new(),
    };
    let process = Process::prepare(request.dma_latency_us);
    let known = around.unsettled.iter().chain(&plan.left_out).chain(&process.caveats).cloned();
    for caveat in known.chain(crowding(&turns, &around.system)) {
        if !session.analysis.caveats.contains(&caveat) {
            session.keep(Line::Caveat(caveat));
        }
    }
    let bounds = Bounds {
        stop_above: request.stop_above,
        interrupted: Arc::clone(&around.interrupted),
        process: process.state(),
        ..Bounds::default()
    };
    let how = session.take_turns(&turns, &mut Engines::of(&around.probes), &bounds);
    session.end(how?, around)
}

/// So that nothing is measured in vain before a load that cannot be applied.
fn check_loads(plan: &Plan) -> Result<(), StartError> {
    let loads = plan.conditions.iter().map(|condition| condition.load.clone());
    let once = without_repeats(&loads.collect::<Vec<_>>());
    once.iter().try_for_each(howlate_load::check)
}

pub(crate) fn header(request: &Request<'_>, around: &Surroundings, plan: &Plan) -> Header {
    Header {
        format: FORMAT,
        howlate: env!("CARGO_PKG_VERSION").to_owned(),
        command: request.command.to_owned(),
        arguments: std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
        started: now_in_words(),
        at_ns: clock::now(),
        clock: "CLOCK_MONOTONIC".to_owned(),
        seed: request.seed,
        system: around.system.clone(),
        findings: around.findings.clone(),
        settings: around.settings.clone(),
        instrument: around.instrument,
        conditions: plan.conditions.clone(),
    }
}

/// Now, RFC 3339, to the second.
pub(crate) fn now_in_words() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A measurement under way.
struct Session {
    analysis: Analysis,
    writer: Option<Writer>,
    samples: Option<Keeping>,
    display: Display,
    disturbed: Disturbed,
    /// The load of the current turn.
    under: Option<UnderLoad>,
    /// Ends of threads' turns, held back until the load has reported.
    finished: Vec<Finished>,
    /// Conditions whose program failed; it would fail again.
    failed: Vec<u32>,
}

impl Session {
    fn keep(&mut self, line: Line) {
        self.analysis.add(&line);
        if let Some(writer) = &mut self.writer {
            writer.write(&line);
        }
    }

    fn take_turns(
        &mut self,
        turns: &[Turn],
        engines: &mut Engines<'_>,
        bounds: &Bounds,
    ) -> Result<HowEnded, Error> {
        for turn in turns {
            self.display.turn_begins(turn);
            if turn.tasks.iter().any(|task| self.failed.contains(&task.condition)) {
                continue;
            }
            if let Some(samples) = &mut self.samples {
                samples.turn_begins(turn);
            }
            match Running::start(&turn.load) {
                Ok(load) => self.under_load(UnderLoad::begin(load, turn)),
                Err(error) => {
                    self.cannot_be_taken(turn, &error);
                    continue;
                }
            }
            self.disturbed.turn_begins();
            let how = self.take_turn(turn, engines, bounds)?;
            self.disturbed.turn_ended(turn);
            self.turn_ended();
            if how != HowEnded::Done {
                return Ok(how);
            }
            if bounds.is_interrupted() {
                return Ok(HowEnded::Interrupted);
            }
        }
        Ok(HowEnded::Done)
    }

    /// A turn whose load cannot be started is reported; the rest goes on.
    fn cannot_be_taken(&mut self, turn: &Turn, error: &StartError) {
        for task in &turn.tasks {
            self.failed.push(task.condition);
            self.keep(Line::Finished(Finished {
                condition: task.condition,
                round: task.round,
                at_ns: clock::now(),
                usage: None,
                unfinished: true,
                load: None,
                error: Some(error.to_string()),
            }));
        }
    }

    /// By the first engine that can.
    fn take_turn(
        &mut self,
        turn: &Turn,
        engines: &mut Engines<'_>,
        bounds: &Bounds,
    ) -> Result<HowEnded, Error> {
        let observer_cpus = observer_cpus(turn, &self.analysis.header.system);
        let bounds = Bounds { observer_cpus, ..bounds.clone() };
        Ok(engines.for_turn(turn)?.run(turn, &bounds, self)?.how)
    }

    fn under_load(&mut self, under: UnderLoad) {
        under.caveats().into_iter().for_each(|caveat| self.keep(Line::Caveat(caveat)));
        self.under = Some(under);
    }

    /// Once for all threads whose block ended at `until`.
    fn look_at_load(&mut self, until: MonotonicTime) {
        let lines = self.under.as_mut().map_or_else(Vec::new, |under| under.look(until));
        lines.into_iter().for_each(|line| self.keep(line));
    }

    fn turn_ended(&mut self) {
        let (lines, report) = self.under.take().map_or_else(Default::default, UnderLoad::end);
        lines.into_iter().for_each(|line| self.keep(line));
        for mut finished in take(&mut self.finished) {
            finished.load.clone_from(&report);
            let outcome = self.analysis.outcomes().get(finished.condition as usize);
            let is_program = outcome.is_some_and(|one| one.condition.work.runtime().is_some());
            if is_program && finished.error.is_some() {
                self.failed.push(finished.condition);
            }
            self.keep(Line::Finished(finished));
        }
    }

    fn end(mut self, how: HowEnded, around: &Surroundings) -> Result<Analysis, Error> {
        self.display.clear();
        around.put_back().into_iter().for_each(|caveat| self.keep(Line::Caveat(caveat)));
        let disturbed = self.disturbed.caveats(&self.analysis.header.system);
        disturbed.into_iter().for_each(|caveat| self.keep(Line::Caveat(caveat)));
        let incomplete = self.writer.as_ref().and_then(Writer::incomplete);
        let lacking = self.samples.take().and_then(Keeping::close);
        incomplete.into_iter().chain(lacking).for_each(|caveat| self.keep(Line::Caveat(caveat)));
        self.keep(Line::End(End { at_ns: clock::now(), how }));
        if let Some(caveat) = self.writer.take().and_then(Writer::close) {
            self.analysis.add(&Line::Caveat(caveat));
        }
        Ok(self.analysis)
    }
}

impl Sink for Session {
    fn line(&mut self, mut line: Line) {
        remedy::advise(&mut line, &self.analysis.header.findings);
        match line {
            Line::Finished(finished) => self.finished.push(finished),
            Line::Block(block) => {
                self.look_at_load(block.until_ns);
                if let Some(samples) = &mut self.samples {
                    samples.block(&block);
                }
                self.keep(Line::Block(block));
            }
            line => self.keep(line),
        }
    }

    fn progress(&mut self, threads: &[Progress]) {
        self.display.progress(threads);
    }

    fn wants_wakeups(&self) -> bool {
        self.samples.is_some()
    }

    fn wakeups(&mut self, thread: usize, wakeups: &[Wakeup]) {
        if let Some(samples) = &mut self.samples {
            samples.wakeups(thread, wakeups);
        }
    }
}
