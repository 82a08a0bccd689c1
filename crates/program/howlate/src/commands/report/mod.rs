//! `howlate report`: writes pages, pictures and tables from recordings.

mod files;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use howlate_analyse::Analysis;
use howlate_analyse::compare::{Comparison, Criteria, Track, Verdict, recordings, within};
use howlate_model::{Property, WorkKind};
use howlate_render::{self as render, ComparisonReport};
use howlate_report::{Markdown, NamedRecording, ReportInput, markdown, page, png, svg};

use self::files::{Artifact, ReportFiles, must_be_new, open_file};
use super::compare;
use super::reading::{self, ImportOptions, ReadOptions, TextMode};
use super::{exports, record_folder, recordings_or_latest};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::{ReportArgs, ReportFormat};

pub(crate) fn run(args: &ReportArgs) -> Result<ExitStatus, Error> {
    if let (Some(ending), Some(path)) = (args.unknown_ending(), &args.out) {
        return Err(Error::ReportEnding { path: path.clone(), ending: ending.to_owned() });
    }
    match (args.chart, args.format()) {
        (Some(_), format) if !format.is_picture() => return Err(Error::ChartIsPicture),
        (None, format) if format.is_picture() => return Err(Error::NoChart(format.ending())),
        _ => {}
    }
    if let Some(folder) = record_folder::folder(&args.recordings, &args.moments)? {
        return report_incidents(args, folder);
    }
    let paths = recordings_or_latest(&args.recordings)?;
    let files = files(args, &paths).filter(|_| !args.is_for_prometheus_alone());
    if files.is_none() && args.open {
        return Err(Error::NothingToOpen);
    }
    files.iter().flat_map(ReportFiles::paths).try_for_each(must_be_new)?;
    let mut tracks = tracks(&paths, args)?;
    tracks.iter_mut().for_each(|track| track.analysis.margin = args.margin);
    let names = names(&paths, args.format());
    if let Some(path) = &args.prometheus {
        exports::write_prometheus(path, tracks.iter().map(|track| &track.analysis), &names)?;
        terminal::eprint(&format!("Written to {}.\n", path.display()));
    }
    if args.is_for_prometheus_alone() {
        return Ok(status(&tracks));
    }
    let artifact = make_artifact(args, &tracks, &names, files.as_ref().and_then(ReportFiles::picture_name))?;
    write(files, &artifact, args.open)?;
    Ok(status(&tracks))
}

/// The page of a folder of `howlate record`.
fn report_incidents(args: &ReportArgs, folder: &Path) -> Result<ExitStatus, Error> {
    if args.format() != ReportFormat::Html || args.chart.is_some() || args.prometheus.is_some() {
        return Err(Error::RecordFolderFormat);
    }
    let files = files(args, &[folder.to_owned()]);
    files.iter().flat_map(ReportFiles::paths).try_for_each(must_be_new)?;
    let incidents = record_folder::read(folder, &args.moments, args.together.group_by)?;
    write(
        files,
        &Artifact { content: record_folder::page(folder, &incidents).into(), picture: None },
        args.open,
    )?;
    Ok(record_folder::status(&incidents))
}

/// Writes to the files or to standard output, and opens the result for `--open`.
fn write(files: Option<ReportFiles>, artifact: &Artifact, open: bool) -> Result<(), Error> {
    match files {
        None if open => return Err(Error::NothingToOpen),
        None => terminal::print_bytes(&artifact.content)?,
        Some(files) => {
            files.write(artifact)?;
            if open {
                open_file(&files.content)?;
            }
        }
    }
    Ok(())
}

fn status(tracks: &[Track]) -> ExitStatus {
    let mut analyses = tracks.iter().map(|track| &track.analysis);
    let is_doubtful = analyses.any(|analysis| reading::is_mixed(analysis) || reading::is_void(analysis));
    if is_doubtful { ExitStatus::NotTrustworthy } else { ExitStatus::Done }
}

/// The page of recordings with default options.
pub(super) fn default_page(recordings: &[PathBuf]) -> Result<String, Error> {
    let args = ReportArgs::default();
    let tracks = tracks(recordings, &args)?;
    with_subject(&args, &tracks, &names(recordings, args.format()), |subject| Ok(page(subject)))
}

fn tracks(recordings: &[PathBuf], args: &ReportArgs) -> Result<Vec<Track>, Error> {
    let opening = ReadOptions { texts: TextMode::Legible, import: ImportOptions { unit: args.unit } };
    let track = |path: &PathBuf| Ok(reading::track(path, opening)?);
    recordings.iter().map(track).collect()
}

/// Names of the recordings. Pages are passed on, so that they show file names without folders where these differ.
fn names(paths: &[PathBuf], format: ReportFormat) -> Vec<String> {
    let file = |path: &PathBuf| path.file_name().map(|name| reading::name(Path::new(name)));
    let files: Vec<String> = paths.iter().filter_map(file).collect();
    let are_unique = files.iter().collect::<BTreeSet<_>>().len() == paths.len();
    if are_unique && format != ReportFormat::Csv {
        return files;
    }
    paths.iter().map(|path| reading::name(path)).collect()
}

