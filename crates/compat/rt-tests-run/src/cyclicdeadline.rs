//! Runs as cyclicdeadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::{clock, memory, sched};
use howlate_measure::{DeadlineEnd, DeadlinePlan, DeadlineThread, DeadlineThreads};
use howlate_model::{Latency, MonotonicTime, Span, ThresholdAction};
use howlate_rt_tests::Compat;
use howlate_rt_tests::cyclicdeadline::{
    CyclicdeadlineEarlyExit, CyclicdeadlineOptions, DeadlineThreadStats, break_lines, intervals, json,
    main_thread, missed_periods, parse, table, thread_ids, thread_settings, trace_mark, usage,
};

use crate::common::{interruption_flag, now, run_facts, stop_trace};
use crate::deadline_refusal::DeadlineRefusal;
use crate::error::RtTestsError;
use crate::output::{Streams, write_file};

/// Refresh interval of the table, as in the original.
const SCREEN_INTERVAL: Span = Span::from_millis(10);
/// Interval between collections of latencies with `--quiet`.
const QUIET_INTERVAL: Span = Span::from_millis(100);

/// Runs as cyclicdeadline; returns the exit status.
pub(crate) fn run(arguments: &[String], compat: Compat, streams: Streams) -> Result<u8, RtTestsError> {
    let started = now();
    let interrupted = interruption_flag()?;
    let bindable = sched::bindable_cpus().unwrap_or_default();
    let options = match parse(arguments, &bindable, compat) {
        Ok(options) => options,
        Err(CyclicdeadlineEarlyExit::Help) => return Ok(streams.print(&usage(compat)).map(|()| 0)?),
        Err(CyclicdeadlineEarlyExit::GetoptError(text)) => {
            streams.print(&usage(compat))?;
            return Err(RtTestsError::GetoptError(text));
        }
        Err(CyclicdeadlineEarlyExit::Invalid(text)) => return Err(RtTestsError::Invalid(text)),
    };
    if options.reports_all_cpus {
        streams.print("Using all CPUS\n")?;
    }
    if let Err(error) = memory::lock_all() {
        streams.say(&format!("cyclicdeadline: WARN: memory is not locked: {error}\n"));
    }
    let printer = DescriptionPrinter { options: &options, streams };
    printer.info(&intervals(&options, work_time()))?;
    let threads = start_threads(&options, &interrupted, streams)?;
    printer.debug(&thread_ids(threads.tids()))?;
    printer.debug(&thread_settings(&options, threads.tids()))?;
    printer.debug(&main_thread(std::process::id()))?;
    let ends = options.seconds.map(|seconds| clock::now().plus(Span::from_secs(seconds)));
    let mut run = DeadlineRun::new(&options, threads.tids(), streams);
    let end = run.watch(threads, ends, &interrupted)?;
    run.report(&end, started)
}

/// Prints descriptions of the threads: version 2.4 always on standard output, later ones on standard error and only with
/// `--verbose` or `--debug`.
struct DescriptionPrinter<'a> {
    options: &'a CyclicdeadlineOptions,
    streams: Streams,
}

impl DescriptionPrinter<'_> {
    fn info(&self, text: &str) -> Result<(), RtTestsError> {
        self.describe(text, "INFO: ", self.options.verbose)
    }

    fn debug(&self, text: &str) -> Result<(), RtTestsError> {
        self.describe(text, "DEBUG: ", self.options.debug)
    }

    fn describe(&self, text: &str, prefix: &str, is_enabled: bool) -> Result<(), RtTestsError> {
        if !self.options.compat.is_silent() {
            return Ok(self.streams.print(text)?);
        }
        let lines = text.lines().filter(|_| is_enabled);
        lines.for_each(|line| self.streams.say(&format!("{prefix}{line}\n")));
        Ok(())
    }
}

/// Time of a thread's work in each period, which is to read the clock.
fn work_time() -> Span {
    let start = clock::raw();
    clock::raw().since(start)
}

