//! A load without a measurement.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_analyse::LoadEffect;
use howlate_linux::clock;
use howlate_load::{LoadSample, RunningLoad};
use howlate_model::{MonotonicTime, Span};
use howlate_render::{LoadResult, PartEnd, Screen, load_effect};

/// Interval between checks for ended parts.
const CHECK_INTERVAL: Span = Span::from_millis(50);
/// Interval between updates of the display.
const DISPLAY_INTERVAL: Span = Span::from_secs(1);

/// Runs a load until the end of `duration`, until it ends by itself, or until `interrupted` is set. Its effect is added to
/// `result` and shown on `screen`.
pub fn apply_load(
    running: RunningLoad,
    result: LoadResult,
    screen: Option<Box<dyn Screen>>,
    duration: Option<Span>,
    interrupted: &AtomicBool,
) -> LoadResult {
    AppliedLoad { running, screen, result }.watch(duration, interrupted)
}

/// A running load and its effect so far.
struct AppliedLoad {
    running: RunningLoad,
    screen: Option<Box<dyn Screen>>,
    result: LoadResult,
}

impl AppliedLoad {
    fn watch(mut self, duration: Option<Span>, interrupted: &AtomicBool) -> LoadResult {
        let begin = clock::now();
        let end = duration.map(|duration| begin.plus(duration));
        let mut next_show = begin.plus(DISPLAY_INTERVAL);
        while !interrupted.load(Ordering::Relaxed) && end.is_none_or(|end| clock::now() < end) {
            sleep_until_next_check(end);
            self.note_ends();
            if self.running.is_over() {
                break;
            }
            if clock::now() >= next_show {
                next_show = next_show.plus(DISPLAY_INTERVAL);
                self.show();
            }
        }
        self.take_sample();
        self.screen.iter_mut().for_each(|screen| screen.clear());
        let (mut result, report) = (self.result, self.running.stop());
        report.into_iter().for_each(|report| result.set_totals(&report.parts));
        result
    }

    fn note_ends(&mut self) {
        for ended in self.running.newly_ended() {
            self.result.ended.push(PartEnd {
                part: ended.part,
                words: ended.reason,
                took_ns: ended.completion_time,
            });
        }
    }

    fn show(&mut self) {
        let effect = self.take_sample();
        let seconds = self.result.effect.elapsed.as_secs_f64();
        if let Some(screen) = &mut self.screen {
            screen.show(&format!("{seconds:.0} s · {}", load_effect(&effect)));
        }
    }

    fn take_sample(&mut self) -> LoadEffect {
        let effect = effect_of(self.running.sample());
        self.result.add(&effect);
        effect
    }
}

fn effect_of(sample: LoadSample) -> LoadEffect {
    LoadEffect {
        elapsed: sample.until.since(sample.from),
        parts: sample.parts,
        context_switches: sample.context_switches,
        interrupts: sample.interrupts,
        ..LoadEffect::default()
    }
}

/// Sleeps until the next check or until `end`. A signal ends the sleep early.
fn sleep_until_next_check(end: Option<MonotonicTime>) {
    let left = end.map_or(CHECK_INTERVAL, |end| end.since(clock::now()).min(CHECK_INTERVAL));
    drop(clock::sleep_for(left));
}
