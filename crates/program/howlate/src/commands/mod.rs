//! One file per command.

pub(crate) mod compare;
pub(crate) mod cyclic;
pub(crate) mod cyclictest;
pub(crate) mod debug_report;
pub(crate) mod doctor;
mod exported;
pub(crate) mod fleet;
mod formats;
pub(crate) mod gaps;
pub(crate) mod guest;
pub(crate) mod load;
pub(crate) mod man_pages;
pub(crate) mod merge;
pub(crate) mod notify;
pub(crate) mod plan_length;
mod prometheus;
pub(crate) mod quick;
pub(crate) mod record;
mod recorded;
mod recorded_nodes;
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

use std::path::PathBuf;

use howlate_analyse::Analysis;
use howlate_model::Limit;
use howlate_open_results as reading;

use crate::error::Error;
use crate::exit_status::{self, Status};
use crate::startup;
use crate::terminal;
use formats::{Shown, is_json};
use howlate_cli::{MeasureArgs, OutputArgs, RowPer, TracingArgs, WholeRunArgs};
use howlate_recording::HistoryEntry;
use howlate_render::Detail;
use howlate_session::{Environment, Request, Resume, TraceOptions, measure};

/// Measures a plan, prints the result, judges it.
fn measure_and_print(
    command: &str,
    args: &MeasureArgs,
    environment: &Environment,
    mut plan: howlate_plan::Plan,
    seed: u64,
    (reasons, by): (TracingArgs, Option<RowPer>),
) -> Result<Status, Error> {
    exported::check(&args.output)?;
    formats::check(args.output.output_format(), &plan.conditions)?;
    // What stops a run is to be one of its numbers.
    let traced = match args.run.stop_above {
        Some(_) => reasons.add_to(&mut plan, seed)?,
        // A traced part of a run that ends early would come too late.
        None if args.until.until.is_some() => reasons.add_to(&mut plan, seed)?,
        None => reasons.add_to_run(&mut plan, seed)?,
    };
    let kept = HistoryEntry::begin(command, args.output.out.as_deref(), args.no_save);
    let place = kept.path();
    let request = Request {
        until: args.until.until,
        kept: place.as_deref(),
        ..request(command, seed, environment, &args.run, &args.output, traced)
    };
    let analysis = measure(request, environment, &plan, Resume::No)?;
    print_result(&analysis, &args.output, by, &args.run.fail_above)?;
    let status = exit_status::of_whole_run(&analysis, &args.run.fail_above);
    say_kept(kept, args.output.printing.quiet);
    Ok(status)
}

/// What was typed after `command`, as a session is asked for it; turns are in an order drawn with `seed`.
fn request<'a>(
    command: &'a str,
    seed: u64,
    environment: &Environment,
    run: &WholeRunArgs,
    output: &'a OutputArgs,
    traced: Option<TraceOptions>,
) -> Request<'a> {
    let keeps = traced.is_some_and(|traced| traced.keep.is_some());
    let timeline = keeps.then(|| startup::on_timeline_asked(&environment.timeline_asked).ok()).flatten();
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
        screen: terminal::display(output.display.live, output.printing.quiet, environment, timeline),
        traced,
    }
}

/// Ends a run that is kept, and tells whoever watches how to see it again.
fn say_kept(kept: HistoryEntry, quiet: bool) {
    if kept.end() && !quiet && terminal::is_watched() {
        terminal::say("Saved; show it again with: howlate show\n");
    }
}

/// How much of a result to print.
const fn detail(all: bool, by: Option<RowPer>) -> Detail {
    match (all, by) {
        (true, _) => Detail::Full,
        (false, Some(RowPer::Cpu)) => Detail::PerCpu,
        (false, None) => Detail::Brief,
    }
}

/// The recordings that were named; the most recent run where none was.
fn named_or_most_recent(named: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    match named {
        [] => Ok(vec![howlate_recording::most_recent().ok_or(Error::NothingKept)?]),
        named => Ok(named.to_vec()),
    }
}

fn print_result(
    analysis: &Analysis,
    output: &OutputArgs,
    by: Option<RowPer>,
    limits: &[Limit],
) -> Result<(), Error> {
    let (analyses, names) = (std::slice::from_ref(analysis), &[output.name()]);
    let shown = Shown { analyses, names, limits, detail: detail(output.details, by) };
    let format = output.output_format();
    exported::write(analysis, output, limits)?;
    Ok(terminal::print_or_json(&shown.as_text(format)?, is_json(format))?)
}
