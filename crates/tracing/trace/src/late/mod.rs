//! How long every thread of the machine waits for a CPU: loads `bpf/late.bpf.c`, which `cargo xtask bpf` compiles.
//!
//! ```text
//! kernel   counts of each thread ──► of its group, when it ends or at a reading
//!          occupants of each CPU: a ring per CPU, which is overwritten
//!          waits that are too long, with the last occupants of the CPU ──► sent at once
//! here     only for those the rings are read, back to the start of the wait
//! ```
//!
//! Nothing of it outlives the process: programs and maps are freed with their file descriptors.

mod cpu_history;
mod group_waits;
mod idle_cpu;
mod programs;
mod quotas;
mod record;
mod ring;
mod timeline_history;
mod timers;

use std::io::Read;

use aya::Ebpf;
use aya::maps::{Array, MapData, RingBuf};
use aya::programs::Iter;
use howlate_linux::clock;
use howlate_model::{
    CpuTimeline, EventLoopStall, LateWait, LateWaitStats, MissingProbes, MonotonicTime, Span, TracerRefusal,
    WaitGroup,
};
use howlate_procfs::Root;
use rustix::event::{PollFd, PollFlags, poll};

pub use self::cpu_history::CpuHistory;
use self::group_waits::WaitGroups;
use self::programs::{LoadedPrograms, attach, attach_event_loops};
use self::quotas::QuotaLookup;
use self::record::{LateRecord, Message};
pub use self::ring::ring_events;
use self::ring::{CpuRings, between};
pub use self::timeline_history::TimelineHistory;
use crate::irq_names::InterruptNames;
use crate::loading::{BpfProgram, ReschedRequests, damaged, optional, refusal, required};
use crate::missing_events::EventNeed;
use crate::steal::StealCounter;

/// Programs that follow threads.
const THREAD_PROGRAMS: [BpfProgram; 3] = [
    required("is_born", "task_newtask"),
    required("ends", "sched_process_exit"),
    required("migrates", "sched_migrate_task"),
];
/// Programs that follow timers: without any of them, a thread is late only by its wait for a CPU.
const TIMER_PROGRAMS: [BpfProgram; 4] = [
    optional("timer_set", "hrtimer_start", EventNeed::Optional),
    optional("timer_done", "hrtimer_expire_exit", EventNeed::Optional),
    optional("timer_served", "hrtimer_expire_entry", EventNeed::Optional),
    optional("signalled", "signal_generate", EventNeed::Optional),
];
/// Programs that follow CPUs, in the order in which they are attached: after the others, and ends before beginnings, so that nothing seems
/// to last for ever.
const CPU_PROGRAMS: [BpfProgram; 7] = [
    optional("tick_ends", "local_timer_exit", EventNeed::Optional),
    optional("tick_begins", "local_timer_entry", EventNeed::Optional),
    optional("handler_ends", "irq_handler_exit", EventNeed::Optional),
    optional("handler_begins", "irq_handler_entry", EventNeed::Optional),
    optional("softirq_ends", "softirq_exit", EventNeed::Optional),
    optional("softirq_begins", "softirq_entry", EventNeed::Optional),
    required("switches", "sched_switch"),
];
/// The iterator program that sums up the counts.
const LISTER: &str = "each";

/// The attached programs.
pub struct LateReader {
    kernel: Ebpf,
    sent: RingBuf<MapData>,
    rings: CpuRings,
    groups: WaitGroups,
    interrupts: InterruptNames,
    steal: StealCounter,
    quotas: QuotaLookup,
    /// At the last reading: late waits that did not fit, switches without an event, threads without a group.
    counters: [u64; 3],
    settings: ReaderSettings,
    /// Event loops that did not return in time, since the last `take_away`.
    away: Vec<EventLoopStall>,
    unseen: MissingProbes,
    /// Number of readings: its lowest bit selects the set of counters in use.
    set: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateThresholds {
    /// Threads that run later than this after their timer was due, or after they became runnable.
    pub above: Span,
    /// Event loops that do not return to their events for longer than this.
    pub loop_above: Span,
}

struct ReaderSettings {
    late: LateThresholds,
    /// The process whose late waits are not reported; 0: none.
    left_out: u32,
}

/// Late waits, completed one at a time.
pub struct LateWaits<'a> {
    found: std::vec::IntoIter<LateRecord>,
    rings: &'a CpuRings,
    interrupts: &'a mut InterruptNames,
    steal: &'a mut StealCounter,
    quotas: &'a mut QuotaLookup,
}

