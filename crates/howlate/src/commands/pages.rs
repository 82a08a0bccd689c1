//! `howlate completions` and `howlate man`, from the same table as `--help`.

mod cyclictest;
mod fish;
mod roff;
mod sections;

use clap::{Command, CommandFactory};
use jiff::Timestamp;

use crate::cli::{Cli, help};
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;

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
    let mut page = page(command)?;
    if name == Some("cyclictest") {
        page.push_str(&cyclictest::options());
    }
    terminal::print(&roff::tidy(&page))?;
    Ok(Status::Done)
}

fn page(command: Command) -> Result<String, Error> {
    let title = command.get_display_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    let below = command.get_after_long_help().or_else(|| command.get_after_help());
    let below = sections::sections(&below.map(ToString::to_string).unwrap_or_default());
    let has_options = command.get_arguments().any(|argument| !argument.is_hide_set());
    let has_version = command.get_version().is_some();
    let has_commands = command.get_subcommands().any(|one| !one.is_hide_set());
    // A page has what `-h` leaves out, and clap_mangen would leave out its description.
    let page = clap_mangen::Man::new(command.mut_args(|argument| argument.hide_short_help(false)))
        .title(title)
        .date(date())
        .source(concat!("howlate ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    if has_options {
        page.render_options_section(&mut text)?;
    }
    if has_commands {
        page.render_subcommands_section(&mut text)?;
    }
    text.extend(below.into_bytes());
    if has_version {
        page.render_version_section(&mut text)?;
    }
    let text = String::from_utf8_lossy(&text);
    Ok(format!("{PREAMBLE}{}", text.replace(PREAMBLE, "")))
}

/// What each section begins with on its own: apostrophes that can be copied.
const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// The page's date: what `SOURCE_DATE_EPOCH` says, so that packages can be built again bit by bit; otherwise today.
///
/// Source: <https://reproducible-builds.org/specs/source-date-epoch/>
fn date() -> String {
    let asked = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.trim().parse().ok());
    let asked = asked.and_then(|seconds| Timestamp::from_second(seconds).ok());
    asked.unwrap_or_else(Timestamp::now).strftime("%Y-%m-%d").to_string()
}
