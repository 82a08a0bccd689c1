//! Threads that compete for the CPUs, independent of howlate.

use std::io::{self, Seek as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, Policy, Priority, Span};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

use super::control_group::ReclaimedProcess;

/// Threads that alternately work and sleep, until dropped.
pub struct Rivals {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    reclaimed: Option<ReclaimedProcess>,
}

#[derive(Clone, Copy, Default)]
pub struct RivalOptions {
    /// `SCHED_FIFO` priority; `None`: normal threads.
    pub priority: Option<u32>,
    /// The CPU to bind to; `None`: any.
    pub cpu: Option<u32>,
    /// Whether they never sleep.
    pub awake: bool,
    /// Whether they write to a disk and wait for it instead of computing.
    pub syncs: bool,
}

impl Rivals {
    /// Normal ones, on any CPU.
    pub fn ordinary(names: &[&str]) -> Self {
        Self::start(names, RivalOptions::default())
    }

    /// With a higher priority than the measured real-time threads.
    pub fn real_time(names: &[&str]) -> Self {
        Self::start(names, RivalOptions { priority: Some(70), ..RivalOptions::default() })
    }

    /// Threads that write to a disk and wait for it.
    pub fn syncing(names: &[&str]) -> Self {
        Self::start(names, RivalOptions { syncs: true, ..RivalOptions::default() })
    }

    /// A process whose control group is short of memory.
    pub fn reclaimed() -> Self {
        let reclaimed =
            ReclaimedProcess::start().inspect_err(|error| eprintln!("not tried here: {error}")).ok();
        Self { ended: Arc::default(), threads: Vec::new(), reclaimed }
    }

    pub fn start(names: &[&str], options: RivalOptions) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let thread = |(number, name): (usize, &&str)| {
            let ended = Arc::clone(&ended);
            let work = Span::from_micros(200 + 130 * (number as u64 % 5));
            let named = Builder::new().name((*name).to_owned());
            named.spawn(move || contend(&ended, options, work)).ok()
        };
        let threads = names.iter().enumerate().filter_map(thread).collect();
        Self { ended, threads, reclaimed: None }
    }
}

fn contend(ended: &AtomicBool, options: RivalOptions, work: Span) {
    // Without the privilege it competes as a normal thread.
    if let Some(priority) = options.priority.and_then(Priority::new) {
        drop(sched::set_policy(sched::THIS_THREAD, Policy::Fifo { priority }));
    }
    if let Some(cpu) = options.cpu {
        drop(sched::bind(&CpuSet::from_iter([cpu])));
    }
    if options.syncs {
        drop(sync(ended));
        return;
    }
    while !ended.load(Ordering::Relaxed) {
        let done = clock::now().plus(work);
        while clock::now() < done {
            std::hint::spin_loop();
        }
        let again = done.plus(work);
        while !options.awake
            && clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(again)).is_err()
        {}
    }
}

/// Writes to a file in the current folder, which is on the project's disk.
fn sync(ended: &AtomicBool) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(".")?;
    while !ended.load(Ordering::Relaxed) {
        file.rewind()?;
        file.write_all(&[1; 256 * 1024])?;
        file.sync_all()?;
    }
    Ok(())
}

impl Drop for Rivals {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.reclaimed = None;
        for thread in self.threads.drain(..) {
            // A panic was printed already.
            drop(thread.join());
        }
    }
}
