//! Results in all formats of `--format`.

use howlate_analyse::Analysis;
use howlate_model::{Condition, Limit, Work};
use howlate_render::{self as render, Detail, bounded_json};

use crate::error::Error;
use crate::terminal;
use howlate_cli::OutputFormat;

/// Whether a format is JSON: its texts stay as recorded, as control characters are escaped.
pub(super) const fn is_json(format: OutputFormat) -> bool {
    matches!(
        format,
        OutputFormat::Json
            | OutputFormat::Kcidb
            | OutputFormat::Osadl
            | OutputFormat::Benchmark
            | OutputFormat::Bmf
            | OutputFormat::Trace
    )
}

/// A JSON document as it is printed: of bounded size, or whole where everything is to be shown.
pub(super) fn answer(document: String, detail: Detail) -> Result<String, Error> {
    if detail == Detail::Full {
        return Ok(document);
    }
    Ok(bounded_json(&document)?.into_owned())
}

/// Checks before a measurement whether the results of its conditions have this format.
pub(super) fn check(format: OutputFormat, conditions: &[Condition]) -> Result<(), Error> {
    let has = |matches: fn(Work) -> bool| conditions.iter().any(|condition| matches(condition.work));
    match format {
        OutputFormat::Intervals if !has(|work| matches!(work, Work::Sleep { .. } | Work::Notify { .. })) => {
            Err(Error::NoSingleSamples)
        }
        // These need a finished recording.
        OutputFormat::Folded | OutputFormat::Perfetto => Err(Error::NotWhileMeasuring),
        OutputFormat::Osadl if !has(|work| matches!(work, Work::Cyclic { .. })) => {
            Err(Error::NothingPeriodic)
        }
        _ => Ok(()),
    }
}

/// Results to print, and their origin.
pub(super) struct FormattedResults<'a> {
    pub(super) analyses: &'a [Analysis],
    /// Names of the recordings; `-` for a result that was not saved.
    pub(super) names: &'a [String],
    pub(super) limits: &'a [Limit],
    pub(super) detail: Detail,
}

/// Whether single sleeps or messages were recorded in order.
fn has_single_samples(analysis: &Analysis) -> bool {
    analysis.outcomes().iter().any(|outcome| outcome.series().iter().any(|points| !points.is_empty()))
}

impl FormattedResults<'_> {
    pub(super) fn text(&self, format: OutputFormat) -> Result<String, Error> {
        let Self { analyses, names, limits, .. } = *self;
        Ok(match format {
            OutputFormat::Text => self.tables(),
            OutputFormat::Json => {
                let document = match analyses {
                    [analysis] => render::json(analysis, limits)?,
                    analyses => render::json_of_many(analyses, limits)?,
                };
                answer(document, self.detail)?
            }
            OutputFormat::Csv => render::csv(analyses, names)?,
            OutputFormat::Intervals if !analyses.iter().any(has_single_samples) => {
                return Err(Error::NoSingleSamples);
            }
            OutputFormat::Intervals => render::intervals_csv(analyses, names)?,
            OutputFormat::Hlog => render::hlog(analyses)?,
            OutputFormat::Hgrm => render::hgrm(analyses),
            OutputFormat::Junit => render::junit(analyses, limits).map_err(std::io::Error::other)?,
            OutputFormat::Tap => render::tap(analyses, limits),
            OutputFormat::Lava => render::lava(analyses, limits),
            OutputFormat::Kcidb => render::kcidb(analyses, limits)?,
            OutputFormat::Benchmark => render::benchmark(analyses)?,
            OutputFormat::Bmf => render::bmf(analyses)?,
            OutputFormat::Trace => render::trace(analyses)?,
            OutputFormat::Osadl => render::osadl(analyses).ok_or(Error::NothingPeriodic)?,
            OutputFormat::Influx => render::influx(analyses),
            OutputFormat::Folded | OutputFormat::Perfetto => {
                return Err(Error::NotRecordFolder { path: None });
            }
        })
    }

    fn tables(&self) -> String {
        let report = |analysis| render::report(analysis, self.detail, terminal::width());
        self.analyses.iter().map(report).collect::<Vec<_>>().join("\n")
    }
}
