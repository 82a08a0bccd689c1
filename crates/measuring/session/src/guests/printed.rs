//! Guests whose result is their output.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_guest::{Guest as Booting, GuestEvent, VirtualMachine};
use howlate_load::RunningLoad;
use howlate_render::{Screen, boot_progress};

use super::in_turn::{FELL_BACK, Guests};
use crate::error::{GuestsError, SessionError};

/// Exit status and output of a command inside a guest.
pub struct GuestOutput {
    pub exit_status: i32,
    /// Its standard error.
    pub said: String,
    /// Its standard output.
    pub printed: String,
}

impl Guests {
    /// Boots a guest in `machine`, which is emulated from then on if KVM fails; `None` after Ctrl-C.
    ///
    /// # Errors
    ///
    /// When the guest does not boot, or the load of the host cannot be applied.
    pub fn boot_to_print(
        &self,
        index: usize,
        emulated: &mut VirtualMachine,
        mut screen: Option<&mut Box<dyn Screen>>,
        interrupted: &AtomicBool,
    ) -> Result<Option<GuestOutput>, GuestsError> {
        let machine = emulated.clone();
        let kind = &self.kinds[index];
        let _load = RunningLoad::start(&kind.on_host.load).map_err(SessionError::from)?;
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

/// Waits for the end of a guest; `None` after Ctrl-C.
fn await_end(
    guest: &mut Booting<'_>,
    machine: &mut VirtualMachine,
    mut show: impl FnMut(&Booting<'_>),
    interrupted: &AtomicBool,
) -> Result<Option<GuestOutput>, GuestsError> {
    while !interrupted.load(Ordering::Relaxed) {
        show(guest);
        match guest.wait()? {
            GuestEvent::FellBack { .. } => machine.acceleration = FELL_BACK,
            GuestEvent::Over { exit_status, stderr, printed } => {
                return Ok(Some(GuestOutput { exit_status, said: stderr, printed }));
            }
            GuestEvent::Restarted { .. } | GuestEvent::Line(_) | GuestEvent::Nothing => {}
        }
    }
    Ok(None)
}
