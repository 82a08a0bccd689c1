//! `howlate`: how late Linux runs your code, and why.
//!
//! This is the only place that knows all stages. It turns what was typed into what will be
//! done, joins the stages in order, prints, and chooses the exit status.

mod commands;
mod debug_log;
mod error;
mod exit_status;
mod plan_file;
mod startup;
mod terminal;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::FromArgMatches;
use howlate_cyclictest_run::Call;
use howlate_linux::helper::{Helper, THIS_PROGRAM};
use howlate_render::legible;
use howlate_rt_tests_run::Call as Other;

use crate::commands::cyclictest::run_other;
use crate::error::Error;
use crate::exit_status::Status;
use howlate_cli::{Cli, CliCommand, expand_shorthand, help, hint};

/// What shells know a program by that `SIGPIPE` ended, as in `… | head`. The signal itself would also
/// end a run whose recording goes to a pipe.
const READER_LEFT: u8 = 141;

/// What reading options takes, tables of a hundred columns and a page, several times over.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    howlate_guest::serve_as_init();
    howlate_linux::memory::share_one_heap();
    // Without it a full file would be the end; there is nothing to do where it cannot be had.
    drop(howlate_linux::signal::handle_file_size_limit());
    if let Some(served) = serve_as_helper() {
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let Some(served) = howlate_fleet::serve_in_pod(THIS_PROGRAM, &mut terminal::log()) {
        let failed = |error| terminal::say(&format!("error: {error}\n"));
        return served.map_err(failed).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    on_enough_stack(begin)
}

/// On a stack of its own where `ulimit -s` leaves less than what is needed. Programs that are started keep that limit.
fn on_enough_stack(begin: fn() -> ExitCode) -> ExitCode {
    let limit = howlate_linux::process::limit(rustix::process::Resource::Stack);
    // Where it is not told, it is as it usually is.
    if limit.ok().and_then(|limit| limit.current).is_none_or(|bytes| bytes >= STACK as u64) {
        return begin();
    }
    match std::thread::Builder::new().stack_size(STACK).spawn(begin) {
        Ok(thread) => thread.join().unwrap_or(ExitCode::FAILURE),
        Err(error) => {
            let (mib, kib) = (STACK >> 20, STACK >> 10);
            terminal::tell(&format!(
                "error: the stack is limited to less than {mib} MiB, and memory for one of that size cannot be had: {error}"
            ));
            terminal::tell(&error::hint(&format!(
                "`ulimit -s {kib}`, or a higher limit on address space (`ulimit -v`)"
            )));
            Status::CouldNot.into()
        }
    }
}

fn begin() -> ExitCode {
    howlate_linux::syslog_capability::lower();
    debug_log::begin(false);
    // As cyclictest, it has things to put back when the reader is gone, and ends by itself.
    if let Some(call) = Call::from_arguments(std::env::args_os()) {
        return commands::cyclictest::run(&call);
    }
    if let Some(call) = Other::from_arguments(std::env::args_os()) {
        return run_other(&call);
    }
    let cli = match parse(expand_shorthand(std::env::args_os())) {
        Ok(cli) => cli,
        Err(refused) => {
            let mut refused = legibly(refused);
            let words: Vec<String> = legible_words().collect();
            let hint = hint::hint(&mut refused, &words);
            let status = terminal::explain(&refused);
            hint.iter().for_each(|hint| terminal::tell(&error::hint(hint)));
            return status;
        }
    };
    if cli.debug {
        debug_log::begin(true);
    }
    run(cli).unwrap_or_else(|error| {
        if error.is_a_reader_that_left() {
            return ExitCode::from(READER_LEFT);
        }
        terminal::tell(&error.message());
        Status::CouldNot.into()
    })
}

/// Does a helper's work if this program has started itself again as one.
fn serve_as_helper() -> Option<io::Result<()>> {
    let others = [howlate_load::HELPER, howlate_selfcheck::inject::HELPER, howlate_guard::GUARDIAN];
    howlate_measure::HELPERS.iter().chain(&others).find_map(Helper::serve_if_started_as)
}

/// The same complaint about the same words, if these were legible: it quotes them.
fn legibly(refused: clap::Error) -> clap::Error {
    parse(legible_words()).err().unwrap_or(refused)
}

fn legible_words() -> impl Iterator<Item = String> {
    expand_shorthand(std::env::args_os())
        .into_iter()
        .map(|word| legible(&word.to_string_lossy()).into_owned())
}

/// What was typed, or the help that was asked for.
fn parse<Word: Into<OsString> + Clone>(words: impl IntoIterator<Item = Word>) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&help::program().try_get_matches_from(words)?)
}

fn run(cli: Cli) -> Result<ExitCode, Error> {
    let status = match cli.command {
        None if cli.debug_report => commands::debug_report::run(),
        None => commands::quick::run(&cli.quick),
        Some(CliCommand::Cyclic(asked)) => commands::cyclic::run(&asked),
        Some(CliCommand::Cyclictest { arguments }) => {
            return Ok(commands::cyclictest::run(&Call::with(arguments)));
        }
        Some(CliCommand::Oslat { arguments }) => return Ok(run_other(&Other::as_oslat(arguments))),
        Some(CliCommand::Hwlatdetect { arguments }) => {
            return Ok(run_other(&Other::as_hwlatdetect(arguments)));
        }
        Some(CliCommand::Cyclicdeadline { arguments }) => {
            return Ok(run_other(&Other::as_cyclicdeadline(arguments)));
        }
        Some(CliCommand::Sleep(asked)) => commands::sleep::run(&asked),
        Some(CliCommand::Notify(asked)) => commands::notify::run(&asked),
        Some(CliCommand::Run(asked)) => commands::run::run(*asked),
        Some(CliCommand::Tune(asked)) => commands::tune::run(asked),
        Some(CliCommand::PlanLength(asked)) => commands::plan_length::run(&asked),
        Some(CliCommand::Watch(asked)) => commands::watch::run(&asked),
        Some(CliCommand::Top(asked)) => commands::top::run(&asked),
        Some(CliCommand::Gaps(asked)) => commands::gaps::run(&asked),
        Some(CliCommand::Record(asked)) => commands::record::run(&asked),
        Some(CliCommand::Snap(asked)) => commands::snap::run(&asked),
        Some(CliCommand::Load(asked)) => commands::load::run(&asked),
        Some(CliCommand::Compare(asked)) => commands::compare::run(&asked),
        Some(CliCommand::Doctor(asked)) => commands::doctor::run(&asked),
        Some(CliCommand::Guest(asked)) => commands::guest::run(&asked),
        Some(CliCommand::Show(asked)) => commands::show::run(&asked),
        Some(CliCommand::Selfcheck(asked)) => commands::selfcheck::run(&asked),
        Some(CliCommand::Why(asked)) => commands::why::run(&asked),
        Some(CliCommand::Fleet(asked)) => commands::fleet::run(&asked),
        Some(CliCommand::Merge(asked)) => commands::merge::run(&asked),
        Some(CliCommand::Serve(asked)) => commands::serve::run(&asked),
        Some(CliCommand::Report(asked)) => commands::report::run(&asked),
        Some(CliCommand::Completions { shell }) => commands::man_pages::completions(shell),
        Some(CliCommand::Help) => commands::man_pages::help_all(),
        Some(CliCommand::Man { name }) => commands::man_pages::man(name.as_deref()),
    };
    status.map(ExitCode::from)
}
