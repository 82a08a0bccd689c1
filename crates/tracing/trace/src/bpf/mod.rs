//! The BPF tracer: loads `bpf/wakeups.bpf.c`, which `cargo xtask bpf` compiles.
//!
//! Nothing of it outlives the process: programs and maps are freed with their file descriptors.

mod iteration;
mod lifecycle;
mod record;
mod request;

use std::io::Read;

use aya::maps::{Array, MapData, RingBuf};
use aya::programs::Iter;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::{Btf, Ebpf, EbpfLoader};
use howlate_linux::clock;
use howlate_model::{Iteration, LifeEvent, Request, Span, TracedSleep, TracerGap, TracerRefusal};
use howlate_procfs::Root;

use crate::irq_names::InterruptNames;
use crate::loading::{BpfProgram, ReschedRequests, damaged, load, optional, refusal, required, tracepoint};
use crate::machine::{check_pid_namespace, cpu_slots, process_of};
use crate::missing_events::EventNeed::Costs;
use crate::missing_events::{EventNeed, MissingEvent, MissingEvents, TIMER_INTERRUPTS};
use crate::quota::QuotaTracker;
use crate::standstill::StandstillDetector;
use crate::steal::{SILENCE, StealCounter};
use crate::{Tier, Tracer};
use iteration::LOOPS;
use request::RequestPrograms;

/// Processes that can be watched at once: `MAX_PROCESSES` in the BPF program.
const MAX_PROCESSES: usize = 4;
/// No process has this id.
const NO_PROCESS: u32 = u32::MAX;

/// Records that are parsed per batch: the ring of 16 MiB is full after a busy machine has delayed its reader, and parsed records take four
/// times its size.
const BATCH: u32 = 4_096;

const PROGRAMS: [BpfProgram; 23] = [
    optional("tick_begins", "local_timer_entry", TIMER_INTERRUPTS),
    optional("tick_ends", "local_timer_exit", TIMER_INTERRUPTS),
    optional("timer_served", "hrtimer_expire_entry", Costs(TracerGap::Timers)),
    optional("has_passed", "hrtimer_start_expired", EventNeed::Optional),
    optional("rearmed", "hrtimer_rearm", EventNeed::Optional),
    optional("handler_begins", "irq_handler_entry", Costs(TracerGap::Interrupts)),
    optional("handler_ends", "irq_handler_exit", Costs(TracerGap::Interrupts)),
    optional("deferred", "softirq_raise", Costs(TracerGap::Softirqs)),
    optional("softirq_begins", "softirq_entry", Costs(TracerGap::Softirqs)),
    optional("softirq_ends", "softirq_exit", Costs(TracerGap::Softirqs)),
    required("waking", "sched_waking"),
    required("migrates", "sched_migrate_task"),
    required("switches", "sched_switch"),
    optional("begins", "sched_process_fork", Costs(TracerGap::Lives)),
    optional("is_called", "task_rename", Costs(TracerGap::Lives)),
    optional("ends", "sched_process_exit", Costs(TracerGap::Lives)),
    optional(CALLS[0], "call_function_single_entry", EventNeed::Optional),
    optional(CALLS[1], "reschedule_entry", EventNeed::Optional),
    optional(LOOPS[0], "sys_enter", EventNeed::Optional),
    optional(LOOPS[1], "sys_exit", EventNeed::Optional),
    optional(LOOPS[2], "hrtimer_expire_entry", EventNeed::Optional),
    optional("page_fault", "page_fault_user", Costs(TracerGap::PageFaults)),
    optional("signalled", "signal_generate", Costs(TracerGap::Signals)),
];

/// Record when idle CPUs take inter-processor interrupts; attached only on request.
const CALLS: [&str; 2] = ["called_to_work", "called_to_switch"];

/// Lists the threads that the processes had started before; used only with children.
const STARTED_BEFORE: &str = "started_before";

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/wakeups.bpf.o");

