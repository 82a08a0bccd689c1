//! What all CPUs have done lately, and nothing else: the rings alone, filled while they are wanted.

use aya::Ebpf;
use aya::programs::tp_btf::BtfTracePointLinkId;
use howlate_model::{CpuTimeline, MonotonicTime, Span, TracerRefusal};

use super::kernel_side::KernelSide;
use super::ring::{Rings, events_in};
use super::{OF_CPUS, timeline};
use crate::irq_names::Interrupts;
use crate::loading::{program, refusal};

/// The rings of all CPUs. No wait is counted or told of, as no thread is known to the kernel's side.
pub struct CpuHistory {
    kernel: Ebpf,
    rings: Rings,
    interrupts: Interrupts,
    loaded: Vec<&'static str>,
    attached: Vec<(&'static str, BtfTracePointLinkId)>,
}

impl CpuHistory {
    /// Loads what fills them, with room for about so much of what busy CPUs do.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub fn load(keep: Span) -> Result<Self, TracerRefusal> {
        let KernelSide { mut kernel, cpus, chunks, loaded, .. } =
            KernelSide::load(events_in(keep), &OF_CPUS)?;
        let rings = Rings::take(&mut kernel, cpus, chunks)?;
        Ok(Self { kernel, rings, interrupts: Interrupts::default(), loaded, attached: Vec::new() })
    }

    /// Begins to fill them; what they held before is forgotten.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    pub fn start(&mut self) -> Result<(), TracerRefusal> {
        self.stop();
        self.rings.empty()?;
        for name in &self.loaded {
            let attached = program(&mut self.kernel, name)?.attach();
            let link = attached.map_err(|error| refusal("attach its programs", &error))?;
            self.attached.push((name, link));
        }
        Ok(())
    }

    /// Ends filling them; what they hold can still be read.
    pub fn stop(&mut self) {
        for (name, link) in self.attached.drain(..) {
            // What cannot be detached goes with this process.
            if let Ok(program) = program(&mut self.kernel, name) {
                drop(program.detach(link));
            }
        }
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
}
