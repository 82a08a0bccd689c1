//! `howlate show`: prints recordings.

use std::path::{Path, PathBuf};

use howlate_analyse::{Analysis, SavedAs};
use howlate_model::shell_path;
use howlate_recording::write_table;
use howlate_render::{self as render, Detail, legible};

use super::formats::{FormattedResults, is_json};
use super::reading::{self, ImportOptions, ReadOptions, TextMode, block_columns, is_several};
use super::why::is_explained;
use super::{detail, exports, merge, record_folder, record_folders, recordings_or_latest};
use crate::error::Error;
use crate::exit_status::{self, ExitStatus};
use crate::terminal;
use howlate_cli::{OutputFormat, ShowArgs};

pub(crate) fn run(args: &ShowArgs) -> Result<ExitStatus, Error> {
    if let Some(folders) = record_folders::folders(&args.recordings) {
        return record_folders::show(&folders, args);
    }
    if let Some(folder) = record_folder::folder(&args.recordings, &args.moments)? {
        return record_folder::show(folder, args);
    }
    let texts = if is_json(args.output_format()) { TextMode::AsRecorded } else { TextMode::Legible };
    let opening = ReadOptions { texts, import: ImportOptions { unit: args.unit } };
    let mut recordings = recordings_or_latest(&args.recordings)?;
    let mut merge_status = ExitStatus::Done;
    if let Some(out) = &args.out {
        (_, merge_status) = merge::merge(&recordings, out)?;
        recordings = vec![out.clone()];
    }
    let mut analyses =
        recordings.iter().map(|path| reading::analysis(path, opening)).collect::<Result<Vec<_>, _>>()?;
    for (analysis, path) in analyses.iter_mut().zip(&recordings) {
        analysis.margin = args.margin;
        if !args.recordings.is_empty() {
            analysis.saved_as = SavedAs::File(path.clone());
        }
    }
    let untraced = recordings.iter().zip(&analyses).find(|(_, analysis)| !is_explained(analysis));
    if let (OutputFormat::Trace, Some((path, _))) = (args.output_format(), untraced) {
        return Err(Error::NothingTraced { path: path.clone() });
    }
    if args.output_format() == OutputFormat::Perfetto {
        return timelines(&recordings, &analyses);
    }
    let names: Vec<String> = recordings.iter().map(|path| reading::name(path)).collect();
    let detail = detail(args.details, args.by);
    let results = FormattedResults { analyses: &analyses, names: &names, limits: &args.fail_above, detail };
    if let Some(path) = &args.prometheus {
        exports::write_prometheus(path, &analyses, &names)?;
    }
    if let Some(path) = &args.blocks_out {
        let tracks: Vec<_> =
            recordings.iter().map(|path| reading::track(path, opening)).collect::<Result<_, _>>()?;
        write_table(path, &block_columns(&tracks, &names))?;
    }
    let text = match args.output_format() {
        OutputFormat::Text => tables(args, &recordings, &analyses),
        format => results.text(format)?,
    };
    terminal::print_or_json(&text, is_json(args.output_format()))?;
    // Without limits, only the recordings themselves can be wrong.
    if args.fail_above.is_empty() {
        let is_doubtful =
            analyses.iter().any(|analysis| reading::is_mixed(analysis) || reading::is_void(analysis));
        return Ok(if is_doubtful { ExitStatus::NotTrustworthy } else { merge_status });
    }
    let statuses = analyses.iter().map(|analysis| exit_status::overall(analysis, &args.fail_above));
    Ok(worst(statuses.chain([merge_status]).collect()))
}

/// Timelines of all CPUs around late wake-ups of one recording, as a trace.
fn timelines(paths: &[PathBuf], analyses: &[Analysis]) -> Result<ExitStatus, Error> {
    // The times of a merged recording are on a common clock; those of the timeline files are not.
    let ([path], [analysis], true) =
        (paths, analyses, analyses.iter().all(|analysis| analysis.members.is_empty()))
    else {
        return Err(Error::OneTraceAtATime);
    };
    let cpus = reading::recorded_timelines(path, analysis);
    if cpus.is_empty() {
        return Err(Error::NoTimelines { path: path.clone() });
    }
    record_folder::print_trace(&render::perfetto(analysis, cpus))?;
    Ok(ExitStatus::Done)
}

/// An exceeded limit comes before everything else.
fn worst(statuses: Vec<ExitStatus>) -> ExitStatus {
    let exceeded = statuses.contains(&ExitStatus::Exceeded);
    if exceeded { ExitStatus::Exceeded } else { statuses.into_iter().max().unwrap_or(ExitStatus::Done) }
}

fn tables(args: &ShowArgs, paths: &[PathBuf], analyses: &[Analysis]) -> String {
    let several = analyses.len() > 1;
    let table = |(analysis, path): (&Analysis, &PathBuf)| {
        let heading = if several { format!("{}\n", reading::name(path)) } else { String::new() };
        let plots = if args.plot { plots(args, analysis) } else { String::new() };
        format!("{heading}{}{plots}", report(analysis, path, detail(args.details, args.by)))
    };
    analyses.iter().zip(paths).map(table).collect::<Vec<_>>().join("\n")
}

/// The result of a recording; titled `howlate show` where it combines several files.
fn report(analysis: &Analysis, path: &Path, detail: Detail) -> String {
    if is_several(path) {
        let title = format!("howlate show {}", legible(&shell_path(path)));
        return render::report_titled(analysis, &title, detail, terminal::width());
    }
    render::report(analysis, detail, terminal::width())
}

fn plots(args: &ShowArgs, analysis: &Analysis) -> String {
    let ascii = args.ascii || !howlate_live::may_show_unicode();
    let symbols = if ascii { render::PlotSymbols::Ascii } else { render::PlotSymbols::Unicode };
    format!("\n{}", render::plots(analysis, terminal::width(), symbols))
}
