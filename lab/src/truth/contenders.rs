//! Threads that contend for the CPUs, of which howlate knows nothing.

use std::io::{self, Seek as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, Policy, Priority, Span};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

use super::memory_group::Squeezed;

/// Threads that work and sleep in turn until they are dropped.
pub struct Rivals {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    squeezed: Option<Squeezed>,
}

/// How they contend.
#[derive(Clone, Copy, Default)]
pub struct Manner {
    /// Their real-time priority, `fifo`; ordinary where there is none.
    pub priority: Option<u32>,
    /// The only CPU that they may have.
    pub cpu: Option<u32>,
    /// Whether they never sleep.
    pub awake: bool,
    /// Whether they write to a disk and wait for it, instead of computing.
    pub syncs: bool,
}

impl Rivals {
    /// Ordinary ones, on any CPU.
    pub fn ordinary(names: &[&str]) -> Self {
        Self::start(names, Manner::default())
    }

    /// Of a priority above that of the usual real-time thread.
    pub fn real_time(names: &[&str]) -> Self {
        Self::start(names, Manner { priority: Some(70), ..Manner::default() })
    }

    /// Threads that write to a disk and wait for it.
    pub fn syncing(names: &[&str]) -> Self {
        Self::start(names, Manner { syncs: true, ..Manner::default() })
    }

    /// Beside a process of a control group that is short of memory.
    pub fn squeezed() -> Self {
        let squeezed = Squeezed::start().inspect_err(|error| eprintln!("not tried here: {error}")).ok();
        Self { ended: Arc::default(), threads: Vec::new(), squeezed }
    }

    pub fn start(names: &[&str], manner: Manner) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let thread = |(number, name): (usize, &&str)| {
            let ended = Arc::clone(&ended);
            let work = Span::from_micros(200 + 130 * (number as u64 % 5));
            let named = Builder::new().name((*name).to_owned());
            named.spawn(move || contend(&ended, manner, work)).ok()
        };
        let threads = names.iter().enumerate().filter_map(thread).collect();
        Self { ended, threads, squeezed: None }
    }
}

fn contend(ended: &AtomicBool, manner: Manner, work: Span) {
    // Where it may not, it contends as it is.
    if let Some(priority) = manner.priority.and_then(Priority::new) {
        drop(sched::set_policy(sched::THIS_THREAD, Policy::Fifo { priority }));
    }
    if let Some(cpu) = manner.cpu {
        drop(sched::bind(&CpuSet::from_iter([cpu])));
    }
    if manner.syncs {
        drop(sync(ended));
        return;
    }
    while !ended.load(Ordering::Relaxed) {
        let done = clock::now().plus(work);
        while clock::now() < done {
            std::hint::spin_loop();
        }
        let again = done.plus(work);
        while !manner.awake
            && clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(again)).is_err()
        {}
    }
}

/// Writes to a file of the current folder, which is on a disk where the project is.
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
        self.squeezed = None;
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            drop(thread.join());
        }
    }
}
