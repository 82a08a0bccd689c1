//! A load that is applied by itself, for as long as asked.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_analyse::LoadEffect;
use howlate_linux::clock;
use howlate_load::{Running, Sample};
use howlate_model::{MonotonicTime, Span};
use howlate_render::{LoadResult, PartEnd, Screen, load_effect};

/// How often it looks whether something has ended.
const LOOK_EVERY: Span = Span::from_millis(50);
/// How often the display changes.
const SHOW_EVERY: Span = Span::from_secs(1);

/// Lets a load run for as long as asked, or until it is over or `interrupted`; what it did is added to `result`, and shown
/// meanwhile.
pub fn apply_load(
    running: Running,
    result: LoadResult,
    screen: Option<Box<dyn Screen>>,
    duration: Option<Span>,
    interrupted: &AtomicBool,
) -> LoadResult {
    Applied { running, screen, result }.watch(duration, interrupted)
}

/// A load under way, and what it did so far.
struct Applied {
    running: Running,
    screen: Option<Box<dyn Screen>>,
    result: LoadResult,
}

impl Applied {
    fn watch(mut self, duration: Option<Span>, interrupted: &AtomicBool) -> LoadResult {
        let begin = clock::now();
        let end = duration.map(|duration| begin.plus(duration));
        let mut next_show = begin.plus(SHOW_EVERY);
        while !interrupted.load(Ordering::Relaxed) && end.is_none_or(|end| clock::now() < end) {
            pause_until(end);
            self.note_ends();
            if self.running.is_over() {
                break;
            }
            if clock::now() >= next_show {
                next_show = next_show.plus(SHOW_EVERY);
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
        for ended in self.running.ended() {
            self.result.ended.push(PartEnd { part: ended.part, words: ended.words, took_ns: ended.took });
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

fn effect_of(sample: Sample) -> LoadEffect {
    LoadEffect {
        elapsed: sample.until.since(sample.from),
        parts: sample.parts,
        context_switches: sample.context_switches,
        interrupts: sample.interrupts,
        ..LoadEffect::default()
    }
}

/// Until the next look, or the end if that comes first. A signal makes the look come earlier.
fn pause_until(end: Option<MonotonicTime>) {
    let left = end.map_or(LOOK_EVERY, |end| end.since(clock::now()).min(LOOK_EVERY));
    drop(clock::sleep_for(left));
}
