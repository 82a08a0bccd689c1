//! Traces what the kernel does around wake-ups: what woke a thread, when, and what used the CPU meanwhile.
//!
//! Three tracers share the interface [`Tracer`]; each needs less privilege and sees less than the one before. A tracer that is not
//! available is a [`TracerRefusal`], whose message says what to type.

#[cfg(target_endian = "little")]
mod bpf;
mod choice;
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
mod machine;
mod missing_events;
mod occupant;
mod preemption;
mod quota;
mod standstill;
mod steal;
mod switches;
mod tier;
#[cfg(target_endian = "little")]
mod tracefs;
mod waits;

pub use choice::{Choice, Opened, TracerMissing, open, open_chosen, remove_leftovers};
#[cfg(target_endian = "little")]
pub use late::{CpuHistory, LateReader, LateThresholds, LateWaits, TimelineHistory, ring_events};
pub use missing_events::MissingEvent;
pub use tier::Tier;
#[cfg(target_endian = "little")]
pub use tracefs::{CpuEventReader, CpuEventsRead};
pub use waits::{WaitChoice, WaitReader, WaitSource, read_waits};

use howlate_model::{Iteration, LifeEvent, Request, Span, TracedSleep, TracerRefusal, WakeupHookFactory};

/// Follows the wake-ups of its processes, and of further threads.
pub trait Tracer {
    fn tier(&self) -> Tier;

    /// Events that this kernel lacks, and what is not seen for lack of them.
    fn missing_events(&self) -> &[MissingEvent] {
        &[]
    }

    /// Starts to follow. Before, the tracer has no overhead.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    fn start(&mut self) -> Result<(), TracerRefusal>;

    /// From the next start on, follows the children of the watched processes as well, existing and future ones. `false`: this tracer
    /// does not see forks, and every thread has to be followed when it is found.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    fn with_children(&mut self) -> Result<bool, TracerRefusal> {
        Ok(false)
    }

    /// From the next start on, records when idle CPUs take inter-processor interrupts, where that is visible: for threads that are
    /// woken by threads on other CPUs.
    fn with_calls(&mut self, _is_wanted: bool) {}

    /// From the next start on, follows the event loops of watched threads as well, and samples the stack when an iteration is longer than
    /// `above`. `false`: this tracer does not see them.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    fn with_loops(&mut self, _above: Span) -> Result<bool, TracerRefusal> {
        Ok(false)
    }

    /// From the next start on, sees the requests that watched threads answer as well.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it, or this tracer does not see them.
    fn with_requests(&mut self) -> Result<(), TracerRefusal> {
        Err(TracerRefusal::NoRequests)
    }

    /// Wake-ups without an event: a followed thread left its CPU although it had last been seen asleep.
    fn missed(&self) -> u64 {
        0
    }

    /// Takes the iterations of event loops that the last [`read`](Self::read) found, in order per thread.
    fn iterations(&mut self) -> Vec<Iteration> {
        Vec::new()
    }

    /// Takes the requests whose answers the last [`read`](Self::read) found, in the order of these.
    fn requests(&mut self) -> Vec<Request> {
        Vec::new()
    }

    /// Takes the watched threads that started, were renamed or ended, as the last [`read`](Self::read) found them, in order. `None`: this
    /// tracer does not see them.
    fn lives(&mut self) -> Option<Vec<LifeEvent>> {
        None
    }

    /// Follows a thread until the next start, also one of another process; `slack` is its timer slack.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it for this thread.
    fn follow(&mut self, tid: u32, slack: Span) -> Result<(), TracerRefusal>;

    /// What each followed thread has to do after its wake-ups.
    fn after_each(&self) -> Option<WakeupHookFactory> {
        None
    }

    /// Passes the sleeps since the last call to `seen`, in order per thread; returns how many were lost.
    fn read(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> u64;

    /// Reads a part of the sleeps, to bound memory; also returns whether there are more.
    fn read_some(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> (u64, bool) {
        (self.read(seen), false)
    }

    /// Stops following; what was recorded can still be read.
    fn stop(&mut self);
}
