//! Booting guests in turn, and listening to each.

use std::sync::atomic::Ordering;

use howlate_guest::{
    Acceleration, Errand, Event, Guest as Booting, GuestError, Machine, Program, Setup, there_and_back,
};
use howlate_load::Running;
use howlate_model::{Accelerator, Caveat, End, HowEnded, Line, LoadReport};
use howlate_render::boot_progress;

use super::kinds::Bootable;
use super::merged::{Booted, Merged};
use crate::cli::Guest;
use crate::error::Error;
use crate::session::Surroundings;
use crate::terminal::{InPlace, is_watched};

/// All boots of a run.
pub(super) struct Rounds<'a> {
    pub(super) asked: &'a Guest,
    pub(super) machine: Machine,
    pub(super) qemu: String,
    pub(super) program: Program,
    pub(super) errand: Errand,
    pub(super) kinds: Vec<Bootable>,
    pub(super) around: &'a Surroundings,
    /// `None` until the first guest measures.
    pub(super) merged: Option<Merged>,
}

/// How one boot went.
enum Outcome {
    /// All that was asked.
    Over,
    /// The guest stopped the whole run, or Ctrl-C did.
    Stopped(HowEnded),
}

/// One boot while it goes on.
struct Watch {
    place: Option<InPlace>,
    title: String,
    load: Option<Running>,
    before: u64,
}

impl Rounds<'_> {
    /// Takes all of them, or as many as go well.
    pub(super) fn take(&mut self) -> Result<HowEnded, Error> {
        let several = self.kinds.len() > 1;
        let order =
            there_and_back(self.kinds.len(), self.asked.rounds.unwrap_or(if several { 2 } else { 1 }));
        for (number, index) in order.iter().enumerate() {
            let title =
                format!("guest {} of {} · {}", number + 1, order.len(), self.kinds[*index].kind.kernel);
            if let Outcome::Stopped(how) = self.boot(*index, title)? {
                return Ok(how);
            }
        }
        Ok(HowEnded::Done)
    }

    fn boot(&mut self, index: usize, title: String) -> Result<Outcome, Error> {
        let place = (!self.asked.quiet && is_watched()).then(InPlace::default);
        let before = self.merged.as_ref().map_or(0, Merged::count);
        let mut watch = Watch { place, title, load: None, before };
        let machine = self.machine.clone();
        let mut guest = Booting::boot(Setup {
            machine: &machine,
            kernel: &self.kinds[index].kernel,
            program: &self.program,
            errand: &self.errand,
            settings: &self.kinds[index].settings,
            boot_deadline: self.asked.boot_deadline,
            hang_deadline: self.asked.hang_deadline,
        })?;
        let mut listening = Listening {
            index,
            kinds: &self.kinds,
            asked: self.asked,
            qemu: &self.qemu,
            around: self.around,
            merged: &mut self.merged,
            fell_back: None,
        };
        let outcome = listening.to(&mut guest, &mut watch);
        if let Some(reason) = listening.fell_back {
            // The others need not wait for it again.
            self.machine.acceleration = Acceleration::Only(Accelerator::Tcg);
            self.merged.iter_mut().for_each(|merged| merged.caveat(kvm_failed(&reason)));
        }
        let load = watch.end();
        if let Some(merged) = self.merged.as_mut().filter(|merged| merged.is_open()) {
            merged.boot_ended(&guest, load, outcome.as_ref().err().map(ToString::to_string));
        }
        if matches!(outcome, Ok(Outcome::Over)) {
            guest.switch_off();
        }
        outcome
    }
}

impl Watch {
    /// Ends the display and the load; tells what the load did.
    fn end(mut self) -> Option<LoadReport> {
        if let Some(place) = &mut self.place {
            place.clear();
        }
        self.load.and_then(Running::stop)
    }
}

fn kvm_failed(reason: &str) -> Caveat {
    Caveat::KvmFailed { reason: reason.to_owned() }
}

/// One boot's lines on their way into the recording.
struct Listening<'a> {
    index: usize,
    kinds: &'a [Bootable],
    asked: &'a Guest,
    qemu: &'a str,
    around: &'a Surroundings,
    merged: &'a mut Option<Merged>,
    /// What KVM did, when the guest was started again without it.
    fell_back: Option<String>,
}

impl Listening<'_> {
    fn to(&mut self, guest: &mut Booting<'_>, watch: &mut Watch) -> Result<Outcome, Error> {
        let mut stopped = None;
        loop {
            if self.around.interrupted.load(Ordering::Relaxed) {
                return Ok(Outcome::Stopped(HowEnded::Interrupted));
            }
            self.show(guest, watch);
            match guest.wait()? {
                Event::Nothing => {}
                Event::FellBack { reason } => self.fell_back = Some(reason),
                Event::Line(line) => match *line {
                    Line::Header(header) => self.header(&header, guest, watch)?,
                    Line::End(End { how, .. }) => stopped = (how != HowEnded::Done).then_some(how),
                    line => self.line(line),
                },
                Event::Over { exit_status: 2 | -1, said } => {
                    let said = said.trim_start_matches("error: ").to_owned();
                    return Err(GuestError::Command { said }.into());
                }
                Event::Over { .. } => return Ok(stopped.map_or(Outcome::Over, Outcome::Stopped)),
            }
        }
    }

    fn line(&mut self, line: Line) {
        if let Some(merged) = self.merged {
            merged.line(line);
        }
    }

    fn header(
        &mut self,
        header: &howlate_model::Header,
        guest: &Booting<'_>,
        watch: &mut Watch,
    ) -> Result<(), Error> {
        let bootable = &self.kinds[self.index];
        let merged = match self.merged {
            Some(merged) => merged,
            None => {
                let begun = Merged::begin(header, self.kinds, self.around, self.asked.out.as_deref())?;
                self.merged.insert(begun)
            }
        };
        let booted = Booted { index: self.index, bootable, guest, qemu: self.qemu, took: guest.age() };
        let kernel = &bootable.kind.kernel;
        merged.boot(header, &booted).map_err(|_| GuestError::OtherConditions { kernel: kernel.clone() })?;
        watch.load = Some(Running::start(&bootable.kind.on_host.load)?);
        Ok(())
    }

    fn show(&self, guest: &Booting<'_>, watch: &mut Watch) {
        let wakeups = self.merged.as_ref().map_or(0, Merged::count) - watch.before;
        if let Some(place) = &mut watch.place {
            place.show(&boot_progress(&watch.title, guest.age(), wakeups));
        }
    }
}
