//! `howlate load`

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_analyse::LoadEffect;
use howlate_linux::clock;
use howlate_load::{Running, Sample, check};
use howlate_model::{Load, MonotonicTime, Span};
use howlate_render::{LoadResult, PartEnd, load_effect};

use crate::cli;
use crate::environment::{clear_up, on_interrupt};
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal::{self, InPlace, is_watched};

/// How often it looks whether something has ended.
const LOOK_EVERY: Span = Span::from_millis(50);
/// How often the display changes.
const SHOW_EVERY: Span = Span::from_secs(1);

pub(crate) fn run(args: &cli::Load) -> Result<Status, Error> {
    let interrupted = on_interrupt()?;
    for caveat in clear_up() {
        terminal::tell(&format!("{}\n", howlate_render::caveat(&caveat)));
    }
    let load = load(args);
    check(&load)?;
    let running = Running::start(&load)?;
    let place = (!args.printing.quiet && is_watched()).then(InPlace::default);
    let notes = running.caveats().iter().map(howlate_render::caveat).collect();
    let result = LoadResult::new(&load, notes);
    let result = Applied { running, place, result }.watch(args.duration, &interrupted);
    let text = if args.printing.json { result.json()? } else { result.text(terminal::width()) };
    terminal::print_or_json(&text, args.printing.json)?;
    Ok(if result.has_failed() { Status::NotTrustworthy } else { Status::Done })
}

/// All loads args for, as one.
fn load(args: &cli::Load) -> Load {
    let load = Load::from_parts(args.loads.iter().flat_map(|load| load.parts().to_vec()).collect());
    match &args.load_cpus {
        Some(cpus) => load.bound_to(cpus),
        None => load,
    }
}

/// A load under way, and what it did so far.
struct Applied {
    running: Running,
    place: Option<InPlace>,
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
        self.place.iter_mut().for_each(InPlace::clear);
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
        if let Some(place) = &mut self.place {
            place.show(&format!("{seconds:.0} s · {}", load_effect(&effect)));
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
    }
}

/// Until the next look, or the end if that comes first. A signal makes the look come earlier.
fn pause_until(end: Option<MonotonicTime>) {
    let left = end.map_or(LOOK_EVERY, |end| end.since(clock::now()).min(LOOK_EVERY));
    drop(clock::pause(left));
}
