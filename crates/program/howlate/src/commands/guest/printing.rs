//! `howlate guest … -- selfcheck`, `-- doctor`, `-- top --once`: commands whose result is what they print, in other kernels.

use howlate_guest::VirtualMachine;
use howlate_session::{Guests, failed};
use serde_json::{Value, json};

use super::command::Printed;
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup::on_interrupt;
use crate::terminal;
use howlate_cli::GuestArgs;
use howlate_model::refused_option::NotForGuests;

/// One such command in each guest.
pub(super) struct Printing<'a> {
    pub(super) args: &'a GuestArgs,
    pub(super) guests: Guests,
    pub(super) machine: VirtualMachine,
    pub(super) printed: Printed,
}

impl Printing<'_> {
    /// Boots one guest after the other, and prints what each found.
    pub(super) fn run(mut self) -> Result<Status, Error> {
        if self.args.out.is_some() {
            return Err(Error::NotForGuests(NotForGuests::option("--out")));
        }
        let interrupted = on_interrupt()?;
        let is_json = self.args.printing.json;
        if is_json {
            self.guests.command.arguments.push("--json".to_owned());
        }
        let mut screen = terminal::screen(self.args.printing.quiet);
        let (mut status, mut found) = (Status::Done, Vec::new());
        for index in self.guests.order(1) {
            let booted =
                self.guests.boot_to_print(index, &mut self.machine, screen.as_mut(), &interrupted)?;
            let Some(howlate_session::Printed { exit_status, said, printed }) = booted else {
                status = Status::NotTrustworthy;
                break;
            };
            status = status.max(status_of(exit_status, &said)?);
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
}

fn status_of(of_guest: i32, said: &str) -> Result<Status, Error> {
    match of_guest {
        0 => Ok(Status::Done),
        1 => Ok(Status::Exceeded),
        3 => Ok(Status::NotTrustworthy),
        _ => Err(failed(said).into()),
    }
}
