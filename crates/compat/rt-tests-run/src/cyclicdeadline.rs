//! cyclicdeadline.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::{clock, memory, sched};
use howlate_measure::{DeadlineEnd, DeadlinePlan, DeadlineThread, DeadlineThreads};
use howlate_model::{Latency, MonotonicTime, Span, ThresholdAction};
use howlate_rt_tests::Compat;
use howlate_rt_tests::cyclicdeadline::{
    Options, Refusal, Tally, broken, intervals, json, main_thread, missed, read, table, thread_ids,
    thread_settings, trace_mark, usage,
};

use crate::deadline_refusal::DeadlineRefusal;
use crate::failure::Failure;
use crate::interruption::on_signals;
use crate::kernel_trace::stop_trace;
use crate::run_facts::{now, run_facts};
use crate::streams::Streams;

/// How often the table is drawn, as in the original.
const DRAWN: Span = Span::from_millis(10);
/// How often latencies are collected where nobody watches.
const COLLECTED: Span = Span::from_millis(100);

/// Does what cyclicdeadline would do; returns the exit status.
pub(crate) fn run(words: &[String], dialect: Compat, streams: Streams) -> Result<u8, Failure> {
    let started = now();
    let interrupted = on_signals()?;
    let bindable = sched::bindable_cpus().unwrap_or_default();
    let options = match read(words, &bindable, dialect) {
        Ok(options) => options,
        Err(Refusal::Help) => return Ok(streams.print(&usage(dialect)).map(|()| 0)?),
        Err(Refusal::Unreadable(text)) => {
            streams.print(&usage(dialect))?;
            return Err(Failure::Unreadable(text));
        }
        Err(Refusal::Invalid(text)) => return Err(Failure::Refused(text)),
    };
    if options.says_all {
        streams.print("Using all CPUS\n")?;
    }
    if let Err(error) = memory::lock_all() {
        streams.say(&format!("cyclicdeadline: WARN: memory is not locked: {error}\n"));
    }
    let told = Told { options: &options, streams };
    told.info(&intervals(&options, turn()))?;
    let threads = begin(&options, &interrupted, streams)?;
    told.debug(&thread_ids(threads.tids()))?;
    told.debug(&thread_settings(&options, threads.tids()))?;
    told.debug(&main_thread(std::process::id()))?;
    let ends = options.seconds.map(|seconds| clock::now().plus(Span::from_secs(seconds)));
    let mut run = Run::new(&options, threads.tids(), streams);
    let end = run.watch(threads, ends, &interrupted)?;
    run.tell(&end, started)
}

/// What the original prints, or only if it is asked, on standard error then.
struct Told<'a> {
    options: &'a Options,
    streams: Streams,
}

impl Told<'_> {
    fn info(&self, text: &str) -> Result<(), Failure> {
        self.tell(text, "INFO: ", self.options.verbose)
    }

    fn debug(&self, text: &str) -> Result<(), Failure> {
        self.tell(text, "DEBUG: ", self.options.debug)
    }

    fn tell(&self, text: &str, prefix: &str, is_asked: bool) -> Result<(), Failure> {
        if !self.options.dialect.is_silent() {
            return Ok(self.streams.print(text)?);
        }
        let lines = text.lines().filter(|_| is_asked);
        lines.for_each(|line| self.streams.say(&format!("{prefix}{line}\n")));
        Ok(())
    }
}

/// What a thread does in each period: it reads the clock.
fn turn() -> Span {
    let began = clock::raw();
    clock::raw().since(began)
}

fn begin(
    options: &Options,
    interrupted: &Arc<AtomicBool>,
    streams: Streams,
) -> Result<DeadlineThreads, Failure> {
    let asked = options.threads.iter().map(|thread| DeadlineThread {
        runtime: Span::from_micros(thread.runtime_us),
        period: Span::from_micros(thread.period_us),
    });
    let plan = DeadlinePlan {
        threads: asked.collect(),
        cpus: options.cpus.clone(),
        stop_above: options.break_above_us.map(above),
        on_above: on_above(options, streams),
        interrupted: Arc::clone(interrupted),
    };
    let refused = |refused| Box::new(DeadlineRefusal::new(refused, &plan.threads, options.cpus.clone()));
    Ok(DeadlineThreads::begin(&plan).map_err(refused)?)
}

