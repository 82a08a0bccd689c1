//! `howlate completions` and `howlate man`, from the same table as `--help`.

use clap::CommandFactory;

use crate::cli::Cli;
use crate::error::Error;
use crate::status::Status;
use crate::terminal;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Status, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "howlate", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(Status::Done)
}

pub(crate) fn man(name: Option<&str>) -> Result<Status, Error> {
    let mut program = Cli::command();
    program.build();
    let command = match name {
        None => program,
        Some(name) => {
            let found = program.find_subcommand(name).cloned();
            found.ok_or_else(|| Error::NoCommand(name.to_owned()))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    terminal::print(&String::from_utf8_lossy(&page))?;
    Ok(Status::Done)
}
