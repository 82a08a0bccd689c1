//! The recording of all guests.

use std::path::Path;

use howlate_analyse::compare::Track;
use howlate_guest::Guest;
use howlate_linux::clock;
use howlate_model::{
    Accelerator, Boot, BootEnd, Caveat, EndReason, Header, Line, LoadReport, MonotonicTime, Span,
};
use howlate_recording::{CreateError, LineMerger, side_by_side};

use super::kinds::Bootable;
use crate::environment::Environment;
use crate::recorder::{Recorder, header};

/// An open recording of all boots.
pub struct Boots {
    merge: LineMerger,
    recorder: Recorder<Track>,
    /// Number of conditions of each guest.
    measured: usize,
    boots: u32,
    /// Whether a guest is measuring.
    open: bool,
    booted: MonotonicTime,
}

/// Facts about a boot besides its header.
pub(crate) struct Booted<'a> {
    pub(crate) bootable: &'a Bootable,
    pub(crate) guest: &'a Guest<'a>,
    pub(crate) qemu: &'a str,
    pub(crate) took: Span,
}

/// The conditions of a guest differ from those of the first one.
pub(crate) struct OtherConditions;

impl Boots {
    /// Starts a recording with the header of the first guest, in `out` or else in the kept file.
    pub(crate) fn begin(
        first: &Header,
        kinds: &[Bootable],
        environment: &Environment,
        [out, kept]: [Option<&Path>; 2],
    ) -> Result<Self, CreateError> {
        let of_kinds: Vec<_> = kinds.iter().map(|kind| kind.conditions(&first.conditions)).collect();
        let merge = LineMerger::into_conditions(side_by_side(&of_kinds));
        let header = header("guest", first.seed, environment, merge.conditions().to_vec());
        let recorder = Recorder::somewhere(header, out, kept, &environment.interrupted)?;
        let measured = first.conditions.len();
        Ok(Self { merge, recorder, measured, boots: 0, open: false, booted: clock::now() })
    }

    /// Adds the header of a guest.
    pub(crate) fn boot(&mut self, header: &Header, booted: &Booted<'_>) -> Result<(), OtherConditions> {
        self.booted = clock::now();
        let moved_by_ns = self.booted.as_nanos().saturating_sub(header.at.as_nanos());
        let Booted { bootable, guest, .. } = booted;
        let conditions = bootable.conditions(&header.conditions);
        if conditions.len() != self.measured {
            return Err(OtherConditions);
        }
        let first_round = self.merge.begin(&conditions, moved_by_ns).map_err(|_| OtherConditions)?;
        let boot = Boot {
            boot: self.boots,
            at: self.booted,
            kernel: bootable.name.clone(),
            asked: bootable.kernel.asked.to_string(),
            image_sha256: bootable.kernel.sha256.clone(),
            on_host: bootable.on_host.clone(),
            first_round,
            accelerator: guest.accelerator(),
            qemu: booted.qemu.to_owned(),
            vcpus: guest.vcpus().to_vec(),
            emulator: guest.emulator().clone(),
            boot_took: booted.took,
            moved_by_ns,
            system: header.system.clone(),
            findings: header.findings.clone(),
            instrument: header.instrument,
        };
        self.open = true;
        self.recorder.keep(&Line::Boot(Box::new(boot)));
        let emulated = (guest.accelerator() == Accelerator::Tcg).then_some(Caveat::EmulatedCpu);
        let shared = guest.shares_a_thread().then(|| Caveat::OneTcgThread { qemu: booted.qemu.to_owned() });
        for caveat in guest.caveats().iter().cloned().chain(emulated).chain(shared) {
            self.recorder.caveat(caveat);
        }
        Ok(())
    }

    pub(crate) fn caveat(&mut self, caveat: Caveat) {
        self.recorder.caveat(caveat);
    }

    /// Adds a line of the running guest.
    pub(crate) fn line(&mut self, line: Line) {
        let line = self.merge.line(line);
        self.recorder.keep(&line);
    }

    /// Ends the running guest.
    pub(crate) fn boot_ended(
        &mut self,
        guest: &Guest<'_>,
        host_load: Option<LoadReport>,
        error: Option<String>,
    ) {
        let ended = BootEnd {
            boot: self.boots,
            elapsed: clock::now().since(self.booted),
            host_steal: guest.host_steal(),
            vcpus: guest.vcpu_times(),
            host_load,
            error,
        };
        (self.boots, self.open) = (self.boots + 1, false);
        self.recorder.keep(&Line::BootEnded(ended));
    }

    /// Whether a guest is measuring.
    pub(crate) const fn is_open(&self) -> bool {
        self.open
    }

    /// Number of wake-ups of all guests so far.
    pub(crate) fn count(&self) -> u64 {
        self.recorder.analysis().outcomes().iter().map(howlate_analyse::Outcome::count).sum()
    }

    /// Ends the recording; without `how`, as interrupted by an error.
    pub fn end(self, how: Option<EndReason>) -> Track {
        self.recorder.end(how)
    }
}
