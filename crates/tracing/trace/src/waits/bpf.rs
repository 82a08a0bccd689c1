//! Counts waits by BPF: loads `bpf/waits.bpf.c`, which `cargo xtask bpf` compiles.
//!
//! Nothing of it outlives the process: programs and maps are freed with their file descriptors.

use std::collections::HashSet;
use std::io::Read;

use aya::maps::{Array, HashMap, MapData, RingBuf};
use aya::programs::Iter;
use aya::{Btf, Ebpf, EbpfLoader};
use howlate_linux::syslog_capability;
use howlate_model::{KernelStack, LostWaits, NOT_SAMPLED, Span, ThreadWaits, TracerRefusal, WaitsReport};
use howlate_procfs::{KernelSymbols, Root};

use super::delta::LastRecords;
use super::record::WaitRecord;
use super::{WaitReader, WaitSource};
use crate::fields::FieldReader;
use crate::loading::{BpfProgram, damaged, load, refusal, required, tracepoint};
use crate::machine::{check_pid_namespace, cpu_slots};

/// In the order in which they are attached.
const PROGRAMS: [BpfProgram; 4] = [
    required("begins", "task_newtask"),
    required("ends", "sched_process_exit"),
    required("moves", "sched_migrate_task"),
    required("switches", "sched_switch"),
];
/// The iterator program that lists all threads.
const LISTER: &str = "each";
/// Frames of a stack: `DEPTH` of the BPF program.
const DEPTH: usize = 20;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/waits.bpf.o");

/// The attached programs.
pub(super) struct BpfWaitReader {
    kernel: Ebpf,
    ended: RingBuf<MapData>,
    stacks: HashMap<MapData, u64, [u64; DEPTH]>,
    symbols: KernelSymbols,
    last_records: LastRecords,
    /// Start of the last reading.
    read_at: u64,
    /// Stacks that were already passed on.
    known_stacks: HashSet<u64>,
    lost: LostWaits,
}

impl BpfWaitReader {
    /// Loads and attaches the programs, and reads all threads for the first time.
    pub(super) fn begin() -> Result<Self, TracerRefusal> {
        check_pid_namespace()?;
        let types = Btf::from_sys_fs().map_err(|_| TracerRefusal::NoTypes)?;
        let mut kernel = load_programs(&types)?;
        let symbols = syslog_capability::with_raised(|| KernelSymbols::read(&Root::live()));
        if symbols.is_empty() {
            return Err(TracerRefusal::NoNames);
        }
        let ended = kernel.take_map("ended").ok_or_else(|| damaged("ended"))?;
        let stacks = kernel.take_map("stacks").ok_or_else(|| damaged("stacks"))?;
        for program in &PROGRAMS {
            let attached = tracepoint(&mut kernel, program.name)?.attach();
            attached.map_err(|error| refusal("attach its programs", &error))?;
        }
        let mut reader = Self {
            kernel,
            ended: RingBuf::try_from(ended).map_err(|error| refusal("map its records", &error))?,
            stacks: HashMap::try_from(stacks).map_err(|error| refusal("read its stacks", &error))?,
            symbols,
            last_records: LastRecords::default(),
            read_at: 0,
            known_stacks: HashSet::new(),
            lost: LostWaits::default(),
        };
        reader.threads()?;
        reader.lost = reader.total_lost();
        Ok(reader)
    }

    /// All current threads.
    fn threads(&mut self) -> Result<Vec<ThreadWaits>, TracerRefusal> {
        let mut bytes = Vec::new();
        let each: &mut Iter = self
            .kernel
            .program_mut(LISTER)
            .and_then(|program| program.try_into().ok())
            .ok_or_else(|| damaged(LISTER))?;
        let link = each.attach().map_err(|error| refusal("list its threads", &error))?;
        let link = each.take_link(link).map_err(|error| refusal("list its threads", &error))?;
        let mut file = link.into_file().map_err(|error| refusal("list its threads", &error))?;
        file.read_to_end(&mut bytes).map_err(|error| refusal("tell of its threads", &error))?;
        let mut fields = FieldReader(&bytes);
        let mut all = Vec::new();
        let mut first = u64::MAX;
        while let Some(record) = WaitRecord::take(&mut fields) {
            first = first.min(record.now);
            all.push(self.last_records.new_waits(record));
        }
        // A thread that ends now is reported at the next reading.
        self.last_records.forget_before(std::mem::replace(&mut self.read_at, first));
        Ok(all)
    }

