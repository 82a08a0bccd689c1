//! `howlate completions` and `howlate man`, from the same table as `--help`.

mod cyclictest;
mod roff;

use clap::{Command, CommandFactory};
use jiff::Timestamp;

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
            // `fleet-run`, as pages of `howlate fleet run` are called.
            let within = |of: Command, name: &str| of.find_subcommand(name).cloned();
            let found = name.split('-').try_fold(program, within);
            found.ok_or_else(|| Error::NoCommand(name.to_owned()))?
        }
    };
    let mut page = page(command)?;
    if name == Some("cyclictest") {
        page.push_str(&cyclictest::options());
    }
    terminal::print(&roff::tidy(&page))?;
    Ok(Status::Done)
}

fn page(command: Command) -> Result<String, Error> {
    let title = command.get_display_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .title(title)
        .date(date())
        .source(concat!("howlate ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands")
        .render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// The page's date: what `SOURCE_DATE_EPOCH` says, so that packages can be built again bit by bit; otherwise today.
///
/// Source: <https://reproducible-builds.org/specs/source-date-epoch/>
fn date() -> String {
    let asked = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.trim().parse().ok());
    let asked = asked.and_then(|seconds| Timestamp::from_second(seconds).ok());
    asked.unwrap_or_else(Timestamp::now).strftime("%Y-%m-%d").to_string()
}
