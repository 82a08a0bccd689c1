//! `cargo xtask truth record`: provokes lateness of programs independent of howlate, and compares what `howlate record` reports with
//! the stamps of the delayed and the delaying programs and with the kernel's own events.
//!
//! Some programs are stopped, sleep as planned, or wait for a lock: that is no wait for a CPU, and must not be recorded.

mod idle;
mod injected;
mod judge;
mod lock;
mod recorder;
mod stamped;

use std::io;
use std::path::Path;

use howlate_linux::clock;
use howlate_model::Span;

use self::idle::idle_times;
use self::injected::{InjectionPrograms, SCENES, Scene};
use self::judge::{LATE_ABOVE, RecordJudge};
use self::recorder::RecordRun;
use self::stamped::Time;
use super::claims::Scores;
use super::sleeper::SleeperProgram;
use super::turns::{first_called, turns};
use super::witness::{Instance, OF_THREADS};
use crate::bench::compiled;

/// Longer than the recorder's period of 200 ms, so that it has seen the last wait.
const SETTLE: Span = Span::from_millis(500);

/// Every scene for `seconds`, each with its own recorder, whose socket is at `place`.
pub fn attack(
    program: &Path,
    folder: &Path,
    seconds: u64,
    place: Option<&Path>,
    scores: &mut Scores,
) -> io::Result<()> {
    let burner = compiled("truth/burner.c", folder)?;
    let programs = InjectionPrograms { sleeper: SleeperProgram::compile(folder)?, burner };
    for scene in &SCENES {
        eprintln!("  {}", scene.name);
        if let Err(error) = once((program, place), &programs, scene, seconds, scores) {
            eprintln!("  not tried here: {error}");
        }
    }
    Ok(())
}

fn once(
    (program, place): (&Path, Option<&Path>),
    programs: &InjectionPrograms,
    scene: &Scene,
    seconds: u64,
    scores: &mut Scores,
) -> io::Result<()> {
    let instance = Instance::create("witness-record", OF_THREADS)?;
    let recorder = RecordRun::start(program, LATE_ABOVE, place)?;
    let from = clock::now().as_nanos();
    let injected = (scene.play)(programs, seconds)?;
    let until = clock::now().as_nanos();
    clock::sleep_for(SETTLE)?;
    let waits = recorder.end()?;
    let text = instance.text()?;
    let judge = RecordJudge {
        injected: &injected,
        waits: &waits,
        turns: &turns(&text),
        idle: &idle_times(&text),
        named: &first_called(&text, &recorder::NAMES),
    };
    judge.check_injected(scores);
    judge.check_unique(scores);
    judge.check_real(scores);
    judge.check_idle(scores);
    judge.check_complete(&injected.threads(), Time { from, until }, scores);
    Ok(())
}
