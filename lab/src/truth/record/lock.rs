//! A thread that waits for a lock, whose holder waits for a disk.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::thread;

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};

use super::injected::{InjectedCulprit, InjectedDelay, InjectionPrograms};
use super::stamped::Time;

/// The lock is held at least this long, even if the disk is fast.
const HELD: Span = Span::from_millis(15);
const LEFT: Span = Span::from_millis(5);
const BETWEEN: Span = Span::from_millis(1);

pub fn waits_for_a_lock(_: &InjectionPrograms, seconds: u64) -> io::Result<InjectedDelay> {
    // In the current folder, which is on the project's disk.
    let (lock, end) = (Mutex::new(tempfile::tempfile_in(".")?), clock::now().plus(Span::from_secs(seconds)));
    let (tid, (times, stamped)) = thread::scope(|scope| {
        let waits = thread::Builder::new().name("waits-for-lock".to_owned());
        let waits = waits.spawn_scoped(scope, || (howlate_linux::thread::id(), wait(&lock, end)))?;
        hold(&lock, end)?;
        waits.join().map_err(|_| io::Error::other("the thread that waits for a lock panicked"))
    })?;
    Ok(InjectedDelay { tid, times, stamped, culprit: InjectedCulprit::Nobody })
}

fn hold(lock: &Mutex<File>, end: MonotonicTime) -> io::Result<()> {
    while clock::now() < end {
        let since = clock::now();
        let mut file = lock.lock().unwrap_or_else(PoisonError::into_inner);
        file.rewind()?;
        file.write_all(&[1; 256 * 1024])?;
        file.sync_all()?;
        clock::sleep_for(HELD.minus(clock::now().since(since)))?;
        drop(file);
        clock::sleep_for(LEFT)?;
    }
    Ok(())
}

/// All waits for the lock, and how late each sleep between them ended.
fn wait(lock: &Mutex<File>, end: MonotonicTime) -> (Vec<Time>, Vec<Time>) {
    let (mut times, mut late) = (Vec::new(), Vec::new());
    while clock::now() < end {
        let from = clock::now().as_nanos();
        drop(lock.lock().unwrap_or_else(PoisonError::into_inner));
        times.push(Time { from, until: clock::now().as_nanos() });
        let due = clock::now().plus(BETWEEN).as_nanos();
        drop(clock::sleep_for(BETWEEN));
        late.push(Time { from: due, until: clock::now().as_nanos() });
    }
    (times, late)
}
