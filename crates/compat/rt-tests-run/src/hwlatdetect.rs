//! Runs as hwlatdetect: measures one CPU after the other, in windows. Gaps that no kernel event explains are samples.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::{Streams, write_file};
use howlate_analyse::gaps::{CpuGaps, ExplainedGap, GapPart, GapRun};
use howlate_gaps::{GapError, GapProgress, GapRequest, GapWatcher, measure};
use howlate_linux::dma_latency::DmaLatency;
use howlate_linux::{clock, sched};
use howlate_model::{GapKind, Policy, Span, WaitClock};
use howlate_rt_tests::hwlatdetect::{
    HwlatdetectEarlyExit, HwlatdetectOptions, HwlatdetectSample, parse, preamble, report_line, sample_line,
    summary, usage,
};

use crate::common::{interruption_flag, warn_of_moved_threads};
use crate::error::RtTestsError;

/// Runs as hwlatdetect; returns the exit status.
pub(crate) fn run(arguments: &[String], streams: Streams) -> Result<u8, RtTestsError> {
    let interrupted = interruption_flag()?;
    let bindable = sched::bindable_cpus().unwrap_or_default();
    let options = match parse(arguments, &bindable) {
        Ok(options) => options,
        Err(HwlatdetectEarlyExit::Help) => return Ok(streams.print(&usage()).map(|()| 0)?),
        Err(HwlatdetectEarlyExit::Invalid(text)) => {
            streams.say(&usage());
            return Err(RtTestsError::GetoptError(text));
        }
    };
    let print = |text: &str| if options.quiet { Ok(()) } else { streams.print(text) };
    print(&preamble(&options))?;
    // As in the original: keeps CPUs out of deep idle states during the run.
    let _awake = DmaLatency::hold(0).ok();
    let mut detector =
        Detector { options: &options, streams, samples: Vec::new(), smis: Vec::new(), windows: 0 };
    detector.detect(&interrupted)?;
    let Detector { samples, smis, .. } = detector;
    if interrupted.load(Ordering::Relaxed) {
        print("interrupted\n")?;
    }
    print(&summary(&samples, &smis))?;
    write_report(&options, &samples, streams)?;
    if !options.watch {
        samples.iter().try_for_each(|sample| streams.print(&sample_line(sample)))?;
    }
    let longest = samples.iter().map(|sample| sample.micros).max().unwrap_or(0);
    Ok(u8::from(longest > options.hardlimit_us))
}

fn write_report(
    options: &HwlatdetectOptions,
    samples: &[HwlatdetectSample],
    streams: Streams,
) -> Result<(), RtTestsError> {
    let Some(path) = &options.report else { return Ok(()) };
    let text: String = samples.iter().map(sample_line).collect();
    write_file(path, &text)?;
    let line = report_line(options, samples.len()).unwrap_or_default();
    Ok(streams.print(&line)?)
}

struct Detector<'a> {
    options: &'a HwlatdetectOptions,
    streams: Streams,
    samples: Vec<HwlatdetectSample>,
    /// SMIs of each CPU; empty where they cannot be counted.
    smis: Vec<(u32, u64)>,
    /// Number of measured windows.
    windows: u64,
}

impl Detector<'_> {
    fn detect(&mut self, interrupted: &AtomicBool) -> Result<(), RtTestsError> {
        let ends = clock::now().plus(Span::from_secs(self.options.seconds));
        let cpus: Vec<u32> = self.options.cpus.iter().collect();
        for cpu in cpus.into_iter().cycle() {
            let window_start = clock::now();
            if window_start >= ends || interrupted.load(Ordering::Relaxed) {
                break;
            }
            self.measure_window(cpu, interrupted)?;
            let next = window_start.plus(Span::from_micros(self.options.window_us)).min(ends);
            while clock::now() < next && !interrupted.load(Ordering::Relaxed) {
                // A signal ends the sleep early.
                drop(clock::sleep_for(next.since(clock::now())));
            }
        }
        Ok(())
    }

    /// Measures one CPU for the width of a window, and collects its samples.
    fn measure_window(&mut self, cpu: u32, interrupted: &AtomicBool) -> Result<(), RtTestsError> {
        let request = GapRequest {
            cpus: Some([cpu].into_iter().collect()),
            policy: Policy::OTHER,
            threshold: Some(Span::from_micros(self.options.threshold_us)),
            duration: Some(Span::from_micros(self.options.width_us)),
            use_tracing: true,
            allow_lockup: false,
            copied_bytes: None,
        };
        let run = match measure(&request, interrupted, &mut SilentWatcher) {
            // The CPU may have gone offline after an earlier window, and may come back.
            Err(error @ (GapError::NotStarted(_) | GapError::NoSuchCpu { .. })) if self.windows > 0 => {
                self.streams.say(&format!("hwlatdetect: WARN: not measured: {error}\n"));
                return Ok(());
            }
            run => run?,
        };
        self.windows += 1;
        warn_of_moved_threads("hwlatdetect", &run, self.streams);
        if let Some(reason) = &run.not_traced {
            let text = "what the hardware took cannot be told from what the kernel took";
            return Err(RtTestsError::Invalid(format!("{text}: {reason}")));
        }
        self.collect(&run)
    }

    fn collect(&mut self, run: &GapRun) -> Result<(), RtTestsError> {
        let clock_offset_ns = clock::offset_from_monotonic(WaitClock::Realtime);
        for cpu in &run.cpus {
            if let Some(smis) = cpu.account.smis {
                self.add_smis(cpu.counted.cpu, smis);
            }
            if let Some(sample) = longest_sample(cpu, self.options.threshold_us, clock_offset_ns) {
                if self.options.watch {
                    self.streams.print(&sample_line(&sample))?;
                }
                self.samples.push(sample);
            }
        }
        Ok(())
    }

    fn add_smis(&mut self, cpu: u32, smis: u64) {
        match self.smis.iter_mut().find(|(counted_cpu, _)| *counted_cpu == cpu) {
            Some((_, count)) => *count += smis,
            None => self.smis.push((cpu, smis)),
        }
    }
}

/// The longest unexplained gap of a window; like the kernel's tracer, one per window.
fn longest_sample(cpu: &CpuGaps, threshold_us: u64, clock_offset_ns: i64) -> Option<HwlatdetectSample> {
    let is_hardware = |part: &&GapPart| matches!(part.cause.kind, GapKind::NoEvent | GapKind::Smi);
    let sample = |gap: &ExplainedGap| {
        let part = gap.parts.iter().find(is_hardware)?;
        let (at_ns, micros) = (gap.gap.from.as_nanos() + clock_offset_ns, part.length.as_nanos() / 1_000);
        (micros >= threshold_us).then_some(HwlatdetectSample { at_ns, micros, cpu: cpu.counted.cpu })
    };
    cpu.worst.iter().filter_map(sample).max_by_key(|sample| sample.micros)
}

/// Ignores progress: a window is evaluated when it is complete.
struct SilentWatcher;

impl GapWatcher for SilentWatcher {
    fn progress(&mut self, _: &GapProgress) -> bool {
        false
    }
}
