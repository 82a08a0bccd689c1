//! The guest's only file system: howlate, what it is linked with, modules, and what to do.

use std::path::{Path, PathBuf};

use crate::cpio::Archive;
use crate::program::GuestProgram;
use crate::protocol::{GuestTask, TASK};
use crate::{GuestError, GuestKernel};

/// What runs in the guest.
pub struct GuestCommand {
    /// howlate's arguments, without those that say where results go.
    pub arguments: Vec<String>,
    /// Files that the arguments name: where in the guest, and what.
    pub files: Vec<(String, Vec<u8>)>,
    /// Whether its result is what it prints, rather than a recording.
    pub prints: bool,
}

/// Packs it for `kernel`.
///
/// # Errors
///
/// When a module cannot be read.
pub(crate) fn pack(
    program: &GuestProgram,
    kernel: &GuestKernel,
    command: &GuestCommand,
) -> Result<Vec<u8>, GuestError> {
    let mut archive = Archive::default();
    ["dev", "proc", "sys", "tmp", "run"].into_iter().for_each(|folder| archive.folder(folder));
    // Without it the first process has no standard output: the kernel opens it before anything is mounted.
    archive.device("dev/console", (5, 1));
    archive.file("init", 0o755, &program.executable);
    for (path, content) in program.libraries.iter().chain(&command.files) {
        archive.file(path, 0o755, content);
    }
    let mut modules = Vec::new();
    for module in &kernel.modules {
        let content =
            std::fs::read(module).map_err(|source| GuestError::Read { path: module.clone(), source })?;
        let path = in_guest(module);
        archive.file(&path, 0o644, &content);
        modules.push(path);
    }
    let task = GuestTask { modules, arguments: command.arguments.clone(), prints: command.prints };
    archive.file(TASK, 0o644, &serde_json::to_vec(&task).map_err(GuestError::Json)?);
    Ok(archive.finish())
}

fn in_guest(module: &Path) -> String {
    let name = module.file_name().map_or_else(PathBuf::new, PathBuf::from);
    format!("/modules/{}", name.display())
}