/// Latencies count in whole microseconds, so that one of 20.9 µs does not exceed 20.
fn above(micros: u64) -> Span {
    Span::from_nanos(micros.saturating_mul(1_000).saturating_add(999))
}

fn on_above(options: &Options, streams: Streams) -> Option<ThresholdAction> {
    let above_us = options.break_above_us.filter(|_| options.tracemark)?;
    stop_trace(move |latency| trace_mark(latency, above_us), streams)
}

/// A run under way.
struct Run<'a> {
    options: &'a Options,
    tallies: Vec<Tally>,
    streams: Streams,
}

impl<'a> Run<'a> {
    fn new(options: &'a Options, tids: &[u32], streams: Streams) -> Self {
        let tallies = options.threads.iter().zip(tids).map(|(thread, tid)| Tally::new(*thread, *tid));
        Self { options, tallies: tallies.collect(), streams }
    }

    /// Collects until it is over, interrupted, or a latency is above the threshold.
    fn watch(
        &mut self,
        threads: DeadlineThreads,
        ends: Option<MonotonicTime>,
        interrupted: &AtomicBool,
    ) -> Result<DeadlineEnd, Failure> {
        let every = if self.options.quiet { COLLECTED } else { DRAWN };
        loop {
            let left = ends.map_or(every, |ends| ends.since(clock::now()));
            if left.is_zero() || interrupted.load(Ordering::Relaxed) || threads.are_stopped() {
                break;
            }
            self.draw()?;
            // A signal makes the look come earlier.
            drop(clock::sleep_for(every.min(left)));
            threads.drain(&mut |thread, latency| self.add(thread, latency));
        }
        Ok(threads.end(&mut |thread, latency| self.add(thread, latency)))
    }

    fn add(&mut self, thread: usize, latency: Latency) {
        if let Some(tally) = self.tallies.get_mut(thread) {
            tally.add(latency);
        }
    }

    /// Draws the table, and goes back to its beginning.
    fn draw(&self) -> Result<(), Failure> {
        if self.options.quiet {
            return Ok(());
        }
        Ok(self.streams.print(&format!("{}\x1b[{}A", table(&self.tallies), self.tallies.len()))?)
    }

    /// Prints and writes the results; returns the exit status.
    fn tell(&self, end: &DeadlineEnd, started: String) -> Result<u8, Failure> {
        if self.options.quiet {
            self.streams.print(&table(&self.tallies))?;
        } else {
            self.draw()?;
            self.streams.print(&format!("\x1b[{}B", self.tallies.len() + 2))?;
        }
        let above = end.above.and_then(|(thread, latency)| Some((self.tallies.get(thread)?.tid(), latency)));
        if let Some((tid, latency)) = above {
            self.streams.print(&broken(tid, latency))?;
        }
        self.warn(end);
        if let Some(path) = &self.options.json {
            let text = json(self.options.dialect, &self.tallies, &run_facts(started));
            let refused = |source| Failure::File { path: path.display().to_string(), source };
            fs::write(path, text).map_err(refused)?;
        }
        Ok(0)
    }

    /// What the numbers do not tell.
    fn warn(&self, end: &DeadlineEnd) {
        let warn = |text: String| self.streams.say(&format!("cyclicdeadline: WARN: {text}\n"));
        self.tallies.iter().enumerate().filter_map(|(number, tally)| missed(number, tally)).for_each(warn);
        if end.lost > 0 {
            warn(format!("{} latencies came faster than they could be counted", end.lost));
        }
        for thread in &end.changed {
            warn(format!("thread {thread} was given another runtime, period or policy while it ran"));
        }
    }
}
