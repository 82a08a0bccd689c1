//! Manual pages from the clap commands behind `--help`, in the form that `mandoc -T lint` accepts.

mod roff;
mod sections;

use std::io;

use clap::Command;
use jiff::Timestamp;

/// The manual page of `command` in roff. `default_exit_status` is used if its help has no exit status section;
/// `more_sections` are appended as they are.
///
/// # Errors
///
/// Write errors, which writing to memory does not produce.
pub fn man_page(command: Command, default_exit_status: &str, more_sections: &str) -> io::Result<String> {
    let title = command.get_display_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    let after_help = command.get_after_long_help().or_else(|| command.get_after_help());
    let after_help = after_help.map(ToString::to_string).unwrap_or_default();
    let last_sections = sections::after_help(&after_help, default_exit_status);
    let has_options = command.get_arguments().any(|argument| !argument.is_hide_set());
    let has_version = command.get_version().is_some();
    let has_commands = command.get_subcommands().any(|subcommand| !subcommand.is_hide_set());
    // clap_mangen would leave out the descriptions of arguments that `-h` hides.
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
    text.extend(last_sections.into_bytes());
    if has_version {
        page.render_version_section(&mut text)?;
    }
    let text = String::from_utf8_lossy(&text);
    Ok(roff::tidy(&format!("{PREAMBLE}{}{more_sections}", text.replace(PREAMBLE, ""))))
}

/// clap_mangen puts it before each section; once per page is enough. It keeps apostrophes copyable.
const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// The page's date: from `SOURCE_DATE_EPOCH`, for reproducible builds of packages; otherwise today.
///
/// Source: <https://reproducible-builds.org/specs/source-date-epoch/>
fn date() -> String {
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.trim().parse().ok());
    let date = epoch.and_then(|seconds| Timestamp::from_second(seconds).ok());
    date.unwrap_or_else(Timestamp::now).strftime("%Y-%m-%d").to_string()
}
