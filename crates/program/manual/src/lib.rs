//! Manual pages from the table that `--help` is made of, as `mandoc -T lint` wants them.

mod roff;
mod sections;

use std::io;

use clap::Command;
use jiff::Timestamp;

/// The page of a command, in roff: `exit_status` is that of all commands, for one that says nothing of its own; `more` are
/// sections that follow.
///
/// # Errors
///
/// Those of a writer, although this one is memory.
pub fn page(command: Command, exit_status: &str, more: &str) -> io::Result<String> {
    let title = command.get_display_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    let below = command.get_after_long_help().or_else(|| command.get_after_help());
    let below = sections::sections(&below.map(ToString::to_string).unwrap_or_default(), exit_status);
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
    Ok(roff::tidy(&format!("{PREAMBLE}{}{more}", text.replace(PREAMBLE, ""))))
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
