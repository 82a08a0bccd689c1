//! `howlate`: measures how late Linux runs threads, and why.
//!
//! The only place that knows all stages: it parses the command line, joins the stages in order, prints, and sets the exit status.

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
use howlate_linux::helper::{Helper, THIS_PROGRAM};
use howlate_render::legible;
use howlate_rt_tests_run::RtTestsCall;
use howlate_rt_tests_run::cyclictest::CyclictestCall;

use crate::commands::cyclictest::run_rt_tests;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use howlate_cli::{Cli, CliCommand, expand_shorthand, help, hint, short_help};

/// Exit status that shells report for a program killed by `SIGPIPE`, as in `… | head`. The signal itself stays ignored: it would also
/// end a run whose recording goes to a pipe.
const SIGPIPE_STATUS: u8 = 141;

/// Stack in bytes: several times what the parser and a wide table need.
const MIN_STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    howlate_guest::serve_as_init();
    howlate_linux::memory::share_one_heap();
    // So that a write beyond the limit on file sizes fails instead of killing the process.
    drop(howlate_linux::signal::handle_file_size_limit());
    if let Some(result) = serve_as_helper() {
        return if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let Some(result) = howlate_fleet::serve_in_pod(THIS_PROGRAM, &mut terminal::log()) {
        let print_failure = |error| terminal::eprint(&format!("error: {error}\n"));
        return result.map_err(print_failure).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    with_min_stack(start)
}

/// On a new thread where `ulimit -s` leaves less than `MIN_STACK_BYTES`. Child processes keep the limit.
fn with_min_stack(start: fn() -> ExitCode) -> ExitCode {
    let limit = howlate_linux::process::limit(rustix::process::Resource::Stack);
    // Without an answer, the usual limit is assumed.
    if limit.ok().and_then(|limit| limit.current).is_none_or(|bytes| bytes >= MIN_STACK_BYTES as u64) {
        return start();
    }
    match std::thread::Builder::new().stack_size(MIN_STACK_BYTES).spawn(start) {
        Ok(thread) => thread.join().unwrap_or(ExitCode::FAILURE),
        Err(error) => {
            let (mib, kib) = (MIN_STACK_BYTES >> 20, MIN_STACK_BYTES >> 10);
            terminal::eprint_wrapped(&format!(
                "error: the stack is limited to less than {mib} MiB, and memory for one of that size cannot be had: {error}"
            ));
            terminal::eprint_wrapped(&error::hint(&format!(
                "`ulimit -s {kib}`, or a higher limit on address space (`ulimit -v`)"
            )));
            ExitStatus::Failed.into()
        }
    }
}

fn start() -> ExitCode {
    howlate_linux::syslog_capability::lower();
    debug_log::begin(false);
    // `cyclictest` restores settings when its reader is gone, and ends by itself.
    if let Some(call) = CyclictestCall::from_arguments(std::env::args_os()) {
        return commands::cyclictest::run(&call);
    }
    if let Some(call) = RtTestsCall::from_arguments(std::env::args_os()) {
        return run_rt_tests(&call);
    }
    let cli = match parse(expand_shorthand(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => {
            let mut usage_error = with_legible_arguments(error);
            let arguments: Vec<String> = legible_arguments().collect();
            let hint = hint::hint(&mut usage_error, &arguments);
            let status = terminal::print_usage(&usage_error);
            hint.iter().for_each(|hint| terminal::eprint_wrapped(&error::hint(hint)));
            return status;
        }
    };
    if cli.debug {
        debug_log::begin(true);
    }
    run(cli).unwrap_or_else(|error| {
        if error.is_broken_pipe() {
            return ExitCode::from(SIGPIPE_STATUS);
        }
        terminal::eprint_wrapped(&error.message());
        ExitStatus::Failed.into()
    })
}

/// Runs as a helper process if this program has started itself as one.
fn serve_as_helper() -> Option<io::Result<()>> {
    let more = [howlate_load::HELPER, howlate_selfcheck::inject::HELPER, howlate_guard::GUARDIAN];
    howlate_measure::HELPERS.iter().chain(&more).find_map(Helper::serve_if_started_as)
}

/// The parser's error for the legible form of the arguments, since it quotes them.
fn with_legible_arguments(error: clap::Error) -> clap::Error {
    parse(legible_arguments()).err().unwrap_or(error)
}

fn legible_arguments() -> impl Iterator<Item = String> {
    expand_shorthand(std::env::args_os())
        .into_iter()
        .map(|argument| legible(&argument.to_string_lossy()).into_owned())
}

/// Parses the command line; `Err` also for `--help`.
fn parse<Argument: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = Argument>,
) -> Result<Cli, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let program = match short_help::is_asked_for(&arguments) {
        true => short_help::with_short_help(help::program()),
        false => help::program(),
    };
    Cli::from_arg_matches(&program.try_get_matches_from(arguments)?)
}

fn run(cli: Cli) -> Result<ExitCode, Error> {
    let status = match cli.command {
        None if cli.debug_report => commands::debug_report::run(),
        None => commands::quick::run(&cli.quick),
        Some(CliCommand::Cyclic(args)) => commands::cyclic::run(&args),
        Some(CliCommand::Cyclictest { arguments }) => {
            return Ok(commands::cyclictest::run(&CyclictestCall::with_arguments(arguments)));
        }
        Some(CliCommand::Oslat { arguments }) => return Ok(run_rt_tests(&RtTestsCall::as_oslat(arguments))),
        Some(CliCommand::Hwlatdetect { arguments }) => {
            return Ok(run_rt_tests(&RtTestsCall::as_hwlatdetect(arguments)));
        }
        Some(CliCommand::Cyclicdeadline { arguments }) => {
            return Ok(run_rt_tests(&RtTestsCall::as_cyclicdeadline(arguments)));
        }
        Some(CliCommand::Sleep(args)) => commands::sleep::run(&args),
        Some(CliCommand::Notify(args)) => commands::notify::run(&args),
        Some(CliCommand::Run(args)) => commands::run::run(*args),
        Some(CliCommand::Tune(args)) => commands::tune::run(args),
        Some(CliCommand::PlanLength(args)) => commands::plan_length::run(&args),
        Some(CliCommand::Watch(args)) => commands::watch::run(&args),
        Some(CliCommand::Top(args)) => commands::top::run(&args),
        Some(CliCommand::Gaps(args)) => commands::gaps::run(&args),
        Some(CliCommand::Record(args)) => commands::record::run(&args),
        Some(CliCommand::Snap(args)) => commands::snap::run(&args),
        Some(CliCommand::Load(args)) => commands::load::run(&args),
        Some(CliCommand::Compare(args)) => commands::compare::run(&args),
        Some(CliCommand::Doctor(args)) => commands::doctor::run(&args),
        Some(CliCommand::Guest(args)) => commands::guest::run(&args),
        Some(CliCommand::Show(args)) => commands::show::run(&args),
        Some(CliCommand::Selfcheck(args)) => commands::selfcheck::run(&args),
        Some(CliCommand::Why(args)) => commands::why::run(&args),
        Some(CliCommand::Fleet(args)) => commands::fleet::run(&args),
        Some(CliCommand::Merge(args)) => commands::merge::run(&args),
        Some(CliCommand::Serve(args)) => commands::serve::run(&args),
        Some(CliCommand::Report(args)) => commands::report::run(&args),
        Some(CliCommand::Completions { shell }) => commands::man_pages::completions(shell),
        Some(CliCommand::Help) => commands::man_pages::help_all(),
        Some(CliCommand::Man { name }) => commands::man_pages::man(name.as_deref()),
    };
    status.map(ExitCode::from)
}
