//! `howlate report`

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use howlate_analyse::Analysis;
use howlate_record::CreateError;
use howlate_render as render;
use howlate_report::{Recording, markdown, page, svg};

use super::reading::{self, Texts};
use crate::cli::{Report, ReportFormat};
use crate::error::Error;
use crate::status::Status;
use crate::terminal;

pub(crate) fn run(asked: &Report) -> Result<Status, Error> {
    let output = output(asked);
    if let Some(path) = &output {
        must_be_new(path)?;
    }
    let analyses = asked
        .recordings
        .iter()
        .map(|path| reading::analysis(path, Texts::Legible))
        .collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = asked.recordings.iter().map(|path| reading::name(path)).collect();
    let text = text(asked, &analyses, &names)?;
    match output {
        None => terminal::print_as_is(&text)?,
        Some(path) => {
            write(&path, &text)?;
            terminal::say(&format!("Written to {} ({} KiB).\n", path.display(), text.len().div_ceil(1_024)));
        }
    }
    Ok(if analyses.iter().any(reading::is_mixed) { Status::NotTrustworthy } else { Status::Done })
}

fn text(asked: &Report, analyses: &[Analysis], names: &[String]) -> Result<String, Error> {
    let recordings: Vec<Recording<'_>> =
        analyses.iter().zip(names).map(|(analysis, name)| Recording { name, analysis }).collect();
    Ok(match (asked.format, asked.chart) {
        (ReportFormat::Svg, Some(chart)) => svg(&recordings, chart).map_err(Error::NoPicture)?,
        (ReportFormat::Html | ReportFormat::Svg, _) => page(&recordings),
        (ReportFormat::Md, _) => markdown(&recordings),
        (ReportFormat::Csv, _) => render::csv(analyses, names)?,
    })
}

/// The file to write; `None` for standard output.
fn output(asked: &Report) -> Option<PathBuf> {
    match (&asked.output, asked.format) {
        (Some(path), _) if path.as_os_str() == "-" => None,
        (Some(path), _) => Some(path.clone()),
        (None, ReportFormat::Html) => Some(usual_name(&asked.recordings)),
        (None, _) => None,
    }
}

/// `run.html` for `run.jsonl`, `report.html` for several; in the folder that one is in.
fn usual_name(recordings: &[PathBuf]) -> PathBuf {
    let name = match recordings {
        [one] => one.file_name(),
        _ => None,
    };
    Path::new(name.unwrap_or("report".as_ref())).with_extension("html")
}

/// Says so before anything is read, rather than after.
fn must_be_new(path: &Path) -> Result<(), Error> {
    match path.symlink_metadata() {
        Ok(_) => Err(CreateError::Exists { path: path.to_owned() }.into()),
        Err(_) => Ok(()),
    }
}

/// Writes a new file; what is incomplete is not left behind.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => CreateError::Exists { path: path.to_owned() },
        _ => CreateError::Io { path: path.to_owned(), source: error },
    };
    let mut file = File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(|error| {
        drop(std::fs::remove_file(path));
        failed(error).into()
    })
}
