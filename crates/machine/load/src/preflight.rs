//! Checks whether a load can be applied here, before anything is measured.

use std::io;
use std::path::{Path, PathBuf};

use howlate_linux::sched;
use howlate_model::{Load, LoadKind, LoadPart};

use crate::error::StartError;
use crate::external_program::{HACKBENCH, SHELL};
use crate::{disk, files, stress_ng};

/// Checks whether `load` can be applied here.
///
/// # Errors
///
/// When a program, a folder, a CPU or space on a disk is missing.
pub fn check(load: &Load) -> Result<(), StartError> {
    load.parts().iter().try_for_each(|part| check_cpus(part).and_then(|()| check_part(part)))
}

/// Tries to bind: the mask that this process inherited does not limit the CPUs of a load.
fn check_cpus(part: &LoadPart) -> Result<(), StartError> {
    let Some(requested) = &part.cpus else { return Ok(()) };
    let bindable = sched::bindable_cpus().or_else(|_| sched::affinity()).unwrap_or_default();
    if requested.is_empty() || !requested.without(&bindable).is_empty() {
        return Err(StartError::Cpus { requested: requested.clone(), bindable });
    }
    Ok(())
}

fn check_part(part: &LoadPart) -> Result<(), StartError> {
    match &part.kind {
        LoadKind::StressNg { name } => {
            check_installed(part, stress_ng::PROGRAM, "stress-ng")?;
            stress_ng::check(name)
        }
        LoadKind::HackbenchProgram { .. } => check_installed(part, HACKBENCH, "rt-tests"),
        LoadKind::Command { .. } => check_installed(part, SHELL, "dash"),
        LoadKind::Disk { folder } => {
            let folder = folder.as_ref().map_or_else(disk::default_folder, PathBuf::from);
            tempfile::tempfile_in(&folder).map_err(|source| unusable(part, &folder, source))?;
            check_space(part, &folder)
        }
        LoadKind::Files { folder } => {
            let folder = Path::new(folder.as_deref().unwrap_or(files::DEFAULT));
            folder.read_dir().map(drop).map_err(|source| unusable(part, folder, source))
        }
        _ => Ok(()),
    }
}

fn check_installed(part: &LoadPart, program: &'static str, package: &'static str) -> Result<(), StartError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if is_installed { Ok(()) } else { Err(StartError::Missing { load: part.to_string(), program, package }) }
}

fn unusable(part: &LoadPart, folder: &Path, source: io::Error) -> StartError {
    StartError::Folder { load: part.to_string(), folder: folder.display().to_string(), source }
}

/// Twice the size of the files must be free, so that a load never fills a disk.
fn check_space(part: &LoadPart, folder: &Path) -> Result<(), StartError> {
    let needed = 2 * disk::SIZE * u64::from(part.workers.unwrap_or(1));
    let free = rustix::fs::statvfs(folder).map(|disk| disk.f_bavail * disk.f_frsize);
    match free.map_err(|source| unusable(part, folder, source.into()))? {
        free if free < needed => Err(StartError::NoSpace {
            load: part.to_string(),
            folder: folder.display().to_string(),
            needed,
            free,
        }),
        _ => Ok(()),
    }
}
