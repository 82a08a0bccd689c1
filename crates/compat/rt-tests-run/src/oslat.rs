//! Runs as oslat.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use howlate_analyse::gaps::{CpuGaps, GapRun};
use howlate_gaps::{GapProgress, GapRequest, GapWatcher, measure};
use howlate_linux::sched;
use howlate_model::{Caveat, CpuGap, CpuSet, Span};
use howlate_rt_tests::Compat;
use howlate_rt_tests::oslat::{
    CpuHistogram, OslatCpu, OslatEarlyExit, OslatOptions, OslatResults, json, parse, preamble, summary, usage,
};

use crate::common::{interruption_flag, now, run_facts, warn_of_moved_threads};
use crate::error::RtTestsError;
use crate::output::{Streams, write_file};

/// Duration of the warm-up, as in the original.
const WARM_UP_TIME: Span = Span::from_secs(1);

/// Runs as oslat; returns the exit status.
pub(crate) fn run(arguments: &[String], compat: Compat, streams: Streams) -> Result<u8, RtTestsError> {
    let started = now();
    streams.print(&format!("oslat V {}\n", compat.version_without_cyclictest()))?;
    let interrupted = interruption_flag()?;
    let bindable = sched::bindable_cpus().unwrap_or_default();
    let options = match parse(arguments, &bindable, compat) {
        Ok(options) => options,
        Err(OslatEarlyExit::Version) => return Ok(0),
        Err(OslatEarlyExit::Help) => return Ok(streams.print(&usage(compat)).map(|()| 0)?),
        Err(OslatEarlyExit::GetoptError(text)) => {
            streams.print(&usage(compat))?;
            return Err(RtTestsError::GetoptError(text));
        }
        // On standard output, as in the original.
        Err(OslatEarlyExit::Invalid(text)) => return Ok(streams.print(&format!("{text}\n")).map(|()| 1)?),
        Err(OslatEarlyExit::NoCpus(text)) => return Err(RtTestsError::Invalid(text)),
    };
    // If this fails, the main thread may run on a measured CPU.
    drop(sched::bind(&CpuSet::from_iter([options.main_cpu])));
    let print = |text: &str| if options.quiet { Ok(()) } else { streams.print(text) };
    print(&preamble(&options))?;
    print("Pre-heat for 1 seconds...\n")?;
    let bias = warm_up(&options, &interrupted, streams)?;
    if options.bias {
        print(&format!("Global bias set to {bias} (us)\n"))?;
    }
    print("Test starts...\n")?;
    let mut counter = GapCounter::new(&options, if options.bias { bias } else { 0 });
    let run = measure(&request(&options, Span::from_secs(options.seconds)), &interrupted, &mut counter)?;
    if let Some(text) = counter.exceeded() {
        return Err(RtTestsError::Invalid(text));
    }
    print("Test completed.\n\n")?;
    report(&options, &run, counter, started, streams)
}

fn request(options: &OslatOptions, duration: Span) -> GapRequest {
    GapRequest {
        cpus: Some(options.cpus.clone()),
        policy: options.policy,
        threshold: Some(Span::from_nanos(options.width_ns)),
        duration: Some(duration),
        use_tracing: false,
        // As in the original, which does not ask for confirmation.
        allow_lockup: true,
        copied_bytes: options.workload,
    }
}

/// Warms up; returns the shortest iteration of all CPUs, in bucket widths.
fn warm_up(options: &OslatOptions, interrupted: &AtomicBool, streams: Streams) -> Result<u64, RtTestsError> {
    let first: CpuSet = options.cpus.iter().take(1).collect();
    let cpus = if options.single_preheat { first } else { options.cpus.clone() };
    let request = GapRequest { cpus: Some(cpus), ..request(options, WARM_UP_TIME) };
    let run = measure(&request, interrupted, &mut WarmUpWatcher(streams))?;
    let shortest =
        run.cpus.iter().map(|cpu| CpuHistogram::bucket_widths(options, cpu.counted.shortest)).min();
    Ok(shortest.unwrap_or(1))
}

/// Counts nothing during the warm-up, but reports caveats.
struct WarmUpWatcher(Streams);

impl GapWatcher for WarmUpWatcher {
    fn caveat(&mut self, caveat: &Caveat) {
        let Caveat::RealtimeTime { found_ns, now_ns } = caveat else { return };
        let now = now_ns.map_or_else(|| "unlimited".to_owned(), |now| now.to_string());
        self.0.say(&format!("WARN: RLIMIT_RTTIME was {found_ns}, and is {now} for this run: the kernel ends real-time threads that spin longer\n"));
    }

    fn progress(&mut self, _: &GapProgress) -> bool {
        false
    }
}

/// Counts gaps in a histogram per CPU, and keeps the gap that exceeds `--trace-threshold`.
struct GapCounter {
    histograms: BTreeMap<u32, CpuHistogram>,
    threshold_us: Option<u64>,
    exceeded: Option<CpuGap>,
}

impl GapCounter {
    fn new(options: &OslatOptions, bias: u64) -> Self {
        let histograms = options.cpus.iter().map(|cpu| (cpu, CpuHistogram::new(options, bias))).collect();
        Self { histograms, threshold_us: options.threshold_us, exceeded: None }
    }

    /// Message about the gap that ended the run.
    fn exceeded(&self) -> Option<String> {
        let (gap, threshold) = (self.exceeded?, self.threshold_us?);
        let micros = micros(&gap);
        Some(format!(
            "Trace threshold ({threshold} us) triggered on cpu {} with {micros} us!\nStopping the test.",
            gap.cpu
        ))
    }
}

/// Length in microseconds as the original counts it: truncated, plus 1.
const fn micros(gap: &CpuGap) -> u64 {
    gap.length.as_nanos() / 1_000 + 1
}

impl GapWatcher for GapCounter {
    fn gap(&mut self, gap: &CpuGap) {
        if let Some(histogram) = self.histograms.get_mut(&gap.cpu) {
            histogram.add(gap.length);
        }
        if self.exceeded.is_none() && self.threshold_us.is_some_and(|threshold| micros(gap) >= threshold) {
            self.exceeded = Some(*gap);
        }
    }

    fn progress(&mut self, _: &GapProgress) -> bool {
        self.exceeded.is_some()
    }
}

/// Prints and writes the results; returns the exit status.
fn report(
    options: &OslatOptions,
    run: &GapRun,
    mut counter: GapCounter,
    started: String,
    streams: Streams,
) -> Result<u8, RtTestsError> {
    let result = |gaps: &CpuGaps| {
        let counted = &gaps.counted;
        Some(OslatCpu {
            cpu: counted.cpu,
            megahertz: run.megahertz,
            shortest: counted.shortest,
            iterations: counted.turns,
            seconds: counted.lasted.as_secs_f64(),
            gaps: counter.histograms.remove(&counted.cpu)?,
        })
    };
    let results = OslatResults { cpus: run.cpus.iter().filter_map(result).collect() };
    let lost: u64 = run.cpus.iter().map(|cpu| cpu.counted.lost).sum();
    if lost > 0 {
        streams.say(&format!("oslat: {lost} times came faster than they could be counted\n"));
    }
    warn_of_moved_threads("oslat", run, streams);
    streams.print(&summary(options, &results))?;
    if let Some(path) = &options.json {
        let text = json(options, &results, &run_facts(started));
        write_file(path, &text)?;
    }
    Ok(0)
}