/// The loaded programs.
pub(crate) struct Bpf {
    kernel: Ebpf,
    /// Programs whose events this kernel has.
    programs: Vec<&'static str>,
    attached: Vec<(&'static str, BtfTracePointLinkId)>,
    resched_requests: ReschedRequests,
    records: RingBuf<MapData>,
    /// Processes that are always watched, and those that are now.
    processes: Vec<u32>,
    watched: Vec<u32>,
    /// Whether children are watched as well.
    children: bool,
    lives: Vec<LifeEvent>,
    calls: bool,
    /// Whether event loops are followed, and their iterations.
    loops: bool,
    iterations: Vec<Iteration>,
    request_programs: RequestPrograms,
    requests: Vec<Request>,
    /// Lost records at the last reading.
    lost: u64,
    interrupts: InterruptNames,
    quotas: QuotaTracker,
    steal: StealCounter,
    standstill: StandstillDetector,
    missing_events: MissingEvents,
}

impl Bpf {
    /// Loads the programs to watch `processes`, except those of `hidden` events.
    pub(crate) fn open(processes: &[u32], hidden: &[&str]) -> Result<Self, TracerRefusal> {
        check_pid_namespace()?;
        let types = Btf::from_sys_fs().map_err(|_| TracerRefusal::NoTypes)?;
        let cpus = cpu_slots();
        let steal = StealCounter::new(Root::live());
        let silence = if steal.is_guest() { SILENCE.as_nanos() } else { u64::MAX };
        let mut kernel = EbpfLoader::new()
            .allow_unsupported_maps()
            .override_global("silence", &silence, true)
            .btf(Some(&types))
            .map_max_entries("cpus", cpus)
            .load(OBJECT)
            .map_err(|error| refusal("create its maps", &error))?;
        let (programs, missing_events) = usable_programs(|program| match hidden.contains(&program.event) {
            true => Ok(false),
            false => load(&mut kernel, program, &types),
        })?;
        let resched_requests = ReschedRequests::load(&mut kernel, &types, &Root::live());
        watch(&mut kernel, processes, false)?;
        let records = kernel.take_map("records").ok_or_else(|| damaged("records"))?;
        let records = RingBuf::try_from(records).map_err(|error| refusal("map its records", &error))?;
        Ok(Self {
            kernel,
            programs,
            attached: Vec::new(),
            resched_requests,
            records,
            processes: processes.to_vec(),
            watched: processes.to_vec(),
            children: false,
            lives: Vec::new(),
            calls: false,
            loops: false,
            iterations: Vec::new(),
            request_programs: RequestPrograms::default(),
            requests: Vec::new(),
            lost: 0,
            interrupts: InterruptNames::default(),
            quotas: QuotaTracker::new(Root::live()),
            steal,
            standstill: StandstillDetector::new(&Root::live()),
            missing_events,
        })
    }

    fn started_before(&mut self) -> Result<&mut Iter, TracerRefusal> {
        let program = self.kernel.program_mut(STARTED_BEFORE);
        program.and_then(|program| program.try_into().ok()).ok_or_else(|| damaged(STARTED_BEFORE))
    }

