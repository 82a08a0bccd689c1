//! How long every thread of the machine waits for a CPU: programs in the kernel, `bpf/late.bpf.c`, made with
//! `cargo xtask bpf`, loaded here.
//!
//! ```text
//! kernel   counts of each thread ──► of its group, when it ends or when they are asked for
//!          who had each CPU until when: a ring per CPU, written over
//!          waits that are too long, with the last of who had the CPU ──► sent at once
//! here     looks for those; only for them the rings are read, back to where the wait began
//! ```
//!
//! Nothing of it outlives the process: programs and maps go with their file descriptors.

mod cpu_history;
mod event_loops;
mod group_waits;
mod kernel_side;
mod quotas;
mod record;
mod remembered;
mod ring;
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
use self::group_waits::Groups;
use self::kernel_side::{KernelSide, attach};
use self::quotas::Quotas;
use self::record::{Late, Sent};
pub use self::remembered::Remembered;
pub use self::ring::events_in;
use self::ring::{Rings, between};
use crate::irq_names::Interrupts;
use crate::loading::{Program, damaged, helpful, needed, refusal};
use crate::missing_events::Without;
use crate::steal::Steal;

/// Those that follow threads.
const OF_THREADS: [Program; 3] = [
    needed("is_born", "task_newtask"),
    needed("ends", "sched_process_exit"),
    needed("migrates", "sched_migrate_task"),
];
/// Those that follow timers: without any of them, threads are late by their waits for a CPU only.
const OF_TIMERS: [Program; 4] = [
    helpful("timer_set", "hrtimer_start", Without::All),
    helpful("timer_done", "hrtimer_expire_exit", Without::All),
    helpful("timer_served", "hrtimer_expire_entry", Without::All),
    helpful("signalled", "signal_generate", Without::All),
];
/// Those that follow CPUs, in the order in which they are attached: after the others, and who ends something before who begins it,
/// so that nothing goes on for ever.
const OF_CPUS: [Program; 7] = [
    helpful("tick_ends", "local_timer_exit", Without::All),
    helpful("tick_begins", "local_timer_entry", Without::All),
    helpful("handler_ends", "irq_handler_exit", Without::All),
    helpful("handler_begins", "irq_handler_entry", Without::All),
    helpful("softirq_ends", "softirq_exit", Without::All),
    helpful("softirq_begins", "softirq_entry", Without::All),
    needed("switches", "sched_switch"),
];
/// The one that adds up.
const EACH: &str = "each";

/// The programs, attached.
pub struct LateReader {
    kernel: Ebpf,
    sent: RingBuf<MapData>,
    rings: Rings,
    groups: Groups,
    interrupts: Interrupts,
    steal: Steal,
    quotas: Quotas,
    /// As last read: late waits without room, switches without an event, threads without a group.
    told: [u64; 3],
    settings: Settings,
    /// Event loops that were away for too long, since that was asked last.
    away: Vec<EventLoopStall>,
    unseen: MissingProbes,
    /// How often counts were read: of two sets of them, the one that this is odd or even for is counted into.
    set: u32,
}

/// What is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate {
    /// Threads that run later than this after their timer was due, or they were ready.
    pub above: Span,
    /// Event loops that do not come back to their events for longer than this.
    pub loop_above: Span,
}

struct Settings {
    late: TooLate,
    /// The process whose waits are not told.
    left_out: u32,
}

/// Late waits, put together one after the other.
pub struct LateWaits<'a> {
    found: std::vec::IntoIter<Late>,
    rings: &'a Rings,
    interrupts: &'a mut Interrupts,
    steal: &'a mut Steal,
    quotas: &'a mut Quotas,
}

impl Iterator for LateWaits<'_> {
    type Item = LateWait;

    fn next(&mut self) -> Option<LateWait> {
        let mut wait = self.found.next()?.with(self.rings, self.interrupts, self.quotas);
        self.steal.witness(&mut wait.sleep);
        Some(wait)
    }
}

