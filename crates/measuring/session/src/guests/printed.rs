//! A guest whose result is what it prints.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_guest::{Event, Guest as Booting, VirtualMachine};
use howlate_load::Running;
use howlate_render::{Screen, boot_progress};

use super::in_turn::{FELL_BACK, Guests};
use crate::error::{GuestsError, SessionError};

/// How a command ended inside, and what it said and printed.
pub struct Printed {
    /// Its exit status.
    pub exit_status: i32,
    /// What it said on standard error.
    pub said: String,
    /// What it printed.
    pub printed: String,
}

impl Guests {
    /// Boots one of them in this machine, which is emulated from then on if KVM did not run it; `None` where Ctrl-C ended it.
    ///
    /// # Errors
    ///
    /// When it does not boot, or the host's load cannot be applied.
    pub fn boot_to_print(
        &self,
        index: usize,
        emulated: &mut VirtualMachine,
        mut screen: Option<&mut Box<dyn Screen>>,
        interrupted: &AtomicBool,
    ) -> Result<Option<Printed>, GuestsError> {
        let machine = emulated.clone();
        let kind = &self.kinds[index];
        let _load = Running::start(&kind.on_host.load).map_err(SessionError::from)?;
        let mut guest = match Booting::boot(self.setup(&machine, index)) {
            Err(_) if interrupted.load(Ordering::Relaxed) => return Ok(None),
            booted => booted?,
        };
        let show = |guest: &Booting<'_>| {
            screen.iter_mut().for_each(|screen| screen.show(&boot_progress(&kind.name, guest.age(), 0)));
        };
        let over = await_end(&mut guest, emulated, show, interrupted);
        screen.iter_mut().for_each(|screen| screen.clear());
        let Some(printed) = over? else { return Ok(None) };
        guest.switch_off();
        Ok(Some(printed))
    }
}

/// `None` where Ctrl-C ended it.
fn await_end(
    guest: &mut Booting<'_>,
    machine: &mut VirtualMachine,
    mut show: impl FnMut(&Booting<'_>),
    interrupted: &AtomicBool,
) -> Result<Option<Printed>, GuestsError> {
    while !interrupted.load(Ordering::Relaxed) {
        show(guest);
        match guest.wait()? {
            Event::FellBack { .. } => machine.acceleration = FELL_BACK,
            Event::Over { exit_status, said, printed } => {
                return Ok(Some(Printed { exit_status, said, printed }));
            }
            Event::Line(_) | Event::Nothing => {}
        }
    }
    Ok(None)
}
