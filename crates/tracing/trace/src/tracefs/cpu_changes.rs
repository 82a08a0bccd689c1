//! Parses events that change the holder of a CPU, of any thread. Pure, except for the names of interrupts.

use std::collections::HashMap;
use std::sync::Arc;

use howlate_model::{CpuChange, GapCause, GapKind, Span};
use howlate_procfs::Root;

use super::format::{EventFormat, FieldError, FieldLocation};
use crate::irq_names::{InterruptNames, softirq_name};

/// Events that start or end something, as directories below `events`.
pub(super) const EVENTS: [&str; 9] = [
    SWITCH,
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "nmi/nmi_handler",
    "exceptions/page_fault_user",
    "ipi/ipi_entry",
    "ipi/ipi_exit",
];
/// The only required event.
pub(super) const SWITCH: &str = "sched/sched_switch";

/// Interrupts without a device, each with an event `_entry` and one `_exit`: `arch/x86/include/asm/trace/irq_vectors.h`.
pub(super) const VECTORS: [&str; 11] = [
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
    "x86_platform_ipi",
    "spurious_apic",
    "error_apic",
    "thermal_apic",
    "threshold_apic",
    "deferred_error_apic",
];

#[derive(Default)]
pub(super) struct NameCache {
    interrupts: InterruptNames,
    interrupt_names: HashMap<u32, Arc<str>>,
    thread_names: HashMap<[u8; 16], Arc<str>>,
}

impl NameCache {
    fn interrupt(&mut self, number: u32) -> Arc<str> {
        let interrupts = &mut self.interrupts;
        self.interrupt_names.entry(number).or_insert_with(|| interrupts.name(number).into()).clone()
    }

    /// Name of a thread whose record has none.
    fn current_name(tid: u32) -> Arc<str> {
        let name = Root::live().read(&format!("/proc/{tid}/comm"));
        name.map_or_else(|_| format!("thread {tid}"), |name| name.trim_end().to_owned()).into()
    }

    fn thread(&mut self, comm: [u8; 16]) -> Arc<str> {
        let name = || {
            let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
            String::from_utf8_lossy(&comm[..end]).into()
        };
        self.thread_names.entry(comm).or_insert_with(name).clone()
    }
}

/// Parses one kind of record.
type Reader = Box<dyn Fn(&[u8], &mut NameCache) -> Option<CpuChange>>;

pub(super) struct CpuChangeRecord {
    /// The thread that had the CPU: it was switched out or interrupted.
    pub(super) by: u32,
    pub(super) change: CpuChange,
}

/// Parses records by the formats of their events.
#[derive(Default)]
pub(super) struct CpuChangeParser {
    readers: HashMap<u16, (FieldLocation, Reader)>,
    /// Id of `sched_switch`, and the field with the name of the previous thread.
    switch: Option<(u16, FieldLocation)>,
}

impl CpuChangeParser {
    /// Adds the format of the event in this directory.
    pub(super) fn add(&mut self, event: &str, format: &EventFormat) -> Result<(), FieldError> {
        let reader = (format.number("common_pid")?, reader(event, format)?);
        if event == SWITCH {
            self.switch = Some((format.id, format.comm("prev_comm")?));
        }
        self.readers.insert(format.id, reader);
        Ok(())
    }

    /// `None`: another kind of record.
    pub(super) fn read(&self, record: &[u8], names: &mut NameCache) -> Option<CpuChangeRecord> {
        let (by, reader) = self.readers.get(&id(record)?)?;
        Some(CpuChangeRecord { by: by.id(record)?, change: reader(record, names)? })
    }

    /// Name of the thread `by` of a record.
    pub(super) fn name(&self, record: &[u8], by: u32, names: &mut NameCache) -> Arc<str> {
        let switch = self.switch.filter(|(switch, _)| id(record) == Some(*switch));
        let comm = switch.and_then(|(_, comm)| comm.comm(record));
        comm.map_or_else(|| NameCache::current_name(by), |comm| names.thread(comm))
    }
}

