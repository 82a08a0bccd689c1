//! The helper process of one part, as its parent sees it.

use std::io;
use std::process::{Child, ChildStderr, Stdio};

use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, LoadKind, LoadPart, Nice, PartEffect, Policy, Span};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::StartError;
use crate::helper_main::{HELPER, counters, cpu_time};
use crate::scoreboard::Scoreboard;
use crate::stderr_tail::StderrTail;
use crate::steadiness::Steadiness;

/// How often the parent asks whether a helper has begun or ended.
const POLL_INTERVAL: Span = Span::from_millis(1);
/// How long a helper may take to begin; many forks on a busy machine take a while.
const UNTIL_BEGUN: Span = Span::from_secs(20);
/// How long its workers may take to do the first thing: none is waited for that gets no CPU.
const UNTIL_WORKING: Span = Span::from_secs(1);
/// How long it may take to end: a program from outside has 2 s, and a disk may be slow.
const UNTIL_ENDED: Span = Span::from_secs(5);

/// A helper process under way; ended on drop.
pub(crate) struct Helper {
    part: LoadPart,
    /// Where its workers may run: it gives up when the kernel says otherwise.
    cpus: CpuSet,
    scoreboard: Scoreboard,
    child: Child,
    stderr: Option<StderrTail<ChildStderr>>,
    /// The last CPU time seen: an ended process has none to ask for.
    cpu: Option<Span>,
    steadiness: Steadiness,
}

impl Helper {
    /// Starts it; returns when its workers begin.
    pub(crate) fn start(part: &LoadPart) -> Result<Self, StartError> {
        let failed = |source| StartError::Helper { load: part.to_string(), source };
        let cpus = part.cpus.clone().map_or_else(sched::affinity, Ok).map_err(failed)?;
        let (scoreboard, memory) = Scoreboard::create(counters(part, &cpus)).map_err(failed)?;
        let mut child = HELPER
            .command([part.to_string(), cpus.to_string()])
            // Its end of this pipe closes with this process, however that ends.
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
            cpu: None,
            steadiness: Steadiness::default(),
        };
        helper.wait_until_begun()?;
        Ok(helper)
    }

    fn wait_until_begun(&mut self) -> Result<(), StartError> {
        let give_up = clock::now().plus(UNTIL_BEGUN);
        while !self.works() && self.scoreboard.began().is_none_or(|at| clock::now() < at.plus(UNTIL_WORKING))
        {
            let said = if clock::now() > give_up {
                Some(format!("it did not begin within {UNTIL_BEGUN}"))
            } else {
                self.how_ended()
            };
            if let Some(words) = said {
                return Err(StartError::Ended { load: self.part.to_string(), words });
            }
            // A signal that ends the pause only makes the look come earlier.
            drop(clock::sleep_for(POLL_INTERVAL));
        }
        Ok(())
    }

    /// Whether something was done, where that can be seen.
    fn works(&self) -> bool {
        let can_be_seen = !self.part.kind.is_from_outside();
        self.scoreboard.began().is_some() && (!can_be_seen || self.scoreboard.operations() > 0)
    }

    /// What it applies.
    pub(crate) const fn part(&self) -> &LoadPart {
        &self.part
    }

    /// How it ended, in words; `None` while it runs.
    pub(crate) fn how_ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let said = self.stderr.as_mut().and_then(StderrTail::last);
        Some(match (status.success(), said) {
            (true, _) => "it was done".to_owned(),
            (false, Some(said)) => said,
            (false, None) => format!("its helper process ended with {status}"),
        })
    }

    /// How long it took to do all that it had to do; `None` while it runs, or when it failed.
    pub(crate) fn took(&mut self) -> Option<Span> {
        let status = self.child.try_wait().ok()??;
        self.scoreboard.took().filter(|_| status.success())
    }

    /// The nice value its workers run at, where that is not 0 as it should be.
    pub(crate) fn unwanted_nice(&self) -> Option<Nice> {
        match sched::policy(self.child.id()) {
            Ok(Policy::Other { nice: Some(nice) }) if nice.get() != 0 => Some(nice),
            _ => None,
        }
    }

    /// What it has done so far.
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
        // While a process ends, its time is seen neither with it nor with its parent.
        self.cpu = self.cpu.max(cpu_time(&self.part.kind, self.child.id())).max(self.scoreboard.cpu_time());
        self.cpu
    }

    /// What it has done so far, in operations where they are counted, else in CPU time; only differences mean something.
    fn progress(&mut self) -> u64 {
        match self.part.kind.is_from_outside() {
            true => self.cpu_time().map_or(0, Span::as_nanos),
            false => self.scoreboard.operations(),
        }
    }

    /// Takes in how much it has done since the last look; returns whether it has come to its pace.
    pub(crate) fn is_steady(&mut self) -> bool {
        let progress = self.progress();
        self.steadiness.observe(progress);
        // What cannot be asked, or gives way to all else, may never count anything.
        let may_not_count = self.part.kind.is_from_outside() || matches!(self.part.kind, LoadKind::Awake);
        self.steadiness.is_steady() && (may_not_count || self.scoreboard.all_have_counted())
    }

    /// Ends it, and waits until nothing of it is left.
    fn end(&mut self) -> io::Result<()> {
        drop(self.child.stdin.take());
        let give_up = clock::now().plus(UNTIL_ENDED);
        while self.child.try_wait()?.is_none() {
            if clock::now() > give_up {
                return self.kill();
            }
            drop(clock::sleep_for(POLL_INTERVAL));
        }
        // Had it been killed, its workers were, too; what it started from outside is in its group.
        drop(self.kill());
        Ok(())
    }

    fn kill(&self) -> io::Result<()> {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        group.map_or(Ok(()), |group| Ok(kill_process_group(group, Signal::KILL)?))
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // What cannot be ended is waiting for a device, and ends with that.
        drop(self.end());
    }
}
