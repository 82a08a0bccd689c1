//! Loads that are other programs. The helper starts them and sees to it that nothing of them stays.

use std::io;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use howlate_linux::helper::input_ends_within;
use howlate_linux::{clock, parent};
use howlate_model::{CpuSet, LoadKind, LoadPart, Span};
use howlate_procfs::{Root, descendants};
use howlate_safe_path::TemporaryFolder;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};

use crate::scoreboard::Scoreboard;
use crate::stderr_tail::StderrTail;
use crate::stress_ng;

/// Messages between many processes, of rt-tests.
pub(crate) const HACKBENCH: &str = "hackbench";
/// What runs commands.
pub(crate) const SHELL: &str = "sh";
/// How often the helper asks whether the program has ended.
const POLL_INTERVAL: Span = Span::from_millis(50);
/// How long a program may take to end by itself, in polls of 10 ms.
const PATIENCE: u32 = 200;
const END_POLL_INTERVAL: Span = Span::from_millis(10);

/// Runs the program of `part` until the parent is gone or the program ends.
pub(crate) fn serve(part: &LoadPart, cpus: &CpuSet, scoreboard: &Scoreboard) -> io::Result<()> {
    // What the program leaves behind becomes a child of this process, and can be ended.
    set_child_subreaper(Some(getpid()))?;
    let folder = TemporaryFolder::create()?;
    let mut program = Program::start(part, cpus, folder.path())?;
    scoreboard.begin(clock::now());
    let ended = program.watch(part, cpus, folder.path());
    end_all_children();
    if ended? == Why::Done {
        scoreboard.end(clock::now());
    }
    Ok(())
}

fn command(part: &LoadPart, cpus: &CpuSet, folder: &Path) -> io::Result<Command> {
    let words = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words);
        command
    };
    Ok(match &part.kind {
        LoadKind::StressNg { name } => {
            let workers = part.workers.map_or(cpus.len(), |workers| workers as usize);
            stress_ng::command(name, workers, folder).map_err(io::Error::other)?
        }
        LoadKind::HackbenchProgram { options } => {
            words(HACKBENCH, &options.split_whitespace().collect::<Vec<_>>())
        }
        LoadKind::Command { command } => words(SHELL, &["-c", command]),
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    })
}

#[derive(PartialEq, Eq)]
enum Why {
    ParentGone,
    Done,
}

/// A program under way.
struct Program {
    child: Child,
    stderr: Option<StderrTail<ChildStderr>>,
}

impl Program {
    fn start(part: &LoadPart, cpus: &CpuSet, folder: &Path) -> io::Result<Self> {
        let mut command = command(part, cpus, folder)?;
        // Even when this helper itself is killed.
        parent::kill_with_this_thread(&mut command);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().map(StderrTail::new);
        Ok(Self { child, stderr })
    }

    /// Returns when the parent is gone, or the program has done what it had to do.
    fn watch(&mut self, part: &LoadPart, cpus: &CpuSet, folder: &Path) -> io::Result<Why> {
        while !input_ends_within(POLL_INTERVAL)? {
            self.stderr.iter_mut().for_each(StderrTail::listen);
            let Some(status) = self.child.try_wait()? else { continue };
            if !status.success() {
                let said = self.stderr.as_mut().and_then(StderrTail::last);
                let said = said.map_or_else(String::new, |said| format!(": {said}"));
                return Err(io::Error::other(format!("it ended with {status}{said}")));
            }
            match part.kind {
                LoadKind::HackbenchProgram { .. } => *self = Self::start(part, cpus, folder)?,
                _ => return Ok(Why::Done),
            }
        }
        Ok(Why::ParentGone)
    }
}

/// Asks all that was started to end, and kills what does not.
fn end_all_children() {
    for poll in 0.. {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let left = descendants(&Root::live(), std::process::id());
        if left.is_empty() {
            return;
        }
        // Those that end may have things to clean up, so they are asked once and then given time.
        if poll == 0 || poll > PATIENCE {
            let signal = if poll == 0 { Signal::TERM } else { Signal::KILL };
            let pids = left.iter().filter_map(|pid| i32::try_from(*pid).ok()).filter_map(Pid::from_raw);
            pids.for_each(|pid| {
                let _ = kill_process(pid, signal);
            });
        }
        drop(clock::sleep_for(END_POLL_INTERVAL));
    }
}
