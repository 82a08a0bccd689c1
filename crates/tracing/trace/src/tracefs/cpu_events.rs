//! Records every change of the holder of some CPUs, for loops that need a whole CPU.

use std::fs::File;

use howlate_linux::clock;
use howlate_model::{CpuChange, CpuEvent, CpuSet, MonotonicTime, TracerRefusal};

use super::cpu_changes::{CpuChangeParser, EVENTS, NameCache, SWITCH, VECTORS};
use super::format::EventFormat;
use super::instance::TraceInstance;
use super::page::{PageItem, PageLayout, items};
use super::unseen_switches::UnseenSwitches;
use super::{UNSETTLED, parse_losses, read_page, streams, unreadable};
use crate::machine::check_pid_namespace;

/// Buffer of each CPU in KiB: half a minute of a busy CPU's interrupts.
const BUFFER: &str = "4096";

/// A recording trace instance of these CPUs.
pub struct CpuEventReader {
    // Closed before the trace is removed.
    cpus: Vec<(u32, File, UnseenSwitches)>,
    layout: PageLayout,
    records: CpuChangeParser,
    names: NameCache,
    /// Lost events at the last reading.
    lost: u64,
    instance: TraceInstance,
}

/// Events since the last reading.
#[derive(Debug, Default)]
pub struct CpuEventsRead {
    /// By time.
    pub events: Vec<CpuEvent>,
    /// All events up to this time are included.
    pub until: MonotonicTime,
    /// Events that were not recorded.
    pub lost: u64,
}

impl CpuEventReader {
    /// Starts to record.
    ///
    /// # Errors
    ///
    /// When the kernel's trace cannot be had, or lacks switches.
    pub fn begin(cpus: &CpuSet) -> Result<Self, TracerRefusal> {
        check_pid_namespace()?;
        let instance = TraceInstance::create_anywhere()?;
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        instance.set("tracing_cpumask", &mask(cpus))?;
        instance.set("buffer_size_kb", BUFFER)?;
        let layout =
            PageLayout::parse(&instance.header_page()).ok_or_else(|| unreadable("events/header_page"))?;
        let records = enable(&instance)?;
        let ours = streams(&instance)?.into_iter().filter(|(cpu, _)| cpus.contains(*cpu));
        let cpus = ours.map(|(cpu, stream)| (cpu, stream, UnseenSwitches::default())).collect();
        instance.set("tracing_on", "1")?;
        Ok(Self { cpus, layout, records, names: NameCache::default(), lost: 0, instance })
    }

    /// Events up to a moment ago.
    pub fn read(&mut self) -> CpuEventsRead {
        let until = clock::now().minus(UNSETTLED);
        let mut page = vec![0; self.layout.page_size()];
        let (mut events, records, names) = (Vec::new(), &self.records, &mut self.names);
        for (cpu, stream, holder) in &mut self.cpus {
            while let Some(length) = read_page(stream, &mut page) {
                // The rest of a damaged page is lost; the kernel writes none.
                let _ = items(&page[..length], &self.layout, &mut |at, item| {
                    let changes = changes(at, item, records, names, holder).into_iter().flatten();
                    events.extend(changes.flatten().map(|(at, what)| CpuEvent { at, cpu: *cpu, what }));
                });
            }
        }
        events.sort_by_key(|event| event.at);
        let lost = self.total_lost();
        let lost = lost.saturating_sub(std::mem::replace(&mut self.lost, lost));
        CpuEventsRead { events, until, lost }
    }

    fn total_lost(&self) -> u64 {
        let stats = |(cpu, ..): &(u32, File, UnseenSwitches)| {
            parse_losses(&self.instance.text(&format!("per_cpu/cpu{cpu}/stats")))
        };
        self.cpus.iter().map(stats).sum()
    }
}

/// The change in a record, after a switch that must have preceded it without an event.
fn changes(
    at: u64,
    item: PageItem<'_>,
    records: &CpuChangeParser,
    names: &mut NameCache,
    holder: &mut UnseenSwitches,
) -> Option<[Option<(MonotonicTime, CpuChange)>; 2]> {
    let at = MonotonicTime::from_nanos(i64::try_from(at).ok()?);
    let PageItem::Record(record) = item else {
        *holder = UnseenSwitches::default();
        return Some([None, Some((at, CpuChange::Missed))]);
    };
    let read = records.read(record, names)?;
    let since = holder.add_event(read.by, at, &read.change);
    let unseen_switch = since
        .map(|since| (since, CpuChange::Runs { tid: read.by, name: records.name(record, read.by, names) }));
    Some([unseen_switch, Some((at, read.change))])
}

/// Enables the events that this kernel has.
fn enable(instance: &TraceInstance) -> Result<CpuChangeParser, TracerRefusal> {
    let vectors =
        VECTORS.iter().flat_map(|name| ["entry", "exit"].map(|end| format!("irq_vectors/{name}_{end}")));
    let mut records = CpuChangeParser::default();
    for event in EVENTS.iter().map(|event| (*event).to_owned()).chain(vectors) {
        let format = EventFormat::parse(&instance.text(&format!("events/{event}/format")));
        match format.and_then(|format| records.add(&event, &format).ok()) {
            None if event == SWITCH => {
                return Err(TracerRefusal::NoEvent { name: "sched_switch".to_owned() });
            }
            None => {}
            Some(()) => instance.set(&format!("events/{event}/enable"), "1")?,
        }
    }
    Ok(records)
}

/// CPUs as a mask of 32-bit words, the highest first.
fn mask(cpus: &CpuSet) -> String {
    let last_word = cpus.iter().max().map_or(0, |highest| highest / 32);
    let word = |number: u32| {
        let bits = cpus.iter().filter(|cpu| cpu / 32 == number).map(|cpu| 1_u32 << (cpu % 32));
        format!("{:08x}", bits.fold(0, |mask, bit| mask | bit))
    };
    (0..=last_word).rev().map(word).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use howlate_linux::{sched, thread};
    use howlate_model::Span;

    use super::*;

    #[test]
    fn a_mask_has_words_of_32_cpus() {
        assert_eq!(mask(&CpuSet::from_iter([0, 3])), "00000009");
        assert_eq!(mask(&CpuSet::from_iter([1, 33])), "00000002,00000002");
    }

    #[test]
    fn a_thread_that_sleeps_is_seen_to_run_again() {
        let cpu = sched::affinity().unwrap().iter().next().unwrap();
        let own = CpuSet::from_iter([cpu]);
        let mut reader = match CpuEventReader::begin(&own) {
            Ok(reader) => reader,
            Err(refused) => return howlate_testing::skip(&refused.to_string()),
        };
        let sleeps = move || {
            sched::bind(&CpuSet::from_iter([cpu])).unwrap();
            (0..3).for_each(|_| drop(clock::sleep_for(Span::from_millis(2))));
            thread::id()
        };
        let slept = std::thread::spawn(sleeps).join().unwrap();
        drop(clock::sleep_for(Span::from_millis(5)));
        let read = reader.read();
        let runs = |event: &&CpuEvent| matches!(&event.what, CpuChange::Runs { tid, .. } if *tid == slept);
        assert!(read.events.iter().filter(runs).count() >= 3, "{read:?}");
        assert!(read.events.iter().all(|event| event.cpu == cpu));
        assert!(read.events.is_sorted_by_key(|event| event.at) && read.lost == 0);
    }
}
