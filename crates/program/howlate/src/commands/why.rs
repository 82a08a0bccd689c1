//! `howlate why`: shows the causes of late wake-ups.

use std::path::PathBuf;

use howlate_analyse::{Analysis, SavedAs};
use howlate_model::{Load, Policy, Span};
use howlate_plan::{CommonChoices, CyclicChoices, RequestedExtent};
use howlate_render as render;

use super::formats::answer;
use super::quick::realtime_policy;
use super::reading::TextMode;
use super::{
    detail, end_history, print_result, reading, record_folder, recordings_or_latest, request, saved_as,
};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup;
use crate::terminal;
use howlate_cli::{OutputArgs, WholeRunArgs, WhyArgs};
use howlate_recording::HistoryEntry;
use howlate_session::{Request, Resume, measure};

/// Time of each of the four conditions; their traced turns take as much again: about 30 s in all.
const PER_CONDITION: Span = Span::from_millis(3_600);
/// Turns per condition: enough to estimate what tracing adds.
const ROUNDS: u32 = 9;

pub(crate) fn run(args: &WhyArgs) -> Result<ExitStatus, Error> {
    if let Some(folder) = record_folder::folder(&args.recordings, &args.moments)? {
        return record_folder::why(folder, args);
    }
    match (args.recordings.as_slice(), args.last) {
        ([], false) => measure_here(args),
        (paths, _) => read_recordings(args, &recordings_or_latest(paths)?),
    }
}

/// Measures here: default policy and real-time priority, idle and under load.
fn measure_here(args: &WhyArgs) -> Result<ExitStatus, Error> {
    let environment = startup::begin()?;
    let choices = choices(realtime_policy());
    let mut plan = choices.plan(&environment.machine())?;
    let seed = choices.circumstances.seed;
    let traced = args.reasons().add_to(&mut plan, seed)?;
    let printing = args.printing.common;
    let identity = args.identity.clone();
    let (out, details) = (args.out.clone(), args.printing.details);
    let display = args.display;
    let output = OutputArgs { out, identity, printing, display, details, ..OutputArgs::default() };
    let history = HistoryEntry::begin("why", args.out.as_deref(), args.no_save);
    let history_path = history.path();
    let request = Request {
        kept: history_path.as_deref(),
        ..request("why", seed, &environment, &WholeRunArgs::default(), &output, traced)
    };
    let mut analysis = measure(request, &environment, &plan, Resume::No)?;
    analysis.saved_as = saved_as(&history, output.out.as_deref());
    print_result(&analysis, &output, args.by, &[])?;
    end_history(history, printing.quiet);
    Ok(if is_explained(&analysis) { ExitStatus::Done } else { ExitStatus::NotTrustworthy })
}

fn choices(realtime: Option<Policy>) -> CyclicChoices {
    let circumstances = CommonChoices {
        policies: [Some(Policy::OTHER), realtime].into_iter().flatten().collect(),
        slacks: vec![None],
        loads: vec![Load::IDLE, Load::cpu()],
        cpus: None,
        seed: fastrand::u64(..1_000_000),
    };
    CyclicChoices {
        extent: RequestedExtent {
            duration: Some(PER_CONDITION),
            rounds: Some(ROUNDS),
            ..RequestedExtent::default()
        },
        ..CyclicChoices::single_thread(circumstances)
    }
}

/// Whether any turn was traced.
pub(super) fn is_explained(analysis: &Analysis) -> bool {
    analysis.outcomes().iter().any(|outcome| outcome.traces.is_some())
}

fn read_recordings(args: &WhyArgs, recordings: &[PathBuf]) -> Result<ExitStatus, Error> {
    let is_json = args.printing.common.json;
    let texts = if is_json { TextMode::AsRecorded } else { TextMode::Legible };
    let analysis = |path: &PathBuf| match reading::analysis(path, texts)? {
        analysis if is_explained(&analysis) => Ok(analysis),
        _ => Err(Error::NothingTraced { path: path.clone() }),
    };
    let mut analyses = recordings.iter().map(analysis).collect::<Result<Vec<_>, _>>()?;
    for (analysis, path) in analyses.iter_mut().zip(&args.recordings) {
        analysis.saved_as = SavedAs::File(path.clone());
    }
    if is_json {
        let text = match analyses.as_slice() {
            [analysis] => render::json(analysis, &[])?,
            analyses => render::json_of_many(analyses, &[])?,
        };
        terminal::print_or_json(&answer(text, detail(args.printing.details, args.by))?, true)?;
        return Ok(ExitStatus::Done);
    }
    for (path, analysis) in recordings.iter().zip(&analyses) {
        let heading = if recordings.len() > 1 { format!("{}\n", reading::name(path)) } else { String::new() };
        let text =
            render::why(analysis, args.late_above, detail(args.printing.details, args.by), terminal::width());
        let timelines =
            render::kept_timelines(analysis, detail(args.printing.details, args.by), terminal::width());
        terminal::print(&format!("{heading}{text}{timelines}"))?;
    }
    Ok(ExitStatus::Done)
}
