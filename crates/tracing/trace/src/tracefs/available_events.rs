//! The events that are read, as far as this kernel has them. Pure.

use howlate_model::{TracerGap, TracerRefusal};

use super::event::{Records, reader};
use super::format::{Format, Unreadable};
use crate::missing_events::Without::AllBut;
use crate::missing_events::{Gaps, TIMER_INTERRUPTS, Without};

/// The events, each with its system, and what can be done without.
pub(super) const EVENTS: [(&str, &str, Without); 16] = [
    ("sched", "sched_switch", Without::Nothing),
    ("sched", SCHED_WAKING, Without::Nothing),
    ("sched", SCHED_MIGRATE, Without::Nothing),
    ("timer", HRTIMER_START, AllBut(TracerGap::Timers)),
    ("timer", HRTIMER_PASSED, Without::All),
    ("timer", "hrtimer_expire_entry", AllBut(TracerGap::Timers)),
    ("timer", HRTIMER_REARM, Without::All),
    ("irq", "irq_handler_entry", AllBut(TracerGap::Interrupts)),
    ("irq", "irq_handler_exit", AllBut(TracerGap::Interrupts)),
    ("irq", SOFTIRQ_RAISE, AllBut(TracerGap::Softirqs)),
    ("irq", "softirq_entry", AllBut(TracerGap::Softirqs)),
    ("irq", "softirq_exit", AllBut(TracerGap::Softirqs)),
    ("irq_vectors", "local_timer_entry", TIMER_INTERRUPTS),
    ("irq_vectors", "local_timer_exit", TIMER_INTERRUPTS),
    ("exceptions", PAGE_FAULT, AllBut(TracerGap::PageFaults)),
    ("signal", "signal_generate", AllBut(TracerGap::Signals)),
];

pub(super) const SCHED_WAKING: &str = "sched_waking";
pub(super) const SCHED_MIGRATE: &str = "sched_migrate_task";
pub(super) const HRTIMER_START: &str = "hrtimer_start";
/// Since Linux 7.1.
pub(super) const HRTIMER_PASSED: &str = "hrtimer_start_expired";
/// Since Linux 7.1, where the device is armed after the interrupt.
pub(super) const HRTIMER_REARM: &str = "hrtimer_rearm";
pub(super) const SOFTIRQ_RAISE: &str = "softirq_raise";
pub(super) const PAGE_FAULT: &str = "page_fault_user";

/// What is read: how the records of the events are laid out, the directories of those events, and what is not told.
#[derive(Default)]
pub(super) struct Readable {
    pub(super) records: Records,
    pub(super) events: Vec<String>,
    pub(super) gaps: Gaps,
}

impl Readable {
    /// All that can be read, where `text` has the `format` of an event; empty where there is none.
    pub(super) fn all(text: impl Fn(&str) -> String) -> Result<Self, TracerRefusal> {
        let (mut all, mut readable) = (Self::default(), Vec::new());
        for (system, event, without) in EVENTS {
            let place = format!("events/{system}/{event}");
            let format = Format::parse(&text(&format!("{place}/format")));
            let format = format.ok_or_else(|| TracerRefusal::NoEvent { name: event.to_owned() });
            let read = format.and_then(|format| match reader(event, &format) {
                Ok(_) => Ok((place, event, format, without)),
                Err(reason) => Err(unreadable_event(event, &reason)),
            });
            match (read, without) {
                (Ok(read), _) => readable.push(read),
                (Err(refusal), Without::Nothing) => return Err(refusal),
                (Err(_), Without::AllBut(costs)) => all.gaps.add(event, costs),
                (Err(_), Without::All) => {}
            }
        }
        readable.retain(|(.., without)| !all.gaps.takes(*without));
        for (place, event, format, _) in readable {
            all.records.add(event, &format).map_err(|reason| unreadable_event(event, &reason))?;
            all.events.push(place);
        }
        Ok(all)
    }
}

fn unreadable_event(event: &str, reason: &Unreadable) -> TracerRefusal {
    TracerRefusal::EventUnreadable { name: event.to_owned(), reason: reason.to_string() }
}
