//! `stopped`: stops the measured process and lets it continue.

use std::io;

use howlate_linux::clock;
use howlate_linux::sched;
use howlate_model::{CpuSet, MonotonicInterval, MonotonicTime, Span};
use howlate_procfs::{ProcessStat, Root};
use rustix::process::{Pid, Signal, kill_process};

use super::task::{HelperTask, InjectorReport, PreparedTask, sleep_until};

/// Ten periods of the measured thread.
const EVERY: Span = Span::from_millis(10);
/// Half a period after a wake-up, for two periods.
const AFTER: Span = Span::from_micros(10_500);
const LASTS: Span = Span::from_millis(2);
/// How often the state of the process is read.
const LOOK_EVERY: Span = Span::from_micros(20);

pub(crate) fn prepare(task: &HelperTask) -> io::Result<PreparedTask> {
    let process = task.measured.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    let process = process.ok_or(io::ErrorKind::InvalidInput)?;
    // On another CPU, if there is one, so that this thread does not delay the measured one.
    let other_cpus = sched::affinity()?.without(&CpuSet::from_iter([task.cpu]));
    if !other_cpus.is_empty() {
        sched::bind(&other_cpus)?;
    }
    let mut cause = task.cause();
    Ok(Box::new(move |window| {
        for time in window.grid(EVERY, AFTER) {
            sleep_until(time);
            kill_process(process, Signal::STOP)?;
            let continue_at = clock::now().plus(LASTS);
            let from = when_stopped(process, continue_at);
            sleep_until(continue_at);
            let until = clock::now();
            kill_process(process, Signal::CONT)?;
            cause.stamps.extend(from.map(|from| MonotonicInterval { from, until }));
        }
        Ok(InjectorReport { cause: Some(cause), ..InjectorReport::default() })
    }))
}

/// When a process is seen stopped; `None` if it was not until `give_up`. A process needs a CPU to act on a signal: one that waits for a CPU is not
/// stopped yet.
fn when_stopped(process: Pid, give_up: MonotonicTime) -> Option<MonotonicTime> {
    let root = Root::live();
    loop {
        let is_stopped = ProcessStat::read(&root, process).is_some_and(|stat| stat.is_stopped());
        let now = clock::now();
        if is_stopped || now >= give_up {
            return is_stopped.then_some(now);
        }
        sleep_until(now.plus(LOOK_EVERY));
    }
}

#[cfg(test)]
mod tests {
    use howlate_testing::SleepProcess;

    use super::*;

    #[test]
    fn a_process_is_stopped_once_it_has_taken_the_signal() {
        let sleeps = SleepProcess::new();
        let process = Pid::from_child(&sleeps.0);
        assert_eq!(when_stopped(process, clock::now().plus(LASTS)), None, "nobody has stopped it");
        kill_process(process, Signal::STOP).unwrap();
        let (sent, patience) = (clock::now(), Span::from_secs(10));
        let stopped = when_stopped(process, sent.plus(patience));
        assert!(stopped.is_some_and(|stopped| stopped >= sent), "{stopped:?}");
    }
}
