//! Images without a registry: howlate with the libraries that it is linked with, and the one that holds a pod open.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::succeeds;

pub(super) const HOWLATE: &str = "localhost/howlate:latest";
/// The image that holds a pod open: it waits until it is ended, like that of Kubernetes.
pub(super) const PAUSE: &str = "localhost/howlate-pause:latest";

/// Name of the archive with both images.
pub(super) const ARCHIVE: &str = "images.tar";

/// Puts the archive of both images into a folder.
pub(super) fn images(program: &Path, folder: &Path) -> io::Result<()> {
    let root = folder.join("image");
    fs::create_dir_all(&root)?;
    succeeds(Command::new("strip").arg("-o").arg(root.join("howlate")).arg(program))?;
    for library in libraries(program)? {
        let place = root.join(library.strip_prefix("/").unwrap_or(&library));
        fs::create_dir_all(place.parent().unwrap_or(&root))?;
        fs::copy(&library, place)?;
    }
    build(folder, HOWLATE, "FROM scratch\nCOPY image /\nENTRYPOINT [\"/howlate\"]\n")?;
    build(folder, PAUSE, &format!("FROM {HOWLATE}\nENTRYPOINT [\"/howlate\", \"__pod-rests\"]\n"))?;
    let archive = folder.join(ARCHIVE);
    succeeds(
        podman(&["save", "--quiet", "--multi-image-archive", "--output"])
            .arg(&archive)
            .args([HOWLATE, PAUSE]),
    )?;
    succeeds(&mut podman(&["rmi", "--force", HOWLATE, PAUSE]))
}

fn build(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    fs::write(folder.join("Containerfile"), text)?;
    let arguments = ["build", "--quiet", "--isolation", "chroot", "--pull=never", "--tag", name, "."];
    succeeds(podman(&arguments).current_dir(folder))
}

fn podman(arguments: &[&str]) -> Command {
    let mut podman = Command::new("podman");
    podman.args(arguments).stdout(std::process::Stdio::null());
    podman
}

/// What `ldd` lists, the loader included.
fn libraries(program: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = Command::new("ldd").arg(program).output()?.stdout;
    let listed = String::from_utf8_lossy(&listed);
    Ok(listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}
