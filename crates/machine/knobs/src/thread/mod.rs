//! Knobs of a thread: it asks for them itself, mostly without any right.

mod affinity;
mod fifo;
mod memory_lock;
mod nice;
mod nothing;
mod slice;
mod small_pages;
pub mod timer_slack;
mod timerfd;

use crate::knob::Knob;

/// All of them, in the order in which they are listed.
pub(crate) const ALL: &[&Knob] = &[
    &timer_slack::KNOB,
    &nice::KNOB,
    &fifo::KNOB,
    &slice::KNOB,
    &affinity::KNOB,
    &timerfd::KNOB,
    &memory_lock::KNOB,
    &small_pages::KNOB,
    &nothing::KNOB,
];
