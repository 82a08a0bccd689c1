//! One file per command.

pub(crate) mod compare;
pub(crate) mod cyclic;
pub(crate) mod cyclictest;
pub(crate) mod debug_report;
pub(crate) mod doctor;
mod exports;
pub(crate) mod fleet;
mod formats;
pub(crate) mod gaps;
pub(crate) mod guest;
pub(crate) mod load;
pub(crate) mod man_pages;
pub(crate) mod merge;
pub(crate) mod notify;
pub(crate) mod plan_length;
pub(crate) mod quick;
pub(crate) mod record;
mod record_folder;
mod record_folders;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod selfcheck;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod sleep;
pub(crate) mod snap;
mod start;
pub(crate) mod top;
pub(crate) mod tune;
mod until;
pub(crate) mod watch;
pub(crate) mod why;

use std::path::{Path, PathBuf};

use howlate_analyse::{Analysis, SavedAs};
use howlate_model::Limit;
use howlate_open_results as reading;

use crate::error::Error;
use crate::exit_status::{self, ExitStatus};
use crate::startup;
use crate::terminal;
use formats::{FormattedResults, is_json};
use howlate_cli::{MeasureArgs, OutputArgs, RowPer, TracingArgs, WholeRunArgs};
use howlate_recording::HistoryEntry;
use howlate_render::Detail;
use howlate_session::{Environment, Request, Resume, TraceOptions, measure};

/// Measures a plan, prints the result, and checks it against the limits.
fn measure_and_print(
    command: &str,
    args: &MeasureArgs,
    environment: &Environment,
    mut plan: howlate_plan::Plan,
    seed: u64,
    (reasons, by): (&TracingArgs, Option<RowPer>),
) -> Result<ExitStatus, Error> {
    exports::check(&args.output)?;
    formats::check(args.output.output_format(), &plan.conditions)?;
    // The run may stop at a traced wake-up, so that tracing is spread over all turns.
    let traced = match args.run.stop_above {
        Some(_) => reasons.add_to(&mut plan, seed)?,
        // A traced part at the end would be missing in a run that ends early.
        None if args.until.until.is_some() => reasons.add_to(&mut plan, seed)?,
        None => reasons.add_to_run(&mut plan, seed)?,
    };
    let history = HistoryEntry::begin(command, args.output.out.as_deref(), args.no_save);
    let history_path = history.path();
    let request = Request {
        until: args.until.until,
        kept: history_path.as_deref(),
        on_late: reasons.on_late.clone(),
        ..request(command, seed, environment, &args.run, &args.output, traced)
    };
    let mut analysis = measure(request, environment, &plan, Resume::No)?;
    analysis.saved_as = saved_as(&history, args.output.out.as_deref());
    print_result(&analysis, &args.output, by, &args.run.fail_above)?;
    let status = exit_status::of_whole_run(&analysis, &args.run.fail_above);
    end_history(history, args.output.printing.quiet);
    Ok(status)
}

/// The request of a session for the options of `command`; `seed` determines the order of turns.
fn request<'a>(
    command: &'a str,
    seed: u64,
    environment: &Environment,
    run: &WholeRunArgs,
    output: &'a OutputArgs,
    traced: Option<TraceOptions>,
) -> Request<'a> {
    let keeps_timelines = traced.is_some_and(|traced| traced.keep.is_some());
    let timeline_request =
        keeps_timelines.then(|| startup::on_timeline_request(&environment.timeline_asked).ok()).flatten();
    Request {
        command,
        seed,
        out: output.out.as_deref(),
        kept: None,
        samples_out: output.samples_out.as_deref(),
        node: output.identity.apply(environment.node.clone()),
        dma_latency_us: run.dma_latency,
        stop_above: run.stop_above,
        until: None,
        screen: terminal::display(output.display.live, output.printing.quiet, environment, timeline_request),
        traced,
        on_late: Vec::new(),
    }
}

/// Where a run is when it has ended.
fn saved_as(history: &HistoryEntry, out: Option<&Path>) -> SavedAs {
    match out {
        _ if history.has_place() => SavedAs::LastRun,
        Some(path) if !howlate_recording::is_stream(path) => SavedAs::File(path.to_owned()),
        _ => SavedAs::Nowhere,
    }
}

/// Ends the copy of a run in the history, and prints how to show it again.
fn end_history(history: HistoryEntry, quiet: bool) {
    if history.end() && !quiet && terminal::stderr_is_terminal() {
        terminal::eprint("Saved; show it again with: howlate show\n");
    }
}

const fn detail(all: bool, by: Option<RowPer>) -> Detail {
    match (all, by) {
        (true, _) => Detail::Full,
        (false, Some(RowPer::Cpu)) => Detail::PerCpu,
        (false, None) => Detail::Brief,
    }
}

/// The given recordings; the most recent run where none was given.
fn recordings_or_latest(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    match paths {
        [] => Ok(vec![howlate_recording::most_recent().ok_or(Error::NoSavedRun)?]),
        paths => Ok(paths.to_vec()),
    }
}

fn print_result(
    analysis: &Analysis,
    output: &OutputArgs,
    by: Option<RowPer>,
    limits: &[Limit],
) -> Result<(), Error> {
    let (analyses, names) = (std::slice::from_ref(analysis), &[output.name()]);
    let results = FormattedResults { analyses, names, limits, detail: detail(output.details, by) };
    let format = output.output_format();
    exports::write(analysis, output, limits)?;
    Ok(terminal::print_or_json(&results.text(format)?, is_json(format))?)
}
