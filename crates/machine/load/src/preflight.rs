//! Whether a load can be applied here, before anything is measured.

use std::io;
use std::path::{Path, PathBuf};

use howlate_linux::sched;
use howlate_model::{Load, LoadKind, LoadPart};

use crate::error::StartError;
use crate::external_program::{HACKBENCH, SHELL};
use crate::{disk, files, stress_ng};

/// Whether `load` can be applied here.
///
/// # Errors
///
/// When a program, a folder, a CPU or space on a disk is missing.
pub fn check(load: &Load) -> Result<(), StartError> {
    load.parts().iter().try_for_each(|part| check_cpus(part).and_then(|()| check_part(part)))
}

/// The kernel is asked: the mask that this process inherited says nothing about where a load may run.
fn check_cpus(part: &LoadPart) -> Result<(), StartError> {
    let Some(asked) = &part.cpus else { return Ok(()) };
    let bindable = sched::bindable_cpus().or_else(|_| sched::affinity()).unwrap_or_default();
    if asked.is_empty() || !asked.without(&bindable).is_empty() {
        return Err(StartError::Cpus { asked: asked.clone(), bindable });
    }
    Ok(())
}

fn check_part(part: &LoadPart) -> Result<(), StartError> {
    match &part.kind {
        LoadKind::StressNg { name } => {
            installed(part, stress_ng::PROGRAM, "stress-ng")?;
            stress_ng::check(name)
        }
        LoadKind::HackbenchProgram { .. } => installed(part, HACKBENCH, "rt-tests"),
        LoadKind::Command { .. } => installed(part, SHELL, "dash"),
        LoadKind::Disk { folder } => {
            let folder = folder.as_ref().map_or_else(disk::default_folder, PathBuf::from);
            tempfile::tempfile_in(&folder).map_err(|source| unusable(part, &folder, source))?;
            has_space(part, &folder)
        }
        LoadKind::Files { folder } => {
            let folder = Path::new(folder.as_deref().unwrap_or(files::DEFAULT));
            folder.read_dir().map(drop).map_err(|source| unusable(part, folder, source))
        }
        _ => Ok(()),
    }
}

fn installed(part: &LoadPart, program: &'static str, package: &'static str) -> Result<(), StartError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if found { Ok(()) } else { Err(StartError::Missing { load: part.to_string(), program, package }) }
}

fn unusable(part: &LoadPart, folder: &Path, source: io::Error) -> StartError {
    StartError::Folder { load: part.to_string(), folder: folder.display().to_string(), source }
}

/// Twice of what is written must be free, so that a load never fills a disk.
fn has_space(part: &LoadPart, folder: &Path) -> Result<(), StartError> {
    let wanted = 2 * disk::SIZE * u64::from(part.workers.unwrap_or(1));
    let found = rustix::fs::statvfs(folder).map(|disk| disk.f_bavail * disk.f_frsize);
    match found.map_err(|source| unusable(part, folder, source.into()))? {
        found if found < wanted => Err(StartError::NoSpace {
            load: part.to_string(),
            folder: folder.display().to_string(),
            wanted,
            found,
        }),
        _ => Ok(()),
    }
}