/// Makes the report; `picture` is the file name of the picture that Markdown links.
fn make_artifact(
    args: &ReportArgs,
    tracks: &[Track],
    names: &[String],
    picture: Option<&OsStr>,
) -> Result<Artifact, Error> {
    with_subject(args, tracks, names, |subject| {
        let content = match (args.format(), args.chart) {
            (ReportFormat::Svg, Some(chart)) => {
                svg(subject, chart, args.theme).map_err(Error::NoPicture)?.into()
            }
            (ReportFormat::Png, Some(chart)) => png(subject, chart, args.theme).map_err(Error::NoPng)?,
            (ReportFormat::Md, _) => {
                let Markdown { text, picture } = markdown(subject, picture);
                return Ok(Artifact { content: text.into(), picture });
            }
            (ReportFormat::Csv, _) => render::csv(tracks.iter().map(|track| &track.analysis), names)?.into(),
            (ReportFormat::Html | ReportFormat::Svg | ReportFormat::Png, _) => page(subject).into(),
        };
        Ok(Artifact { content, picture: None })
    })
}

/// Calls `make` with the recordings and their comparison.
fn with_subject<T>(
    args: &ReportArgs,
    tracks: &[Track],
    names: &[String],
    make: impl FnOnce(&ReportInput<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let recordings: Vec<NamedRecording<'_>> = tracks
        .iter()
        .zip(names)
        .map(|(track, name)| NamedRecording { name, analysis: &track.analysis, deadline: args.deadline })
        .collect();
    let analyses: Vec<(&str, &Analysis)> =
        recordings.iter().map(|recording| (recording.name, recording.analysis)).collect();
    let comparison = comparison(args, tracks)?;
    let comparison = comparison.as_ref().map(|comparison| ComparisonReport {
        comparison,
        criteria: criteria(args),
        base: analyses[0],
        news: &analyses[1..],
    });
    make(&ReportInput { recordings: &recordings, comparison })
}

/// The default confidence of `howlate compare`.
const fn criteria(args: &ReportArgs) -> Criteria {
    Criteria { confidence: 0.95, margin: args.margin }
}

/// The comparison: by `--by`, of several recordings with the first, or by the first setting that differs; `None` where nothing can
/// be compared.
fn comparison(args: &ReportArgs, tracks: &[Track]) -> Result<Option<Comparison>, Error> {
    let criteria = criteria(args);
    match (tracks, args.by) {
        (_, Some(property)) => compare::by(tracks, property, None, criteria).map(Some),
        ([track], None) => Ok(by_choice(track, criteria)),
        ([base, news @ ..], None) => {
            Ok(Some(recordings(base, news, criteria)).filter(|comparison| !comparison.compared.is_empty()))
        }
        ([], None) => Ok(None),
    }
}

/// Settings of which a user has the choice, in the order of comparison.
const CHOICES: [Property; 7] = [
    Property::Knob,
    Property::Policy,
    Property::Kernel,
    Property::VcpuPolicy,
    Property::Slack,
    Property::Mechanism,
    Property::Load,
];

/// Compares the conditions of a recording by the first setting that differs; `None` without a conclusive verdict. Mechanisms of
/// notifying are ranked instead, and the threads of a program are no settings.
fn by_choice(track: &Track, criteria: Criteria) -> Option<Comparison> {
    let conditions = &track.analysis.header.conditions;
    let kind = render::property::common_kind(conditions)?;
    let first = |property: &Property| property.value_in(conditions.first()?);
    let differs = |property: &Property| {
        conditions.iter().any(|condition| property.value_in(condition) != first(property))
    };
    let property = CHOICES.into_iter().find(differs)?;
    let comparison = within(track, property, None, criteria).ok()?;
    let is_conclusive = comparison.verdicts().any(|verdict| verdict != Verdict::Inconclusive);
    (is_conclusive && !matches!(kind, WorkKind::Notify | WorkKind::Watch)).then_some(comparison)
}

/// Files to write; `None` for standard output.
fn files(args: &ReportArgs, recordings: &[PathBuf]) -> Option<ReportFiles> {
    let content = match &args.out {
        Some(path) if path.as_os_str() == "-" => return None,
        Some(path) => path.clone(),
        None => default_file(args, recordings)?,
    };
    let picture = content.with_extension("svg");
    let picture = (args.format() == ReportFormat::Md && picture != content).then_some(picture);
    Some(ReportFiles { content, picture })
}

/// Default file: `run.html` for `run.jsonl`, `run-density.svg` for one of its pictures, `report.html` for several recordings.
/// `None`, standard output, for text and for pictures in a pipe.
fn default_file(args: &ReportArgs, recordings: &[PathBuf]) -> Option<PathBuf> {
    let format = args.format();
    let is_picture_on_terminal = format.is_picture() && terminal::stdout_is_terminal();
    if format != ReportFormat::Html && !is_picture_on_terminal {
        return None;
    }
    let name = match recordings {
        [recording] => recording.file_stem(),
        _ => None,
    };
    let mut name = name.unwrap_or("report".as_ref()).to_owned();
    if let Some(chart) = args.chart {
        name.push(format!("-{chart}"));
    }
    name.push(format!(".{}", format.ending()));
    Some(name.into())
}
