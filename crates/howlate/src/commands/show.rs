//! `howlate show`

use std::path::Path;

use howlate_analyse::Analysis;
use howlate_model::Caveat;
use howlate_record::Reader;
use howlate_render as render;

use crate::cli::{Format, Show};
use crate::error::Error;
use crate::status::Status;
use crate::terminal;

pub(crate) fn run(asked: &Show) -> Result<Status, Error> {
    let analyses = asked.recordings.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = asked.recordings.iter().map(|path| path.display().to_string()).collect();
    let text = match asked.format {
        Format::Text => text(&analyses, &names),
        Format::Json => match analyses.as_slice() {
            [one] => render::json(one)?,
            many => render::json_of_many(many)?,
        },
        Format::Csv => render::csv(&analyses, &names)?,
        Format::Intervals => render::intervals_csv(&analyses, &names)?,
        Format::Hlog => render::hlog(&analyses)?,
    };
    terminal::print(&text)?;
    Ok(Status::Done)
}

/// Everything that a saved recording says.
pub(crate) fn read(path: &Path) -> Result<Analysis, Error> {
    let mut reader = Reader::open(path)?;
    let mut analysis = Analysis::new(reader.header().clone());
    for line in reader.by_ref() {
        analysis.add(&line?);
    }
    let path = path.display().to_string();
    if reader.is_cut_off() {
        analysis.caveats.push(Caveat::RecordingCutOff { path });
    } else if analysis.end.is_none() {
        analysis.caveats.push(Caveat::NoEnd { path });
    }
    Ok(analysis)
}

fn text(analyses: &[Analysis], names: &[String]) -> String {
    let several = analyses.len() > 1;
    let one = |(analysis, name): (&Analysis, &String)| {
        let heading = if several { format!("{name}\n") } else { String::new() };
        format!("{heading}{}", render::report(analysis, terminal::width()))
    };
    analyses.iter().zip(names).map(one).collect::<Vec<_>>().join("\n")
}
