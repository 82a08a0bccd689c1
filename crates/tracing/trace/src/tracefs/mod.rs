//! The kernel's static trace events, read from a trace of our own: for kernels into which no programs can be loaded.
//!
//! `instance` makes the trace, `available_events` knows the events, `format` and `page` read what comes out of it, `event` says what it means, and `follow` makes
//! sleeps of it, by the state of each `cpu` and each followed `thread`, and by who had a CPU (`cpu_occupant`, `occupancy`).

mod available_events;
mod change;
mod cpu;
mod cpu_events;
mod cpu_occupant;
mod event;
mod follow;
mod format;
mod holder;
mod instance;
mod occupancy;
mod page;
mod thread;

use std::fs::File;
use std::io::{self, Read};

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span, TracedSleep, TracerRefusal};
use howlate_procfs::Root;

pub use cpu_events::{CpuEventReader, CpuEventsRead};
pub(crate) use instance::clear_up;

use crate::irq_names::{HRTIMER, Interrupts};
use crate::missing_events::{Gap, Gaps};
use crate::namespace::{has_the_kernels_ids, process_of};
use crate::quota::Quotas;
use crate::standstill::Standstill;
use crate::steal::Steal;
use crate::{Tier, Tracer};
use available_events::{
    HRTIMER_PASSED, HRTIMER_REARM, HRTIMER_START, PAGE_FAULT, Readable, SCHED_MIGRATE, SCHED_WAKING,
    SOFTIRQ_RAISE,
};
use event::{Event, Records};
use follow::Follower;
use instance::Instance;
use page::{Item, Layout, items};

/// Events of followed threads alone, with the field that has the thread: others need not take room.
const OF_THREADS: [(&str, &str); 5] = [
    (SCHED_WAKING, "pid"),
    (SCHED_MIGRATE, "pid"),
    (HRTIMER_START, "common_pid"),
    (HRTIMER_PASSED, "common_pid"),
    (PAGE_FAULT, "common_pid"),
];

/// More threads than this are not filtered for: the kernel would compare each of their ids at each event.
const FILTERED: usize = 16;

/// What the buffers of all CPUs may take together, and each of them at least and at most, in KiB.
const BUFFERS: usize = 64 * 1024;
const BUFFER: std::ops::RangeInclusive<usize> = 1024..=16 * 1024;

/// An event's time is taken before it can be read; what is younger than this waits until the next time, so that the events
/// of all CPUs come in their order.
const UNSETTLED: Span = Span::from_millis(1);

/// A trace of our own, and what is made of it.
pub(crate) struct Tracefs {
    // Closed before the trace is removed.
    cpus: Vec<(u32, File)>,
    layout: Layout,
    records: Records,
    /// The events that this kernel has, as directories of the trace.
    events: Vec<String>,
    waiting: Vec<Event>,
    follower: Follower,
    quotas: Quotas,
    steal: Steal,
    standstill: Standstill,
    gaps: Gaps,
    processes: Vec<u32>,
    /// Events lost, as last read.
    lost: u64,
    stopped: bool,
    instance: Instance,
}

