//! Results for node_exporter's textfile collector.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use howlate_analyse::Analysis;
use howlate_render as render;

use crate::error::Error;

/// The collector is another user, and may come at any time.
const FOR_ALL: u32 = 0o644;

/// Writes the file as a whole, or leaves what is there.
pub(super) fn write<'a>(
    path: &Path,
    analyses: impl IntoIterator<Item = &'a Analysis>,
    names: &[String],
) -> Result<(), Error> {
    let analyses: Vec<&Analysis> = analyses.into_iter().collect();
    let text = render::prometheus(&analyses, names);
    replace(path, &text).map_err(|source| Error::Prometheus { path: PathBuf::from(path), source })
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(Permissions::from_mode(FOR_ALL))?;
    new.as_file().sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}
