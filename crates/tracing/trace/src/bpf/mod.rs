//! Programs in the kernel: `bpf/wakeups.bpf.c`, made with `cargo xtask bpf`, loaded here.
//!
//! Nothing of it outlives the process: programs and maps go with their file descriptors.

mod iteration;
mod life;
mod record;

use std::io::Read;

use aya::maps::{Array, MapData, RingBuf};
use aya::programs::Iter;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::{Btf, Ebpf, EbpfLoader};
use howlate_linux::clock;
use howlate_model::{Iteration, LifeEvent, Span, TracedSleep, TracerGap, TracerRefusal};
use howlate_procfs::Root;

use crate::irq_names::Interrupts;
use crate::loading::{Program, damaged, helpful, load, needed, program, refusal};
use crate::missing_events::Without::AllBut;
use crate::missing_events::{Gap, Gaps, TIMER_INTERRUPTS, Without};
use crate::namespace::{has_the_kernels_ids, process_of};
use crate::quota::Quotas;
use crate::standstill::Standstill;
use crate::steal::{SILENCE, Steal};
use crate::{Tier, Tracer};
use iteration::LOOPS;

/// Processes that can be watched at once: `WATCHED` of the kernel's side.
const WATCHED: usize = 4;
/// No process has this id.
const NOBODY: u32 = u32::MAX;

/// Records that are put together before they are told of: a ring of 16 MiB is full when a busy machine has kept its reader waiting, and
/// takes four times that as what it says. A reader that takes it in by and by never holds that much.
const AT_ONCE: u32 = 4_096;

const PROGRAMS: [Program; 23] = [
    helpful("tick_begins", "local_timer_entry", TIMER_INTERRUPTS),
    helpful("tick_ends", "local_timer_exit", TIMER_INTERRUPTS),
    helpful("timer_served", "hrtimer_expire_entry", AllBut(TracerGap::Timers)),
    helpful("has_passed", "hrtimer_start_expired", Without::All),
    helpful("rearmed", "hrtimer_rearm", Without::All),
    helpful("handler_begins", "irq_handler_entry", AllBut(TracerGap::Interrupts)),
    helpful("handler_ends", "irq_handler_exit", AllBut(TracerGap::Interrupts)),
    helpful("deferred", "softirq_raise", AllBut(TracerGap::Softirqs)),
    helpful("softirq_begins", "softirq_entry", AllBut(TracerGap::Softirqs)),
    helpful("softirq_ends", "softirq_exit", AllBut(TracerGap::Softirqs)),
    needed("waking", "sched_waking"),
    needed("migrates", "sched_migrate_task"),
    needed("switches", "sched_switch"),
    helpful("begins", "sched_process_fork", AllBut(TracerGap::Lives)),
    helpful("is_called", "task_rename", AllBut(TracerGap::Lives)),
    helpful("ends", "sched_process_exit", AllBut(TracerGap::Lives)),
    helpful(CALLS[0], "call_function_single_entry", Without::All),
    helpful(CALLS[1], "reschedule_entry", Without::All),
    helpful(LOOPS[0], "sys_enter", Without::All),
    helpful(LOOPS[1], "sys_exit", Without::All),
    helpful(LOOPS[2], "hrtimer_expire_entry", Without::All),
    helpful("page_fault", "page_fault_user", AllBut(TracerGap::PageFaults)),
    helpful("signalled", "signal_generate", AllBut(TracerGap::Signals)),
];

/// When idle CPUs take the interrupts of others: attached only where that is asked for.
const CALLS: [&str; 2] = ["called_to_work", "called_to_switch"];

/// Watches what the processes have started before, where that is asked for.
const STARTED_BEFORE: &str = "started_before";

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/wakeups.bpf.o");

