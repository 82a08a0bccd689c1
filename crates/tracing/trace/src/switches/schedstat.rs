//! Readings of schedstat, which each thread takes itself.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use howlate_linux::{clock, thread};
use howlate_model::{MonotonicTime, Span, Wakeup, WakeupHookFactory};
use howlate_procfs::{OwnSchedstat, Root};

/// Readings that fit until they are taken: 200 threads at 1 kHz for a third of a second, or a few for much longer.
const CAPACITY: usize = 65_536;

/// Time a thread has waited for CPUs since its start, read between `from` and `until` after a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SchedstatReading {
    pub(super) from: MonotonicTime,
    pub(super) until: MonotonicTime,
    pub(super) waited: Span,
}

/// The readings of all threads. One that does not fit is dropped: the wait of its wake-up is then unknown.
pub(super) struct SchedstatReadings {
    sender: SyncSender<(u32, SchedstatReading)>,
    readings: Receiver<(u32, SchedstatReading)>,
}

impl SchedstatReadings {
    pub(super) fn new() -> Self {
        let (sender, readings) = sync_channel(CAPACITY);
        Self { sender, readings }
    }

    /// What each thread has to do after its wake-ups.
    pub(super) fn reader(&self) -> WakeupHookFactory {
        let sender = self.sender.clone();
        WakeupHookFactory::new(move || {
            let (sender, tid, own_schedstat) =
                (sender.clone(), thread::id(), OwnSchedstat::open(&Root::live()));
            Box::new(move |wakeup: Wakeup| {
                let waited = own_schedstat.as_ref().and_then(OwnSchedstat::waited);
                if let Some(waited) = waited {
                    let reading = SchedstatReading { from: wakeup.ran, until: clock::now(), waited };
                    // Dropped if the channel is full.
                    let _ = sender.try_send((tid, reading));
                }
            })
        })
    }

    /// Readings since the last call, in order per thread.
    pub(super) fn take(&self) -> impl Iterator<Item = (u32, SchedstatReading)> {
        self.readings.try_iter()
    }

    pub(super) fn clear(&self) {
        self.take().for_each(drop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_reads_its_own_schedstat() {
        let schedstats = SchedstatReadings::new();
        let reader = schedstats.reader();
        let wakeup = Wakeup { expected: clock::now(), ran: clock::now() };
        let tid = std::thread::spawn(move || {
            let mut after_wakeup = reader.create();
            after_wakeup(wakeup);
            after_wakeup(wakeup);
            thread::id()
        });
        let tid = tid.join().unwrap();
        let taken: Vec<_> = schedstats.take().collect();
        if taken.is_empty() {
            return howlate_testing::skip("this kernel keeps no account of waiting");
        }
        assert!(taken.iter().all(|(reader, reading)| *reader == tid
            && reading.from == wakeup.ran
            && reading.until > reading.from));
        assert!(taken[0].1.waited <= taken[1].1.waited);
    }
}
