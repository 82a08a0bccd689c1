//! `howlate`: how late Linux runs your code, and why.
//!
//! This is the only place that knows all stages. It turns what was typed into what will be
//! done, joins the stages in order, prints, and chooses the exit status.

mod cli;
mod commands;
mod error;
mod experiment;
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
    howlate_guest::serve_as_init();
    if let Some(served) = howlate_measure::serve_as_helper().or_else(howlate_guard::serve_as_guardian) {
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let Some(served) = howlate_load::serve_as_helper() {
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    // As cyclictest, it has things to put back when the reader is gone, and ends by itself.
    if let Some(call) = commands::cyclictest::Call::from_arguments(std::env::args_os()) {
        return call.run();
    }
    howlate_linux::signal::end_when_the_reader_is_gone();
    let cli = Cli::parse();
    run(cli.command).unwrap_or_else(|error| {
        terminal::say(&error.message());
        Status::CouldNot.into()
    })
}

fn run(command: Option<Command>) -> Result<ExitCode, Error> {
    let status = match command {
        None => commands::quick::run(),
        Some(Command::Cyclic(asked)) => commands::cyclic::run(&asked),
        Some(Command::Cyclictest { words }) => return Ok(commands::cyclictest::run(&words)),
        Some(Command::Sleep(asked)) => commands::sleep::run(&asked),
        Some(Command::Notify(asked)) => commands::notify::run(&asked),
        Some(Command::Run(asked)) => commands::run::run(*asked),
        Some(Command::Load(asked)) => commands::load::run(&asked),
        Some(Command::Compare(asked)) => commands::compare::run(&asked),
        Some(Command::Doctor(asked)) => commands::doctor::run(&asked),
        Some(Command::Guest(asked)) => commands::guest::run(&asked),
        Some(Command::Show(asked)) => commands::show::run(&asked),
        Some(Command::Report(asked)) => commands::report::run(&asked),
        Some(Command::Completions { shell }) => commands::pages::completions(shell),
        Some(Command::Man { name }) => commands::pages::man(name.as_deref()),
    };
    status.map(ExitCode::from)
}
