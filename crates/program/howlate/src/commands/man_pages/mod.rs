//! `howlate completions` and `howlate man`, from the same table as `--help`.

mod cyclictest;
mod fish;

use clap::{Command, CommandFactory};

use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::{Cli, EXIT_STATUS, help, man_page};

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Status, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "howlate", &mut script);
    if shell == clap_complete::Shell::Fish {
        script.extend(fish::words_after(&Cli::command()).into_bytes());
    }
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(Status::Done)
}

/// Every command, and what `howlate` alone takes.
pub(crate) fn help_all() -> Result<Status, Error> {
    terminal::print(&help::everything().render_long_help().ansi().to_string())?;
    Ok(Status::Done)
}

pub(crate) fn man(name: Option<&str>) -> Result<Status, Error> {
    let mut program = Cli::command();
    program.build();
    let command = match name {
        None => program,
        Some(name) => {
            // `fleet-run`, as pages of `howlate fleet run` are called.
            let within = |of: Command, name: &str| of.find_subcommand(name).cloned();
            let whole = program.find_subcommand(name).cloned();
            let found = whole.or_else(|| name.split('-').try_fold(program, within));
            found.ok_or_else(|| Error::NoCommand(name.to_owned()))?
        }
    };
    let more = if name == Some("cyclictest") { cyclictest::options() } else { String::new() };
    terminal::print(&man_page(command, EXIT_STATUS, &more)?)?;
    Ok(Status::Done)
}