fn id(record: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(record.get(..2)?.try_into().ok()?))
}

/// Parser of the event in this directory.
fn reader(event: &str, format: &EventFormat) -> Result<Reader, FieldError> {
    let number = |name| format.number(name);
    let enters = |kind, name| CpuChange::Enters(GapCause { kind, name });
    Ok(match event {
        SWITCH => {
            let (next, comm) = (number("next_pid")?, format.comm("next_comm")?);
            Box::new(move |record, names| {
                Some(CpuChange::Runs { tid: next.id(record)?, name: names.thread(comm.comm(record)?) })
            })
        }
        "irq/irq_handler_entry" => {
            let interrupt = number("irq")?;
            Box::new(move |record, names| {
                Some(enters(GapKind::Interrupt, names.interrupt(interrupt.id(record)?)))
            })
        }
        "irq/softirq_entry" => {
            let vector = number("vec")?;
            Box::new(move |record, _| Some(enters(GapKind::Softirq, softirq_name(vector.id(record)?).into())))
        }
        "irq/softirq_exit" => Box::new(|_, _| Some(CpuChange::Leaves(GapKind::Softirq))),
        "nmi/nmi_handler" => {
            let lasted = number("delta_ns")?;
            Box::new(move |record, _| Some(CpuChange::Nmi(Span::from_nanos(lasted.number(record)?))))
        }
        "exceptions/page_fault_user" => Box::new(|_, _| Some(CpuChange::PageFault)),
        "ipi/ipi_entry" => Box::new(move |_, _| Some(enters(GapKind::Interrupt, "ipi".into()))),
        _ => vector_reader(event),
    })
}

/// Parser of `irq_vectors/NAME_entry`, and of all `_exit` events.
fn vector_reader(event: &str) -> Reader {
    let name = event.rsplit('/').next().unwrap_or(event);
    let Some(name) = name.strip_suffix("_entry") else {
        return Box::new(|_, _| Some(CpuChange::Leaves(GapKind::Interrupt)));
    };
    let cause = GapCause { kind: GapKind::Interrupt, name: name.into() };
    Box::new(move |_, _| Some(CpuChange::Enters(cause.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(event: &str, format: &str, record: &[u8]) -> Option<CpuChange> {
        let format = EventFormat::parse(format).unwrap();
        reader(event, &format).unwrap()(record, &mut NameCache::default())
    }

    #[test]
    fn a_switch_names_the_next_thread() {
        let format = include_str!("testdata/sched_switch.format");
        let mut record = vec![0; 64];
        record[40..45].copy_from_slice(b"stuff");
        record[56] = 77;
        let found = read(SWITCH, format, &record);
        assert_eq!(found, Some(CpuChange::Runs { tid: 77, name: "stuff".into() }));
        assert_eq!(read(SWITCH, format, &record[..50]), None);
    }

    #[test]
    fn interrupts_begin_and_end_under_their_names() {
        let format = "ID: 9\n\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n";
        let enters = |kind, name: &str| Some(CpuChange::Enters(GapCause { kind, name: name.into() }));
        let record = [0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0];
        assert_eq!(read("irq/softirq_entry", format, &record), enters(GapKind::Softirq, "NET_RX"));
        let vector = "irq_vectors/call_function_entry";
        assert_eq!(read(vector, format, &record), enters(GapKind::Interrupt, "call_function"));
        let ends = Some(CpuChange::Leaves(GapKind::Interrupt));
        assert_eq!(read("irq_vectors/call_function_exit", format, &record), ends);
        assert_eq!(read("irq/irq_handler_exit", format, &record), ends);
    }

    #[test]
    fn a_field_that_is_not_there_is_an_error() {
        let format = EventFormat::parse("ID: 9\n").unwrap();
        assert!(reader("nmi/nmi_handler", &format).is_err());
    }
}
