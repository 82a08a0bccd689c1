//! Results in files besides the printed one: `--export-json`, `--export-markdown`, `--prometheus`.

use std::path::{Path, PathBuf};

use howlate_analyse::Analysis;
use howlate_model::Limit;
use howlate_render as render;
use howlate_report::{NamedRecording, ReportInput, markdown};
use howlate_safe_path::atomic_write;

use crate::error::Error;
use howlate_cli::OutputArgs;

/// Checks before a measurement that the files can be written, and that no two options name the same file.
pub(super) fn check(output: &OutputArgs) -> Result<(), Error> {
    let paths = [&output.export_json, &output.export_markdown];
    paths.into_iter().flatten().try_for_each(|path| atomic_write::check(path).map_err(export_error(path)))?;
    let same =
        atomic_write::first_duplicate(&output.files()).map(|(options, path)| (options, path.to_owned()));
    same.map_or(Ok(()), |(options, path)| Err(Error::SameFile { options, path }))
}

pub(super) fn write(analysis: &Analysis, output: &OutputArgs, limits: &[Limit]) -> Result<(), Error> {
    if let Some(path) = &output.export_json {
        atomic_write::replace(path, &render::json(analysis, limits)?).map_err(export_error(path))?;
    }
    if let Some(path) = &output.export_markdown {
        let name = output.name();
        let subject = ReportInput { recordings: &[NamedRecording::new(&name, analysis)], comparison: None };
        atomic_write::replace(path, &markdown(&subject, None).text).map_err(export_error(path))?;
    }
    Ok(())
}

fn export_error(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Export { path: path.to_owned(), source }
}

/// Writes the file for node_exporter's textfile collector as a whole, or leaves the old one.
pub(super) fn write_prometheus<'a>(
    path: &Path,
    analyses: impl IntoIterator<Item = &'a Analysis>,
    names: &[String],
) -> Result<(), Error> {
    let analyses: Vec<&Analysis> = analyses.into_iter().collect();
    let text = render::prometheus(&analyses, names);
    atomic_write::replace_world_readable(path, &text)
        .map_err(|source| Error::Prometheus { path: PathBuf::from(path), source })
}
