//! `howlate completions` and `howlate man`, generated from the options that `--help` shows.

use clap::{Arg, Command, CommandFactory};
use howlate_rt_tests::Compat;
use howlate_rt_tests::cyclictest::{OptionHelp, options_help};
use roff::{Roff, bold, roman};

use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::{Cli, EXIT_STATUS, help, man_page};

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<ExitStatus, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "howlate", &mut script);
    if shell == clap_complete::Shell::Fish {
        script.extend(fish_arguments(&Cli::command()).into_bytes());
    }
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Done)
}

/// `howlate help`: all commands, and the options of `howlate` without a command.
pub(crate) fn help_all() -> Result<ExitStatus, Error> {
    terminal::print(&help::everything().render_long_help().ansi().to_string())?;
    Ok(ExitStatus::Done)
}

pub(crate) fn man(name: Option<&str>) -> Result<ExitStatus, Error> {
    let mut program = Cli::command();
    program.build();
    let command = match name {
        None => program,
        Some(name) => {
            // The page `fleet-run` is that of `howlate fleet run`.
            let subcommand = |command: Command, name: &str| command.find_subcommand(name).cloned();
            let top_level = program.find_subcommand(name).cloned();
            let found = top_level.or_else(|| name.split('-').try_fold(program, subcommand));
            found.ok_or_else(|| Error::NoCommand(name.to_owned()))?
        }
    };
    let extra_sections = if name == Some("cyclictest") { cyclictest_options() } else { String::new() };
    terminal::print(&man_page(command, EXIT_STATUS, &extra_sections)?)?;
    Ok(ExitStatus::Done)
}

/// Fish completions of arguments with known values, such as the plans of `howlate run`: clap_complete knows those of options only.
fn fish_arguments(program: &Command) -> String {
    let completion = |command: &Command| {
        let names: Vec<String> = command.get_positionals().flat_map(plain_values).collect();
        let line = format!(
            "complete -c howlate -n \"__fish_howlate_using_subcommand {}\" -a \"{}\"\n",
            command.get_name(),
            names.join(" ")
        );
        (!names.is_empty()).then_some(line)
    };
    program.get_subcommands().filter_map(completion).collect()
}

/// Possible values that need no quotes: others would end the list.
fn plain_values(argument: &Arg) -> Vec<String> {
    let is_plain =
        |name: &String| name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_:.+".contains(letter));
    argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).filter(is_plain).collect()
}

/// Additional sections of the page on `howlate cyclictest`, whose options clap does not parse.
fn cyclictest_options() -> String {
    let options = options_help(Compat::default());
    let (original, own): (Vec<_>, Vec<_>) = options.into_iter().partition(|option| option.of_the_original);
    let mut page = Roff::new();
    option_list(&mut page, "OPTIONS OF CYCLICTEST", &original);
    option_list(&mut page, "OPTIONS OF HOWLATE", &own);
    page.control("SH", ["ENVIRONMENT"]);
    page.control("TP", []);
    page.text([bold("HOWLATE_COMPAT")]);
    page.text([roman(
        "The version whose output is written where neither --compat nor the program's name says it.",
    )]);
    page.to_roff()
}

fn option_list(page: &mut Roff, heading: &str, options: &[OptionHelp]) {
    page.control("SH", [heading]);
    for option in options {
        page.control("TP", []);
        page.text([bold(option.names.as_str())]);
        page.text([roman(option.help)]);
    }
}