impl Tracefs {
    /// Makes a trace that records nothing yet, and none of the events that are `hidden`.
    pub(crate) fn open(processes: &[u32], hidden: &[&str]) -> Result<Self, TracerRefusal> {
        has_the_kernels_ids()?;
        let instance = Instance::make()?;
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        let layout =
            Layout::parse(&instance.header_page()).ok_or_else(|| unreadable("events/header_page"))?;
        let is_hidden = |file: &str| hidden.iter().any(|event| file.contains(&format!("/{event}/")));
        let text = |file: &str| if is_hidden(file) { String::new() } else { instance.text(file) };
        let Readable { records, events, gaps } = Readable::all(text)?;
        let cpus = streams(&instance)?;
        let each = (BUFFERS / cpus.len().max(1)).clamp(*BUFFER.start(), *BUFFER.end());
        instance.set("buffer_size_kb", &each.to_string())?;
        let (quotas, steal) = (Quotas::new(Root::live()), Steal::new(Root::live()));
        let follower = Follower::new(processes, Interrupts::default(), steal.is_guest());
        let (processes, waiting) = (processes.to_vec(), Vec::new());
        let standstill = Standstill::new(&Root::live());
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
            gaps,
            processes,
            lost: 0,
            stopped: false,
            instance,
        })
    }

    /// Lets only events of followed threads through, where such a choice can be made.
    fn filter(&self) -> Result<(), TracerRefusal> {
        let followed: Vec<u32> = self.follower.followed().collect();
        for (event, field) in OF_THREADS {
            let Some(place) = self.events.iter().find(|place| place.ends_with(event)) else { continue };
            let ids: Vec<String> = followed.iter().map(|tid| format!("{field}=={tid}")).collect();
            let filter = match ids.len() {
                0 => format!("{field}<0"),
                few if few <= FILTERED => ids.join("||"),
                _ => "0".to_owned(),
            };
            self.instance.set(&format!("{place}/filter"), &filter)?;
        }
        let of_interest =
            [(SOFTIRQ_RAISE, format!("vec=={HRTIMER}")), (HRTIMER_REARM, "deferred==1".to_owned())];
        of_interest.iter().try_for_each(|(event, filter)| {
            let place = self.events.iter().find(|place| place.ends_with(event));
            place.map_or(Ok(()), |place| self.instance.set(&format!("{place}/filter"), filter))
        })
    }

    fn enable(&self, on: bool) -> Result<(), TracerRefusal> {
        let value = if on { "1" } else { "0" };
        self.events.iter().try_for_each(|place| self.instance.set(&format!("{place}/enable"), value))
    }

    /// Takes the pages that were written up to `now`.
    fn take(&mut self, now: MonotonicTime) {
        let mut page = vec![0; self.layout.page_size()];
        for (cpu, stream) in &mut self.cpus {
            while let Some(length) = read_page(stream, &mut page) {
                let (records, waiting) = (&self.records, &mut self.waiting);
                let mut newest = MonotonicTime::default();
                // A page that is damaged is lost from there on; the kernel writes none.
                let _ = items(&page[..length], &self.layout, &mut |at, item| {
                    let event = match item {
                        Item::Missed => event::missed(*cpu, at),
                        Item::Record(record) => records.read(*cpu, at, record),
                    };
                    newest = event.map_or(newest, |event| event.at);
                    waiting.extend(event);
                });
                // Written faster than read: the rest is for the next time.
                if newest > now {
                    break;
                }
            }
        }
    }

    /// Events that never got into the buffers, or were written over, since the buffers were emptied.
    fn lost_in_all(&self) -> u64 {
        let stats = |(cpu, _): &(u32, File)| lost_of(&self.instance.text(&format!("per_cpu/cpu{cpu}/stats")));
        self.cpus.iter().map(stats).sum()
    }
}

impl Tracer for Tracefs {
    fn tier(&self) -> Tier {
        Tier::Tracefs
    }

    fn gaps(&self) -> &[Gap] {
        self.gaps.all()
    }

    fn start(&mut self) -> Result<(), TracerRefusal> {
        self.instance.set("trace", "")?;
        self.follower = Follower::new(&self.processes, Interrupts::default(), self.steal.is_guest());
        self.quotas = Quotas::new(Root::live());
        self.waiting.clear();
        self.steal.look(clock::now());
        (self.lost, self.stopped) = (self.lost_in_all(), false);
        self.filter()?;
        self.enable(true)?;
        self.instance.set("tracing_on", "1")
    }

    fn follow(&mut self, tid: u32, slack: Span) -> Result<(), TracerRefusal> {
        self.gaps.follow(tid, slack);
        self.follower.follow(tid, process_of(tid));
        self.quotas.follow(tid, clock::now());
        self.filter()
    }

    fn read(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> u64 {
        let now = clock::now();
        self.quotas.look(clock::now());
        self.steal.look(clock::now());
        self.take(now);
        self.waiting.sort_by_key(|event| event.at);
        let settled = now.minus(UNSETTLED);
        let count = match self.stopped {
            true => self.waiting.len(),
            false => self.waiting.partition_point(|event| event.at < settled),
        };
        let mut all = Vec::new();
        for event in self.waiting.drain(..count) {
            self.follower.event(&event, &mut |one| all.push(one));
        }
        if self.stopped {
            self.follower.end(&mut |one| all.push(one));
        }
        self.standstill.witness(&mut all);
        for mut one in all {
            self.gaps.doubt(&mut one);
            self.quotas.doubt(&mut one);
            self.steal.witness(&mut one);
            seen(one);
        }
        let lost = self.lost_in_all();
        lost.saturating_sub(std::mem::replace(&mut self.lost, lost))
    }

    fn stop(&mut self) {
        // What cannot be switched off here goes with the trace.
        drop(self.instance.set("tracing_on", "0"));
        drop(self.enable(false));
        self.stopped = true;
    }
}

/// The pages of each CPU.
fn streams(instance: &Instance) -> Result<Vec<(u32, File)>, TracerRefusal> {
    let cpus = crate::cpus::possible();
    let stream = |cpu: u32| Some((cpu, instance.stream(&format!("per_cpu/cpu{cpu}/trace_pipe_raw")).ok()?));
    let streams: Vec<_> = cpus.iter().filter_map(stream).collect();
    if streams.is_empty() { Err(unreadable("per_cpu/cpu0/trace_pipe_raw")) } else { Ok(streams) }
}

/// Reads a page, or what there is of one; `None` where there is none.
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

/// The losses that a CPU's `stats` count.
fn lost_of(stats: &str) -> u64 {
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
