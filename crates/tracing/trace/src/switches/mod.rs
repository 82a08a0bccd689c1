//! Without privilege: the kernel's records of a thread's switches, and the account of its waiting that the thread reads
//! itself after each wake-up.
//!
//! Neither the timer nor who had the CPU is seen. The switches are `perf_event_open(2)`'s, one event and ring per thread;
//! the account is `/proc/thread-self/schedstat`.

mod follow;
mod own_schedstat;
mod record;

use std::io;

use howlate_linux::clock;
use howlate_linux::perf::SwitchRecords;
use howlate_model::{Span, TracedSleep, TracerRefusal, WakeupHookFactory};
use howlate_procfs::Root;

use crate::steal::Steal;
use crate::{Tier, Tracer};
use follow::Follower;
use own_schedstat::Accounts;

/// Bytes of a thread's ring: 8192 switches. Unprivileged users may lock little memory, 9 MiB on most machines with two
/// CPUs, so that only the first threads have as much, and it may become less.
const RING: usize = 256 * 1024;
const LARGE_ONES: usize = 8;
/// That of any other thread: 512 switches, enough for 2 kHz.
const SMALL_RING: usize = 16 * 1024;
const SMALLEST_RING: usize = 4 * 1024;
/// From so many on, rings of threads that have ended are given back.
const MANY: usize = 64;

/// The threads that are followed.
pub(crate) struct Switches {
    threads: Vec<Watched>,
    accounts: Accounts,
    steal: Steal,
    stopped: bool,
}

struct Watched {
    records: SwitchRecords,
    follower: Follower,
}

impl Switches {
    /// Makes sure that switches can be recorded at all.
    pub(crate) fn open() -> Result<Self, TracerRefusal> {
        records_of(howlate_linux::thread::id(), SMALLEST_RING)?;
        let steal = Steal::new(Root::live());
        Ok(Self { threads: Vec::new(), accounts: Accounts::new(), steal, stopped: false })
    }
}

impl Tracer for Switches {
    fn tier(&self) -> Tier {
        Tier::Switches
    }

    /// Forgets the threads that were followed before.
    fn start(&mut self) -> Result<(), TracerRefusal> {
        self.threads.clear();
        self.accounts.forget();
        self.steal.look(clock::now());
        self.stopped = false;
        Ok(())
    }

    fn follow(&mut self, tid: u32, slack: Span) -> Result<(), TracerRefusal> {
        if self.threads.len() >= MANY {
            self.threads.retain(|one| is_there(one.follower.tid));
        }
        let ring = if self.threads.len() < LARGE_ONES { RING } else { SMALL_RING };
        let records = records_of(tid, ring)?;
        self.threads.push(Watched { records, follower: Follower::new(tid, slack) });
        Ok(())
    }

    fn after_each(&self) -> Option<WakeupHookFactory> {
        Some(self.accounts.reader())
    }

    fn read(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> u64 {
        let mut records = Vec::new();
        let mut taken = Vec::new();
        for thread in &mut self.threads {
            thread.records.read(|bytes| records.extend(record::parse(bytes)));
            taken.push(std::mem::take(&mut records));
        }
        // After the switches: a thread reads its account before it sleeps again.
        for (tid, reading) in self.accounts.take() {
            let follower = self.threads.iter_mut().find(|thread| thread.follower.tid == tid);
            follower.into_iter().for_each(|thread| thread.follower.account(reading));
        }
        self.steal.look(clock::now());
        let steal = &self.steal;
        let mut witnessed = |mut one: TracedSleep| {
            steal.witness(&mut one);
            seen(one);
        };
        let mut lost = 0;
        for (thread, records) in self.threads.iter_mut().zip(taken) {
            lost += records.into_iter().map(|one| thread.follower.switch(one, &mut witnessed)).sum::<u64>();
            if self.stopped {
                thread.follower.end(&mut witnessed);
            }
        }
        lost
    }

    fn stop(&mut self) {
        // A thread that has ended is followed no more either way.
        self.threads.iter().for_each(|thread| drop(thread.records.stop()));
        self.stopped = true;
    }
}

fn is_there(tid: u32) -> bool {
    Root::live().read(&format!("/proc/{tid}/comm")).is_ok()
}

/// The records of a thread, in the largest ring up to `ring` that this user may still lock.
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
    /// From this level on, some distributions' kernels forbid it to everybody without a capability.
    const FORBIDDEN: i32 = 3;
    let level = Root::live().reading("/proc/sys/kernel/perf_event_paranoid").number();
    match level {
        Some(level) if level >= FORBIDDEN => TracerRefusal::Paranoid { level },
        _ => TracerRefusal::NoSwitches,
    }
}
