//! Results in every format that can be asked for.

use howlate_analyse::Analysis;
use howlate_model::{Condition, Limit, Work};
use howlate_render::{self as render, Detail};

use crate::error::Error;
use crate::terminal;
use howlate_cli::Format;

/// Whether it is JSON, whose texts are as they were recorded.
pub(super) const fn is_json(format: Format) -> bool {
    matches!(
        format,
        Format::Json | Format::Kcidb | Format::Osadl | Format::Benchmark | Format::Bmf | Format::Trace
    )
}

/// Whether what these conditions measure can be printed so, before it is measured.
pub(super) fn check(format: Format, conditions: &[Condition]) -> Result<(), Error> {
    let has = |is: fn(Work) -> bool| conditions.iter().any(|one| is(one.work));
    match format {
        Format::Intervals if !has(|work| matches!(work, Work::Sleep { .. } | Work::Notify { .. })) => {
            Err(Error::NoSingleOnes)
        }
        // There is a trace of it when it has been recorded.
        Format::Folded | Format::Perfetto => Err(Error::NotWhileMeasuring),
        Format::Osadl if !has(|work| matches!(work, Work::Cyclic { .. })) => Err(Error::NothingPeriodic),
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
    pub(super) fn as_text(&self, format: Format) -> Result<String, Error> {
        let Self { analyses, names, limits, .. } = *self;
        Ok(match format {
            Format::Text => self.tables(),
            Format::Json => match analyses {
                [one] => render::json(one, limits)?,
                many => render::json_of_many(many, limits)?,
            },
            Format::Csv => render::csv(analyses, names)?,
            Format::Intervals if !analyses.iter().any(has_single_ones) => return Err(Error::NoSingleOnes),
            Format::Intervals => render::intervals_csv(analyses, names)?,
            Format::Hlog => render::hlog(analyses)?,
            Format::Hgrm => render::hgrm(analyses),
            Format::Junit => render::junit(analyses, limits).map_err(std::io::Error::other)?,
            Format::Tap => render::tap(analyses, limits),
            Format::Lava => render::lava(analyses, limits),
            Format::Kcidb => render::kcidb(analyses, limits)?,
            Format::Benchmark => render::benchmark(analyses)?,
            Format::Bmf => render::bmf(analyses)?,
            Format::Trace => render::trace(analyses)?,
            Format::Osadl => render::osadl(analyses).ok_or(Error::NothingPeriodic)?,
            Format::Influx => render::influx(analyses),
            Format::Folded | Format::Perfetto => return Err(Error::NotOfRecord { path: None }),
        })
    }

    fn tables(&self) -> String {
        let report = |analysis| render::report(analysis, self.detail, terminal::width());
        self.analyses.iter().map(report).collect::<Vec<_>>().join("\n")
    }
}
