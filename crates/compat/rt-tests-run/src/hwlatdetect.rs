//! hwlatdetect: a window on one CPU after the other, of which gaps without any event of the kernel's are samples.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::streams::Streams;
use howlate_analyse::gaps::{CpuGaps, ExplainedGap, GapPart, GapRun};
use howlate_gaps::{GapError, GapProgress, GapRequest, GapWatcher, measure};
use howlate_linux::dma_latency::DmaLatency;
use howlate_linux::{clock, sched};
use howlate_model::{GapKind, Policy, Span, WaitClock};
use howlate_rt_tests::hwlatdetect::{
    Options, Refusal, Sample, preamble, read, report_line, sample_line, summary, usage,
};

use crate::failure::Failure;
use crate::interruption::on_signals;
use crate::moved::moved;

/// Does what hwlatdetect would do; returns the exit status.
pub(crate) fn run(words: &[String], streams: Streams) -> Result<u8, Failure> {
    let interrupted = on_signals()?;
    let bindable = sched::bindable_cpus().unwrap_or_default();
    let options = match read(words, &bindable) {
        Ok(options) => options,
        Err(Refusal::Help) => return Ok(streams.print(&usage()).map(|()| 0)?),
        Err(Refusal::Unreadable(text)) => {
            streams.say(&usage());
            return Err(Failure::Unreadable(text));
        }
    };
    let print = |text: &str| if options.quiet { Ok(()) } else { streams.print(text) };
    print(&preamble(&options))?;
    // As the original: no CPU is to come back from a deep idle state while it is measured.
    let _awake = DmaLatency::hold(0).ok();
    let mut detector =
        Detector { options: &options, streams, samples: Vec::new(), smis: Vec::new(), windows: 0 };
    detector.detect(&interrupted)?;
    let Detector { samples, smis, .. } = detector;
    if interrupted.load(Ordering::Relaxed) {
        print("interrupted\n")?;
    }
    print(&summary(&samples, &smis))?;
    report(&options, &samples, streams)?;
    if !options.watch {
        samples.iter().try_for_each(|sample| streams.print(&sample_line(sample)))?;
    }
    let longest = samples.iter().map(|sample| sample.micros).max().unwrap_or(0);
    Ok(u8::from(longest > options.hardlimit_us))
}

fn report(options: &Options, samples: &[Sample], streams: Streams) -> Result<(), Failure> {
    let Some(path) = &options.report else { return Ok(()) };
    let text: String = samples.iter().map(sample_line).collect();
    let refused = |source| Failure::File { path: path.display().to_string(), source };
    fs::write(path, text).map_err(refused)?;
    let line = report_line(options, samples.len()).unwrap_or_default();
    Ok(streams.print(&line)?)
}

/// A run under way.
struct Detector<'a> {
    options: &'a Options,
    streams: Streams,
    samples: Vec<Sample>,
    /// Of each CPU, where they are counted.
    smis: Vec<(u32, u64)>,
    /// That were measured so far.
    windows: u64,
}

impl Detector<'_> {
    fn detect(&mut self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let ends = clock::now().plus(Span::from_secs(self.options.seconds));
        let cpus: Vec<u32> = self.options.cpus.iter().collect();
        for cpu in cpus.into_iter().cycle() {
            let began = clock::now();
            if began >= ends || interrupted.load(Ordering::Relaxed) {
                break;
            }
            self.window(cpu, interrupted)?;
            let next = began.plus(Span::from_micros(self.options.window_us)).min(ends);
            while clock::now() < next && !interrupted.load(Ordering::Relaxed) {
                // A signal ends it earlier.
                drop(clock::sleep_for(next.since(clock::now())));
            }
        }
        Ok(())
    }

    /// Measures one CPU for the width of a window.
    fn window(&mut self, cpu: u32, interrupted: &AtomicBool) -> Result<(), Failure> {
        let request = GapRequest {
            cpus: Some([cpu].into_iter().collect()),
            policy: Policy::OTHER,
            threshold: Some(Span::from_micros(self.options.threshold_us)),
            duration: Some(Span::from_micros(self.options.width_us)),
            use_tracing: true,
            allow_lockup: false,
            copied_bytes: None,
        };
        let run = match measure(&request, interrupted, &mut Unwatched) {
            // It may have gone offline since the others were measured, and come back.
            Err(gone @ (GapError::NotStarted(_) | GapError::NoSuchCpu { .. })) if self.windows > 0 => {
                self.streams.say(&format!("hwlatdetect: WARN: not measured: {gone}\n"));
                return Ok(());
            }
            run => run?,
        };
        self.windows += 1;
        moved("hwlatdetect", &run, self.streams);
        if let Some(refused) = &run.not_traced {
            let text = "what the hardware took cannot be told from what the kernel took";
            return Err(Failure::Refused(format!("{text}: {refused}")));
        }
        self.take(&run)
    }

    fn take(&mut self, run: &GapRun) -> Result<(), Failure> {
        let ahead = clock::offset_from_monotonic(WaitClock::Realtime);
        for cpu in &run.cpus {
            if let Some(smis) = cpu.account.smis {
                self.count(cpu.counted.cpu, smis);
            }
            if let Some(sample) = sample(cpu, self.options.threshold_us, ahead) {
                if self.options.watch {
                    self.streams.print(&sample_line(&sample))?;
                }
                self.samples.push(sample);
            }
        }
        Ok(())
    }

    fn count(&mut self, cpu: u32, smis: u64) {
        match self.smis.iter_mut().find(|(other, _)| *other == cpu) {
            Some((_, count)) => *count += smis,
            None => self.smis.push((cpu, smis)),
        }
    }
}

/// The longest time of a window that no event explains, as the kernel's tracer keeps one of each.
fn sample(cpu: &CpuGaps, threshold_us: u64, ahead: i64) -> Option<Sample> {
    let is_hardware = |part: &&GapPart| matches!(part.cause.kind, GapKind::NoEvent | GapKind::Smi);
    let of_gap = |one: &ExplainedGap| {
        let part = one.parts.iter().find(is_hardware)?;
        let (at_ns, micros) = (one.gap.from.as_nanos() + ahead, part.length.as_nanos() / 1_000);
        (micros >= threshold_us).then_some(Sample { at_ns, micros, cpu: cpu.counted.cpu })
    };
    cpu.worst.iter().filter_map(of_gap).max_by_key(|sample| sample.micros)
}

/// A window is looked at when it is over.
struct Unwatched;

impl GapWatcher for Unwatched {
    fn progress(&mut self, _: &GapProgress) -> bool {
        false
    }
}
