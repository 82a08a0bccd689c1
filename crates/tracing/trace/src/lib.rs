//! Sees what the kernel does around wake-ups: what woke a thread, when, and who had the CPU meanwhile.
//!
//! Three tracers behind one interface, each with less privilege and less to tell than the one before; who uses them
//! knows only [`Tracer`]. What cannot be had is a [`TracerRefusal`] that says what to type.

#[cfg(target_endian = "little")]
mod bpf;
mod choice;
mod cpus;
#[cfg(target_endian = "little")]
mod fields;
#[cfg(test)]
#[cfg(target_endian = "little")]
mod hidden_events_tests;
mod irq_names;
#[cfg(target_endian = "little")]
mod late;
#[cfg(test)]
#[cfg(target_endian = "little")]
mod layout;
#[cfg(target_endian = "little")]
mod loading;
mod missing_events;
mod namespace;
mod occupant;
mod preemption;
mod quota;
mod standstill;
mod steal;
mod switches;
mod tier;
#[cfg(target_endian = "little")]
mod tracefs;
mod unavailable;
mod waits;

pub use choice::{Choice, Opened, clear_up, open};
#[cfg(target_endian = "little")]
pub use late::{CpuHistory, LateReader, LateWaits, Remembered, TooLate, events_in};
pub use missing_events::Gap;
pub use tier::Tier;
#[cfg(target_endian = "little")]
pub use tracefs::{CpuEventReader, CpuEventsRead};
pub use unavailable::{TracerMissing, open_as_asked};
pub use waits::{WaitChoice, WaitReader, WaitSource, read_waits};

use howlate_model::{Iteration, LifeEvent, Span, TracedSleep, TracerRefusal, WakeupHookFactory};

/// What follows wake-ups of this process, and of others that are named.
pub trait Tracer {
    /// Which one this is.
    fn tier(&self) -> Tier;

    /// What this kernel has no event for, and is not told therefore.
    fn gaps(&self) -> &[Gap] {
        &[]
    }

    /// Begins to follow; nothing is in the way of a wake-up before.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    fn start(&mut self) -> Result<(), TracerRefusal>;

    /// Watches from the next start on what the watched processes have started and will start as well, from its first moment
    /// on; `false`: this one does not see who starts whom, and each thread is to be followed when it is found.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    fn with_children(&mut self) -> Result<bool, TracerRefusal> {
        Ok(false)
    }

    /// Looks from the next start on when idle CPUs take the interrupts of others as well, where that can be seen: for threads
    /// that are woken by threads on other CPUs.
    fn with_calls(&mut self, _wanted: bool) {}

    /// Watches from the next start on the event loops of watched threads as well, and looks where a thread is in its program when
    /// an iteration is longer than `above`; `false`: this one does not see them.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    fn with_loops(&mut self, _above: Span) -> Result<bool, TracerRefusal> {
        Ok(false)
    }

    /// Wake-ups so far that no event told of: a followed thread left its CPU that was asleep for all that was seen.
    fn missed(&self) -> u64 {
        0
    }

    /// Hands on the iterations of event loops, as [`read`](Self::read) last found them, each thread's in their order.
    fn iterations(&mut self) -> Vec<Iteration> {
        Vec::new()
    }

    /// Hands on which watched threads have begun, got another name and ended, as [`read`](Self::read) last found it, in their
    /// order; `None`: this one does not see it.
    fn lives(&mut self) -> Option<Vec<LifeEvent>> {
        None
    }

    /// Follows a thread from now on, until the next start, whichever process it is of; `slack` is its timer slack.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it for this thread.
    fn follow(&mut self, tid: u32, slack: Span) -> Result<(), TracerRefusal>;

    /// What each followed thread is to do after its wake-ups, if anything.
    fn after_each(&self) -> Option<WakeupHookFactory> {
        None
    }

    /// Hands on what was seen since the last call, each thread's sleeps in their order; returns how many were lost.
    fn read(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> u64;

    /// The same of a part of it, where it may be too much to be held at once; returns as well whether there is more.
    fn read_some(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> (u64, bool) {
        (self.read(seen), false)
    }

    /// Ends following; what was seen can still be read.
    fn stop(&mut self);
}
