//! `machine_stopped`: the host stops the whole guest, while now a thread has its CPU, now nobody.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, MonotonicInterval, STOP_PORT, Span};
use howlate_procfs::{Root, virtio_port};

use super::competitor::surely_within;
use super::expected::known;
use super::request::{InjectorReport, Order};
use super::work::{Work, reason, sleep_until};

/// For how long.
const LASTS: Span = Span::from_millis(30);
/// What lies between the end of one and the beginning of the next, at least: by another length each time, up to as much again.
const APART: u64 = 8_000_000;
/// How often the thread takes the CPU, and for how long.
const EVERY: Span = Span::from_millis(4);
const TAKES: Span = Span::from_millis(2);

/// Asks the host, on another CPU if there is one.
pub(crate) fn prepare(order: &Order) -> io::Result<Work> {
    let port = virtio_port(&Root::live(), STOP_PORT).ok_or_else(|| {
        io::Error::other("it takes a host that stops the machine: `howlate guest … -- selfcheck` has one")
    })?;
    let port = File::options().read(true).write(true).open(&port);
    let port = port.map_err(|error| reason("the host cannot be asked to stop the machine", &error))?;
    let others = sched::affinity()?.without(&CpuSet::from_iter([order.cpu]));
    if !others.is_empty() {
        sched::bind(&others)?;
    }
    let mut known = known(order);
    Ok(Box::new(move |stretch| {
        sleep_until(stretch.start);
        let mut answers = BufReader::new(port.try_clone()?);
        for number in 0_u64.. {
            sleep_until(clock::now().plus(Span::from_nanos(APART + number * 1_791_919 % APART)));
            let from = clock::now();
            if from.plus(LASTS) >= stretch.end {
                break;
            }
            let lasted = ask(&port, &mut answers)?;
            known.stamps.extend(surely_within(MonotonicInterval { from, until: clock::now() }, lasted));
        }
        Ok(InjectorReport { known: Some(known), ..InjectorReport::default() })
    }))
}

/// How long the machine was stopped, as the host says.
fn ask(mut port: &File, answers: &mut impl BufRead) -> io::Result<Span> {
    port.write_all(format!("{}\n", LASTS.as_nanos()).as_bytes())?;
    let mut answer = String::new();
    answers.read_line(&mut answer)?;
    answer.trim().parse().map(Span::from_nanos).map_err(io::Error::other)
}

/// Has the CPU half of the time. It is no cause of its own.
pub(crate) fn prepare_thread() -> Work {
    Box::new(move |stretch| {
        for time in stretch.grid(EVERY, EVERY) {
            sleep_until(time);
            while clock::now() < time.plus(TAKES) {}
        }
        Ok(InjectorReport::default())
    })
}
