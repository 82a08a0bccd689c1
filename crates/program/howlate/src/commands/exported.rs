//! Results that are written to files beside what is printed: `--export-json`, `--export-markdown`.

use std::path::Path;

use howlate_analyse::Analysis;
use howlate_model::Limit;
use howlate_render as render;
use howlate_report::{NamedRecording, ReportInput, markdown};
use howlate_safe_path::atomic_write;

use crate::error::Error;
use howlate_cli::OutputArgs;

/// Whether the files can be written, before anything is measured, and none in place of another.
pub(super) fn check(output: &OutputArgs) -> Result<(), Error> {
    let all = [&output.export_json, &output.export_markdown];
    all.into_iter().flatten().try_for_each(|path| atomic_write::check(path).map_err(failed(path)))?;
    let same =
        atomic_write::first_duplicate(&output.files()).map(|(options, path)| (options, path.to_owned()));
    same.map_or(Ok(()), |(options, path)| Err(Error::SameFile { options, path }))
}

/// Writes those that were asked for.
pub(super) fn write(analysis: &Analysis, output: &OutputArgs, limits: &[Limit]) -> Result<(), Error> {
    if let Some(path) = &output.export_json {
        atomic_write::replace(path, &render::json(analysis, limits)?).map_err(failed(path))?;
    }
    if let Some(path) = &output.export_markdown {
        let name = output.name();
        let subject = ReportInput { recordings: &[NamedRecording::new(&name, analysis)], comparison: None };
        atomic_write::replace(path, &markdown(&subject, None).text).map_err(failed(path))?;
    }
    Ok(())
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Export { path: path.to_owned(), source }
}
