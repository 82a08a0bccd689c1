//! `stopped`: stops the measured process and lets it go on.

use std::io;

use howlate_linux::clock;
use howlate_linux::sched;
use howlate_model::{CpuSet, Span, Stamp};
use rustix::process::{Pid, Signal, kill_process};

use super::expected::known;
use super::request::{InjectorReport, Order};
use super::work::{Work, sleep_until};

/// How often: ten periods of the measured thread.
const EVERY: Span = Span::from_millis(10);
/// Half a period after a wake-up, for two periods.
const AFTER: Span = Span::from_micros(10_500);
const LASTS: Span = Span::from_millis(2);

pub(crate) fn prepare(order: &Order) -> io::Result<Work> {
    let process = order.measured.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    let process = process.ok_or(io::ErrorKind::InvalidInput)?;
    // On another CPU, if there is one, so that it does not make anybody late itself.
    let others = sched::affinity()?.without(&CpuSet::from_iter([order.cpu]));
    if !others.is_empty() {
        sched::bind(&others)?;
    }
    let mut known = known(order);
    Ok(Box::new(move |stretch| {
        for time in stretch.grid(EVERY, AFTER) {
            sleep_until(time);
            kill_process(process, Signal::STOP)?;
            let from = clock::now();
            sleep_until(from.plus(LASTS));
            let until = clock::now();
            kill_process(process, Signal::CONT)?;
            known.stamps.push(Stamp { from, until });
        }
        Ok(InjectorReport { known: Some(known), ..InjectorReport::default() })
    }))
}
