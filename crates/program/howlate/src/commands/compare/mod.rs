//! `howlate compare`: compares recordings, or conditions of one.

mod self_test;

use howlate_analyse::compare::{Comparison, Criteria, Track, Verdict, recordings, within};
use howlate_analyse::{Analysis, is_measured_as_requested};
use howlate_model::{HasProperties, Property, PropertyValue};
use howlate_render::{self as render, ComparisonReport, Detail};

use super::detail;
use super::reading::{self, ImportOptions, ReadOptions, TextMode};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::{CompareArgs, ComparisonFormat};

pub(crate) fn run(args: &CompareArgs) -> Result<ExitStatus, Error> {
    if args.with_itself {
        return self_test::run(args);
    }
    let format = args.output_format();
    let texts = if format == ComparisonFormat::Json { TextMode::AsRecorded } else { TextMode::Legible };
    let opening = ReadOptions { texts, import: ImportOptions { unit: args.unit } };
    let tracks =
        args.recordings.iter().map(|path| reading::track(path, opening)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = args.recordings.iter().map(|path| reading::name(path)).collect();
    let criteria = Criteria { confidence: args.confidence.0, margin: args.margin };
    let comparison = match args.by {
        Some(property) => by(&tracks, property, args.base.as_deref(), criteria)?,
        None => against_base(&tracks, criteria)?,
    };
    let named: Vec<(&str, &Analysis)> =
        names.iter().zip(&tracks).map(|(name, track)| (name.as_str(), &track.analysis)).collect();
    let report = ComparisonReport { comparison: &comparison, criteria, base: named[0], news: &named[1..] };
    let detail = detail(args.details, None);
    terminal::print_or_json(&format_report(&report, format, detail)?, format == ComparisonFormat::Json)?;
    Ok(status(&comparison, &tracks))
}

pub(super) fn by(
    tracks: &[Track],
    property: Property,
    base: Option<&str>,
    criteria: Criteria,
) -> Result<Comparison, Error> {
    let [track] = tracks else { return Err(Error::ByNeedsOneRecording { found: tracks.len() }) };
    let comparison = within(track, property, base, criteria).map_err(|values| Error::NoSuchValue {
        property: property.name(),
        found: base.unwrap_or_default().to_owned(),
        values,
    })?;
    match comparison.compared.first() {
        Some(_) => Ok(comparison),
        None => Err(Error::NothingDiffers {
            property: property.name(),
            refused: refused_policy(track).filter(|_| property == Property::Policy),
            differ: differing(track).into_iter().filter(|name| *name != property.name()).collect(),
        }),
    }
}

fn against_base(tracks: &[Track], criteria: Criteria) -> Result<Comparison, Error> {
    let [base, news @ ..] = tracks else { return Err(Error::NothingToCompare { differ: Vec::new() }) };
    if news.is_empty() {
        return Err(Error::NothingToCompare { differ: differing(base) });
    }
    let comparison = recordings(base, news, criteria);
    match comparison.compared.first() {
        Some(_) => Ok(comparison),
        None => Err(Error::NothingMatches { refused: tracks.iter().find_map(refused_policy) }),
    }
}

/// A policy that was refused: the recordings then differ in the policy that ran.
fn refused_policy(track: &Track) -> Option<String> {
    let mut policies = track.analysis.outcomes().iter().filter_map(|outcome| outcome.value(Property::Policy));
    policies.find(|policy| matches!(policy, PropertyValue::Refused { .. })).map(|policy| policy.to_string())
}

/// The properties in which the conditions of a recording differ.
fn differing(track: &Track) -> Vec<&'static str> {
    let conditions = &track.analysis.header.conditions;
    let differs = |property: &Property| {
        conditions.iter().any(|condition| property.value_in(condition) != property.value_in(&conditions[0]))
    };
    Property::choices().filter(differs).map(Property::name).collect()
}

fn format_report(
    report: &ComparisonReport<'_>,
    format: ComparisonFormat,
    detail: Detail,
) -> Result<String, Error> {
    Ok(match format {
        ComparisonFormat::Text => render::comparison_text(report, detail, terminal::width()),
        ComparisonFormat::Json => render::comparison_json(report)?,
        ComparisonFormat::Junit => render::comparison_junit(report).map_err(std::io::Error::other)?,
        ComparisonFormat::Tap => render::comparison_tap(report),
        ComparisonFormat::Md => render::comparison_markdown(report),
    })
}

/// `Worse` comes first; success needs results that were measured as requested.
fn status(comparison: &Comparison, tracks: &[Track]) -> ExitStatus {
    match comparison.verdict() {
        Verdict::Worse => ExitStatus::Exceeded,
        Verdict::Inconclusive => ExitStatus::NotTrustworthy,
        _ if !tracks.iter().all(|track| is_measured_as_requested(&track.analysis)) => {
            ExitStatus::NotTrustworthy
        }
        Verdict::Better | Verdict::NotDistinguishable | Verdict::Equivalent => ExitStatus::Done,
    }
}
