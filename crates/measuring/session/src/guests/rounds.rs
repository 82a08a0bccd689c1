//! Boots guests one after the other and records their lines.

use std::path::Path;
use std::sync::atomic::Ordering;

use howlate_guest::{Guest as Booting, GuestError, GuestEvent, VirtualMachine};
use howlate_load::RunningLoad;
use howlate_model::{Caveat, EndReason, Line, LoadReport, RecordingEnd};
use howlate_render::{Screen, boot_progress};

use super::boots::{Booted, Boots};
use super::in_turn::{FELL_BACK, Guests, failed};
use super::kinds::{Bootable, usual_rounds};
use crate::environment::Environment;
use crate::error::{GuestsError, SessionError};

/// All boots of a run.
pub struct Rounds<'a> {
    pub guests: Guests,
    /// The virtual machine of all guests.
    pub machine: VirtualMachine,
    /// Version of QEMU.
    pub qemu: String,
    /// Environment of the host.
    pub environment: &'a Environment,
    /// Path of the recording, and of the kept one if there is none.
    pub files: [Option<&'a Path>; 2],
    /// Display of the progress.
    pub screen: Option<Box<dyn Screen>>,
    /// The recording; `None` until the first guest measures.
    pub boots: Option<Boots>,
}

/// Outcome of a boot.
enum BootOutcome {
    /// The guest finished.
    Over,
    /// The guest or Ctrl-C stopped the whole run.
    Stopped(EndReason),
}

/// Display and load during a boot.
struct BootProgress<'a> {
    screen: Option<&'a mut Box<dyn Screen>>,
    title: String,
    load: Option<RunningLoad>,
    before: u64,
}

impl Rounds<'_> {
    /// Boots all guests, until one fails.
    ///
    /// # Errors
    ///
    /// When a guest fails; the results of the others are in `boots`.
    pub fn take(&mut self) -> Result<EndReason, GuestsError> {
        let order = self.guests.order(usual_rounds(self.guests.kinds.len()));
        for (number, index) in order.iter().enumerate() {
            let title =
                format!("guest {} of {} · {}", number + 1, order.len(), self.guests.kinds[*index].name);
            if let BootOutcome::Stopped(how) = self.boot(*index, title)? {
                return Ok(how);
            }
        }
        Ok(EndReason::Done)
    }

    fn boot(&mut self, index: usize, title: String) -> Result<BootOutcome, GuestsError> {
        let before = self.boots.as_ref().map_or(0, Boots::count);
        let mut watch = BootProgress { screen: self.screen.as_mut(), title, load: None, before };
        let machine = self.machine.clone();
        let mut guest = match Booting::boot(self.guests.setup(&machine, index)) {
            // Whatever the signal kept from starting is none of the guest's trouble.
            Err(_) if self.environment.interrupted.load(Ordering::Relaxed) => {
                return Ok(BootOutcome::Stopped(EndReason::Interrupted));
            }
            booted => booted?,
        };
        let mut listening = BootRecorder {
            index,
            kinds: &self.guests.kinds,
            files: self.files,
            qemu: &self.qemu,
            environment: self.environment,
            boots: &mut self.boots,
            fell_back: None,
            faults: Vec::new(),
        };
        let outcome = listening.to(&mut guest, &mut watch);
        let (fell_back, faults) = (listening.fell_back, listening.faults);
        if fell_back.is_some() {
            self.machine.acceleration = FELL_BACK;
        }
        let repeated =
            faults.into_iter().map(|fault| Caveat::GuestRestarted { fault, qemu: self.qemu.clone() });
        let caveats = fell_back.map(|reason| Caveat::KvmFailed { reason }).into_iter().chain(repeated);
        if let Some(boots) = &mut self.boots {
            caveats.for_each(|caveat| boots.caveat(caveat));
        }
        let load = watch.end();
        if let Some(boots) = self.boots.as_mut().filter(|boots| boots.is_open()) {
            boots.boot_ended(&guest, load, outcome.as_ref().err().map(ToString::to_string));
        }
        if matches!(outcome, Ok(BootOutcome::Over)) {
            guest.switch_off();
        }
        outcome
    }
}

impl BootProgress<'_> {
    /// Ends the display and the load; returns the report on the load.
    fn end(mut self) -> Option<LoadReport> {
        if let Some(screen) = &mut self.screen {
            screen.clear();
        }
        self.load.and_then(RunningLoad::stop)
    }
}

/// Records the lines of a boot.
struct BootRecorder<'a> {
    index: usize,
    kinds: &'a [Bootable],
    /// Path of the recording, and of the kept one.
    files: [Option<&'a Path>; 2],
    qemu: &'a str,
    environment: &'a Environment,
    boots: &'a mut Option<Boots>,
    /// The failure of KVM, if the guest was restarted without it.
    fell_back: Option<String>,
    /// The fault of each start that was repeated.
    faults: Vec<String>,
}

impl BootRecorder<'_> {
    fn to(
        &mut self,
        guest: &mut Booting<'_>,
        watch: &mut BootProgress<'_>,
    ) -> Result<BootOutcome, GuestsError> {
        let mut stopped = None;
        loop {
            if self.environment.interrupted.load(Ordering::Relaxed) {
                return Ok(BootOutcome::Stopped(EndReason::Interrupted));
            }
            self.show(guest, watch);
            match guest.wait()? {
                GuestEvent::Nothing => {}
                GuestEvent::FellBack { reason } => self.fell_back = Some(reason),
                GuestEvent::Restarted { fault } => self.faults.push(fault),
                GuestEvent::Line(line) => match *line {
                    Line::Header(header) => self.header(&header, guest, watch)?,
                    Line::End(RecordingEnd { how, .. }) => stopped = (how != EndReason::Done).then_some(how),
                    line => self.line(line),
                },
                GuestEvent::Over { exit_status: 2 | -1, stderr, .. } => return Err(failed(&stderr).into()),
                GuestEvent::Over { .. } => return Ok(stopped.map_or(BootOutcome::Over, BootOutcome::Stopped)),
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
        watch: &mut BootProgress<'_>,
    ) -> Result<(), GuestsError> {
        let bootable = &self.kinds[self.index];
        let boots = match self.boots {
            Some(boots) => boots,
            None => {
                let boots = Boots::begin(header, self.kinds, self.environment, self.files)
                    .map_err(SessionError::from)?;
                self.boots.insert(boots)
            }
        };
        let booted = Booted { bootable, guest, qemu: self.qemu, took: guest.age() };
        let kernel = &bootable.name;
        boots.boot(header, &booted).map_err(|_| GuestError::OtherConditions { kernel: kernel.clone() })?;
        watch.load = Some(RunningLoad::start(&bootable.on_host.load).map_err(SessionError::from)?);
        Ok(())
    }

    fn show(&self, guest: &Booting<'_>, watch: &mut BootProgress<'_>) {
        let wakeups = self.boots.as_ref().map_or(0, Boots::count) - watch.before;
        if let Some(screen) = &mut watch.screen {
            screen.show(&boot_progress(&watch.title, guest.age(), wakeups));
        }
    }
}
