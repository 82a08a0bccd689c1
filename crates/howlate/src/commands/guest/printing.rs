//! `howlate guest … -- selfcheck`, `-- doctor`, `-- top --once`: commands whose result is what they print, in other kernels.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_guest::{Event, Guest as Booting, VirtualMachine};
use howlate_load::Running;
use howlate_render::boot_progress;
use serde_json::{Value, json};

use super::command::Printed;
use super::guests::{FELL_BACK, Guests, failed};
use crate::environment::on_interrupt;
use crate::error::Error;
use crate::exit_status::Status;
use crate::refused_option::NotForGuests;
use crate::terminal::{self, InPlace};

/// One such command in each guest.
pub(super) struct Printing<'a> {
    pub(super) guests: Guests<'a>,
    pub(super) machine: VirtualMachine,
    pub(super) printed: Printed,
}

impl Printing<'_> {
    /// Boots one guest after the other, and prints what each found.
    pub(super) fn run(mut self) -> Result<Status, Error> {
        if self.guests.args.out.is_some() {
            return Err(Error::NotForGuests(NotForGuests::option("--out")));
        }
        let interrupted = on_interrupt()?;
        let is_json = self.guests.args.printing.json;
        if is_json {
            self.guests.command.arguments.push("--json".to_owned());
        }
        let (mut status, mut found) = (Status::Done, Vec::new());
        for index in self.guests.order(1) {
            let Some((of_this, printed)) = self.boot(index, &interrupted)? else {
                status = Status::NotTrustworthy;
                break;
            };
            status = status.max(of_this);
            let kernel = &self.guests.kinds[index].name;
            if is_json {
                found.push(
                    json!({"kernel": kernel, self.printed.one(): serde_json::from_str::<Value>(&printed)?}),
                );
            } else {
                terminal::print(&format!("Linux {kernel}\n\n{printed}\n"))?;
            }
        }
        if is_json {
            let all = json!({"format": 1, "howlate": env!("CARGO_PKG_VERSION"), "command": "guest", self.printed.all(): found});
            terminal::print_as_is(&(serde_json::to_string_pretty(&all)? + "\n"))?;
        }
        Ok(status)
    }

    /// How it ended inside, and what it printed; `None` where Ctrl-C ended it.
    fn boot(&mut self, index: usize, interrupted: &AtomicBool) -> Result<Option<(Status, String)>, Error> {
        let mut place = self.guests.place();
        let machine = self.machine.clone();
        let kind = &self.guests.kinds[index];
        let _load = Running::start(&kind.on_host.load)?;
        let mut guest = Booting::boot(self.guests.setup(&machine, index))?;
        let show = |guest: &Booting| {
            place.iter_mut().for_each(|place| place.show(&boot_progress(&kind.name, guest.age(), 0)));
        };
        let over = await_end(&mut guest, &mut self.machine, show, interrupted);
        place.iter_mut().for_each(InPlace::clear);
        let Some((exit_status, said, printed)) = over? else { return Ok(None) };
        guest.switch_off();
        status(exit_status, &said).map(|status| Some((status, printed)))
    }
}

/// Its exit status, what it said and what it printed; `None` where Ctrl-C ended it.
fn await_end(
    guest: &mut Booting,
    machine: &mut VirtualMachine,
    mut show: impl FnMut(&Booting),
    interrupted: &AtomicBool,
) -> Result<Option<(i32, String, String)>, Error> {
    while !interrupted.load(Ordering::Relaxed) {
        show(guest);
        match guest.wait()? {
            Event::FellBack { .. } => machine.acceleration = FELL_BACK,
            Event::Over { exit_status, said, printed } => return Ok(Some((exit_status, said, printed))),
            Event::Line(_) | Event::Nothing => {}
        }
    }
    Ok(None)
}

fn status(of_guest: i32, said: &str) -> Result<Status, Error> {
    match of_guest {
        0 => Ok(Status::Done),
        1 => Ok(Status::Exceeded),
        3 => Ok(Status::NotTrustworthy),
        _ => Err(failed(said)),
    }
}
