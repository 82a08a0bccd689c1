//! A running probe: a child process, its output and its end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};

use howlate_linux::child::{self, SpawnReport, SpawnSettings};
use howlate_linux::{clock, sched};
use howlate_model::{EffectiveSettings, Policy, Span, Usage};
use howlate_procfs::{Root, threads};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process_group};

/// Maximum time from `end` to the exit of a program.
const EXIT_TIMEOUT: Span = Span::from_secs(2);

/// Kept bytes of standard error: the reason of a failure is at the end.
const STDERR_TAIL_BYTES: usize = 4 * 1024;

/// Maximum number of reads after the end, because another process may keep standard error open.
const MAX_TAIL_READS: u32 = 32;

/// Longer lines violate the protocol.
const MAX_LINE_BYTES: usize = 4 * 1024;

/// A child process. Dropping it kills its process group.
pub(crate) struct ProbeProcess {
    pid: Pid,
    out: LineReader,
    /// `None` once it has ended.
    errors: Option<OwnedFd>,
    stderr_bytes: Vec<u8>,
    reaped: bool,
}

/// Splits output into lines.
struct LineReader {
    /// `None` once it has ended.
    from: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl ProbeProcess {
    /// Starts `command` under `settings`.
    pub(crate) fn start(mut command: Command, settings: SpawnSettings) -> io::Result<(Self, SpawnReport)> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, applied) = child::spawn(command, settings)?;
        let pid = Pid::from_child(&child);
        let (out, errors) = pipes(&mut child)?;
        let out = LineReader { from: Some(out), bytes: Vec::new() };
        Ok((Self { pid, out, errors: Some(errors), stderr_bytes: Vec::new(), reaped: false }, applied))
    }

    /// Process id, which is also the id of the first thread.
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

    /// Number of threads with another policy than `policy`, for example one that the runtime has set.
    pub(crate) fn threads_apart(&self, policy: Policy) -> usize {
        let tids = threads(&Root::live(), self.id()).into_iter();
        // A thread that ended meanwhile has no policy any more.
        tids.filter_map(|tid| sched::policy(tid).ok()).filter(|other| *other != policy).count()
    }

    /// Waits at most `patience` for the next lines.
    pub(crate) fn lines(&mut self, patience: Span) -> io::Result<Vec<String>> {
        let [out, errors] = readable([self.out.from.as_ref(), self.errors.as_ref()], patience)?;
        if errors {
            self.read_errors()?;
        }
        if out { self.out.read() } else { Ok(Vec::new()) }
    }

    /// Whether its output has ended.
    pub(crate) const fn has_closed(&self) -> bool {
        self.out.from.is_none()
    }

    fn read_errors(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4 * 1024];
        let count = read(&mut self.errors, &mut buffer)?;
        self.stderr_bytes.extend_from_slice(&buffer[..count]);
        let surplus = self.stderr_bytes.len().saturating_sub(STDERR_TAIL_BYTES);
        self.stderr_bytes.drain(..surplus);
        Ok(())
    }

    /// The last lines of standard error, joined into one.
    pub(crate) fn stderr_tail(&mut self) -> String {
        let mut reads = 0..MAX_TAIL_READS;
        while reads.next().is_some() && readable([self.errors.as_ref()], Span::ZERO).is_ok_and(|[more]| more)
        {
            if self.read_errors().is_err() {
                break;
            }
        }
        let text = String::from_utf8_lossy(&self.stderr_bytes);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join(" / ")
    }

    /// Waits for the exit if `graceful`, then kills the process group.
    pub(crate) fn end(mut self, graceful: bool) -> io::Result<(ExitStatus, Usage)> {
        let until = clock::now().plus(EXIT_TIMEOUT);
        while graceful && !child::has_ended(self.pid)? && clock::now() < until {
            clock::sleep_for(Span::from_millis(2))?;
        }
        self.kill();
        self.reaped = true;
        child::reap(self.pid)
    }

    /// Under load, a process with the idle policy gets no CPU even to exit, so its policy is changed first.
    fn kill(&self) {
        let tid = self.id();
        if sched::policy(tid).is_ok_and(|policy| policy == Policy::Idle) {
            drop(sched::set_policy(tid, Policy::OTHER));
        }
        // It may have ended already.
        let _ = kill_process_group(self.pid, Signal::KILL);
    }
}

impl Drop for ProbeProcess {
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

impl LineReader {
    /// Reads once; returns the lines that are complete.
    fn read(&mut self) -> io::Result<Vec<String>> {
        let mut buffer = [0; 64 * 1024];
        let count = read(&mut self.from, &mut buffer)?;
        self.bytes.extend_from_slice(&buffer[..count]);
        let complete = self.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let rest = self.bytes.split_off(complete);
        let mut text = std::mem::replace(&mut self.bytes, rest);
        if self.from.is_none() || self.bytes.len() > MAX_LINE_BYTES {
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

/// Waits at most `patience` until one of `pipes` is readable.
fn readable<const N: usize>(pipes: [Option<&OwnedFd>; N], patience: Span) -> io::Result<[bool; N]> {
    let open: Vec<&OwnedFd> = pipes.into_iter().flatten().collect();
    let mut waiting: Vec<PollFd> =
        open.iter().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)).collect();
    match poll(&mut waiting, Some(&clock::timespec_for(patience))) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = waiting.iter().map(|fd| !fd.revents().is_empty());
    Ok(pipes.map(|pipe| pipe.is_some() && ready.next().unwrap_or(false)))
}
