//! `record` beside threads that are made late on purpose and know nothing of it, held against their own stamps, the stamps of
//! whoever made them late, and the switches that the kernel wrote.
//!
//! Some do not run for long without waiting for a CPU: they are stopped, sleep as asked, or wait for a lock. Nothing of that is
//! to be recorded.

mod injected;
mod judge;
mod lock;
mod recorder;
mod stamped;

use std::io;
use std::path::Path;

use howlate_linux::clock;
use howlate_model::Span;

use self::injected::{Programs, SCENES, Scene};
use self::judge::{LATE_ABOVE, RecordJudge};
use self::recorder::Recorder;
use self::stamped::Time;
use super::claims::Scores;
use super::sleeper::Sleeper;
use super::turns::{first_called, turns};
use super::witness::{Instance, OF_THREADS};
use crate::bench::compiled;

/// The recorder looks five times a second: what came last is then there.
const LOOKS: Span = Span::from_millis(500);

/// Every scene, each for `seconds`, with a recorder of its own to which programs connect at `place`.
pub fn attack(
    program: &Path,
    folder: &Path,
    seconds: u64,
    place: Option<&Path>,
    scores: &mut Scores,
) -> io::Result<()> {
    let burner = compiled("truth/burner.c", folder)?;
    let programs = Programs { sleeper: Sleeper::compile(folder)?, burner };
    for scene in &SCENES {
        eprintln!("  {}", scene.name);
        // What cannot be had here is said.
        if let Err(error) = once((program, place), &programs, scene, seconds, scores) {
            eprintln!("  not tried here: {error}");
        }
    }
    Ok(())
}

fn once(
    (program, place): (&Path, Option<&Path>),
    programs: &Programs,
    scene: &Scene,
    seconds: u64,
    scores: &mut Scores,
) -> io::Result<()> {
    let instance = Instance::create("witness-record", OF_THREADS)?;
    let recorder = Recorder::start(program, LATE_ABOVE, place)?;
    let from = clock::now().as_nanos();
    let injected = (scene.play)(programs, seconds)?;
    let until = clock::now().as_nanos();
    clock::sleep_for(LOOKS)?;
    let waits = recorder.end()?;
    let text = instance.text()?;
    let judged =
        RecordJudge { waits: &waits, turns: &turns(&text), named: &first_called(&text, &recorder::NAMES) };
    judged.made(&injected, scores);
    judged.each_once(scores);
    judged.each_is_real(scores);
    judged.all_are_there(&injected.threads(), Time { from, until }, scores);
    Ok(())
}
