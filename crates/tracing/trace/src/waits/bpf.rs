//! Programs in the kernel: `bpf/waits.bpf.c`, made with `cargo xtask bpf`, loaded here.
//!
//! Nothing of it outlives the process: programs and maps go with their file descriptors.

use std::collections::HashSet;
use std::io::Read;

use aya::maps::{Array, HashMap, MapData, RingBuf};
use aya::programs::Iter;
use aya::{Btf, Ebpf, EbpfLoader};
use howlate_linux::syslog_capability;
use howlate_model::{KernelStack, LostWaits, NOT_SAMPLED, Span, ThreadWaits, TracerRefusal, WaitsReport};
use howlate_procfs::{KernelSymbols, Root};

use super::delta::Earlier;
use super::record::Record;
use super::{WaitReader, WaitSource};
use crate::fields::Fields;
use crate::loading::{Program, damaged, load, needed, program, refusal};
use crate::namespace::has_the_kernels_ids;

/// Those that follow, in the order in which they are attached.
const PROGRAMS: [Program; 4] = [
    needed("begins", "task_newtask"),
    needed("ends", "sched_process_exit"),
    needed("moves", "sched_migrate_task"),
    needed("switches", "sched_switch"),
];
/// The one that reads.
const EACH: &str = "each";
/// Frames of a stack: `DEPTH` of the kernel's side.
const DEPTH: usize = 20;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/waits.bpf.o");

/// The programs, attached.
pub(super) struct Counting {
    kernel: Ebpf,
    ended: RingBuf<MapData>,
    stacks: HashMap<MapData, u64, [u64; DEPTH]>,
    symbols: KernelSymbols,
    earlier: Earlier,
    /// When the most recent reading began.
    read_at: u64,
    /// Stacks that were told.
    told: HashSet<u64>,
    lost: LostWaits,
}

impl Counting {
    /// Loads and attaches them, and looks at every thread for the first time.
    pub(super) fn begin() -> Result<Self, TracerRefusal> {
        has_the_kernels_ids()?;
        let types = Btf::from_sys_fs().map_err(|_| TracerRefusal::NoTypes)?;
        let mut kernel = loaded(&types)?;
        let symbols = syslog_capability::with_raised(|| KernelSymbols::read(&Root::live()));
        if symbols.is_empty() {
            return Err(TracerRefusal::NoNames);
        }
        let ended = kernel.take_map("ended").ok_or_else(|| damaged("ended"))?;
        let stacks = kernel.take_map("stacks").ok_or_else(|| damaged("stacks"))?;
        for one in &PROGRAMS {
            let attached = program(&mut kernel, one.name)?.attach();
            attached.map_err(|error| refusal("attach its programs", &error))?;
        }
        let mut counting = Self {
            kernel,
            ended: RingBuf::try_from(ended).map_err(|error| refusal("map its records", &error))?,
            stacks: HashMap::try_from(stacks).map_err(|error| refusal("read its stacks", &error))?,
            symbols,
            earlier: Earlier::default(),
            read_at: 0,
            told: HashSet::new(),
            lost: LostWaits::default(),
        };
        counting.threads()?;
        counting.lost = counting.lost_in_all();
        Ok(counting)
    }

    /// Every thread that there is.
    fn threads(&mut self) -> Result<Vec<ThreadWaits>, TracerRefusal> {
        let mut bytes = Vec::new();
        let each: &mut Iter = self
            .kernel
            .program_mut(EACH)
            .and_then(|program| program.try_into().ok())
            .ok_or_else(|| damaged(EACH))?;
        let link = each.attach().map_err(|error| refusal("list its threads", &error))?;
        let link = each.take_link(link).map_err(|error| refusal("list its threads", &error))?;
        let mut file = link.into_file().map_err(|error| refusal("list its threads", &error))?;
        file.read_to_end(&mut bytes).map_err(|error| refusal("tell of its threads", &error))?;
        let mut fields = Fields(&bytes);
        let mut all = Vec::new();
        let mut first = u64::MAX;
        while let Some(record) = Record::take(&mut fields) {
            first = first.min(record.now);
            all.push(self.earlier.since(record));
        }
        // One that ends now is told of at the next reading.
        self.earlier.forget_before(std::mem::replace(&mut self.read_at, first));
        Ok(all)
    }

    /// The stacks that these threads waited at and that were not told before.
    fn new_stacks(&mut self, threads: &[ThreadWaits]) -> Vec<KernelStack> {
        let over = threads.iter().flat_map(|one| one.reasons.iter().map(|reason| reason.stack));
        let ongoing = threads.iter().filter_map(|one| one.ongoing?.stack);
        let all: Vec<u64> = over.chain(ongoing).filter(|stack| *stack != NOT_SAMPLED).collect();
        let new = all.into_iter().filter(|stack| self.told.insert(*stack));
        new.map(|id| KernelStack { id, functions: functions(&self.stacks, &self.symbols, id) }).collect()
    }

    fn lost_in_all(&self) -> LostWaits {
        let told = self.kernel.map(".data.told").and_then(|map| Array::<_, [u64; 4]>::try_from(map).ok());
        let [_, unseen, threads, stacks] = told.and_then(|told| told.get(&0, 0).ok()).unwrap_or_default();
        LostWaits { unseen, threads, stacks }
    }
}

impl WaitReader for Counting {
    fn source(&self) -> WaitSource {
        WaitSource::Bpf
    }

    /// For so long there is room for threads that end.
    fn every(&self) -> Span {
        Span::from_secs(1)
    }

    fn read(&mut self) -> Result<WaitsReport, TracerRefusal> {
        // First those that have ended: their numbers may be others' by now.
        let mut threads = Vec::new();
        while let Some(bytes) = self.ended.next() {
            threads.extend(Record::take(&mut Fields(&bytes)).map(|record| self.earlier.since(record)));
        }
        threads.extend(self.threads()?);
        let stacks = self.new_stacks(&threads);
        let now = self.lost_in_all();
        let before = std::mem::replace(&mut self.lost, now);
        let lost = LostWaits {
            unseen: now.unseen - before.unseen,
            threads: now.threads - before.threads,
            stacks: now.stacks - before.stacks,
        };
        Ok(WaitsReport { threads, stacks, lost })
    }
}

fn loaded(types: &Btf) -> Result<Ebpf, TracerRefusal> {
    let cpus = crate::cpus::possible().iter().max().unwrap_or(255) + 1;
    let mut kernel = EbpfLoader::new()
        .allow_unsupported_maps()
        .btf(Some(types))
        .map_max_entries("cpus", cpus)
        .load(OBJECT)
        .map_err(|error| refusal("create its maps", &error))?;
    for one in &PROGRAMS {
        load(&mut kernel, one, types)?;
    }
    let each: &mut Iter =
        kernel.program_mut(EACH).and_then(|program| program.try_into().ok()).ok_or_else(|| damaged(EACH))?;
    each.load("task", types).map_err(|error| refusal("load its program that lists threads", &error))?;
    Ok(kernel)
}

/// The functions of a stack, the innermost first; empty where there was no room for it.
fn functions(stacks: &HashMap<MapData, u64, [u64; DEPTH]>, symbols: &KernelSymbols, id: u64) -> Vec<String> {
    let frames = stacks.get(&id, 0).unwrap_or([0; DEPTH]);
    let known = frames.into_iter().take_while(|frame| *frame != 0);
    known.map(|frame| symbols.name(frame).map_or_else(|| format!("{frame:#x}"), str::to_owned)).collect()
}
