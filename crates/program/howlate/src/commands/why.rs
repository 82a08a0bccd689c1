//! `howlate why`

use std::path::PathBuf;

use howlate_analyse::Analysis;
use howlate_model::{Load, Policy, Span};
use howlate_plan::{CommonChoices, CyclicChoices};
use howlate_render as render;

use super::quick::realtime_policy;
use super::reading::Texts;
use super::{detail, named_or_most_recent, print_result, reading, recorded, request, say_kept};
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup;
use crate::terminal;
use howlate_cli::{OutputArgs, WholeRunArgs, WhyArgs};
use howlate_recording::HistoryEntry;
use howlate_session::{Request, Resume, measure};

/// Time for each of four conditions, and as long again for its traced turns: about 30 s in all.
const PER_CONDITION: Span = Span::from_millis(3_600);
/// Turns of each condition: enough to tell what tracing adds.
const ROUNDS: u32 = 9;

pub(crate) fn run(asked: &WhyArgs) -> Result<Status, Error> {
    if let Some(folder) = recorded::folder(&asked.recordings, &asked.moments)? {
        return recorded::why(folder, asked);
    }
    match (asked.recordings.as_slice(), asked.last) {
        ([], false) => look(asked),
        (named, _) => read(asked, &named_or_most_recent(named)?),
    }
}

/// Why this machine is late: as a program is and with real-time priority, idle and busy.
fn look(asked: &WhyArgs) -> Result<Status, Error> {
    let environment = startup::begin()?;
    let choices = choices(realtime_policy());
    let mut plan = choices.plan(&environment.machine())?;
    let seed = choices.circumstances.seed;
    let traced = asked.reasons().add_to(&mut plan, seed)?;
    let printing = asked.printing;
    let identity = asked.identity.clone();
    let (out, details) = (asked.out.clone(), asked.details);
    let display = asked.display;
    let output = OutputArgs { out, identity, printing, display, details, ..OutputArgs::default() };
    let kept = HistoryEntry::begin("why", asked.out.as_deref(), asked.no_save);
    let place = kept.path();
    let request = Request {
        kept: place.as_deref(),
        ..request("why", seed, &environment, &WholeRunArgs::default(), &output, traced)
    };
    let analysis = measure(request, &environment, &plan, Resume::No)?;
    print_result(&analysis, &output, asked.by, &[])?;
    say_kept(kept, printing.quiet);
    Ok(if is_explained(&analysis) { Status::Done } else { Status::NotTrustworthy })
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
        duration: Some(PER_CONDITION),
        rounds: Some(ROUNDS),
        ..CyclicChoices::single_thread(circumstances)
    }
}

/// Whether any of its turns was traced.
pub(super) fn is_explained(analysis: &Analysis) -> bool {
    analysis.outcomes().iter().any(|outcome| outcome.traces.is_some())
}

/// What recordings say.
fn read(asked: &WhyArgs, recordings: &[PathBuf]) -> Result<Status, Error> {
    let is_json = asked.printing.json;
    let texts = if is_json { Texts::AsRecorded } else { Texts::Legible };
    let analysis = |path: &PathBuf| match reading::analysis(path, texts)? {
        analysis if is_explained(&analysis) => Ok(analysis),
        _ => Err(Error::NothingTraced { path: path.clone() }),
    };
    let mut analyses = recordings.iter().map(analysis).collect::<Result<Vec<_>, _>>()?;
    for (analysis, path) in analyses.iter_mut().zip(&asked.recordings) {
        analysis.path = Some(path.clone());
    }
    if is_json {
        let text = match analyses.as_slice() {
            [one] => render::json(one, &[])?,
            many => render::json_of_many(many, &[])?,
        };
        terminal::print_or_json(&text, true)?;
        return Ok(Status::Done);
    }
    for (path, analysis) in recordings.iter().zip(&analyses) {
        let heading = if recordings.len() > 1 { format!("{}\n", reading::name(path)) } else { String::new() };
        let text =
            render::why(analysis, asked.late_above, detail(asked.details, asked.by), terminal::width());
        let timelines = render::kept_timelines(analysis, detail(asked.details, asked.by), terminal::width());
        terminal::print(&format!("{heading}{text}{timelines}"))?;
    }
    Ok(Status::Done)
}
