//! `machine_stopped`: the host stops the whole guest, at times with a thread on its CPU, at times idle.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, MonotonicInterval, STOP_PORT, Span};
use howlate_procfs::{Root, virtio_port};

use super::busy_thread::surely_within;
use super::task::{HelperTask, InjectorReport, PreparedTask, sleep_until, with_reason};

/// Duration of a stop.
const LASTS: Span = Span::from_millis(30);
/// Shortest time between two stops in nanoseconds; it varies up to twice that.
const APART: u64 = 8_000_000;
/// How often the busy thread runs, and for how long.
const EVERY: Span = Span::from_millis(4);
const RUNS_FOR: Span = Span::from_millis(2);

/// Requests the stops, on another CPU if there is one.
pub(crate) fn prepare(task: &HelperTask) -> io::Result<PreparedTask> {
    let port = virtio_port(&Root::live(), STOP_PORT).ok_or_else(|| {
        io::Error::other("it takes a host that stops the machine: `howlate guest … -- selfcheck` has one")
    })?;
    let port = File::options().read(true).write(true).open(&port);
    let port = port.map_err(|error| with_reason("the host cannot be asked to stop the machine", &error))?;
    let other_cpus = sched::affinity()?.without(&CpuSet::from_iter([task.cpu]));
    if !other_cpus.is_empty() {
        sched::bind(&other_cpus)?;
    }
    let mut cause = task.cause();
    Ok(Box::new(move |window| {
        sleep_until(window.start);
        let mut answers = BufReader::new(port.try_clone()?);
        for number in 0_u64.. {
            sleep_until(clock::now().plus(Span::from_nanos(APART + number * 1_791_919 % APART)));
            let from = clock::now();
            if from.plus(LASTS) >= window.end {
                break;
            }
            let lasted = stop_machine(&port, &mut answers)?;
            cause.stamps.extend(surely_within(MonotonicInterval { from, until: clock::now() }, lasted));
        }
        Ok(InjectorReport { cause: Some(cause), ..InjectorReport::default() })
    }))
}

/// Requests a stop; returns its duration as measured by the host.
fn stop_machine(mut port: &File, answers: &mut impl BufRead) -> io::Result<Span> {
    port.write_all(format!("{}\n", LASTS.as_nanos()).as_bytes())?;
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
    answer.trim().parse().map(Span::from_nanos).map_err(io::Error::other)
}

/// A thread that is busy half of the time. It is no cause of its own.
pub(crate) fn prepare_thread() -> PreparedTask {
    Box::new(move |window| {
        for time in window.grid(EVERY, EVERY) {
            sleep_until(time);
            while clock::now() < time.plus(RUNS_FOR) {}
        }
        Ok(InjectorReport::default())
    })
}
