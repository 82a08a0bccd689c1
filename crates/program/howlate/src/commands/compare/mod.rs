//! `howlate compare`

mod self_test;

use howlate_analyse::compare::{Comparison, Criteria, Track, Verdict, recordings, within};
use howlate_analyse::{Analysis, is_measured_as_requested};
use howlate_model::{HasProperties, Property, PropertyValue};
use howlate_render::{self as render, ComparisonReport, Detail};

use super::detail;
use super::reading::{self, Opening, Reading, Texts};
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::{CompareArgs, ComparisonFormat};

pub(crate) fn run(asked: &CompareArgs) -> Result<Status, Error> {
    if asked.with_itself {
        return self_test::run(asked);
    }
    let format = asked.output_format();
    let texts = if format == ComparisonFormat::Json { Texts::AsRecorded } else { Texts::Legible };
    let opening = Opening { texts, reading: Reading { unit: asked.unit } };
    let tracks =
        asked.recordings.iter().map(|path| reading::track(path, opening)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = asked.recordings.iter().map(|path| reading::name(path)).collect();
    let how = Criteria { confidence: asked.confidence.0, margin: asked.margin };
    let comparison = match asked.by {
        Some(property) => by(&tracks, property, asked.base.as_deref(), how)?,
        None => against_base(&tracks, how)?,
    };
    let named: Vec<(&str, &Analysis)> =
        names.iter().zip(&tracks).map(|(name, track)| (name.as_str(), &track.analysis)).collect();
    let report = ComparisonReport { comparison: &comparison, asked: how, base: named[0], news: &named[1..] };
    let detail = detail(asked.details, None);
    terminal::print_or_json(&shown(&report, format, detail)?, format == ComparisonFormat::Json)?;
    Ok(status(&comparison, &tracks))
}

pub(super) fn by(
    tracks: &[Track],
    property: Property,
    base: Option<&str>,
    asked: Criteria,
) -> Result<Comparison, Error> {
    let [track] = tracks else { return Err(Error::ByTakesOne { found: tracks.len() }) };
    let comparison = within(track, property, base, asked).map_err(|values| Error::NoSuchValue {
        property: property.name(),
        found: base.unwrap_or_default().to_owned(),
        values,
    })?;
    match comparison.compared.first() {
        Some(_) => Ok(comparison),
        None => Err(Error::NothingDiffers {
            property: property.name(),
            refused: refused(track).filter(|_| property == Property::Policy),
            differ: differing(track).into_iter().filter(|differs| *differs != property.name()).collect(),
        }),
    }
}

fn against_base(tracks: &[Track], asked: Criteria) -> Result<Comparison, Error> {
    let [base, news @ ..] = tracks else { return Err(Error::NothingToCompare { differ: Vec::new() }) };
    if news.is_empty() {
        return Err(Error::NothingToCompare { differ: differing(base) });
    }
    let comparison = recordings(base, news, asked);
    match comparison.compared.first() {
        Some(_) => Ok(comparison),
        None => Err(Error::NothingMatches { refused: tracks.iter().find_map(refused) }),
    }
}

/// A policy that was refused: what ran is not what the other recording has.
fn refused(track: &Track) -> Option<String> {
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

fn shown(report: &ComparisonReport<'_>, format: ComparisonFormat, detail: Detail) -> Result<String, Error> {
    Ok(match format {
        ComparisonFormat::Text => render::comparison_text(report, detail, terminal::width()),
        ComparisonFormat::Json => render::comparison_json(report)?,
        ComparisonFormat::Junit => render::comparison_junit(report).map_err(std::io::Error::other)?,
        ComparisonFormat::Tap => render::comparison_tap(report),
        ComparisonFormat::Md => render::comparison_markdown(report),
    })
}

/// Worse is worse, whatever else is wrong; nothing is well unless everything was measured as asked.
fn status(comparison: &Comparison, tracks: &[Track]) -> Status {
    match comparison.verdict() {
        Verdict::Worse => Status::Exceeded,
        Verdict::Inconclusive => Status::NotTrustworthy,
        _ if !tracks.iter().all(|track| is_measured_as_requested(&track.analysis)) => Status::NotTrustworthy,
        Verdict::Better | Verdict::NotDistinguishable | Verdict::Equivalent => Status::Done,
    }
}
