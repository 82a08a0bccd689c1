//! Where seeds come from.

use std::path::{Path, PathBuf};

/// Inputs longer than this only take time.
const LONGEST: usize = 64 * 1024;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Inputs that once failed, and others that are worth keeping.
pub(crate) fn kept(target: &str) -> Vec<Vec<u8>> {
    files(&repository().join("fuzz/corpus").join(target))
}

/// The files of a folder of `testdata`, cut at a length that is quickly read.
pub(crate) fn testdata(folder: &str) -> Vec<Vec<u8>> {
    files(&repository().join("testdata").join(folder))
}

/// The files of any folder of the repository.
pub(crate) fn folder(name: &str) -> Vec<Vec<u8>> {
    files(&repository().join(name))
}

/// Where a captured tree of a machine is.
pub(crate) fn system(name: &str) -> PathBuf {
    repository().join("testdata/systems").join(name)
}

/// Writes down an input that failed; returns where.
pub(crate) fn keep(target: &str, input: &[u8]) -> std::io::Result<PathBuf> {
    let folder = repository().join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&folder)?;
    let sum = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let path = folder.join(format!("{sum:016x}"));
    std::fs::write(&path, input)?;
    Ok(path)
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    // So that the same seed of random numbers gives the same inputs.
    paths.sort();
    let mut all: Vec<Vec<u8>> = paths.iter().filter_map(|path| std::fs::read(path).ok()).collect();
    all.iter_mut().for_each(|one| one.truncate(LONGEST));
    all
}
