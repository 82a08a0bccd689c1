//! The timeout of `ppoll(2)`, which takes a length only.

use std::io;

use howlate_linux::clock::timespec_for;
use howlate_model::{MonotonicTime, Span};
use rustix::event::poll;

use super::{Waiter, left_until};

/// `ppoll(2)` on no descriptor.
pub(crate) struct Ppoll;

impl Waiter for Ppoll {
    #[inline]
    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        left_until(time).map_or(Ok(()), |left| self.wait_for(left))
    }

    #[inline]
    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        poll(&mut [], Some(&timespec_for(span)))?;
        Ok(())
    }
}
