//! One measurement from plan to result: load, threads, recording, display.

mod display;
mod disturbed;
mod past;
mod samples;
mod under;

use std::cell::RefCell;
use std::mem::take;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_analyse::Analysis;
use howlate_guard::{Guard, Wanted};
use howlate_linux::clock;
use howlate_load::{Running, StartError};
use howlate_measure::{Bounds, Process, Progress, Sink, measure_instrument, run};
use howlate_model::{
    Caveat, CpuSet, End, FORMAT, Finding, Finished, Header, HowEnded, Instrument, Line, MonotonicTime,
    Setting, Sleeper, Span, System, Turn, Wakeup,
};
use howlate_plan::{Machine, Plan};
use howlate_probe::{Probes, is_for_a_program};
use howlate_record::Writer;
use howlate_system::{Root, describe, examine};

use crate::cli::without_repeats;
use crate::error::Error;
use crate::remedy;
use crate::terminal::{InPlace, is_watched};
use display::Display;
use disturbed::Disturbed;
use past::Begun;
pub(crate) use past::Past;
use samples::Keeping;
use under::UnderLoad;

/// What is known before a plan is made.
pub(crate) struct Surroundings {
    /// Set by Ctrl-C, `SIGTERM` and `SIGHUP`.
    pub(crate) interrupted: Arc<AtomicBool>,
    pub(crate) system: System,
    pub(crate) findings: Vec<Finding>,
    pub(crate) instrument: Instrument,
    /// Settings of the machine that were changed for the run.
    pub(crate) settings: Vec<Setting>,
    /// Those that could not be.
    pub(crate) unsettled: Vec<Caveat>,
    /// Programs of language runtimes that were asked for.
    pub(crate) probes: RefCell<Probes>,
}

impl Surroundings {
    /// Listens for signals first, so that none ends the program without a word, then looks.
    pub(crate) fn begin() -> Result<Self, Error> {
        let interrupted = on_interrupt()?;
        Ok(Self { interrupted, ..Self::look() })
    }

    /// The same with settings of the machine changed before it is looked at. They are put back
    /// when the guard is ended or dropped, or the process killed.
    pub(crate) fn begin_with(wanted: &[Wanted]) -> Result<(Self, Guard), Error> {
        let interrupted = on_interrupt()?;
        let mut guard = Guard::set(wanted);
        let (settings, unsettled) = (take(&mut guard.settings), take(&mut guard.caveats));
        Ok((Self { interrupted, settings, unsettled, ..Self::look() }, guard))
    }

    /// Looks at the machine and at the instrument.
    pub(crate) fn look() -> Self {
        let root = Root::live();
        let (system, findings) = (describe(&root), examine(&root));
        let (settings, unsettled, probes) = (Vec::new(), Vec::new(), RefCell::default());
        let instrument = measure_instrument();
        Self { interrupted: Arc::default(), system, findings, instrument, settings, unsettled, probes }
    }

    /// Prepares the programs of those `sleepers` that are language runtimes, which may take a while the first time.
    pub(crate) fn prepare(&self, sleepers: &[Sleeper], quiet: bool) {
        let mut place = (!quiet && is_watched()).then(InPlace::default);
        let runtimes = sleepers.iter().filter_map(|one| one.runtime());
        self.probes.borrow_mut().prepare(runtimes, &self.interrupted, |doing| {
            if let Some(place) = &mut place {
                place.show(doing);
            }
        });
        if let Some(place) = &mut place {
            place.clear();
        }
    }

    /// What plans must know.
    pub(crate) fn machine(&self) -> Machine {
        Machine {
            allowed: self.system.allowed.clone(),
            kernel: self.system.kernel.clone(),
            // A guest that a measurement locks up is ended from outside, and no one else's work is in it.
            wait: if howlate_guest::is_inside() { Span::ZERO } else { self.instrument.wait_ns },
            missing: self.probes.borrow().missing(),
        }
    }
}

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
    let how = session.take_turns(request, &turns, around, &process);
    session.end(how?)
}

/// So that nothing is measured in vain before a load that cannot be applied.
fn check_loads(plan: &Plan) -> Result<(), StartError> {
    let loads = plan.conditions.iter().map(|condition| condition.load.clone());
    let once = without_repeats(&loads.collect::<Vec<_>>());
    once.iter().try_for_each(howlate_load::check)
}

