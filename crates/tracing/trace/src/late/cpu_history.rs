//! The recent activity of all CPUs: the rings without the counting of waits, filled between `start` and `stop`.

use aya::Ebpf;
use aya::programs::tp_btf::BtfTracePointLinkId;
use howlate_model::{CpuTimeline, MonotonicTime, Span, TracerRefusal};

use super::programs::LoadedPrograms;
use super::ring::{CpuRings, ring_events};
use super::{CPU_PROGRAMS, timeline};
use crate::irq_names::InterruptNames;
use crate::loading::{refusal, tracepoint};

/// The rings of all CPUs. No wait is counted or reported, since the BPF side knows no threads.
pub struct CpuHistory {
    kernel: Ebpf,
    rings: CpuRings,
    interrupts: InterruptNames,
    loaded: Vec<&'static str>,
    attached: Vec<(&'static str, BtfTracePointLinkId)>,
}

impl CpuHistory {
    /// Loads the programs, with rings for about `keep` of the activity of busy CPUs.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub fn load(keep: Span) -> Result<Self, TracerRefusal> {
        let LoadedPrograms { mut kernel, cpus, chunks, loaded, .. } =
            LoadedPrograms::load(ring_events(keep), &CPU_PROGRAMS)?;
        let rings = CpuRings::take(&mut kernel, cpus, chunks)?;
        Ok(Self { kernel, rings, interrupts: InterruptNames::default(), loaded, attached: Vec::new() })
    }

    /// Starts to fill the rings, after emptying them.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    pub fn start(&mut self) -> Result<(), TracerRefusal> {
        self.stop();
        self.rings.empty()?;
        for name in &self.loaded {
            let attached = tracepoint(&mut self.kernel, name)?.attach();
            let link = attached.map_err(|error| refusal("attach its programs", &error))?;
            self.attached.push((name, link));
        }
        Ok(())
    }

    /// Stops filling the rings; their content can still be read.
    pub fn stop(&mut self) {
        for (name, link) in self.attached.drain(..) {
            // A program that cannot be detached ends with this process.
            if let Ok(program) = tracepoint(&mut self.kernel, name) {
                drop(program.detach(link));
            }
        }
    }

    /// Occupants of each CPU between two times, as far as the rings reach back.
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
