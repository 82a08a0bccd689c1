//! Results in every format that can be asked for.

use howlate_analyse::Analysis;
use howlate_model::{Condition, Limit, Work};
use howlate_render::{self as render, Detail};

use crate::error::Error;
use crate::terminal;
use howlate_cli::OutputFormat;

/// Whether it is JSON, whose texts are as they were recorded.
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

/// Whether what these conditions measure can be printed so, before it is measured.
pub(super) fn check(format: OutputFormat, conditions: &[Condition]) -> Result<(), Error> {
    let has = |is: fn(Work) -> bool| conditions.iter().any(|one| is(one.work));
    match format {
        OutputFormat::Intervals if !has(|work| matches!(work, Work::Sleep { .. } | Work::Notify { .. })) => {
            Err(Error::NoSingleOnes)
        }
        // There is a trace of it when it has been recorded.
        OutputFormat::Folded | OutputFormat::Perfetto => Err(Error::NotWhileMeasuring),
        OutputFormat::Osadl if !has(|work| matches!(work, Work::Cyclic { .. })) => {
            Err(Error::NothingPeriodic)
        }
        _ => Ok(()),
    }
}

/// What is to be printed, and where it comes from.
pub(super) struct Shown<'a> {
    pub(super) analyses: &'a [Analysis],
    /// The recordings' names; `-` where nothing was saved.
    pub(super) names: &'a [String],
    pub(super) limits: &'a [Limit],
    pub(super) detail: Detail,
}

/// Whether single sleeps or messages were kept, in order.
fn has_single_ones(analysis: &Analysis) -> bool {
    analysis.outcomes().iter().any(|one| one.series().iter().any(|points| !points.is_empty()))
}

impl Shown<'_> {
    /// The results as text.
    pub(super) fn as_text(&self, format: OutputFormat) -> Result<String, Error> {
        let Self { analyses, names, limits, .. } = *self;
        Ok(match format {
            OutputFormat::Text => self.tables(),
            OutputFormat::Json => match analyses {
                [one] => render::json(one, limits)?,
                many => render::json_of_many(many, limits)?,
            },
            OutputFormat::Csv => render::csv(analyses, names)?,
            OutputFormat::Intervals if !analyses.iter().any(has_single_ones) => {
                return Err(Error::NoSingleOnes);
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
            OutputFormat::Folded | OutputFormat::Perfetto => return Err(Error::NotOfRecord { path: None }),
        })
    }

    fn tables(&self) -> String {
        let report = |analysis| render::report(analysis, self.detail, terminal::width());
        self.analyses.iter().map(report).collect::<Vec<_>>().join("\n")
    }
}
