//! The tracer without privilege: context switches of each thread, and its schedstat, which the thread reads itself after each
//! wake-up.
//!
//! It sees neither timers nor the occupants of a CPU. Switches come from `perf_event_open(2)`, with one event and ring per thread,
//! waits from `/proc/thread-self/schedstat`.

mod follow;
mod record;
mod schedstat;

use std::io;

use howlate_linux::clock;
use howlate_linux::perf::SwitchRecords;
use howlate_model::{Span, TracedSleep, TracerRefusal, WakeupHookFactory};
use howlate_procfs::Root;

use crate::steal::StealCounter;
use crate::{Tier, Tracer};
use follow::SwitchFollower;
use schedstat::SchedstatReadings;

/// Bytes of a thread's ring: 8192 switches. Unprivileged users may lock little memory, 9 MiB on most machines with two CPUs: only the
/// first threads get as much, and it may be reduced.
const RING: usize = 256 * 1024;
const LARGE_RINGS: usize = 8;
/// Ring of any other thread: 512 switches, enough for 2 kHz.
const SMALL_RING: usize = 16 * 1024;
const SMALLEST_RING: usize = 4 * 1024;
/// From this many threads on, rings of ended threads are freed.
const MIN_CLEANUP: usize = 64;

/// The followed threads.
pub(crate) struct Switches {
    threads: Vec<ThreadSwitches>,
    schedstats: SchedstatReadings,
    steal: StealCounter,
    stopped: bool,
}

struct ThreadSwitches {
    records: SwitchRecords,
    follower: SwitchFollower,
}

impl Switches {
    /// Checks that switches can be recorded at all.
    pub(crate) fn open() -> Result<Self, TracerRefusal> {
        records_of(howlate_linux::thread::id(), SMALLEST_RING)?;
        let steal = StealCounter::new(Root::live());
        Ok(Self { threads: Vec::new(), schedstats: SchedstatReadings::new(), steal, stopped: false })
    }
}

impl Tracer for Switches {
    fn tier(&self) -> Tier {
        Tier::Switches
    }

    /// Forgets the threads that were followed before.
    fn start(&mut self) -> Result<(), TracerRefusal> {
        self.threads.clear();
        self.schedstats.clear();
        self.steal.read(clock::now());
        self.stopped = false;
        Ok(())
    }

    fn follow(&mut self, tid: u32, slack: Span) -> Result<(), TracerRefusal> {
        if self.threads.len() >= MIN_CLEANUP {
            self.threads.retain(|thread| is_alive(thread.follower.tid));
        }
        let ring = if self.threads.len() < LARGE_RINGS { RING } else { SMALL_RING };
        let records = records_of(tid, ring)?;
        self.threads.push(ThreadSwitches { records, follower: SwitchFollower::new(tid, slack) });
        Ok(())
    }

    fn after_each(&self) -> Option<WakeupHookFactory> {
        Some(self.schedstats.reader())
    }

    fn read(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> u64 {
        let mut records = Vec::new();
        let mut switches_of_threads = Vec::new();
        for thread in &mut self.threads {
            thread.records.read(|bytes| records.extend(record::parse(bytes)));
            switches_of_threads.push(std::mem::take(&mut records));
        }
        // After the switches: a thread reads its schedstat before it sleeps again.
        for (tid, reading) in self.schedstats.take() {
            let follower = self.threads.iter_mut().find(|thread| thread.follower.tid == tid);
            follower.into_iter().for_each(|thread| thread.follower.add_reading(reading));
        }
        self.steal.read(clock::now());
        let steal = &self.steal;
        let mut pass_on = |mut sleep: TracedSleep| {
            steal.annotate(&mut sleep);
            seen(sleep);
        };
        let mut lost = 0;
        for (thread, records) in self.threads.iter_mut().zip(switches_of_threads) {
            lost += records
                .into_iter()
                .map(|switch| thread.follower.add_switch(switch, &mut pass_on))
                .sum::<u64>();
            if self.stopped {
                thread.follower.end(&mut pass_on);
            }
        }
        lost
    }

    fn stop(&mut self) {
        // A thread that has ended is not followed anyway.
        self.threads.iter().for_each(|thread| drop(thread.records.stop()));
        self.stopped = true;
    }
}

fn is_alive(tid: u32) -> bool {
    Root::live().read(&format!("/proc/{tid}/comm")).is_ok()
}

/// Switches of a thread, in the largest ring up to `ring` that this user may still lock.
fn records_of(tid: u32, mut ring: usize) -> Result<SwitchRecords, TracerRefusal> {
    loop {
        match SwitchRecords::of_thread(tid, ring) {
            Ok(records) => return Ok(records),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && ring > SMALLEST_RING => {
                ring /= 2
            }
            Err(error) => return Err(refusal(&error)),
        }
    }
}

fn refusal(error: &io::Error) -> TracerRefusal {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return TracerRefusal::Kernel { doing: "record switches".to_owned(), reason: error.to_string() };
    }
    /// From this level on, some distributions forbid it without a capability.
    const FORBIDDEN: i32 = 3;
    let level = Root::live().reading("/proc/sys/kernel/perf_event_paranoid").number();
    match level {
        Some(level) if level >= FORBIDDEN => TracerRefusal::Paranoid { level },
        _ => TracerRefusal::NoSwitches,
    }
}
