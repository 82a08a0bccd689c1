//! The programs and maps of `bpf/late.bpf.c`, loaded: all of them, or as many as are asked for.

use aya::{Btf, Ebpf, EbpfLoader};
use howlate_model::TracerRefusal;

use super::ring;
use crate::loading::{Program, load, program, refusal};
use crate::namespace::has_the_kernels_ids;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/late.bpf.o");

/// What was loaded.
pub(super) struct KernelSide {
    pub(super) kernel: Ebpf,
    /// The kernel's description of its types.
    pub(super) types: Btf,
    /// CPUs that there may be, and chunks of the ring of each.
    pub(super) cpus: u32,
    pub(super) chunks: u32,
    /// Programs that the kernel takes, in the order in which they are to be attached.
    pub(super) loaded: Vec<&'static str>,
}

impl KernelSide {
    /// Loads `programs`, with rings for `events` of each CPU or somewhat more.
    pub(super) fn load(events: u32, programs: &[Program]) -> Result<Self, TracerRefusal> {
        has_the_kernels_ids()?;
        let types = Btf::from_sys_fs().map_err(|_| TracerRefusal::NoTypes)?;
        let cpus = crate::cpus::possible().iter().max().unwrap_or(255) + 1;
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
        for one in programs {
            if load(&mut kernel, one, &types)? {
                loaded.push(one.name);
            }
        }
        Ok(Self { kernel, types, cpus, chunks, loaded })
    }
}

/// Attaches programs that were loaded.
pub(super) fn attach(kernel: &mut Ebpf, names: &[&'static str]) -> Result<(), TracerRefusal> {
    names.iter().try_for_each(|name| {
        let attached = program(kernel, name)?.attach();
        attached.map(drop).map_err(|error| refusal("attach its programs", &error))
    })
}
