//! A condition variable: the number changes under the mutex, then `pthread_cond_signal(3)`.

use std::io;
use std::sync::atomic::Ordering;

use howlate_linux::condition_variable::ConditionVariable;

use crate::notify::channel::{Await, Channel, Ends, Kit, Notify};
use crate::notify::lane::Lane;

pub(crate) struct Condvar;

pub(crate) struct End {
    lane: Lane,
    variable: ConditionVariable,
    seen: u64,
}

impl End {
    fn new(kit: Kit) -> Self {
        let variable = ConditionVariable::attach(kit.lane.memory.clone(), kit.lane.number);
        Self { lane: kit.lane, variable, seen: 0 }
    }
}

impl Channel for Condvar {
    type Sender = End;
    type Receiver = End;

    fn make(lane: &Lane) -> io::Result<Ends> {
        ConditionVariable::init(&lane.memory, lane.number, lane.crosses_processes())?;
        Ok(Ends::default())
    }

    fn receiver(kit: Kit) -> io::Result<End> {
        Ok(End::new(kit))
    }

    fn sender(kit: Kit) -> io::Result<End> {
        Ok(End::new(kit))
    }
}

impl Notify for End {
    #[inline]
    fn notify(&mut self, number: u64) -> io::Result<()> {
        let announced = self.lane.announced();
        self.variable.signal_after(|| announced.store(number, Ordering::Relaxed))
    }
}

impl Await for End {
    #[inline]
    fn wait(&mut self) -> io::Result<()> {
        let (announced, seen) = (self.lane.announced(), self.seen);
        self.variable.wait_until(|| announced.load(Ordering::Relaxed) != seen)?;
        self.seen = announced.load(Ordering::Relaxed);
        Ok(())
    }

    #[inline]
    fn number(&self) -> u64 {
        self.seen
    }
}
