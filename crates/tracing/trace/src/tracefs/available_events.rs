//! The trace events in use, as far as this kernel has them. Pure.

use howlate_model::{TracerGap, TracerRefusal};

use super::event::{EventParser, reader};
use super::format::{EventFormat, FieldError};
use crate::missing_events::EventNeed::Costs;
use crate::missing_events::{EventNeed, MissingEvents, TIMER_INTERRUPTS};

/// The events with their system, and how much each is needed.
pub(super) const EVENTS: [(&str, &str, EventNeed); 16] = [
    ("sched", "sched_switch", EventNeed::Required),
    ("sched", SCHED_WAKING, EventNeed::Required),
    ("sched", SCHED_MIGRATE, EventNeed::Required),
    ("timer", HRTIMER_START, Costs(TracerGap::Timers)),
    ("timer", HRTIMER_PASSED, EventNeed::Optional),
    ("timer", "hrtimer_expire_entry", Costs(TracerGap::Timers)),
    ("timer", HRTIMER_REARM, EventNeed::Optional),
    ("irq", "irq_handler_entry", Costs(TracerGap::Interrupts)),
    ("irq", "irq_handler_exit", Costs(TracerGap::Interrupts)),
    ("irq", SOFTIRQ_RAISE, Costs(TracerGap::Softirqs)),
    ("irq", "softirq_entry", Costs(TracerGap::Softirqs)),
    ("irq", "softirq_exit", Costs(TracerGap::Softirqs)),
    ("irq_vectors", "local_timer_entry", TIMER_INTERRUPTS),
    ("irq_vectors", "local_timer_exit", TIMER_INTERRUPTS),
    ("exceptions", PAGE_FAULT, Costs(TracerGap::PageFaults)),
    ("signal", "signal_generate", Costs(TracerGap::Signals)),
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

/// The events that can be read: the parser of their records, their directories, and what is missing.
#[derive(Default)]
pub(super) struct ReadableEvents {
    pub(super) records: EventParser,
    pub(super) events: Vec<String>,
    pub(super) missing_events: MissingEvents,
}

impl ReadableEvents {
    /// All events that can be read; `text` returns the content of a `format` file, empty if there is none.
    pub(super) fn all(text: impl Fn(&str) -> String) -> Result<Self, TracerRefusal> {
        let (mut result, mut readable) = (Self::default(), Vec::new());
        for (system, event, need) in EVENTS {
            let directory = format!("events/{system}/{event}");
            let format = EventFormat::parse(&text(&format!("{directory}/format")));
            let format = format.ok_or_else(|| TracerRefusal::NoEvent { name: event.to_owned() });
            let read = format.and_then(|format| match reader(event, &format) {
                Ok(_) => Ok((directory, event, format, need)),
                Err(reason) => Err(unreadable_event(event, &reason)),
            });
            match (read, need) {
                (Ok(read), _) => readable.push(read),
                (Err(refusal), EventNeed::Required) => return Err(refusal),
                (Err(_), EventNeed::Costs(costs)) => result.missing_events.add(event, costs),
                (Err(_), EventNeed::Optional) => {}
            }
        }
        readable.retain(|(.., need)| !result.missing_events.makes_useless(*need));
        for (directory, event, format, _) in readable {
            result.records.add(event, &format).map_err(|reason| unreadable_event(event, &reason))?;
            result.events.push(directory);
        }
        Ok(result)
    }
}

fn unreadable_event(event: &str, reason: &FieldError) -> TracerRefusal {
    TracerRefusal::EventUnreadable { name: event.to_owned(), reason: reason.to_string() }
}
