//! Commands in guests whose result is their output: `-- selfcheck`, `-- doctor`, `-- top --once`.

use howlate_guest::VirtualMachine;
use howlate_session::{Guests, failed};
use serde_json::{Value, json};

use super::command::PrintingCommand;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup::on_interrupt;
use crate::terminal;
use howlate_cli::GuestArgs;
use howlate_model::refused_option::NotForGuests;

/// One such command in each guest.
pub(super) struct PrintRun<'a> {
    pub(super) args: &'a GuestArgs,
    pub(super) guests: Guests,
    pub(super) machine: VirtualMachine,
    pub(super) command: PrintingCommand,
}

impl PrintRun<'_> {
    /// Boots one guest after the other, and prints their output.
    pub(super) fn run(mut self) -> Result<ExitStatus, Error> {
        if self.args.out.is_some() {
            return Err(Error::NotForGuests(NotForGuests::option("--out")));
        }
        let interrupted = on_interrupt()?;
        let is_json = self.args.printing.json;
        if is_json {
            self.guests.command.arguments.push("--json".to_owned());
        }
        let mut screen = terminal::screen(self.args.printing.quiet);
        let (mut status, mut outputs) = (ExitStatus::Done, Vec::new());
        for index in self.guests.order(1) {
            let booted =
                self.guests.boot_to_print(index, &mut self.machine, screen.as_mut(), &interrupted)?;
            let Some(howlate_session::GuestOutput { exit_status, said, printed }) = booted else {
                status = ExitStatus::NotTrustworthy;
                break;
            };
            status = status.max(guest_status(exit_status, &said)?);
            let kernel = &self.guests.kinds[index].name;
            if is_json {
                outputs.push(
                    json!({"kernel": kernel, self.command.json_key(): serde_json::from_str::<Value>(&printed)?}),
                );
            } else {
                terminal::print(&format!("Linux {kernel}\n\n{printed}\n"))?;
            }
        }
        if is_json {
            let document = json!({"format": 1, "howlate": env!("CARGO_PKG_VERSION"), "command": "guest", self.command.json_list_key(): outputs});
            terminal::print_as_is(&(serde_json::to_string_pretty(&document)? + "\n"))?;
        }
        Ok(status)
    }
}

fn guest_status(exit_status: i32, stderr: &str) -> Result<ExitStatus, Error> {
    match exit_status {
        0 => Ok(ExitStatus::Done),
        1 => Ok(ExitStatus::Exceeded),
        3 => Ok(ExitStatus::NotTrustworthy),
        _ => Err(failed(stderr).into()),
    }
}
