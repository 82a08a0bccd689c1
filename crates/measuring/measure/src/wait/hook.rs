//! A waiter with a hook after each wake-up.

use std::io;

use howlate_model::{MonotonicTime, Span, Wakeup, WakeupHook};

use super::Waiter;

/// Waits as `W` does, and calls `hook` after each wake-up. Compiled separately, so that a loop without a hook has no overhead.
pub(crate) struct HookedWaiter<'a, W> {
    pub(crate) waiter: &'a mut W,
    pub(crate) hook: WakeupHook,
}

impl<W: Waiter> Waiter for HookedWaiter<'_, W> {
    #[inline]
    fn now(&self) -> MonotonicTime {
        self.waiter.now()
    }

    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        self.waiter.wait_until(time)
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.waiter.wait_for(span)
    }

    #[inline]
    fn after_wakeup(&mut self, wakeup: Wakeup) {
        (self.hook)(wakeup);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::loops::{MeasuringLoop, NEVER, NO_END, SleepLoop, Stop};
    use crate::ring::{RingWriter, WakeupRing};
    use crate::wait::ClockNanosleep;

    #[test]
    fn the_hook_is_called_before_the_next_wait() {
        let (sender, wakeups) = channel();
        let hook = Box::new(move |wakeup| sender.send(wakeup).unwrap());
        let length = Span::from_micros(50);
        let job = SleepLoop { length, samples: 5, until: NO_END, stop_above: NEVER };
        let mut out = RingWriter::new(WakeupRing::new(5));
        let mut waiter = HookedWaiter { waiter: &mut ClockNanosleep, hook };
        assert_eq!(job.run(&mut waiter, &Stop::default(), &mut out).unwrap(), 5);
        let wakeups: Vec<Wakeup> = wakeups.try_iter().collect();
        assert_eq!(wakeups.len(), 5);
        assert!(wakeups.windows(2).all(|pair| pair[0].ran.plus(length) <= pair[1].expected));
    }
}
