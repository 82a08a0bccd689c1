//! Results for node_exporter's textfile collector.

use std::path::{Path, PathBuf};

use howlate_analyse::Analysis;
use howlate_render as render;
use howlate_safe_path::atomic_write::replace_world_readable;

use crate::error::Error;

/// Writes the file as a whole, or leaves what is there.
pub(super) fn write<'a>(
    path: &Path,
    analyses: impl IntoIterator<Item = &'a Analysis>,
    names: &[String],
) -> Result<(), Error> {
    let analyses: Vec<&Analysis> = analyses.into_iter().collect();
    let text = render::prometheus(&analyses, names);
    replace_world_readable(path, &text)
        .map_err(|source| Error::Prometheus { path: PathBuf::from(path), source })
}
