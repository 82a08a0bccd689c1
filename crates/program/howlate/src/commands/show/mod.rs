//! `howlate show`

use std::path::{Path, PathBuf};

use howlate_analyse::Analysis;
use howlate_model::shell_path;
use howlate_recording::write_table;
use howlate_render::{self as render, Detail, legible};

use super::formats::{Shown, is_json};
use super::reading::{self, Opening, Reading, Texts, block_columns, is_several};
use super::why::is_explained;
use super::{detail, merge, named_or_most_recent, prometheus, recorded, recorded_nodes};
use crate::error::Error;
use crate::exit_status::{self, Status};
use crate::terminal;
use howlate_cli::{OutputFormat, ShowArgs};

pub(crate) fn run(asked: &ShowArgs) -> Result<Status, Error> {
    if let Some(folders) = recorded_nodes::folders(&asked.recordings) {
        return recorded_nodes::show(&folders, asked);
    }
    if let Some(folder) = recorded::folder(&asked.recordings, &asked.moments)? {
        return recorded::show(folder, asked);
    }
    let texts = if is_json(asked.output_format()) { Texts::AsRecorded } else { Texts::Legible };
    let opening = Opening { texts, reading: Reading { unit: asked.unit } };
    let mut recordings = named_or_most_recent(&asked.recordings)?;
    let mut left_out = Status::Done;
    if let Some(out) = &asked.out {
        (_, left_out) = merge::into_one(&recordings, out)?;
        recordings = vec![out.clone()];
    }
    let mut analyses =
        recordings.iter().map(|path| reading::analysis(path, opening)).collect::<Result<Vec<_>, _>>()?;
    for (analysis, path) in analyses.iter_mut().zip(&recordings) {
        analysis.margin = asked.margin;
        analysis.path = (!asked.recordings.is_empty()).then(|| path.clone());
    }
    let untraced = recordings.iter().zip(&analyses).find(|(_, analysis)| !is_explained(analysis));
    if let (OutputFormat::Trace, Some((path, _))) = (asked.output_format(), untraced) {
        return Err(Error::NothingTraced { path: path.clone() });
    }
    if asked.output_format() == OutputFormat::Perfetto {
        return timelines(&recordings, &analyses);
    }
    let names: Vec<String> = recordings.iter().map(|path| reading::name(path)).collect();
    let detail = detail(asked.details, asked.by);
    let shown = Shown { analyses: &analyses, names: &names, limits: &asked.fail_above, detail };
    if let Some(path) = &asked.prometheus {
        prometheus::write(path, &analyses, &names)?;
    }
    if let Some(path) = &asked.blocks_out {
        let tracks: Vec<_> =
            recordings.iter().map(|path| reading::track(path, opening)).collect::<Result<_, _>>()?;
        write_table(path, &block_columns(&tracks, &names))?;
    }
    let text = match asked.output_format() {
        OutputFormat::Text => text(asked, &recordings, &analyses),
        other => shown.as_text(other)?,
    };
    terminal::print_or_json(&text, is_json(asked.output_format()))?;
    // Without limits nothing was asked of the results but to be shown.
    if asked.fail_above.is_empty() {
        let is_worth_little = analyses.iter().any(|one| reading::is_mixed(one) || reading::is_void(one));
        return Ok(if is_worth_little { Status::NotTrustworthy } else { left_out });
    }
    let each = analyses.iter().map(|analysis| exit_status::overall(analysis, &asked.fail_above));
    Ok(worst(each.chain([left_out]).collect()))
}

/// What all CPUs did around late wake-ups of one recording, as a trace.
fn timelines(paths: &[PathBuf], analyses: &[Analysis]) -> Result<Status, Error> {
    // In a merged one, times were moved to one clock, and those of the files were not.
    let ([path], [analysis], true) = (paths, analyses, analyses.iter().all(|one| one.members.is_empty()))
    else {
        return Err(Error::OneTraceAtATime);
    };
    let cpus = reading::kept_timelines(path, analysis);
    if cpus.is_empty() {
        return Err(Error::NoTimelines { path: path.clone() });
    }
    recorded::print_trace(&render::perfetto(analysis, cpus))?;
    Ok(Status::Done)
}

/// A limit that was exceeded is so whatever else is wrong.
fn worst(each: Vec<Status>) -> Status {
    let exceeded = each.contains(&Status::Exceeded);
    if exceeded { Status::Exceeded } else { each.into_iter().max().unwrap_or(Status::Done) }
}

fn text(asked: &ShowArgs, paths: &[PathBuf], analyses: &[Analysis]) -> String {
    let several = analyses.len() > 1;
    let one = |(analysis, path): (&Analysis, &PathBuf)| {
        let heading = if several { format!("{}\n", reading::name(path)) } else { String::new() };
        let plots = if asked.plot { plots(asked, analysis) } else { String::new() };
        format!("{heading}{}{plots}", report(analysis, path, detail(asked.details, asked.by)))
    };
    analyses.iter().zip(paths).map(one).collect::<Vec<_>>().join("\n")
}

/// The result of a recording; of several that stand as one, no command has measured all.
fn report(analysis: &Analysis, path: &Path, detail: Detail) -> String {
    if is_several(path) {
        let typed = format!("howlate show {}", legible(&shell_path(path)));
        return render::report_titled(analysis, &typed, detail, terminal::width());
    }
    render::report(analysis, detail, terminal::width())
}

fn plots(asked: &ShowArgs, analysis: &Analysis) -> String {
    let ascii = asked.ascii || !howlate_live::may_show_unicode();
    let symbols = if ascii { render::Symbols::Ascii } else { render::Symbols::Unicode };
    format!("\n{}", render::plots(analysis, terminal::width(), symbols))
}