fn start_threads(
    options: &CyclicdeadlineOptions,
    interrupted: &Arc<AtomicBool>,
    streams: Streams,
) -> Result<DeadlineThreads, RtTestsError> {
    let threads = options.threads.iter().map(|thread| DeadlineThread {
        runtime: Span::from_micros(thread.runtime_us),
        period: Span::from_micros(thread.period_us),
    });
    let plan = DeadlinePlan {
        threads: threads.collect(),
        cpus: options.cpus.clone(),
        stop_above: options.break_above_us.map(threshold),
        on_above: threshold_action(options, streams),
        interrupted: Arc::clone(interrupted),
    };
    let refusal = |error| Box::new(DeadlineRefusal::new(error, &plan.threads, options.cpus.clone()));
    Ok(DeadlineThreads::begin(&plan).map_err(refusal)?)
}

/// The threshold as the engine compares it. Latencies are truncated to microseconds, so 20.9 µs does not exceed 20.
fn threshold(micros: u64) -> Span {
    Span::from_nanos(micros.saturating_mul(1_000).saturating_add(999))
}

fn threshold_action(options: &CyclicdeadlineOptions, streams: Streams) -> Option<ThresholdAction> {
    let above_us = options.break_above_us.filter(|_| options.tracemark)?;
    stop_trace(move |latency| trace_mark(latency, above_us), streams)
}

struct DeadlineRun<'a> {
    options: &'a CyclicdeadlineOptions,
    thread_stats: Vec<DeadlineThreadStats>,
    streams: Streams,
}

impl<'a> DeadlineRun<'a> {
    fn new(options: &'a CyclicdeadlineOptions, tids: &[u32], streams: Streams) -> Self {
        let thread_stats =
            options.threads.iter().zip(tids).map(|(thread, tid)| DeadlineThreadStats::new(*thread, *tid));
        Self { options, thread_stats: thread_stats.collect(), streams }
    }

    /// Collects latencies until `ends`, a signal, or a latency above the threshold.
    fn watch(
        &mut self,
        threads: DeadlineThreads,
        ends: Option<MonotonicTime>,
        interrupted: &AtomicBool,
    ) -> Result<DeadlineEnd, RtTestsError> {
        let interval = if self.options.quiet { QUIET_INTERVAL } else { SCREEN_INTERVAL };
        loop {
            let remaining = ends.map_or(interval, |ends| ends.since(clock::now()));
            if remaining.is_zero() || interrupted.load(Ordering::Relaxed) || threads.are_stopped() {
                break;
            }
            self.draw()?;
            // A signal ends the sleep early.
            drop(clock::sleep_for(interval.min(remaining)));
            threads.drain(&mut |thread, latency| self.add(thread, latency));
        }
        Ok(threads.end(&mut |thread, latency| self.add(thread, latency)))
    }

    fn add(&mut self, thread: usize, latency: Latency) {
        if let Some(stats) = self.thread_stats.get_mut(thread) {
            stats.add(latency);
        }
    }

    /// Prints the table and moves the cursor back to its first line.
    fn draw(&self) -> Result<(), RtTestsError> {
        if self.options.quiet {
            return Ok(());
        }
        Ok(self.streams.print(&format!("{}\x1b[{}A", table(&self.thread_stats), self.thread_stats.len()))?)
    }

    /// Prints and writes the results; returns the exit status.
    fn report(&self, end: &DeadlineEnd, started: String) -> Result<u8, RtTestsError> {
        if self.options.quiet {
            self.streams.print(&table(&self.thread_stats))?;
        } else {
            self.draw()?;
            self.streams.print(&format!("\x1b[{}B", self.thread_stats.len() + 2))?;
        }
        let above =
            end.above.and_then(|(thread, latency)| Some((self.thread_stats.get(thread)?.tid(), latency)));
        if let Some((tid, latency)) = above {
            self.streams.print(&break_lines(tid, latency))?;
        }
        self.warn(end);
        if let Some(path) = &self.options.json {
            let text = json(self.options.compat, &self.thread_stats, &run_facts(started));
            write_file(path, &text)?;
        }
        Ok(0)
    }

    /// Warns of circumstances that the table does not show.
    fn warn(&self, end: &DeadlineEnd) {
        let warn = |text: String| self.streams.say(&format!("cyclicdeadline: WARN: {text}\n"));
        self.thread_stats
            .iter()
            .enumerate()
            .filter_map(|(number, stats)| missed_periods(number, stats))
            .for_each(warn);
        if end.lost > 0 {
            warn(format!("{} latencies came faster than they could be counted", end.lost));
        }
        for thread in &end.changed {
            warn(format!("thread {thread} was given another runtime, period or policy while it ran"));
        }
    }
}
