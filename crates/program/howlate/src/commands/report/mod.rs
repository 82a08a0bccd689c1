//! `howlate report`

mod files;
mod open;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use howlate_analyse::Analysis;
use howlate_analyse::compare::{Comparison, Criteria, Track, Verdict, recordings, within};
use howlate_model::{Property, WorkKind};
use howlate_render::{self as render, ComparisonReport};
use howlate_report::{Markdown, NamedRecording, ReportInput, markdown, page, png, svg};

use self::files::{Artifact, Files, must_be_new};
use super::compare;
use super::reading::{self, Opening, Reading, Texts};
use super::{named_or_most_recent, prometheus, recorded};
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::{ReportArgs, ReportFormat};

pub(crate) fn run(asked: &ReportArgs) -> Result<Status, Error> {
    if let (Some(ending), Some(path)) = (asked.unknown_ending(), &asked.out) {
        return Err(Error::ReportEnding { path: path.clone(), ending: ending.to_owned() });
    }
    match (asked.chart, asked.format()) {
        (Some(_), format) if !format.is_picture() => return Err(Error::ChartIsPicture),
        (None, format) if format.is_picture() => return Err(Error::NoChart(format.ending())),
        _ => {}
    }
    if let Some(folder) = recorded::folder(&asked.recordings, &asked.moments)? {
        return of_record(asked, folder);
    }
    let paths = named_or_most_recent(&asked.recordings)?;
    let files = files(asked, &paths).filter(|_| !asked.is_for_prometheus_alone());
    if files.is_none() && asked.open {
        return Err(Error::NothingToOpen);
    }
    files.iter().flat_map(Files::all).try_for_each(must_be_new)?;
    let mut tracks = tracks(&paths, asked)?;
    tracks.iter_mut().for_each(|track| track.analysis.margin = asked.margin);
    let names = names(&paths, asked.format());
    if let Some(path) = &asked.prometheus {
        prometheus::write(path, tracks.iter().map(|track| &track.analysis), &names)?;
        terminal::say(&format!("Written to {}.\n", path.display()));
    }
    if asked.is_for_prometheus_alone() {
        return Ok(reliance(&tracks));
    }
    let made = made(asked, &tracks, &names, files.as_ref().and_then(Files::picture_name))?;
    put(files, &made, asked.open)?;
    Ok(reliance(&tracks))
}

/// The page of what `howlate record` kept.
fn of_record(asked: &ReportArgs, folder: &Path) -> Result<Status, Error> {
    if asked.format() != ReportFormat::Html || asked.chart.is_some() || asked.prometheus.is_some() {
        return Err(Error::FormatOfRecord);
    }
    let files = files(asked, &[folder.to_owned()]);
    files.iter().flat_map(Files::all).try_for_each(must_be_new)?;
    let kept = recorded::read(folder, &asked.moments, asked.together.group)?;
    put(files, &Artifact { content: recorded::page(folder, &kept).into(), picture: None }, asked.open)?;
    Ok(recorded::status(&kept))
}

/// Writes it to its files, or to standard output, and opens it where that is asked for.
fn put(files: Option<Files>, made: &Artifact, is_opened: bool) -> Result<(), Error> {
    match files {
        None if is_opened => return Err(Error::NothingToOpen),
        None => terminal::print_bytes(&made.content)?,
        Some(files) => {
            files.write(made)?;
            if is_opened {
                open::open(&files.content)?;
            }
        }
    }
    Ok(())
}

fn reliance(tracks: &[Track]) -> Status {
    let mut analyses = tracks.iter().map(|track| &track.analysis);
    let is_worth_little = analyses.any(|one| reading::is_mixed(one) || reading::is_void(one));
    if is_worth_little { Status::NotTrustworthy } else { Status::Done }
}

/// The page that these recordings give when nothing else is asked for.
pub(super) fn page_of(recordings: &[PathBuf]) -> Result<String, Error> {
    let asked = ReportArgs::default();
    let tracks = tracks(recordings, &asked)?;
    told(&asked, &tracks, &names(recordings, asked.format()), |subject| Ok(page(subject)))
}

fn tracks(recordings: &[PathBuf], asked: &ReportArgs) -> Result<Vec<Track>, Error> {
    let opening = Opening { texts: Texts::Legible, reading: Reading { unit: asked.unit } };
    let track = |path: &PathBuf| Ok(reading::track(path, opening)?);
    recordings.iter().map(track).collect()
}

/// What the recordings are called: on pages, which are for others, by their files alone where that tells them apart.
fn names(paths: &[PathBuf], format: ReportFormat) -> Vec<String> {
    let file = |path: &PathBuf| path.file_name().map(|name| reading::name(Path::new(name)));
    let files: Vec<String> = paths.iter().filter_map(file).collect();
    let different = files.iter().collect::<BTreeSet<_>>().len() == paths.len();
    if different && format != ReportFormat::Csv {
        return files;
    }
    paths.iter().map(|path| reading::name(path)).collect()
}

