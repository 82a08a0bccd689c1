//! `memory`: threads of one process, one per CPU, each of which maps 8 MiB, writes to every page (page
//! faults), copies one half to the other (bandwidth) and unmaps it: the kernel interrupts the other
//! CPUs, so that they drop the mapping (TLB shoot-down).

use std::io;

use howlate_linux::memory::Pages;

use crate::workers::{Worker, Workers};

/// Bytes that each thread maps at a time.
const SIZE: usize = 8 << 20;
/// The page size of nearly every machine, in bytes.
const PAGE: usize = 4096;
/// Pages per counter update, so that the progress of a starved thread is visible.
const BATCH: usize = 64;

pub(crate) fn start(workers: &mut Workers<'_>, count: usize) -> io::Result<()> {
    workers.add_threads(count, fault)
}

fn fault(mut worker: Worker<'_>) -> io::Result<()> {
    loop {
        let mut pages = Pages::map(SIZE)?;
        let bytes = pages.bytes();
        for pages in bytes.chunks_mut(BATCH * PAGE) {
            for page in pages.chunks_mut(PAGE) {
                page[0] = 1;
            }
            worker.counter.add(BATCH as u64);
        }
        let (from, to) = bytes.split_at_mut(SIZE / 2);
        to.copy_from_slice(std::hint::black_box(from));
        drop(pages);
        worker.duty_cycle.throttle()?;
    }
}
