//! Booting guests in turn, and listening to each.

use std::path::Path;
use std::sync::atomic::Ordering;

use howlate_guest::{Event, Guest as Booting, GuestError, VirtualMachine};
use howlate_load::Running;
use howlate_model::{Caveat, EndReason, Line, LoadReport, RecordingEnd};
use howlate_render::{Screen, boot_progress};

use super::boots::{Booted, Boots};
use super::in_turn::{FELL_BACK, Guests, failed};
use super::kinds::{Bootable, usual_rounds};
use crate::environment::Environment;
use crate::error::{GuestsError, SessionError};

/// All boots of a run.
pub struct Rounds<'a> {
    /// What is booted.
    pub guests: Guests,
    /// The virtual machine that each is booted in.
    pub machine: VirtualMachine,
    /// The version that QEMU tells of itself.
    pub qemu: String,
    /// What is known of the host.
    pub environment: &'a Environment,
    /// Where the recording goes, and where it is kept if it is to go nowhere.
    pub files: [Option<&'a Path>; 2],
    /// Where is shown how far one is, if somebody looks.
    pub screen: Option<Box<dyn Screen>>,
    /// `None` until the first guest measures.
    pub boots: Option<Boots>,
}

/// How one boot went.
enum Outcome {
    /// It did all that was asked.
    Over,
    /// The guest stopped the whole run, or Ctrl-C did.
    Stopped(EndReason),
}

/// One boot while it goes on.
struct Watch<'a> {
    screen: Option<&'a mut Box<dyn Screen>>,
    title: String,
    load: Option<Running>,
    before: u64,
}

impl Rounds<'_> {
    /// Takes all of them, or as many as go well.
    ///
    /// # Errors
    ///
    /// When one does not boot, or does not do what was asked; what the others found is in `boots`.
    pub fn take(&mut self) -> Result<EndReason, GuestsError> {
        let order = self.guests.order(usual_rounds(self.guests.kinds.len()));
        for (number, index) in order.iter().enumerate() {
            let title =
                format!("guest {} of {} · {}", number + 1, order.len(), self.guests.kinds[*index].name);
            if let Outcome::Stopped(how) = self.boot(*index, title)? {
                return Ok(how);
            }
        }
        Ok(EndReason::Done)
    }

    fn boot(&mut self, index: usize, title: String) -> Result<Outcome, GuestsError> {
        let before = self.boots.as_ref().map_or(0, Boots::count);
        let mut watch = Watch { screen: self.screen.as_mut(), title, load: None, before };
        let machine = self.machine.clone();
        let mut guest = match Booting::boot(self.guests.setup(&machine, index)) {
            // Whatever the signal kept from starting is none of the guest's trouble.
            Err(_) if self.environment.interrupted.load(Ordering::Relaxed) => {
                return Ok(Outcome::Stopped(EndReason::Interrupted));
            }
            booted => booted?,
        };
        let mut listening = Listening {
            index,
            kinds: &self.guests.kinds,
            files: self.files,
            qemu: &self.qemu,
            environment: self.environment,
            boots: &mut self.boots,
            fell_back: None,
        };
        let outcome = listening.to(&mut guest, &mut watch);
        if let Some(reason) = listening.fell_back {
            self.machine.acceleration = FELL_BACK;
            self.boots.iter_mut().for_each(|boots| boots.caveat(kvm_failed(&reason)));
        }
        let load = watch.end();
        if let Some(boots) = self.boots.as_mut().filter(|boots| boots.is_open()) {
            boots.boot_ended(&guest, load, outcome.as_ref().err().map(ToString::to_string));
        }
        if matches!(outcome, Ok(Outcome::Over)) {
            guest.switch_off();
        }
        outcome
    }
}

impl Watch<'_> {
    /// Ends the display and the load; tells what the load did.
    fn end(mut self) -> Option<LoadReport> {
        if let Some(screen) = &mut self.screen {
            screen.clear();
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
    /// Where the recording goes, and where it is kept otherwise.
    files: [Option<&'a Path>; 2],
    qemu: &'a str,
    environment: &'a Environment,
    boots: &'a mut Option<Boots>,
    /// What KVM did, when the guest was started again without it.
    fell_back: Option<String>,
}

impl Listening<'_> {
    fn to(&mut self, guest: &mut Booting<'_>, watch: &mut Watch<'_>) -> Result<Outcome, GuestsError> {
        let mut stopped = None;
        loop {
            if self.environment.interrupted.load(Ordering::Relaxed) {
                return Ok(Outcome::Stopped(EndReason::Interrupted));
            }
            self.show(guest, watch);
            match guest.wait()? {
                Event::Nothing => {}
                Event::FellBack { reason } => self.fell_back = Some(reason),
                Event::Line(line) => match *line {
                    Line::Header(header) => self.header(&header, guest, watch)?,
                    Line::End(RecordingEnd { how, .. }) => stopped = (how != EndReason::Done).then_some(how),
                    line => self.line(line),
                },
                Event::Over { exit_status: 2 | -1, said, .. } => return Err(failed(&said).into()),
                Event::Over { .. } => return Ok(stopped.map_or(Outcome::Over, Outcome::Stopped)),
            }
        }
    }

    fn line(&mut self, line: Line) {
        if let Some(boots) = self.boots {
            boots.line(line);
        }
    }

    fn header(
        &mut self,
        header: &howlate_model::Header,
        guest: &Booting<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<(), GuestsError> {
        let bootable = &self.kinds[self.index];
        let boots = match self.boots {
            Some(boots) => boots,
            None => {
                let begun = Boots::begin(header, self.kinds, self.environment, self.files)
                    .map_err(SessionError::from)?;
                self.boots.insert(begun)
            }
        };
        let booted = Booted { bootable, guest, qemu: self.qemu, took: guest.age() };
        let kernel = &bootable.name;
        boots.boot(header, &booted).map_err(|_| GuestError::OtherConditions { kernel: kernel.clone() })?;
        watch.load = Some(Running::start(&bootable.on_host.load).map_err(SessionError::from)?);
        Ok(())
    }

    fn show(&self, guest: &Booting<'_>, watch: &mut Watch<'_>) {
        let wakeups = self.boots.as_ref().map_or(0, Boots::count) - watch.before;
        if let Some(screen) = &mut watch.screen {
            screen.show(&boot_progress(&watch.title, guest.age(), wakeups));
        }
    }
}
