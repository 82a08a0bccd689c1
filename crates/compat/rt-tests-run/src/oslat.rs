//! oslat.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicBool;

use howlate_analyse::gaps::{CpuGaps, GapRun};
use howlate_gaps::{GapProgress, GapRequest, GapWatcher, measure};
use howlate_linux::sched;
use howlate_model::{Caveat, CpuGap, CpuSet, Span};
use howlate_rt_tests::Compat;
use howlate_rt_tests::oslat::{
    Counts, CpuResult, Options, Refusal, Results, json, preamble, read, summary, usage,
};

use crate::failure::Failure;
use crate::interruption::on_signals;
use crate::moved::moved;
use crate::run_facts::{now, run_facts};
use crate::streams::Streams;

/// How long CPUs are warmed up, as in the original.
const WARM_UP: Span = Span::from_secs(1);

/// Does what oslat would do; returns the exit status.
pub(crate) fn run(words: &[String], dialect: Compat, streams: Streams) -> Result<u8, Failure> {
    let started = now();
    streams.print(&format!("oslat V {}\n", dialect.version_without_cyclictest()))?;
    let interrupted = on_signals()?;
    let bindable = sched::bindable_cpus().unwrap_or_default();
    let options = match read(words, &bindable, dialect) {
        Ok(options) => options,
        Err(Refusal::Version) => return Ok(0),
        Err(Refusal::Help) => return Ok(streams.print(&usage(dialect)).map(|()| 0)?),
        Err(Refusal::Unreadable(text)) => {
            streams.print(&usage(dialect))?;
            return Err(Failure::Unreadable(text));
        }
        // On standard output, as in the original.
        Err(Refusal::Invalid(text)) => return Ok(streams.print(&format!("{text}\n")).map(|()| 1)?),
        Err(Refusal::NoCpus(text)) => return Err(Failure::Refused(text)),
    };
    // Where it may not be, everything else runs beside what is measured.
    drop(sched::bind(&CpuSet::from_iter([options.main_cpu])));
    let print = |text: &str| if options.quiet { Ok(()) } else { streams.print(text) };
    print(&preamble(&options))?;
    print("Pre-heat for 1 seconds...\n")?;
    let bias = warm_up(&options, &interrupted, streams)?;
    if options.bias {
        print(&format!("Global bias set to {bias} (us)\n"))?;
    }
    print("Test starts...\n")?;
    let mut counted = Counted::new(&options, if options.bias { bias } else { 0 });
    let run = measure(&request(&options, Span::from_secs(options.seconds)), &interrupted, &mut counted)?;
    if let Some(text) = counted.exceeded() {
        return Err(Failure::Refused(text));
    }
    print("Test completed.\n\n")?;
    tell(&options, &run, counted, started, streams)
}

fn request(options: &Options, duration: Span) -> GapRequest {
    GapRequest {
        cpus: Some(options.cpus.clone()),
        policy: options.policy,
        threshold: Some(Span::from_nanos(options.width_ns)),
        duration: Some(duration),
        use_tracing: false,
        // As the original, which does not ask.
        allow_lockup: true,
        copied_bytes: options.workload,
    }
}

/// The shortest turn of all CPUs, in widths.
fn warm_up(options: &Options, interrupted: &AtomicBool, streams: Streams) -> Result<u64, Failure> {
    let first: CpuSet = options.cpus.iter().take(1).collect();
    let cpus = if options.single_preheat { first } else { options.cpus.clone() };
    let request = GapRequest { cpus: Some(cpus), ..request(options, WARM_UP) };
    let run = measure(&request, interrupted, &mut WarmingUp(streams))?;
    let shortest = run.cpus.iter().map(|cpu| Counts::widths(options, cpu.counted.shortest)).min();
    Ok(shortest.unwrap_or(1))
}

/// Of the warm-up nothing is counted.
struct WarmingUp(Streams);

impl GapWatcher for WarmingUp {
    fn caveat(&mut self, caveat: &Caveat) {
        let Caveat::RealtimeTime { found_ns, now_ns } = caveat else { return };
        let now = now_ns.map_or_else(|| "unlimited".to_owned(), |now| now.to_string());
        self.0.say(&format!("WARN: RLIMIT_RTTIME was {found_ns}, and is {now} for this run: the kernel ends real-time threads that spin longer\n"));
    }

    fn progress(&mut self, _: &GapProgress) -> bool {
        false
    }
}

/// What is counted of each CPU, and the gap that ends the run.
struct Counted {
    counts: BTreeMap<u32, Counts>,
    threshold_us: Option<u64>,
    exceeded: Option<CpuGap>,
}

impl Counted {
    fn new(options: &Options, bias: u64) -> Self {
        let counts = options.cpus.iter().map(|cpu| (cpu, Counts::new(options, bias))).collect();
        Self { counts, threshold_us: options.threshold_us, exceeded: None }
    }

    fn exceeded(&self) -> Option<String> {
        let (gap, threshold) = (self.exceeded?, self.threshold_us?);
        let micros = micros(&gap);
        Some(format!(
            "Trace threshold ({threshold} us) triggered on cpu {} with {micros} us!\nStopping the test.",
            gap.cpu
        ))
    }
}

/// Begun microseconds.
const fn micros(gap: &CpuGap) -> u64 {
    gap.length.as_nanos() / 1_000 + 1
}

impl GapWatcher for Counted {
    fn gap(&mut self, gap: &CpuGap) {
        if let Some(counts) = self.counts.get_mut(&gap.cpu) {
            counts.add(gap.length);
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
fn tell(
    options: &Options,
    run: &GapRun,
    mut counted: Counted,
    started: String,
    streams: Streams,
) -> Result<u8, Failure> {
    let result = |one: &CpuGaps| {
        let count = &one.counted;
        Some(CpuResult {
            cpu: count.cpu,
            megahertz: run.megahertz,
            shortest: count.shortest,
            turns: count.turns,
            seconds: count.lasted.as_secs_f64(),
            counts: counted.counts.remove(&count.cpu)?,
        })
    };
    let results = Results { cpus: run.cpus.iter().filter_map(result).collect() };
    let lost: u64 = run.cpus.iter().map(|cpu| cpu.counted.lost).sum();
    if lost > 0 {
        streams.say(&format!("oslat: {lost} times came faster than they could be counted\n"));
    }
    moved("oslat", run, streams);
    streams.print(&summary(options, &results))?;
    if let Some(path) = &options.json {
        let text = json(options, &results, &run_facts(started));
        let refused = |source| Failure::File { path: path.display().to_string(), source };
        fs::write(path, text).map_err(refused)?;
    }
    Ok(0)
}
