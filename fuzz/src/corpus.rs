//! The corpus and other sources of seeds.

use std::path::{Path, PathBuf};

/// Longest input in bytes: longer ones only take time.
const LONGEST: usize = 64 * 1024;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// `fuzz/corpus/TARGET`: inputs that once failed, and those with the most coverage.
pub(crate) fn saved_inputs(target: &str) -> Vec<Vec<u8>> {
    files(&repository().join("fuzz/corpus").join(target))
}

/// The files of a folder of `testdata`, truncated to `LONGEST`.
pub(crate) fn testdata(folder: &str) -> Vec<Vec<u8>> {
    files(&repository().join("testdata").join(folder))
}

pub(crate) fn folder(name: &str) -> Vec<Vec<u8>> {
    files(&repository().join(name))
}

/// The folder of a captured `/proc` and `/sys` tree.
pub(crate) fn system(name: &str) -> PathBuf {
    repository().join("testdata/systems").join(name)
}

/// Writes a failing input into the corpus, named by its FNV-1a hash; returns its path.
pub(crate) fn save(target: &str, input: &[u8]) -> std::io::Result<PathBuf> {
    let folder = repository().join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&folder)?;
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = folder.join(format!("{hash:016x}"));
    std::fs::write(&path, input)?;
    Ok(path)
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    // Sorted, so that a seed of the random numbers always gives the same inputs.
    paths.sort();
    let mut inputs: Vec<Vec<u8>> = paths.iter().filter_map(|path| std::fs::read(path).ok()).collect();
    inputs.iter_mut().for_each(|input| input.truncate(LONGEST));
    inputs
}
