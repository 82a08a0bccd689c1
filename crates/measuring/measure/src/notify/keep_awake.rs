//! Keeps the receiver's CPU from idling.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use howlate_linux::{sched, signal};
use howlate_model::{CpuSet, Policy};

/// A `SCHED_IDLE` thread that spins on one CPU until dropped. Any other thread preempts
/// it at once.
pub(crate) struct CpuKeepAwake {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CpuKeepAwake {
    pub(crate) fn start(cpu: u32) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let thread_stop = Arc::clone(&stop);
        let thread = Builder::new().name("howlate-awake".into()).spawn(move || {
            signal::block_all_but_wake_up();
            let ready = sched::bind(&CpuSet::from_iter([cpu]))
                .and_then(|()| sched::set_policy(sched::THIS_THREAD, Policy::Idle));
            while ready.is_ok() && !thread_stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for CpuKeepAwake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
