//! A probe under way: a child program, what it prints, and its end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};

use howlate_linux::child::{self, SpawnReport, SpawnSettings};
use howlate_linux::{clock, sched};
use howlate_model::{EffectiveSettings, Policy, Span, Usage};
use howlate_procfs::{Root, threads};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process_group};

/// How long a program may take to end by itself after it said that it is done.
const PATIENCE_TO_END: Span = Span::from_secs(2);

/// What is kept of what a program says on its standard error: the end is where the reason is.
const KEPT_OF_ERRORS: usize = 4 * 1024;

/// Reads of its standard error when it has ended: what others still hold open may go on for ever.
const MOST_TAIL_READS: u32 = 32;

/// A line longer than this is not one of the protocol.
const LONGEST_LINE: usize = 4 * 1024;

/// A child that is killed, with all that it started, when dropped.
pub(crate) struct Sleeping {
    pid: Pid,
    out: Lines,
    /// `None` once it has ended.
    errors: Option<OwnedFd>,
    said: Vec<u8>,
    reaped: bool,
}

/// Bytes on their way to lines.
struct Lines {
    /// `None` once it has ended.
    from: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl Sleeping {
    /// Starts `command` under `settings`.
    pub(crate) fn start(mut command: Command, settings: SpawnSettings) -> io::Result<(Self, SpawnReport)> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, applied) = child::spawn(command, settings)?;
        let pid = Pid::from_child(&child);
        let (out, errors) = pipes(&mut child)?;
        let out = Lines { from: Some(out), bytes: Vec::new() };
        Ok((Self { pid, out, errors: Some(errors), said: Vec::new(), reaped: false }, applied))
    }

    /// Its process, and first thread.
    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The settings in force, read back from the kernel.
    pub(crate) fn in_force(&self, slack: Span, dma_latency_us: Option<i32>) -> io::Result<EffectiveSettings> {
        let tid = self.id();
        let policy = sched::policy(tid)?;
        Ok(EffectiveSettings {
            tid,
            policy,
            slack,
            cpus: sched::affinity_of(tid)?,
            memory_locked: false,
            dma_latency_us,
            slice: None,
        })
    }

    /// How many of its threads run under another policy than `policy`, as when a runtime sets one itself.
    pub(crate) fn threads_apart(&self, policy: Policy) -> usize {
        let tids = threads(&Root::live(), self.id()).into_iter();
        // A thread that ended meanwhile has no policy any more.
        tids.filter_map(|tid| sched::policy(tid).ok()).filter(|other| *other != policy).count()
    }

    /// The next lines, as soon as there are any, or none after `patience`.
    pub(crate) fn lines(&mut self, patience: Span) -> io::Result<Vec<String>> {
        let [out, errors] = readable([self.out.from.as_ref(), self.errors.as_ref()], patience)?;
        if errors {
            self.read_errors()?;
        }
        if out { self.out.read() } else { Ok(Vec::new()) }
    }

    /// Whether it will print nothing more.
    pub(crate) const fn has_closed(&self) -> bool {
        self.out.from.is_none()
    }

    fn read_errors(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4 * 1024];
        let count = read(&mut self.errors, &mut buffer)?;
        self.said.extend_from_slice(&buffer[..count]);
        let surplus = self.said.len().saturating_sub(KEPT_OF_ERRORS);
        self.said.drain(..surplus);
        Ok(())
    }

    /// The last lines of what it said on its standard error, in one; empty when it said nothing.
    pub(crate) fn stderr_tail(&mut self) -> String {
        let mut reads = 0..MOST_TAIL_READS;
        while reads.next().is_some() && readable([self.errors.as_ref()], Span::ZERO).is_ok_and(|[more]| more)
        {
            if self.read_errors().is_err() {
                break;
            }
        }
        let text = String::from_utf8_lossy(&self.said);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join(" / ")
    }

    /// Waits a little for it to end by itself, then ends it and all that it started.
    pub(crate) fn end(mut self, graceful: bool) -> io::Result<(ExitStatus, Usage)> {
        let until = clock::now().plus(PATIENCE_TO_END);
        while graceful && !child::has_ended(self.pid)? && clock::now() < until {
            clock::sleep_for(Span::from_millis(2))?;
        }
        self.kill();
        self.reaped = true;
        child::reap(self.pid)
    }

    /// One of class idle gets no CPU under load, not even to die, so it becomes a normal one.
    fn kill(&self) {
        let tid = self.id();
        if sched::policy(tid).is_ok_and(|policy| policy == Policy::Idle) {
            drop(sched::set_policy(tid, Policy::OTHER));
        }
        // It may be gone already, which is what is wanted.
        let _ = kill_process_group(self.pid, Signal::KILL);
    }
}

impl Drop for Sleeping {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            drop(child::reap(self.pid));
        }
    }
}

fn pipes(child: &mut Child) -> io::Result<(OwnedFd, OwnedFd)> {
    match (child.stdout.take(), child.stderr.take()) {
        (Some(out), Some(errors)) => Ok((out.into(), errors.into())),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

impl Lines {
    /// Reads once; returns the lines that are complete.
    fn read(&mut self) -> io::Result<Vec<String>> {
        let mut buffer = [0; 64 * 1024];
        let count = read(&mut self.from, &mut buffer)?;
        self.bytes.extend_from_slice(&buffer[..count]);
        let complete = self.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let rest = self.bytes.split_off(complete);
        let mut text = std::mem::replace(&mut self.bytes, rest);
        if self.from.is_none() || self.bytes.len() > LONGEST_LINE {
            text.append(&mut self.bytes);
        }
        Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }
}

/// Reads once; closes `pipe` at its end.
fn read(pipe: &mut Option<OwnedFd>, buffer: &mut [u8]) -> io::Result<usize> {
    let Some(open) = pipe else { return Ok(0) };
    let count = rustix::io::read(open, buffer)?;
    if count == 0 {
        *pipe = None;
    }
    Ok(count)
}

/// Which of `pipes` can be read, as soon as one can or after `patience`.
fn readable<const N: usize>(pipes: [Option<&OwnedFd>; N], patience: Span) -> io::Result<[bool; N]> {
    let open: Vec<&OwnedFd> = pipes.into_iter().flatten().collect();
    let mut waiting: Vec<PollFd> =
        open.iter().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)).collect();
    match poll(&mut waiting, Some(&clock::timespec_for(patience))) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = waiting.iter().map(|one| !one.revents().is_empty());
    Ok(pipes.map(|pipe| pipe.is_some() && ready.next().unwrap_or(false)))
}
