//! The tracefs tracer: static trace events from a trace instance, for kernels into which no BPF program can be loaded.
//!
//! `instance` creates the trace, `available_events` lists the events, `format` and `page` parse records, `event` has their meaning, and
//! `follow` reconstructs sleeps from the state of each `cpu` and each followed `thread`, and from the holders of a CPU (`cpu_occupant`,
//! `occupancy`).

mod available_events;
mod cpu;
mod cpu_changes;
mod cpu_events;
mod cpu_occupant;
mod event;
mod follow;
mod format;
mod instance;
mod occupancy;
mod page;
mod thread;
mod unseen_switches;

use std::fs::File;
use std::io::{self, Read};

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span, TracedSleep, TracerRefusal};
use howlate_procfs::Root;

pub use cpu_events::{CpuEventReader, CpuEventsRead};
pub(crate) use instance::remove_leftovers;

use crate::irq_names::{HRTIMER, InterruptNames};
use crate::machine::{check_pid_namespace, process_of};
use crate::missing_events::{MissingEvent, MissingEvents};
use crate::quota::QuotaTracker;
use crate::standstill::StandstillDetector;
use crate::steal::StealCounter;
use crate::{Tier, Tracer};
use available_events::{
    HRTIMER_PASSED, HRTIMER_REARM, HRTIMER_START, PAGE_FAULT, ReadableEvents, SCHED_MIGRATE, SCHED_WAKING,
    SOFTIRQ_RAISE,
};
use event::{EventParser, TraceEvent};
use follow::EventFollower;
use instance::TraceInstance;
use page::{PageItem, PageLayout, items};

/// Events that are filtered by followed threads, with the field that holds the thread, and whose else are kept: events of others take no
/// room.
const THREAD_EVENTS: [(&str, &str, Option<&str>); 5] = [
    (SCHED_WAKING, "pid", None),
    // A normal thread runs ahead of a real-time one only where that one still is.
    (SCHED_MIGRATE, "pid", Some("prio<100")),
    (HRTIMER_START, "common_pid", None),
    (HRTIMER_PASSED, "common_pid", None),
    (PAGE_FAULT, "common_pid", None),
];

/// With more threads than this no filter is set: the kernel compares each id at each event.
const MAX_FILTERED: usize = 16;

/// Size of the buffers of all CPUs together, and the smallest and largest size of each, in KiB.
const BUFFERS: usize = 64 * 1024;
const BUFFER: std::ops::RangeInclusive<usize> = 1024..=16 * 1024;

/// The time of an event is taken before it becomes readable: younger events wait until the next reading, so that the events of all CPUs
/// can be sorted.
const UNSETTLED: Span = Span::from_millis(1);

/// A trace instance, and the state of its reader.
pub(crate) struct Tracefs {
    // Closed before the trace is removed.
    cpus: Vec<(u32, File)>,
    layout: PageLayout,
    records: EventParser,
    /// Events that this kernel has, as directories of the instance.
    events: Vec<String>,
    waiting: Vec<TraceEvent>,
    follower: EventFollower,
    quotas: QuotaTracker,
    steal: StealCounter,
    standstill: StandstillDetector,
    missing_events: MissingEvents,
    processes: Vec<u32>,
    /// Lost events at the last reading.
    lost: u64,
    stopped: bool,
    instance: TraceInstance,
}

impl Tracefs {
    /// Creates a trace that records nothing yet, without the `hidden` events.
    pub(crate) fn open(processes: &[u32], hidden: &[&str]) -> Result<Self, TracerRefusal> {
        check_pid_namespace()?;
        let instance = TraceInstance::create()?;
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        let layout =
            PageLayout::parse(&instance.header_page()).ok_or_else(|| unreadable("events/header_page"))?;
        let is_hidden = |file: &str| hidden.iter().any(|event| file.contains(&format!("/{event}/")));
        let text = |file: &str| if is_hidden(file) { String::new() } else { instance.text(file) };
        let ReadableEvents { records, events, missing_events } = ReadableEvents::all(text)?;
        let cpus = streams(&instance)?;
        let buffer_size = (BUFFERS / cpus.len().max(1)).clamp(*BUFFER.start(), *BUFFER.end());
        instance.set("buffer_size_kb", &buffer_size.to_string())?;
        let (quotas, steal) = (QuotaTracker::new(Root::live()), StealCounter::new(Root::live()));
        let follower = EventFollower::new(processes, InterruptNames::default(), steal.is_guest());
        let (processes, waiting) = (processes.to_vec(), Vec::new());
        let standstill = StandstillDetector::new(&Root::live());
        Ok(Self {
            cpus,
            layout,
            records,
            events,
            waiting,
            follower,
            quotas,
            steal,
            standstill,
            missing_events,
            processes,
            lost: 0,
            stopped: false,
            instance,
        })
    }

    /// Filters events by followed threads, where that is possible.
    fn filter(&self) -> Result<(), TracerRefusal> {
        let followed: Vec<u32> = self.follower.followed().collect();
        for (event, field, also) in THREAD_EVENTS {
            let Some(directory) = self.events.iter().find(|directory| directory.ends_with(event)) else {
                continue;
            };
            let followed_ids = followed.iter().map(|tid| format!("{field}=={tid}"));
            let filters: Vec<String> = followed_ids.chain(also.map(str::to_owned)).collect();
            let filter = match filters.len() {
                0 => format!("{field}<0"),
                count if count <= MAX_FILTERED => filters.join("||"),
                _ => "0".to_owned(),
            };
            self.instance.set(&format!("{directory}/filter"), &filter)?;
        }
        let fixed_filters =
            [(SOFTIRQ_RAISE, format!("vec=={HRTIMER}")), (HRTIMER_REARM, "deferred==1".to_owned())];
        fixed_filters.iter().try_for_each(|(event, filter)| {
            let directory = self.events.iter().find(|directory| directory.ends_with(event));
            directory.map_or(Ok(()), |directory| self.instance.set(&format!("{directory}/filter"), filter))
        })
    }