/// What is written; `picture` is the name of the file that Markdown's picture goes to.
fn made(
    asked: &ReportArgs,
    tracks: &[Track],
    names: &[String],
    picture: Option<&OsStr>,
) -> Result<Artifact, Error> {
    told(asked, tracks, names, |subject| {
        let content = match (asked.format(), asked.chart) {
            (ReportFormat::Svg, Some(chart)) => {
                svg(subject, chart, asked.theme).map_err(Error::NoPicture)?.into()
            }
            (ReportFormat::Png, Some(chart)) => png(subject, chart, asked.theme).map_err(Error::NoPng)?,
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

/// What `tell` makes of the recordings and of what differs.
fn told<T>(
    asked: &ReportArgs,
    tracks: &[Track],
    names: &[String],
    tell: impl FnOnce(&ReportInput<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let recordings: Vec<NamedRecording<'_>> = tracks
        .iter()
        .zip(names)
        .map(|(track, name)| NamedRecording { name, analysis: &track.analysis, deadline: asked.deadline })
        .collect();
    let named: Vec<(&str, &Analysis)> = recordings.iter().map(|one| (one.name, one.analysis)).collect();
    let comparison = comparison(asked, tracks)?;
    let comparison = comparison.as_ref().map(|comparison| ComparisonReport {
        comparison,
        asked: criteria(asked),
        base: named[0],
        news: &named[1..],
    });
    tell(&ReportInput { recordings: &recordings, comparison })
}

/// As sure as `howlate compare` is when it is not asked otherwise.
const fn criteria(asked: &ReportArgs) -> Criteria {
    Criteria { confidence: 0.95, margin: asked.margin }
}

/// What differs: the conditions by what was asked for, several recordings from the first, or what differs in a
/// choice by that; `None` where there is nothing to compare.
fn comparison(asked: &ReportArgs, tracks: &[Track]) -> Result<Option<Comparison>, Error> {
    let how = criteria(asked);
    match (tracks, asked.by) {
        (_, Some(property)) => compare::by(tracks, property, None, how).map(Some),
        ([track], None) => Ok(by_choice(track, how)),
        ([base, news @ ..], None) => {
            Ok(Some(recordings(base, news, how)).filter(|found| !found.compared.is_empty()))
        }
        ([], None) => Ok(None),
    }
}

/// What one can choose, in the order in which it is compared.
const CHOICES: [Property; 7] = [
    Property::Knob,
    Property::Policy,
    Property::Kernel,
    Property::VcpuPolicy,
    Property::Slack,
    Property::Mechanism,
    Property::Load,
];

/// The conditions of a recording by the first choice that differs, where the turns say anything of it. Ways to notify are
/// ranked, and threads of a program are no choices.
fn by_choice(track: &Track, how: Criteria) -> Option<Comparison> {
    let conditions = &track.analysis.header.conditions;
    let kind = render::property::common_kind(conditions)?;
    let first = |property: &Property| property.value_in(conditions.first()?);
    let differs =
        |property: &Property| conditions.iter().any(|one| property.value_in(one) != first(property));
    let property = CHOICES.into_iter().find(differs)?;
    let found = within(track, property, None, how).ok()?;
    let says = found.verdicts().any(|verdict| verdict != Verdict::Inconclusive);
    (says && !matches!(kind, WorkKind::Notify | WorkKind::Watch)).then_some(found)
}

/// The files to write; `None` for standard output.
fn files(asked: &ReportArgs, recordings: &[PathBuf]) -> Option<Files> {
    let content = match &asked.out {
        Some(path) if path.as_os_str() == "-" => return None,
        Some(path) => path.clone(),
        None => usual_file(asked, recordings)?,
    };
    let beside = content.with_extension("svg");
    let picture = (asked.format() == ReportFormat::Md && beside != content).then_some(beside);
    Some(Files { content, picture })
}

/// A page goes to a file, and so does a picture that would fill a terminal; what people read and programs take does not.
/// `run.html` for `run.jsonl`, `run-density.svg` for one of its pictures; `report` for several recordings.
fn usual_file(asked: &ReportArgs, recordings: &[PathBuf]) -> Option<PathBuf> {
    let format = asked.format();
    let fills_a_terminal = format.is_picture() && terminal::shows_results();
    if format != ReportFormat::Html && !fills_a_terminal {
        return None;
    }
    let name = match recordings {
        [one] => one.file_stem(),
        _ => None,
    };
    let mut name = name.unwrap_or("report".as_ref()).to_owned();
    if let Some(chart) = asked.chart {
        name.push(format!("-{chart}"));
    }
    name.push(format!(".{}", format.ending()));
    Some(name.into())
}
