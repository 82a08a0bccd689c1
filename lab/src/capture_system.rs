//! Copies what howlate reads of this machine, so that a report of a strange machine
//! becomes a tree under `testdata/systems` and a test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use howlate_procfs::{REFUSED, Root, Unreadable};
use howlate_system::{describe, examine};

/// Summary of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureSummary {
    /// How many files were copied.
    pub files: usize,
    /// The paths that this machine refuses to open.
    pub refused: Vec<String>,
}

/// Describes and examines this machine, and copies every file that this reads into the folder `into`.
///
/// Look through the tree before you share it: `/proc/cmdline`, the names of control groups
/// and the machine's model are in it. The environment of the first process is not.
///
/// # Errors
///
/// When `into` cannot be written.
pub fn capture(into: &Path) -> io::Result<CaptureSummary> {
    let root = Root::live().with_path_log();
    describe(&root);
    examine(&root);
    let mut captured = CaptureSummary::default();
    for path in root.logged_paths() {
        take(&path, into, &mut captured)?;
    }
    if !captured.refused.is_empty() {
        write(&into.join(REFUSED), format!("{}\n", captured.refused.join("\n")).as_bytes())?;
    }
    Ok(captured)
}

/// Copies one file; a missing one stays missing, a refused one is listed.
fn take(path: &str, into: &Path, captured: &mut CaptureSummary) -> io::Result<()> {
    match content(path) {
        Ok(Some(bytes)) => {
            write(&below(into, path), &bytes)?;
            captured.files += 1;
        }
        Err(Unreadable::Permission) => captured.refused.push(path.to_owned()),
        Ok(None) | Err(_) => {}
    }
    Ok(())
}

/// What may be copied of a file; `None` when nothing of it is wanted.
fn content(path: &str) -> Result<Option<Vec<u8>>, Unreadable> {
    // A device is opened as howlate opens it, and never read.
    if path.starts_with("/dev/") {
        return Root::live().writable(path).map(|()| Some(Vec::new()));
    }
    let bytes = fs::read(path)?;
    Ok(match path {
        "/proc/1/environ" => container_entry(&bytes),
        "/proc/self/mountinfo" => Some(lines(&bytes, &[" - cgroup ", " - cgroup2 "])),
        "/proc/timer_list" => Some(lines(&bytes, &[".resolution", ".hres_active"])),
        _ => Some(bytes),
    })
}

/// The `container=` entry and nothing else: an environment may hold secrets.
fn container_entry(environment: &[u8]) -> Option<Vec<u8>> {
    let entry = environment.split(|byte| *byte == 0).find(|entry| entry.starts_with(b"container="))?;
    Some([entry, b"\0"].concat())
}

/// The lines that contain one of the marks.
fn lines(bytes: &[u8], marks: &[&str]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let is_marked = |line: &&str| marks.iter().any(|mark| line.contains(mark));
    text.lines().filter(is_marked).flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

fn below(into: &Path, path: &str) -> PathBuf {
    into.join(path.trim_start_matches('/'))
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(file, bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use howlate_model::{Finding, FindingId};

    use super::*;

    #[test]
    fn a_captured_tree_gives_the_same_findings() {
        let directory = tempfile::tempdir().unwrap();
        let captured = capture(directory.path()).unwrap();
        assert!(captured.files > 10);
        // How busy a machine is differs from one look to the next; and by that, the order.
        let is_of_a_moment = |id: &FindingId| matches!(id, FindingId::Pressure | FindingId::Steal);
        let brief = |root: &Root| {
            let of = |finding: Finding| {
                format!("{:?} {:?}", finding.id, (!is_of_a_moment(&finding.id)).then_some(finding.verdict))
            };
            examine(root).into_iter().map(of).collect::<BTreeSet<_>>()
        };
        assert_eq!(brief(&Root::at(directory.path())), brief(&Root::live()));
    }

    #[test]
    fn only_the_container_entry_of_an_environment_is_kept() {
        let environment = b"TOKEN=secret\0container=lxc\0HOME=/\0";
        assert_eq!(container_entry(environment), Some(b"container=lxc\0".to_vec()));
        assert_eq!(container_entry(b"TOKEN=secret\0"), None);
    }

    #[test]
    fn long_files_are_cut_to_the_lines_that_are_used() {
        assert_eq!(lines(b"a .resolution: 1\nb\n", &[".resolution"]), b"a .resolution: 1\n");
    }
}