impl Iterator for LateWaits<'_> {
    type Item = LateWait;

    fn next(&mut self) -> Option<LateWait> {
        let mut wait = self.found.next()?.complete(self.rings, self.interrupts, self.quotas);
        self.steal.annotate(&mut wait.sleep);
        Some(wait)
    }
}

impl LateReader {
    /// Loads and attaches the programs. The ring of each CPU holds at least `events` events.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub fn begin(late: LateThresholds, events: u32) -> Result<Self, TracerRefusal> {
        let programs = [&THREAD_PROGRAMS[..], &TIMER_PROGRAMS, &CPU_PROGRAMS].concat();
        let LoadedPrograms { mut kernel, types, cpus, chunks, loaded } =
            LoadedPrograms::load(events, &programs)?;
        let mut resched_requests = ReschedRequests::load(&mut kernel, &types, &Root::live());
        let each = iterator(&mut kernel)?;
        each.load("task", &types).map_err(|error| refusal("load its program that lists threads", &error))?;
        let sent = kernel.take_map("late_ones").ok_or_else(|| damaged("late_ones"))?;
        let sent = RingBuf::try_from(sent).map_err(|error| refusal("map its records", &error))?;
        let rings = CpuRings::take(&mut kernel, cpus, chunks)?;
        let groups = WaitGroups::take(&mut kernel)?;
        let (interrupts, steal) = (InterruptNames::default(), StealCounter::new(Root::live()));
        let quotas = QuotaLookup::new(Root::live());
        let settings = ReaderSettings { late, left_out: std::process::id() };
        let (counters, set, away, unseen) = ([0; 3], 0, Vec::new(), MissingProbes::default());
        let mut reader = Self {
            kernel,
            sent,
            rings,
            groups,
            interrupts,
            steal,
            quotas,
            counters,
            settings,
            away,
            unseen,
            set,
        };
        reader.write_settings()?;
        attach(&mut reader.kernel, &loaded)?;
        // They stay attached as long as the object is loaded.
        resched_requests.attach(&mut reader.kernel);
        let timers = match TIMER_PROGRAMS.iter().find(|program| !loaded.contains(&program.name)) {
            Some(missing) => Err(TracerRefusal::EventMissing { name: missing.event.to_owned() }),
            None => timers::find_functions(&mut reader.kernel),
        };
        reader.unseen.timers = timers.err();
        reader.unseen.loops = attach_event_loops(&mut reader.kernel, &types).err();
        reader.steal.read(clock::now());
        reader.sum_up()?;
        Ok(reader)
    }

    /// Reports the late waits of this process as well, which are otherwise only counted.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub fn include_this_process(&mut self) -> Result<(), TracerRefusal> {
        self.settings.left_out = 0;
        self.write_settings()
    }

    /// What is not visible here.
    pub const fn unseen(&self) -> &MissingProbes {
        &self.unseen
    }

    /// Event loops that returned too late, as [`Self::read`] found them since the last call.
    pub fn take_away(&mut self) -> Vec<EventLoopStall> {
        std::mem::take(&mut self.away)
    }

    /// `poll(2)`: until a thread was late, a signal handler ran, or `most` has passed.
    pub fn wait(&self, most: Span) {
        let mut poll_fds = [PollFd::new(&self.sent, PollFlags::IN)];
        let _earlier = poll(&mut poll_fds, Some(&clock::timespec_for(most)));
    }

    /// Changes the threshold of late waits.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub fn late_above(&mut self, above: Span) -> Result<(), TracerRefusal> {
        self.settings.late.above = above;
        self.write_settings()
    }

    fn write_settings(&mut self) -> Result<(), TracerRefusal> {
        let ReaderSettings { late: LateThresholds { above, loop_above }, left_out } = self.settings;
        let control = self.kernel.map_mut(".data.control").ok_or_else(|| damaged(".data.control"))?;
        let mut control: Array<_, [u64; 3]> =
            Array::try_from(control).map_err(|error| refusal("map its settings", &error))?;
        let words =
            [above.as_nanos(), u64::from(left_out) | u64::from(self.set) << 32, loop_above.as_nanos()];
        control.set(0, words, 0).map_err(|error| refusal("take its settings", &error))
    }

    /// Late waits that ended since the last call, in the order of their ends, with the occupants of the CPUs: of those for which `wanted`,
    /// called without occupants, is true, the longest `room`. Only their rings are read. Each is completed when the iterator returns it:
    /// with all that a busy CPU did meanwhile it may be large.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    pub fn read(
        &mut self,
        mut is_wanted: impl FnMut(&LateWait) -> bool,
        room: impl FnOnce(usize) -> usize,
    ) -> Result<(LateWaitStats, LateWaits<'_>), TracerRefusal> {
        let mut found = Vec::new();
        while let Some(bytes) = self.sent.next() {
            match Message::parse(&bytes) {
                Some(Message::Late(record)) if is_wanted(&record.without_occupants()) => found.push(*record),
                Some(Message::Away(record)) => self.away.push(record),
                _ => {}
            }
        }
        let room = room(found.len());
        let left_out = found.len().saturating_sub(room) as u64;
        if left_out > 0 {
            found.sort_by_key(|record| std::cmp::Reverse(record.late()));
            found.truncate(room);
        }
        let at = clock::now();
        self.steal.read(at);
        self.rings.forget();
        found.iter_mut().for_each(LateRecord::find_allowed_cpus);
        for (cpu, from) in found.iter().flat_map(LateRecord::rings_needed) {
            self.rings.request(cpu, from);
        }
        self.rings.read()?;
        found.sort_by_key(LateRecord::ended);
        let counters = self.kernel.map(".data.told").and_then(|map| Array::<_, [u64; 3]>::try_from(map).ok());
        let now = counters.and_then(|counters| counters.get(&0, 0).ok()).unwrap_or(self.counters);
        let before = std::mem::replace(&mut self.counters, now);
        let grew = |counter: usize| now[counter].saturating_sub(before[counter]);
        let read = LateWaitStats { left_out, lost: grew(0), unseen: grew(1), at };
        if now[1] > 0 {
            self.rings.doubt_idle();
        }
        let Self { rings, interrupts, steal, quotas, .. } = self;
        Ok((read, LateWaits { found: found.into_iter(), rings, interrupts, steal, quotas }))
    }

    /// Waits of all threads since the last call, also of ended ones.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    pub fn groups(&mut self) -> Result<Vec<WaitGroup>, TracerRefusal> {
        // All programs that still count into the previous set are done long before it is read.
        self.set = self.set.wrapping_add(1);
        self.write_settings()?;
        self.sum_up()?;
        self.groups.new_waits(self.set)
    }

    /// Reads all rings back to `from`.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    pub fn timeline(
        &mut self,
        from: MonotonicTime,
        until: MonotonicTime,
    ) -> Result<Vec<CpuTimeline>, TracerRefusal> {
        timeline(&mut self.rings, &mut self.interrupts, from, until)
    }

    /// Has the BPF side add each thread's counts to those of its group.
    fn sum_up(&mut self) -> Result<(), TracerRefusal> {
        let refused = |error: &(dyn std::error::Error + 'static)| refusal("list its threads", error);
        let each = iterator(&mut self.kernel)?;
        let link = each.attach().map_err(|error| refused(&error))?;
        let link = each.take_link(link).map_err(|error| refused(&error))?;
        let mut file = link.into_file().map_err(|error| refused(&error))?;
        // The iterator writes no output: the sums are in the map of groups.
        file.read_to_end(&mut Vec::new()).map(drop).map_err(|error| refused(&error))
    }
}

/// Reads all rings back to `from`.
fn timeline(
    rings: &mut CpuRings,
    interrupts: &mut InterruptNames,
    from: MonotonicTime,
    until: MonotonicTime,
) -> Result<Vec<CpuTimeline>, TracerRefusal> {
    rings.forget();
    (0..rings.cpus()).for_each(|cpu| rings.request(cpu, from));
    rings.read()?;
    let mut of = |cpu| {
        let (stretches, _) = between(rings.of(cpu), from, until, interrupts);
        CpuTimeline { cpu, stretches }
    };
    Ok((0..rings.cpus()).map(&mut of).filter(|timeline| !timeline.stretches.is_empty()).collect())
}

fn iterator(kernel: &mut Ebpf) -> Result<&mut Iter, TracerRefusal> {
    kernel.program_mut(LISTER).and_then(|program| program.try_into().ok()).ok_or_else(|| damaged(LISTER))
}
