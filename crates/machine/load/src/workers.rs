//! The worker processes of one part of a load.

use std::io::{self, Write as _};

use howlate_linux::{clock, process, sched};
use howlate_model::CpuSet;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait, waitpid};

use crate::duty_cycle::DutyCycle;
use crate::scoreboard::{OperationCounter, Scoreboard};

pub(crate) struct Worker<'a> {
    /// Counts its operations.
    pub(crate) counter: OperationCounter<'a>,
    pub(crate) duty_cycle: DutyCycle<'a>,
}

impl<'a> Worker<'a> {
    fn new(scoreboard: &'a Scoreboard, number: usize) -> Self {
        Self { counter: scoreboard.counter(number), duty_cycle: DutyCycle::new(scoreboard) }
    }
}

/// Running workers; killed on drop.
pub(crate) struct Workers<'a> {
    scoreboard: &'a Scoreboard,
    cpus: &'a CpuSet,
    running: Vec<Pid>,
}

impl<'a> Workers<'a> {
    pub(crate) const fn new(scoreboard: &'a Scoreboard, cpus: &'a CpuSet) -> Self {
        Self { scoreboard, cpus, running: Vec::new() }
    }

    /// The CPU for worker `number` where workers are bound, round robin.
    pub(crate) fn cpu(&self, number: usize) -> Option<u32> {
        self.cpus.iter().nth(number % self.cpus.len().max(1))
    }

    /// Adds a worker with counter `number`, bound to `cpu`; `None`: any CPU of the load.
    pub(crate) fn add(
        &mut self,
        number: usize,
        cpu: Option<u32>,
        work: impl FnOnce(Worker<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let scoreboard = self.scoreboard;
        let run = || {
            bind(cpu)?;
            scoreboard.wait_for_start()?;
            work(Worker::new(scoreboard, number))?;
            scoreboard.end(clock::now());
            Ok(())
        };
        let child = process::fork(|| exit_status(run())).map_err(cannot_fork)?;
        self.running.extend(i32::try_from(child).ok().and_then(Pid::from_raw));
        Ok(())
    }

    /// Adds one process with a thread for each of `count` counters.
    pub(crate) fn add_threads(
        &mut self,
        count: usize,
        work: fn(Worker<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let scoreboard = self.scoreboard;
        let thread_cpus: Vec<Option<u32>> = (0..count).map(|number| self.cpu(number)).collect();
        let thread = move |number: usize| {
            bind(thread_cpus[number])?;
            work(Worker::new(scoreboard, number))
        };
        self.add(0, None, move |_| {
            std::thread::scope(|threads| {
                let handles: Vec<_> = (0..count)
                    .map(|number| {
                        threads.spawn({
                            let thread = &thread;
                            move || thread(number)
                        })
                    })
                    .collect();
                handles
                    .into_iter()
                    .try_for_each(|handle| handle.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
            })
        })
    }

    pub(crate) const fn cpus(&self) -> &CpuSet {
        self.cpus
    }

    /// Whether all workers are done.
    ///
    /// # Errors
    ///
    /// When a worker failed, after it has printed its error, or was killed.
    pub(crate) fn are_done(&mut self) -> io::Result<bool> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            self.running.retain(|running| *running != pid);
            if status.exit_status() != Some(0) {
                return Err(io::Error::other(describe_status(status)));
            }
        }
        Ok(self.running.is_empty())
    }
}

pub(crate) fn cannot_fork(error: io::Error) -> io::Error {
    let text = format!("cannot start another process ({error}); see `ulimit -u` and the cgroup's pids.max");
    io::Error::new(error.kind(), text)
}

fn bind(cpu: Option<u32>) -> io::Result<()> {
    cpu.map_or(Ok(()), |cpu| sched::bind(&std::iter::once(cpu).collect()))
}

fn exit_status(result: io::Result<()>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            // The parent shows the last line of this process's standard error.
            drop(writeln!(io::stderr(), "{error}"));
            1
        }
    }
}

fn describe_status(status: WaitStatus) -> String {
    match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("a worker was killed by signal {signal}"),
        (None, Some(status)) => format!("a worker ended with status {status}"),
        _ => "a worker ended".to_owned(),
    }
}

impl Drop for Workers<'_> {
    /// Where a filter of system calls refuses `kill(2)`, this does not wait: workers end with this process as well.
    fn drop(&mut self) {
        self.running.retain(|pid| kill_process(*pid, Signal::KILL).is_ok());
        for pid in &self.running {
            let _ = waitpid(Some(*pid), WaitOptions::empty());
        }
    }
}