    /// The stacks at which these threads waited and that were not passed on before.
    fn new_stacks(&mut self, threads: &[ThreadWaits]) -> Vec<KernelStack> {
        let finished = threads.iter().flat_map(|thread| thread.reasons.iter().map(|reason| reason.stack));
        let ongoing = threads.iter().filter_map(|thread| thread.ongoing?.stack);
        let stacks: Vec<u64> = finished.chain(ongoing).filter(|stack| *stack != NOT_SAMPLED).collect();
        let new = stacks.into_iter().filter(|stack| self.known_stacks.insert(*stack));
        new.map(|id| KernelStack { id, functions: functions(&self.stacks, &self.symbols, id) }).collect()
    }

    fn total_lost(&self) -> LostWaits {
        let counters = self.kernel.map(".data.told").and_then(|map| Array::<_, [u64; 4]>::try_from(map).ok());
        let [_, unseen, threads, stacks] =
            counters.and_then(|counters| counters.get(&0, 0).ok()).unwrap_or_default();
        LostWaits { unseen, threads, stacks }
    }
}

impl WaitReader for BpfWaitReader {
    fn source(&self) -> WaitSource {
        WaitSource::Bpf
    }

    /// Ended threads fit into the ring for this long.
    fn every(&self) -> Span {
        Span::from_secs(1)
    }

    fn read(&mut self) -> Result<WaitsReport, TracerRefusal> {
        // Ended threads first: their ids may be reused by now.
        let mut threads = Vec::new();
        while let Some(bytes) = self.ended.next() {
            threads.extend(
                WaitRecord::take(&mut FieldReader(&bytes)).map(|record| self.last_records.new_waits(record)),
            );
        }
        threads.extend(self.threads()?);
        let stacks = self.new_stacks(&threads);
        let now = self.total_lost();
        let before = std::mem::replace(&mut self.lost, now);
        let lost = LostWaits {
            unseen: now.unseen - before.unseen,
            threads: now.threads - before.threads,
            stacks: now.stacks - before.stacks,
        };
        Ok(WaitsReport { threads, stacks, lost })
    }
}

fn load_programs(types: &Btf) -> Result<Ebpf, TracerRefusal> {
    let cpus = cpu_slots();
    let mut kernel = EbpfLoader::new()
        .allow_unsupported_maps()
        .btf(Some(types))
        .map_max_entries("cpus", cpus)
        .load(OBJECT)
        .map_err(|error| refusal("create its maps", &error))?;
    for program in &PROGRAMS {
        load(&mut kernel, program, types)?;
    }
    let each: &mut Iter = kernel
        .program_mut(LISTER)
        .and_then(|program| program.try_into().ok())
        .ok_or_else(|| damaged(LISTER))?;
    each.load("task", types).map_err(|error| refusal("load its program that lists threads", &error))?;
    Ok(kernel)
}

/// Functions of a stack, the innermost first; empty if it was not recorded.
fn functions(stacks: &HashMap<MapData, u64, [u64; DEPTH]>, symbols: &KernelSymbols, id: u64) -> Vec<String> {
    let frames = stacks.get(&id, 0).unwrap_or([0; DEPTH]);
    let used_frames = frames.into_iter().take_while(|frame| *frame != 0);
    used_frames
        .map(|frame| symbols.name(frame).map_or_else(|| format!("{frame:#x}"), str::to_owned))
        .collect()
}
