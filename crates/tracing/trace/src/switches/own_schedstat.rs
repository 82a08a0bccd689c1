//! What threads read of their own waiting.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use howlate_linux::{clock, thread};
use howlate_model::{MonotonicTime, Span, Wakeup, WakeupHookFactory};
use howlate_procfs::{OwnSchedstat, Root};

/// Readings that fit until they are taken: 200 threads at 1 kHz for a third of a second, or a few for much longer.
const KEPT: usize = 65_536;

/// How long a thread has waited for CPUs since it began, read between `from` and `until`, after a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) from: MonotonicTime,
    pub(super) until: MonotonicTime,
    pub(super) waited: Span,
}

/// The readings of all threads. One that does not fit is missing, and its wake-up's wait is not known.
pub(super) struct Accounts {
    sender: SyncSender<(u32, Account)>,
    readings: Receiver<(u32, Account)>,
}

impl Accounts {
    pub(super) fn new() -> Self {
        let (sender, readings) = sync_channel(KEPT);
        Self { sender, readings }
    }

    /// What each thread is to do after its wake-ups.
    pub(super) fn reader(&self) -> WakeupHookFactory {
        let sender = self.sender.clone();
        WakeupHookFactory::new(move || {
            let (sender, tid, own) = (sender.clone(), thread::id(), OwnSchedstat::open(&Root::live()));
            Box::new(move |wakeup: Wakeup| {
                let waited = own.as_ref().and_then(OwnSchedstat::waited);
                if let Some(waited) = waited {
                    let reading = Account { from: wakeup.ran, until: clock::now(), waited };
                    // Full: missing.
                    let _ = sender.try_send((tid, reading));
                }
            })
        })
    }

    /// The readings since the last call, each thread's in their order.
    pub(super) fn take(&self) -> impl Iterator<Item = (u32, Account)> {
        self.readings.try_iter()
    }

    pub(super) fn forget(&self) {
        self.take().for_each(drop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_reads_its_own_account() {
        let accounts = Accounts::new();
        let reader = accounts.reader();
        let wakeup = Wakeup { expected: clock::now(), ran: clock::now() };
        let tid = std::thread::spawn(move || {
            let mut noted = reader.create();
            noted(wakeup);
            noted(wakeup);
            thread::id()
        });
        let tid = tid.join().unwrap();
        let taken: Vec<_> = accounts.take().collect();
        if taken.is_empty() {
            return howlate_testing::skip("this kernel keeps no account of waiting");
        }
        assert!(taken.iter().all(|(of, one)| *of == tid && one.from == wakeup.ran && one.until > one.from));
        assert!(taken[0].1.waited <= taken[1].1.waited);
    }
}