    /// Children that start meanwhile are watched by the fork event of their parent.
    fn watch_existing_children(&mut self) -> Result<(), TracerRefusal> {
        let refused = |error: &(dyn std::error::Error + 'static)| refusal("list its threads", error);
        let program = self.started_before()?;
        let link = program.attach().map_err(|error| refused(&error))?;
        let link = program.take_link(link).map_err(|error| refused(&error))?;
        let mut output = link.into_file().map_err(|error| refused(&error))?;
        // The program writes no output: it marks each listed thread as watched.
        output.read_to_end(&mut Vec::new()).map(drop).map_err(|error| refused(&error))
    }

    /// Total of records that did not fit, and of wake-ups without an event.
    fn lost_and_missed(&self) -> (u64, u64) {
        let counters = self.kernel.map(".data.told").and_then(|map| Array::<_, [u64; 5]>::try_from(map).ok());
        counters
            .and_then(|counters| counters.get(&0, 0).ok())
            .map_or((0, 0), |counters| (counters[0], counters[4]))
    }

    /// Records lost since the last call.
    fn lost_since(&mut self) -> u64 {
        let (lost, _) = self.lost_and_missed();
        lost - std::mem::replace(&mut self.lost, lost)
    }

    /// Reads at most [`BATCH`] records; returns whether there may be more.
    fn next_records(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> bool {
        let (mut sleeps, mut count) = (Vec::new(), 0);
        while count < BATCH
            && let Some(bytes) = self.records.next()
        {
            count += 1;
            if let Some(life) = lifecycle::parse(&bytes) {
                self.lives.push(life);
            } else if let Some(iteration) = iteration::parse(&bytes) {
                self.iterations.push(iteration);
            } else if let Some(request) = request::parse(&bytes) {
                self.requests.push(request);
            } else {
                sleeps.extend(record::parse(&bytes, &mut self.interrupts));
            }
        }
        // After the records: throttling is counted before the throttled thread runs again.
        self.quotas.read(clock::now());
        self.steal.read(clock::now());
        self.standstill.annotate(&mut sleeps);
        for mut sleep in sleeps {
            self.missing_events.correct(&mut sleep);
            self.quotas.annotate(&mut sleep);
            self.steal.annotate(&mut sleep);
            seen(sleep);
        }
        count == BATCH
    }
}

impl Tracer for Bpf {
    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn missing_events(&self) -> &[MissingEvent] {
        self.missing_events.all()
    }

    fn start(&mut self) -> Result<(), TracerRefusal> {
        self.watched.clone_from(&self.processes);
        self.quotas = QuotaTracker::new(Root::live());
        self.steal.read(clock::now());
        // No thread may be watched while only some programs are attached: events that are not seen would be taken for ones that did not
        // happen.
        watch(&mut self.kernel, &[], false)?;
        let (calls, loops) = (self.calls, self.loops);
        let is_used = |name: &&&str| (calls || !CALLS.contains(name)) && (loops || !LOOPS.contains(name));
        for &name in self.programs.iter().filter(is_used) {
            let program = tracepoint(&mut self.kernel, name)?;
            let link = program.attach().map_err(|error| refusal("attach its programs", &error))?;
            self.attached.push((name, link));
        }
        self.resched_requests.attach(&mut self.kernel);
        self.request_programs.attach(&mut self.kernel)?;
        watch(&mut self.kernel, &self.watched, self.children)?;
        if self.children { self.watch_existing_children() } else { Ok(()) }
    }

    fn with_children(&mut self) -> Result<bool, TracerRefusal> {
        // Children are watched from their fork on, or when they are found.
        if self.missing_events.has(TracerGap::Lives) {
            return Ok(false);
        }
        let types = Btf::from_sys_fs().map_err(|_| TracerRefusal::NoTypes)?;
        let doing = "load its program that lists threads";
        self.started_before()?.load("task", &types).map_err(|error| refusal(doing, &error))?;
        self.children = true;
        Ok(true)
    }

    fn with_calls(&mut self, is_wanted: bool) {
        self.calls = is_wanted;
    }

    fn with_loops(&mut self, above: Span) -> Result<bool, TracerRefusal> {
        self.loops = LOOPS[..2].iter().all(|name| self.programs.contains(name));
        if self.loops {
            iteration::configure(&mut self.kernel, above)?;
        }
        Ok(self.loops)
    }

    fn with_requests(&mut self) -> Result<(), TracerRefusal> {
        self.request_programs.load(&mut self.kernel)
    }

    fn missed(&self) -> u64 {
        self.lost_and_missed().1
    }

    fn iterations(&mut self) -> Vec<Iteration> {
        std::mem::take(&mut self.iterations)
    }

    fn requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    fn lives(&mut self) -> Option<Vec<LifeEvent>> {
        (!self.missing_events.has(TracerGap::Lives)).then(|| std::mem::take(&mut self.lives))
    }

    /// All threads of the watched processes are followed; the process of `tid` becomes one of them.
    fn follow(&mut self, tid: u32, slack: Span) -> Result<(), TracerRefusal> {
        self.missing_events.follow(tid, slack);
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
        // What the caller did not take from the last reading is dropped.
        self.lives.clear();
        self.iterations.clear();
        self.requests.clear();
        while self.next_records(seen) {}
        self.lost_since()
    }

    fn read_some(&mut self, seen: &mut dyn FnMut(TracedSleep)) -> (u64, bool) {
        self.lives.clear();
        self.iterations.clear();
        self.requests.clear();
        let is_more = self.next_records(seen);
        (self.lost_since(), is_more)
    }

    fn stop(&mut self) {
        // Programs are detached one after the other: the remaining ones would see what the detached ones do not.
        drop(watch(&mut self.kernel, &[], false));
        self.resched_requests.detach(&mut self.kernel);
        self.request_programs.detach(&mut self.kernel);
        for (name, link) in self.attached.drain(..) {
            // A program that is already detached is no error.
            let program = tracepoint(&mut self.kernel, name);
            drop(program.map(|program| program.detach(link)));
        }
    }
}

/// The programs that load, and what is not seen without the others.
fn usable_programs(
    mut loads: impl FnMut(&BpfProgram) -> Result<bool, TracerRefusal>,
) -> Result<(Vec<&'static str>, MissingEvents), TracerRefusal> {
    let (mut loaded, mut missing_events) = (Vec::new(), MissingEvents::default());
    for program in &PROGRAMS {
        match (loads(program)?, program.need) {
            (true, _) => loaded.push(program),
            (false, EventNeed::Costs(costs)) => missing_events.add(program.event, costs),
            (false, EventNeed::Required) => {
                return Err(TracerRefusal::EventMissing { name: program.event.to_owned() });
            }
            (false, EventNeed::Optional) => {}
        }
    }
    loaded.retain(|program| !missing_events.makes_useless(program.need));
    Ok((loaded.into_iter().map(|program| program.name).collect(), missing_events))
}

fn watch(kernel: &mut Ebpf, processes: &[u32], children: bool) -> Result<(), TracerRefusal> {
    if processes.len() > MAX_PROCESSES {
        return Err(TracerRefusal::TooMany { asked: processes.len(), most: MAX_PROCESSES });
    }
    let mut settings = [NO_PROCESS; MAX_PROCESSES + 1];
    settings[..processes.len()].copy_from_slice(processes);
    settings[MAX_PROCESSES] = children.into();
    let control = kernel.map_mut(".data.control").ok_or_else(|| damaged(".data.control"))?;
    let mut control: Array<_, [u32; MAX_PROCESSES + 1]> =
        Array::try_from(control).map_err(|error| refusal("map its settings", &error))?;
    control.set(0, settings, 0).map_err(|error| refusal("take its settings", &error))
}

#[cfg(test)]
mod tests;
