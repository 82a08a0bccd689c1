//! `awake`: on each CPU one process that never sleeps and gives way to every other.
//!
//! The CPU never idles, and nothing else has to wait: what a wake-up saves under this load is what
//! leaving the idle state costs it.

use std::io;

use howlate_linux::sched;
use howlate_model::Policy;

use crate::cpu::spin;
use crate::workers::{Worker, Workers};

pub(crate) fn start(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    (0..count).try_for_each(|number| workers.add(number, workers.cpu(number), give_way))
}

fn give_way(worker: Worker<'_>) -> io::Result<()> {
    sched::set_policy(sched::THIS_THREAD, Policy::Idle)?;
    spin(worker)
}
