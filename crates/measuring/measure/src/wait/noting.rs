//! Another way to wait, and something that is done after each wake-up.

use std::io;

use howlate_model::{MonotonicTime, Span, Wakeup, WakeupHook};

use super::Waiter;

/// Waits as `W` does, and notes each wake-up. Compiled beside the loop that does not, so that this one pays nothing.
pub(crate) struct Noting<'a, W> {
    pub(crate) waiter: &'a mut W,
    pub(crate) noted: WakeupHook,
}

impl<W: Waiter> Waiter for Noting<'_, W> {
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
    fn woke(&mut self, wakeup: Wakeup) {
        (self.noted)(wakeup);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::loops::{Job, NEVER, NO_END, Sleep, Stop};
    use crate::ring::{Ring, RingWriter};
    use crate::wait::ClockNanosleep;

    #[test]
    fn each_wake_up_is_noted_before_the_next_wait() {
        let (noted, notes) = channel();
        let noted = Box::new(move |wakeup| noted.send(wakeup).unwrap());
        let length = Span::from_micros(50);
        let job = Sleep { length, samples: 5, until: NO_END, stop_above: NEVER };
        let mut out = RingWriter::new(Ring::new(5));
        let mut waiter = Noting { waiter: &mut ClockNanosleep, noted };
        assert_eq!(job.run(&mut waiter, &Stop::default(), &mut out).unwrap(), 5);
        let notes: Vec<Wakeup> = notes.try_iter().collect();
        assert_eq!(notes.len(), 5);
        assert!(notes.windows(2).all(|pair| pair[0].ran.plus(length) <= pair[1].expected));
    }
}