/// Set by Ctrl-C, `SIGTERM` and a closed terminal; a second signal ends the program at once.
pub(crate) fn on_interrupt() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let hangup = (!hangup_is_ignored()).then_some(signal_hook::consts::SIGHUP);
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM].into_iter().chain(hangup) {
        // Armed by the first signal, so it acts on the second.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Whether whoever started this, such as `nohup`, wants it to outlive its terminal.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored & (1 << (signal_hook::consts::SIGHUP - 1)) != 0
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

/// Caveats that follow from the plan and the number of CPUs.
fn crowding(turns: &[Turn], system: &System) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let measured = turns.iter().map(measured_cpus).max_by_key(CpuSet::len).unwrap_or_default();
    let threads = turns.iter().map(|turn| turn.tasks.len()).max().unwrap_or(0);
    if !measured.is_empty() && house_keeping(&measured, system).is_none() {
        caveats.push(Caveat::ObserverShares { measured });
    }
    let cpus = system.allowed.len();
    caveats.extend(busy(cpus));
    if threads > cpus {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        caveats.push(Caveat::ThreadsShareCpus { threads: count(threads), cpus: count(cpus) });
    }
    caveats
}

/// A machine that is busy before anything was started is not idle, whatever the load is called.
#[allow(clippy::cast_precision_loss, reason = "a handful of CPUs")]
fn busy(cpus: usize) -> Option<Caveat> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split(' ').next()?.parse().ok()?;
    (load > cpus as f64).then(|| Caveat::Note {
        text: format!(
            "The machine was busy before this began (load average {load:.1} on {cpus} CPUs): \"idle\" is not idle, and \
             explanations may be wrong."
        ),
    })
}

fn measured_cpus(turn: &Turn) -> CpuSet {
    turn.tasks.iter().flat_map(|task| [task.cpu, task.work.sender_cpu()]).flatten().collect()
}

/// Where the observer can run: neither on a measured CPU nor on one that shares its core, or
/// at least not on a measured one; `None` when every CPU is measured.
fn house_keeping(measured: &CpuSet, system: &System) -> Option<CpuSet> {
    let with_siblings: CpuSet = system
        .cpus
        .iter()
        .filter(|cpu| measured.contains(cpu.number))
        .flat_map(|cpu| cpu.siblings.iter())
        .chain(measured.iter())
        .collect();
    let free = |taken: &CpuSet| Some(system.allowed.without(taken)).filter(|cpus| !cpus.is_empty());
    free(&with_siblings).or_else(|| free(measured))
}

/// Where the observer runs during `turn`; `None`: anywhere. When it must share, it shares
/// with the one that notifies rather than with the one that is measured.
fn observer_cpus(turn: &Turn, system: &System) -> Option<CpuSet> {
    let measured = measured_cpus(turn);
    let receivers: CpuSet = turn.tasks.iter().filter_map(|task| task.cpu).collect();
    let senders = || turn.tasks.iter().filter_map(|task| task.work.sender_cpu()).collect::<CpuSet>();
    let beside_sender = || Some(senders().without(&receivers)).filter(|cpus| !cpus.is_empty());
    if measured.is_empty() { None } else { house_keeping(&measured, system).or_else(beside_sender) }
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
        request: &Request<'_>,
        turns: &[Turn],
        around: &Surroundings,
        process: &Process,
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
            let how = self.take_turn(request, turn, around, process)?;
            self.disturbed.turn_ended(turn);
            self.turn_ended();
            if how != HowEnded::Done {
                return Ok(how);
            }
            if around.interrupted.load(Ordering::Relaxed) {
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

    /// Measures by threads of howlate, or by a program of its own.
    fn take_turn(
        &mut self,
        request: &Request<'_>,
        turn: &Turn,
        around: &Surroundings,
        process: &Process,
    ) -> Result<HowEnded, Error> {
        if is_for_a_program(turn) {
            let bounds = howlate_probe::Bounds {
                stop_above: request.stop_above,
                interrupted: &around.interrupted,
                dma_latency_us: process.dma_latency_us(),
            };
            return Ok(howlate_probe::run(turn, &around.probes.borrow(), &bounds, &mut |line| match line {
                Some(line) => self.line(line),
                None => self.progress(&[]),
            }));
        }
        let observer_cpus = observer_cpus(turn, &around.system);
        let bounds = Bounds { stop_above: request.stop_above, observer_cpus, ..Bounds::default() };
        Ok(run(turn, &bounds, process, &around.interrupted, self)?.how)
    }

    fn under_load(&mut self, under: UnderLoad) {
        under.notes().into_iter().for_each(|text| self.keep(Line::Caveat(Caveat::Note { text })));
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

    fn end(mut self, how: HowEnded) -> Result<Analysis, Error> {
        self.display.clear();
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
