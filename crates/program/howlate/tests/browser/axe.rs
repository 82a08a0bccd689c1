//! axe-core, an accessibility checker. It is downloaded from the npm registry once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

const PACKAGE: &str = "axe-core@4.14.1";
const ARCHIVE: &str = "axe-core-4.14.1.tgz";
/// SHA-256 of the archive in the registry.
const DIGEST: &str = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745";

/// The script, or the reason why it is unavailable.
pub(crate) fn script() -> Result<String, String> {
    let folder = cache().ok_or("there is no folder to keep axe-core in: HOME is not set")?;
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let archive = folder.join(ARCHIVE);
    if !archive.exists() {
        fetch(&folder)?;
    }
    let bytes = std::fs::read(&archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, DIGEST, "{} is not what it was; remove it to fetch it again", archive.display());
    let unpacked = Command::new("tar").arg("-xzOf").arg(&archive).arg("package/axe.min.js").output();
    let unpacked = unpacked.map_err(|error| format!("tar: {error}"))?;
    String::from_utf8(unpacked.stdout).map_err(|error| error.to_string())
}

/// Outside of the repository, so that all checkouts share it.
fn cache() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")))?;
    Some(folder.join("howlate-tests"))
}

fn fetch(folder: &Path) -> Result<(), String> {
    let npm = Command::new("npm")
        .args(["pack", "--silent", PACKAGE])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match npm {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("axe-core could not be fetched: npm {status}")),
        Err(error) => Err(format!("axe-core could not be fetched: npm: {error}")),
    }
}