/// The programs, loaded.
pub(crate) struct Bpf {
    kernel: Ebpf,
    /// Those that this kernel has events for.
    programs: Vec<&'static str>,
    attached: Vec<(&'static str, BtfTracePointLinkId)>,
    records: RingBuf<MapData>,
    /// Those that are always watched, and those that are now.
    processes: Vec<u32>,
    watched: Vec<u32>,
    /// Whether what they start is watched as well.
    children: bool,
    lives: Vec<LifeEvent>,
    calls: bool,
    /// Whether event loops are watched, and what was seen of them.
    loops: bool,
    iterations: Vec<Iteration>,
    /// Records lost, as last read.
    lost: u64,
    interrupts: Interrupts,
    quotas: Quotas,
    steal: Steal,
    standstill: Standstill,
    gaps: Gaps,
}

impl Bpf {
    /// Loads the programs, to watch `processes`; but for those of events that are `hidden`.
    pub(crate) fn open(processes: &[u32], hidden: &[&str]) -> Result<Self, TracerRefusal> {
        has_the_kernels_ids()?;
        let types = Btf::from_sys_fs().map_err(|_| TracerRefusal::NoTypes)?;
        let cpus = crate::cpus::possible().iter().max().unwrap_or(255) + 1;
        let steal = Steal::new(Root::live());
        let silence = if steal.is_guest() { SILENCE.as_nanos() } else { u64::MAX };
        let mut kernel = EbpfLoader::new()
            .allow_unsupported_maps()
            .override_global("silence", &silence, true)
            .btf(Some(&types))
            .map_max_entries("cpus", cpus)
            .load(OBJECT)
            .map_err(|error| refusal("create its maps", &error))?;
        let (programs, gaps) = those_that_load(|program| match hidden.contains(&program.event) {
            true => Ok(false),
            false => load(&mut kernel, program, &types),
        })?;
        watch(&mut kernel, processes, false)?;
        let records = kernel.take_map("records").ok_or_else(|| damaged("records"))?;
        let records = RingBuf::try_from(records).map_err(|error| refusal("map its records", &error))?;
        Ok(Self {
            kernel,
            programs,
            attached: Vec::new(),
            records,
            processes: processes.to_vec(),
            watched: processes.to_vec(),
            children: false,
            lives: Vec::new(),
            calls: false,
            loops: false,
            iterations: Vec::new(),
            lost: 0,
            interrupts: Interrupts::default(),
            quotas: Quotas::new(Root::live()),
            steal,
            standstill: Standstill::new(&Root::live()),
            gaps,
        })
    }

    fn started_before(&mut self) -> Result<&mut Iter, TracerRefusal> {
        let program = self.kernel.program_mut(STARTED_BEFORE);
        program.and_then(|program| program.try_into().ok()).ok_or_else(|| damaged(STARTED_BEFORE))
    }

