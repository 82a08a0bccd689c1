//! The one recording that all guests' lines go into.

use std::path::Path;

use howlate_analyse::compare::Track;
use howlate_guest::{Guest, Merge, OtherConditions};
use howlate_linux::clock;
use howlate_model::{
    Accelerator, Boot, BootEnded, Caveat, End, FORMAT, Header, HowEnded, Line, LoadReport, MonotonicTime,
    Span,
};
use howlate_record::Writer;

use super::kinds::Bootable;
use crate::error::Error;
use crate::session::{Surroundings, now_in_words};

/// A recording under way.
pub(super) struct Merged {
    merge: Merge,
    track: Track,
    writer: Option<Writer>,
    boots: u32,
    /// Whether a guest measures at present.
    open: bool,
    booted: MonotonicTime,
}

/// What is known of a boot besides its header.
pub(super) struct Booted<'a> {
    pub(super) index: usize,
    pub(super) bootable: &'a Bootable,
    pub(super) guest: &'a Guest<'a>,
    pub(super) qemu: &'a str,
    pub(super) took: Span,
}

impl Merged {
    /// Begins with the header of the first guest.
    pub(super) fn begin(
        first: &Header,
        kinds: &[Bootable],
        around: &Surroundings,
        out: Option<&Path>,
    ) -> Result<Self, Error> {
        let merge = Merge::new(kinds.iter().map(|one| one.kind.clone()).collect(), first);
        let header = Header {
            format: FORMAT,
            howlate: env!("CARGO_PKG_VERSION").to_owned(),
            command: "guest".to_owned(),
            arguments: std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
            started: now_in_words(),
            at_ns: clock::now(),
            clock: "CLOCK_MONOTONIC".to_owned(),
            seed: first.seed,
            system: around.system.clone(),
            findings: around.findings.clone(),
            settings: Vec::new(),
            instrument: around.instrument,
            conditions: merge.conditions(),
        };
        let writer = out.map(|path| Writer::create(path, &header)).transpose()?;
        let booted = clock::now();
        Ok(Self { merge, track: Track::new(header), writer, boots: 0, open: false, booted })
    }

    fn keep(&mut self, line: &Line) {
        self.track.add(line);
        if let Some(writer) = &mut self.writer {
            writer.write(line);
        }
    }

    /// A guest's header has come.
    pub(super) fn boot(&mut self, header: &Header, booted: &Booted<'_>) -> Result<(), OtherConditions> {
        self.booted = clock::now();
        let (first_round, moved_by_ns) = self.merge.boot(booted.index, header, self.booted)?;
        let Booted { bootable, guest, .. } = booted;
        let boot = Boot {
            boot: self.boots,
            at_ns: self.booted,
            kernel: bootable.kind.kernel.clone(),
            asked: bootable.kernel.asked.to_string(),
            image_sha256: bootable.kernel.sha256.clone(),
            on_host: bootable.kind.on_host.clone(),
            first_round,
            accelerator: guest.accelerator(),
            qemu: booted.qemu.to_owned(),
            vcpus: guest.vcpus().to_vec(),
            emulator: guest.emulator().clone(),
            boot_took_ns: booted.took,
            moved_by_ns,
            system: header.system.clone(),
            findings: header.findings.clone(),
            instrument: header.instrument,
        };
        self.open = true;
        self.keep(&Line::Boot(Box::new(boot)));
        let emulated = (guest.accelerator() == Accelerator::Tcg).then_some(Caveat::EmulatedCpu);
        for caveat in guest.caveats().iter().cloned().chain(emulated) {
            self.caveat(caveat);
        }
        Ok(())
    }

    /// Something to know, once.
    pub(super) fn caveat(&mut self, caveat: Caveat) {
        if !self.track.analysis.caveats.contains(&caveat) {
            self.keep(&Line::Caveat(caveat));
        }
    }

    /// A line of the guest that goes on.
    pub(super) fn line(&mut self, line: Line) {
        match self.merge.line(line) {
            Line::Caveat(caveat) => self.caveat(caveat),
            line => self.keep(&line),
        }
    }

    /// The guest is over.
    pub(super) fn boot_ended(
        &mut self,
        guest: &Guest<'_>,
        host_load: Option<LoadReport>,
        error: Option<String>,
    ) {
        let ended = BootEnded {
            boot: self.boots,
            elapsed_ns: clock::now().since(self.booted),
            host_steal_ns: guest.host_steal(),
            vcpus: guest.vcpu_times(),
            host_load,
            error,
        };
        (self.boots, self.open) = (self.boots + 1, false);
        self.keep(&Line::BootEnded(ended));
    }

    /// Whether a guest measures, and has not ended yet.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// Wake-ups so far, of all guests.
    pub(super) fn count(&self) -> u64 {
        self.track.analysis.outcomes().iter().map(howlate_analyse::Outcome::count).sum()
    }

    /// No more will come; without `how` it did not end in order.
    pub(super) fn end(mut self, how: Option<HowEnded>) -> Track {
        if let Some(how) = how {
            self.keep(&Line::End(End { at_ns: clock::now(), how }));
        }
        if let Some(caveat) = self.writer.take().and_then(Writer::close) {
            self.track.add(&Line::Caveat(caveat));
        }
        self.track
    }
}