    fn enable(&self, on: bool) -> Result<(), TracerRefusal> {
        let value = if on { "1" } else { "0" };
        self.events.iter().try_for_each(|directory| self.instance.set(&format!("{directory}/enable"), value))
    }

    /// Reads the pages that were written up to `now`.
    fn read_pages(&mut self, now: MonotonicTime) {
        let mut page = vec![0; self.layout.page_size()];
        for (cpu, stream) in &mut self.cpus {
            while let Some(length) = read_page(stream, &mut page) {
                let (records, waiting) = (&self.records, &mut self.waiting);
                let mut newest = MonotonicTime::default();
                // The rest of a damaged page is lost; the kernel writes none.
                let _ = items(&page[..length], &self.layout, &mut |at, item| {
                    let event = match item {
                        PageItem::Missed => event::missed(*cpu, at),
                        PageItem::Record(record) => records.read(*cpu, at, record),
                    };
                    newest = event.map_or(newest, |event| event.at);
                    waiting.extend(event);
                });
                // Events arrive faster than they are read: the rest is left to the next reading.
                if newest > now {
                    break;
                }
            }
        }
    }

    /// Events since the buffers were emptied that did not fit or were overwritten.
    fn total_lost(&self) -> u64 {
        let stats =
            |(cpu, _): &(u32, File)| parse_losses(&self.instance.text(&format!("per_cpu/cpu{cpu}/stats")));
        self.cpus.iter().map(stats).sum()
    }
}

impl Tracer for Tracefs {
    fn tier(&self) -> Tier {
        Tier::Tracefs
    }

    fn missing_events(&self) -> &[MissingEvent] {
        self.missing_events.all()
    }

    fn start(&mut self) -> Result<(), TracerRefusal> {
        self.instance.set("trace", "")?;
        self.follower = EventFollower::new(&self.processes, InterruptNames::default(), self.steal.is_guest());
        self.quotas = QuotaTracker::new(Root::live());
        self.waiting.clear();
        self.steal.read(clock::now());
        (self.lost, self.stopped) = (self.total_lost(), false);
        self.filter()?;
        self.enable(true)?;
        self.instance.set("tracing_on", "1")
    }

    fn follow(&mut self, tid: u32, slack: Span) -> Result<(), TracerRefusal> {
        self.missing_events.follow(tid, slack);
        self.follower.follow(tid, process_of(tid));
        self.quotas.follow(tid, clock::now());
        self.filter()
    }

    fn read(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> u64 {
        let now = clock::now();
        self.quotas.read(clock::now());
        self.steal.read(clock::now());
        self.read_pages(now);
        self.waiting.sort_by_key(|event| event.at);
        let settled = now.minus(UNSETTLED);
        let count = match self.stopped {
            true => self.waiting.len(),
            false => self.waiting.partition_point(|event| event.at < settled),
        };
        let mut sleeps = Vec::new();
        for event in self.waiting.drain(..count) {
            self.follower.event(&event, &mut |sleep| sleeps.push(sleep));
        }
        if self.stopped {
            self.follower.end(&mut |sleep| sleeps.push(sleep));
        }
        self.standstill.annotate(&mut sleeps);
        for mut sleep in sleeps {
            self.missing_events.correct(&mut sleep);
            self.quotas.correct(&mut sleep);
            self.steal.annotate(&mut sleep);
            seen(sleep);
        }
        let lost = self.total_lost();
        lost.saturating_sub(std::mem::replace(&mut self.lost, lost))
    }

    fn stop(&mut self) {
        // What cannot be switched off here ends with the trace instance.
        drop(self.instance.set("tracing_on", "0"));
        drop(self.enable(false));
        self.stopped = true;
    }
}

/// The raw pipe of each CPU.
fn streams(instance: &TraceInstance) -> Result<Vec<(u32, File)>, TracerRefusal> {
    let cpus = crate::machine::possible_cpus();
    let stream = |cpu: u32| Some((cpu, instance.stream(&format!("per_cpu/cpu{cpu}/trace_pipe_raw")).ok()?));
    let streams: Vec<_> = cpus.iter().filter_map(stream).collect();
    if streams.is_empty() { Err(unreadable("per_cpu/cpu0/trace_pipe_raw")) } else { Ok(streams) }
}

/// Reads a page or a part of one; `None` if there is none.
fn read_page(stream: &mut File, page: &mut [u8]) -> Option<usize> {
    loop {
        match stream.read(page) {
            Ok(0) => return None,
            Ok(length) => return Some(length),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Sum of the losses in a CPU's `stats`.
fn parse_losses(stats: &str) -> u64 {
    let count = |line: &str| {
        let (name, count) = line.split_once(':')?;
        let is_loss = ["overrun", "commit overrun", "dropped events"].contains(&name);
        is_loss.then(|| count.trim().parse::<u64>().ok())?
    };
    stats.lines().filter_map(count).sum()
}

fn unreadable(file: &str) -> TracerRefusal {
    TracerRefusal::Kernel {
        doing: format!("read {file} of a trace"),
        reason: "it is not as expected".to_owned(),
    }
}

#[cfg(test)]
mod tests;