    /// Children that come meanwhile are watched by who starts them.
    fn watch_what_was_started_before(&mut self) -> Result<(), TracerRefusal> {
        let refused = |error: &(dyn std::error::Error + 'static)| refusal("list its threads", error);
        let program = self.started_before()?;
        let link = program.attach().map_err(|error| refused(&error))?;
        let link = program.take_link(link).map_err(|error| refused(&error))?;
        let mut listed = link.into_file().map_err(|error| refused(&error))?;
        // Nothing is told: whoever is listed is watched from then on.
        listed.read_to_end(&mut Vec::new()).map(drop).map_err(|error| refused(&error))
    }

    /// Records that have not fitted, and wake-ups that no event told of, all together.
    fn lost_and_missed(&self) -> (u64, u64) {
        let told = self.kernel.map(".data.told").and_then(|map| Array::<_, [u64; 5]>::try_from(map).ok());
        told.and_then(|told| told.get(&0, 0).ok()).map_or((0, 0), |told| (told[0], told[4]))
    }

    /// How many records were lost since that was asked last.
    fn lost_since(&mut self) -> u64 {
        let (lost, _) = self.lost_and_missed();
        lost - std::mem::replace(&mut self.lost, lost)
    }

    /// Reads the next records, no more than [`AT_ONCE`]; whether there may be more.
    fn next_records(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> bool {
        let (mut all, mut count) = (Vec::new(), 0);
        while count < AT_ONCE
            && let Some(bytes) = self.records.next()
        {
            count += 1;
            if let Some(life) = life::parse(&bytes) {
                self.lives.push(life);
            } else if let Some(iteration) = iteration::parse(&bytes) {
                self.iterations.push(iteration);
            } else {
                all.extend(record::parse(&bytes, &mut self.interrupts));
            }
        }
        // After the records: a quota is counted before whom it kept runs on.
        self.quotas.look(clock::now());
        self.steal.look(clock::now());
        self.standstill.witness(&mut all);
        for mut one in all {
            self.gaps.doubt(&mut one);
            self.quotas.name_group(&mut one);
            self.steal.witness(&mut one);
            seen(one);
        }
        count == AT_ONCE
    }
}

impl Tracer for Bpf {
    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn gaps(&self) -> &[Gap] {
        self.gaps.all()
    }

    fn start(&mut self) -> Result<(), TracerRefusal> {
        self.watched.clone_from(&self.processes);
        self.quotas = Quotas::new(Root::live());
        self.steal.look(clock::now());
        // Nobody is watched by some of them only: what was not seen would be taken for what did not happen.
        watch(&mut self.kernel, &[], false)?;
        let (calls, loops) = (self.calls, self.loops);
        let is_wanted = |name: &&&str| (calls || !CALLS.contains(name)) && (loops || !LOOPS.contains(name));
        for &name in self.programs.iter().filter(is_wanted) {
            let program = program(&mut self.kernel, name)?;
            let link = program.attach().map_err(|error| refusal("attach its programs", &error))?;
            self.attached.push((name, link));
        }
        watch(&mut self.kernel, &self.watched, self.children)?;
        if self.children { self.watch_what_was_started_before() } else { Ok(()) }
    }

    fn with_children(&mut self) -> Result<bool, TracerRefusal> {
        // Children are watched from their beginning on, or when they are found.
        if self.gaps.has(TracerGap::Lives) {
            return Ok(false);
        }
        let types = Btf::from_sys_fs().map_err(|_| TracerRefusal::NoTypes)?;
        let doing = "load its program that lists threads";
        self.started_before()?.load("task", &types).map_err(|error| refusal(doing, &error))?;
        self.children = true;
        Ok(true)
    }

    fn with_calls(&mut self, wanted: bool) {
        self.calls = wanted;
    }

    fn with_loops(&mut self, above: Span) -> Result<bool, TracerRefusal> {
        self.loops = LOOPS[..2].iter().all(|name| self.programs.contains(name));
        if self.loops {
            iteration::tell(&mut self.kernel, above)?;
        }
        Ok(self.loops)
    }

    fn missed(&self) -> u64 {
        self.lost_and_missed().1
    }

    fn iterations(&mut self) -> Vec<Iteration> {
        std::mem::take(&mut self.iterations)
    }

    fn lives(&mut self) -> Option<Vec<LifeEvent>> {
        (!self.gaps.has(TracerGap::Lives)).then(|| std::mem::take(&mut self.lives))
    }

    /// All threads of the watched processes are followed; that of `tid` becomes one of them.
    fn follow(&mut self, tid: u32, slack: Span) -> Result<(), TracerRefusal> {
        self.gaps.follow(tid, slack);
        self.quotas.follow(tid, clock::now());
        match process_of(tid) {
            Some(process) if !self.children && !self.watched.contains(&process) => {
                self.watched.push(process);
                watch(&mut self.kernel, &self.watched, false)
            }
            _ => Ok(()),
        }
    }

    fn read(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> u64 {
        // Who does not ask for them has no use for them.
        self.lives.clear();
        self.iterations.clear();
        while self.next_records(seen) {}
        self.lost_since()
    }

    fn read_some(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> (u64, bool) {
        self.lives.clear();
        self.iterations.clear();
        let is_more = self.next_records(seen);
        (self.lost_since(), is_more)
    }

    fn stop(&mut self) {
        // One program after the other is detached: until then, the others see what it does not.
        drop(watch(&mut self.kernel, &[], false));
        for (name, link) in self.attached.drain(..) {
            // One that is gone already is what is wanted.
            let program = program(&mut self.kernel, name);
            drop(program.map(|program| program.detach(link)));
        }
    }
}

/// The programs that can be used, by which ones load, and what is not told without the others.
fn those_that_load(
    mut loads: impl FnMut(&Program) -> Result<bool, TracerRefusal>,
) -> Result<(Vec<&'static str>, Gaps), TracerRefusal> {
    let (mut loaded, mut gaps) = (Vec::new(), Gaps::default());
    for program in &PROGRAMS {
        match (loads(program)?, program.without) {
            (true, _) => loaded.push(program),
            (false, Without::AllBut(costs)) => gaps.add(program.event, costs),
            (false, Without::Nothing) => {
                return Err(TracerRefusal::EventMissing { name: program.event.to_owned() });
            }
            (false, Without::All) => {}
        }
    }
    loaded.retain(|program| !gaps.takes(program.without));
    Ok((loaded.into_iter().map(|program| program.name).collect(), gaps))
}

fn watch(kernel: &mut Ebpf, processes: &[u32], children: bool) -> Result<(), TracerRefusal> {
    if processes.len() > WATCHED {
        return Err(TracerRefusal::TooMany { asked: processes.len(), most: WATCHED });
    }
    let mut settings = [NOBODY; WATCHED + 1];
    settings[..processes.len()].copy_from_slice(processes);
    settings[WATCHED] = children.into();
    let control = kernel.map_mut(".data.control").ok_or_else(|| damaged(".data.control"))?;
    let mut control: Array<_, [u32; WATCHED + 1]> =
        Array::try_from(control).map_err(|error| refusal("map its settings", &error))?;
    control.set(0, settings, 0).map_err(|error| refusal("take its settings", &error))
}

#[cfg(test)]
mod tests;
