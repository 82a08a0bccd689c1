//! `howlate`: how late Linux runs your code, and why.
//!
//! This is the only place that knows all stages. It turns what was typed into what will be
//! done, joins the stages in order, prints, and chooses the exit status.

mod cli;
mod commands;
mod error;
mod remedy;
mod session;
mod status;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::error::Error;
use crate::status::Status;

fn main() -> ExitCode {
    if let Some(served) = howlate_measure::serve_as_helper() {
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    howlate_linux::signal::end_when_the_reader_is_gone();
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(status) => status.into(),
        Err(error) => {
            terminal::say(&error.message());
            Status::CouldNot.into()
        }
    }
}

fn run(command: Option<Command>) -> Result<Status, Error> {
    match command {
        None => commands::quick::run(),
        Some(Command::Cyclic(asked)) => commands::cyclic::run(&asked),
        Some(Command::Sleep(asked)) => commands::sleep::run(&asked),
        Some(Command::Notify(asked)) => commands::notify::run(&asked),
        Some(Command::Doctor(asked)) => commands::doctor::run(&asked),
        Some(Command::Show(asked)) => commands::show::run(&asked),
        Some(Command::Completions { shell }) => commands::pages::completions(shell),
        Some(Command::Man { name }) => commands::pages::man(name.as_deref()),
    }
}