impl LateReader {
    /// Loads and attaches them. Each CPU remembers `events` of the last times that it
    /// passed from one to another, or somewhat more.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub fn begin(late: TooLate, events: u32) -> Result<Self, TracerRefusal> {
        let programs = [&OF_THREADS[..], &OF_TIMERS, &OF_CPUS].concat();
        let KernelSide { mut kernel, types, cpus, chunks, loaded } = KernelSide::load(events, &programs)?;
        let each = iterator(&mut kernel)?;
        each.load("task", &types).map_err(|error| refusal("load its program that lists threads", &error))?;
        let sent = kernel.take_map("late_ones").ok_or_else(|| damaged("late_ones"))?;
        let sent = RingBuf::try_from(sent).map_err(|error| refusal("map its records", &error))?;
        let rings = Rings::take(&mut kernel, cpus, chunks)?;
        let groups = Groups::take(&mut kernel)?;
        let (interrupts, steal) = (Interrupts::default(), Steal::new(Root::live()));
        let quotas = Quotas::new(Root::live());
        let settings = Settings { late, left_out: std::process::id() };
        let (told, set, away, unseen) = ([0; 3], 0, Vec::new(), MissingProbes::default());
        let mut reader = Self {
            kernel,
            sent,
            rings,
            groups,
            interrupts,
            steal,
            quotas,
            told,
            settings,
            away,
            unseen,
            set,
        };
        reader.tell_settings()?;
        attach(&mut reader.kernel, &loaded)?;
        let timers = match OF_TIMERS.iter().find(|one| !loaded.contains(&one.name)) {
            Some(missing) => Err(TracerRefusal::EventMissing { name: missing.event.to_owned() }),
            None => timers::learn(&mut reader.kernel),
        };
        reader.unseen.timers = timers.err();
        reader.unseen.loops = event_loops::attach(&mut reader.kernel, &types).err();
        reader.steal.look(clock::now());
        reader.add_up()?;
        Ok(reader)
    }

    /// Tells of the late waits of this process as well, which are only counted otherwise.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub fn tell_of_this_process(&mut self) -> Result<(), TracerRefusal> {
        self.settings.left_out = 0;
        self.tell_settings()
    }

    /// What it cannot tell of here.
    pub const fn unseen(&self) -> &MissingProbes {
        &self.unseen
    }

    /// The event loops that have come back since the last call after they were away for too long, as far as [`Self::read`] has
    /// met them.
    pub fn take_away(&mut self) -> Vec<EventLoopStall> {
        std::mem::take(&mut self.away)
    }

    /// `poll(2)`: until somebody was late, or a handler of a signal ran, at most so long.
    pub fn wait(&self, most: Span) {
        let mut asked = [PollFd::new(&self.sent, PollFlags::IN)];
        let _earlier = poll(&mut asked, Some(&clock::timespec_for(most)));
    }

    /// From now on, a wait longer than this is late.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub fn late_above(&mut self, above: Span) -> Result<(), TracerRefusal> {
        self.settings.late.above = above;
        self.tell_settings()
    }

    fn tell_settings(&mut self) -> Result<(), TracerRefusal> {
        let Settings { late: TooLate { above, loop_above }, left_out } = self.settings;
        let control = self.kernel.map_mut(".data.control").ok_or_else(|| damaged(".data.control"))?;
        let mut control: Array<_, [u64; 3]> =
            Array::try_from(control).map_err(|error| refusal("map its settings", &error))?;
        let words =
            [above.as_nanos(), u64::from(left_out) | u64::from(self.set) << 32, loop_above.as_nanos()];
        control.set(0, words, 0).map_err(|error| refusal("take its settings", &error))
    }

    /// The late waits that have ended since the last call, in order of their ends, with who had the CPUs meanwhile: those that are
    /// `wanted`, which is asked without that, and of these as many as there is `room` for, the longest. Only for them the rings are
    /// read. Each is put together when it is asked for: with all that happened on a busy CPU meanwhile, it may be large.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    pub fn read(
        &mut self,
        mut wanted: impl FnMut(&LateWait) -> bool,
        room: impl FnOnce(usize) -> usize,
    ) -> Result<(LateWaitStats, LateWaits<'_>), TracerRefusal> {
        let mut found = Vec::new();
        while let Some(bytes) = self.sent.next() {
            match Sent::parse(&bytes) {
                Some(Sent::Late(one)) if wanted(&one.alone()) => found.push(*one),
                Some(Sent::Away(one)) => self.away.push(one),
                _ => {}
            }
        }
        let room = room(found.len());
        let left_out = found.len().saturating_sub(room) as u64;
        if left_out > 0 {
            found.sort_by_key(|one| std::cmp::Reverse(one.late()));
            found.truncate(room);
        }
        let at = clock::now();
        self.steal.look(at);
        self.rings.forget();
        for (cpu, from) in found.iter().flat_map(Late::rings_wanted) {
            self.rings.want(cpu, from);
        }
        self.rings.read()?;
        found.sort_by_key(Late::ended);
        let told = self.kernel.map(".data.told").and_then(|map| Array::<_, [u64; 3]>::try_from(map).ok());
        let now = told.and_then(|told| told.get(&0, 0).ok()).unwrap_or(self.told);
        let before = std::mem::replace(&mut self.told, now);
        let grew = |place: usize| now[place].saturating_sub(before[place]);
        let read = LateWaitStats { left_out, lost: grew(0), unseen: grew(1), at };
        let Self { rings, interrupts, steal, quotas, .. } = self;
        Ok((read, LateWaits { found: found.into_iter(), rings, interrupts, steal, quotas }))
    }

    /// What all threads have waited since the last call, those that have ended included.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    pub fn groups(&mut self) -> Result<Vec<WaitGroup>, TracerRefusal> {
        // Who counts is done with it long before the set is read that it counted into until now.
        self.set = self.set.wrapping_add(1);
        self.tell_settings()?;
        self.add_up()?;
        self.groups.since_the_last_time(self.set)
    }

    /// Who had each CPU between two times, as far as it is remembered.
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

    /// Has the kernel's side add each thread's counts to its group's.
    fn add_up(&mut self) -> Result<(), TracerRefusal> {
        let refused = |error: &(dyn std::error::Error + 'static)| refusal("list its threads", error);
        let each = iterator(&mut self.kernel)?;
        let link = each.attach().map_err(|error| refused(&error))?;
        let link = each.take_link(link).map_err(|error| refused(&error))?;
        let mut file = link.into_file().map_err(|error| refused(&error))?;
        // Nothing is written there: what was added up is in the groups.
        file.read_to_end(&mut Vec::new()).map(drop).map_err(|error| refused(&error))
    }
}

/// Reads all rings back to `from`.
fn timeline(
    rings: &mut Rings,
    interrupts: &mut Interrupts,
    from: MonotonicTime,
    until: MonotonicTime,
) -> Result<Vec<CpuTimeline>, TracerRefusal> {
    rings.forget();
    (0..rings.cpus()).for_each(|cpu| rings.want(cpu, from));
    rings.read()?;
    let mut of = |cpu| {
        let (stretches, _) = between(rings.of(cpu), from, until, interrupts);
        CpuTimeline { cpu, stretches }
    };
    Ok((0..rings.cpus()).map(&mut of).filter(|one| !one.stretches.is_empty()).collect())
}

fn iterator(kernel: &mut Ebpf) -> Result<&mut Iter, TracerRefusal> {
    kernel.program_mut(EACH).and_then(|program| program.try_into().ok()).ok_or_else(|| damaged(EACH))
}
