//! Loads and attaches the programs of `bpf/late.bpf.c`, all or some of them.

use aya::programs::{FEntry, FExit};
use aya::{Btf, Ebpf, EbpfLoader};
use howlate_model::TracerRefusal;

use super::ring;
use crate::loading::{BpfProgram, damaged, load, not_loaded, refusal, tracepoint};
use crate::machine::{check_pid_namespace, cpu_slots};

const FUNCTION: &str = "do_epoll_wait";
const WAITS: &str = "loop_waits";
const RETURNS: &str = "loop_returns";

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/late.bpf.o");

/// The loaded programs.
pub(super) struct LoadedPrograms {
    pub(super) kernel: Ebpf,
    /// The kernel's own types.
    pub(super) types: Btf,
    /// Possible CPUs, and chunks of the ring of each.
    pub(super) cpus: u32,
    pub(super) chunks: u32,
    /// Programs that the kernel accepted, in the order in which they are to be attached.
    pub(super) loaded: Vec<&'static str>,
}

impl LoadedPrograms {
    /// Loads `programs`, with rings for at least `events` per CPU.
    pub(super) fn load(events: u32, programs: &[BpfProgram]) -> Result<Self, TracerRefusal> {
        check_pid_namespace()?;
        let types = Btf::from_sys_fs().map_err(|_| TracerRefusal::NoTypes)?;
        let cpus = cpu_slots();
        let chunks = ring::chunks(events);
        let mut kernel = EbpfLoader::new()
            .allow_unsupported_maps()
            .btf(Some(&types))
            .override_global("chunks", &chunks, true)
            .map_max_entries("cpus", cpus)
            .map_max_entries("ring", cpus.saturating_mul(chunks))
            .load(OBJECT)
            .map_err(|error| refusal("create its maps", &error))?;
        let mut loaded = Vec::new();
        for program in programs {
            if load(&mut kernel, program, &types)? {
                loaded.push(program.name);
            }
        }
        Ok(Self { kernel, types, cpus, chunks, loaded })
    }
}

pub(super) fn attach(kernel: &mut Ebpf, names: &[&'static str]) -> Result<(), TracerRefusal> {
    names.iter().try_for_each(|name| {
        let attached = tracepoint(kernel, name)?.attach();
        attached.map(drop).map_err(|error| refusal("attach its programs", &error))
    })
}

/// Loads and attaches the two programs that follow event loops, at the entry and the return of the call in which they wait.
///
/// `epoll_wait(2)` and its variants are one kernel function, `do_epoll_wait` in `fs/eventpoll.c`. A kernel without it, or without
/// `CONFIG_FUNCTION_TRACER`, does not report event loops.
pub(super) fn attach_event_loops(kernel: &mut Ebpf, types: &Btf) -> Result<(), TracerRefusal> {
    attach_both(kernel, types).map_err(|refused| match refused {
        // Other programs were loaded: following functions is forbidden, even to root.
        TracerRefusal::NotPermitted => TracerRefusal::Kernel {
            doing: format!("let a program follow its function {FUNCTION}"),
            reason: "operation not permitted, though it takes programs for its tracepoints; that is this kernel's own policy, \
                     which no right of a user changes"
                .to_owned(),
        },
        refused => refused,
    })
}

fn attach_both(kernel: &mut Ebpf, types: &Btf) -> Result<(), TracerRefusal> {
    let refused = |error: &(dyn std::error::Error + 'static)| refusal("follow event loops", error);
    let waits = kernel.program_mut(WAITS).ok_or_else(|| damaged(WAITS))?;
    let waits: &mut FEntry = waits.try_into().map_err(|_| damaged(WAITS))?;
    waits.load(FUNCTION, types).map_err(|error| not_loaded(FUNCTION, &error))?;
    let returns = kernel.program_mut(RETURNS).ok_or_else(|| damaged(RETURNS))?;
    let returns: &mut FExit = returns.try_into().map_err(|_| damaged(RETURNS))?;
    returns.load(FUNCTION, types).map_err(|error| not_loaded(FUNCTION, &error))?;
    // `RETURNS` before `WAITS`: a call that is seen to begin is also seen to return.
    returns.attach().map_err(|error| refused(&error))?;
    let waits = kernel.program_mut(WAITS).ok_or_else(|| damaged(WAITS))?;
    let waits: &mut FEntry = waits.try_into().map_err(|_| damaged(WAITS))?;
    waits.attach().map(drop).map_err(|error| refused(&error))
}
