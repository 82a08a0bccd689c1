//! The helper process of one part of a load, as seen by its parent.

use std::io;
use std::process::{Child, ChildStderr, Stdio};

use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, LoadKind, LoadPart, Nice, PartEffect, Policy, Span};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::StartError;
use crate::helper_main::{HELPER, counter_count, cpu_time};
use crate::scoreboard::Scoreboard;
use crate::stderr_tail::StderrTail;
use crate::steadiness::Steadiness;

/// How often the parent checks whether a helper has started or ended.
const POLL_INTERVAL: Span = Span::from_millis(1);
/// How long a helper may take to start; many forks on a busy machine take a while.
const START_TIMEOUT: Span = Span::from_secs(20);
/// How long to wait for the first operation of a worker, which may get no CPU.
const FIRST_OPERATION_TIMEOUT: Span = Span::from_secs(1);
/// How long it may take to end: an external program has 2 s, and a disk may be slow.
const END_TIMEOUT: Span = Span::from_secs(5);

/// A running helper process; ended on drop.
pub(crate) struct LoadHelper {
    part: LoadPart,
    /// Affinity of its workers; the helper fails where the kernel sets another one.
    cpus: CpuSet,
    scoreboard: Scoreboard,
    child: Child,
    stderr: Option<StderrTail<ChildStderr>>,
    /// The last CPU time read, as that of an ended process cannot be read.
    cpu_time: Option<Span>,
    steadiness: Steadiness,
}

impl LoadHelper {
    /// Starts the helper; returns when its workers have started.
    pub(crate) fn start(part: &LoadPart) -> Result<Self, StartError> {
        let failed = |source| StartError::Helper { load: part.to_string(), source };
        let cpus = part.cpus.clone().map_or_else(sched::affinity, Ok).map_err(failed)?;
        let (scoreboard, memory) = Scoreboard::create(counter_count(part, &cpus)).map_err(failed)?;
        let mut child = HELPER
            .command([part.to_string(), cpus.to_string()])
            // This pipe closes when this process ends in any way.
            .stdin(Stdio::piped())
            .stdout(Stdio::from(memory))
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stderr = child.stderr.take().map(StderrTail::new);
        let mut helper = Self {
            part: part.clone(),
            cpus,
            scoreboard,
            child,
            stderr,
            cpu_time: None,
            steadiness: Steadiness::default(),
        };
        helper.wait_for_start()?;
        Ok(helper)
    }

    fn wait_for_start(&mut self) -> Result<(), StartError> {
        let give_up = clock::now().plus(START_TIMEOUT);
        while !self.has_worked()
            && self.scoreboard.started_at().is_none_or(|at| clock::now() < at.plus(FIRST_OPERATION_TIMEOUT))
        {
            let failure = if clock::now() > give_up {
                Some(format!("it did not begin within {START_TIMEOUT}"))
            } else {
                self.end_reason()
            };
            if let Some(reason) = failure {
                return Err(StartError::Ended { load: self.part.to_string(), reason });
            }
            // A signal that ends the sleep only makes the next check earlier.
            drop(clock::sleep_for(POLL_INTERVAL));
        }
        Ok(())
    }

    /// Whether an operation was counted; always after the start where operations are not counted.
    fn has_worked(&self) -> bool {
        let counts_operations = !self.part.kind.is_from_outside();
        self.scoreboard.started_at().is_some() && (!counts_operations || self.scoreboard.operations() > 0)
    }

    pub(crate) const fn part(&self) -> &LoadPart {
        &self.part
    }

    /// Why it ended; `None` while it runs.
    pub(crate) fn end_reason(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let last_line = self.stderr.as_mut().and_then(StderrTail::last_line);
        Some(match (status.success(), last_line) {
            (true, _) => "it was done".to_owned(),
            (false, Some(line)) => line,
            (false, None) => format!("its helper process ended with {status}"),
        })
    }

    /// Time until its work was complete; `None` while it runs, or when it failed.
    pub(crate) fn completion_time(&mut self) -> Option<Span> {
        let status = self.child.try_wait().ok()??;
        self.scoreboard.completion_time().filter(|_| status.success())
    }

    /// Nice value of its workers if it is not 0 as intended.
    pub(crate) fn unexpected_nice(&self) -> Option<Nice> {
        match sched::policy(self.child.id()) {
            Ok(Policy::Other { nice: Some(nice) }) if nice.get() != 0 => Some(nice),
            _ => None,
        }
    }

    /// Operations and CPU time so far.
    pub(crate) fn effect(&mut self) -> PartEffect {
        let unit = self.part.kind.operation();
        PartEffect {
            part: self.part.to_string(),
            cpus: self.cpus.clone(),
            unit: unit.map(str::to_owned),
            operations: unit.map(|_| self.scoreboard.operations()),
            cpu: self.cpu_time(),
        }
    }

    fn cpu_time(&mut self) -> Option<Span> {
        // While a process exits, its time is counted neither for itself nor for its parent.
        self.cpu_time =
            self.cpu_time.max(cpu_time(&self.part.kind, self.child.id())).max(self.scoreboard.cpu_time());
        self.cpu_time
    }

    /// Operations so far, or CPU time where they are not counted; only differences are meaningful.
    fn progress(&mut self) -> u64 {
        match self.part.kind.is_from_outside() {
            true => self.cpu_time().map_or(0, Span::as_nanos),
            false => self.scoreboard.operations(),
        }
    }

    /// Observes the progress since the last call; returns whether it is steady.
    pub(crate) fn is_steady(&mut self) -> bool {
        let progress = self.progress();
        self.steadiness.observe(progress);
        // External programs count nothing, and an `awake` worker may get no CPU.
        let may_not_count = self.part.kind.is_from_outside() || matches!(self.part.kind, LoadKind::Awake);
        self.steadiness.is_steady() && (may_not_count || self.scoreboard.all_have_counted())
    }

    /// Ends the helper, and waits until all its processes have ended.
    fn end(&mut self) -> io::Result<()> {
        drop(self.child.stdin.take());
        let give_up = clock::now().plus(END_TIMEOUT);
        while self.child.try_wait()?.is_none() {
            if clock::now() > give_up {
                return self.kill();
            }
            drop(clock::sleep_for(POLL_INTERVAL));
        }
        // Its workers end with it; external programs are in its process group.
        drop(self.kill());
        Ok(())
    }

    fn kill(&self) -> io::Result<()> {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        group.map_or(Ok(()), |group| Ok(kill_process_group(group, Signal::KILL)?))
    }
}

impl Drop for LoadHelper {
    fn drop(&mut self) {
        // A process that cannot be killed waits for a device, and ends after that.
        drop(self.end());
    }
}
