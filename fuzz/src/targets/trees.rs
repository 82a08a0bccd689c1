//! Captured trees of `/proc` and `/sys`, one file of which is replaced by the input.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use howlate_procfs::Root;
use howlate_system::{describe, examine};
use tempfile::TempDir;

use crate::{Target, corpus};

pub(crate) const TARGET: Target = Target { name: "trees", seeds, body };

/// A copy of a captured tree, and the paths and contents of its files.
struct Tree {
    folder: TempDir,
    files: Vec<(PathBuf, Vec<u8>)>,
}

thread_local! {
    static TREES: RefCell<Vec<Tree>> = const { RefCell::new(Vec::new()) };
}

/// Contents of files; the first two bytes of an input select tree and file.
fn seeds() -> Vec<Vec<u8>> {
    let trees = ["container", "laptop", "raspberry-pi", "rt-kernel", "vm"].map(copy_system);
    let mut seeds = Vec::new();
    for (number, tree) in (0_u8..).zip(&trees) {
        for (place, (_, content)) in (0_u8..).zip(&tree.files) {
            seeds.push([&[number, place], content.as_slice()].concat());
        }
    }
    TREES.with_borrow_mut(|copies| *copies = trees.into());
    seeds
}

fn body(input: &[u8]) {
    let [number, place, content @ ..] = input else { return };
    TREES.with_borrow(|trees| {
        let tree = &trees[usize::from(*number) % trees.len()];
        let (path, original) = &tree.files[usize::from(*place) % tree.files.len()];
        write(path, content);
        let root = Root::at(tree.folder.path());
        drop((describe(&root), examine(&root)));
        write(path, original);
    });
}

fn write(path: &Path, content: &[u8]) {
    std::fs::write(path, content).expect("the tree is a private copy");
}

/// Copies into `/dev/shm` where it exists, as one file is written twice per input.
fn copy_system(name: &str) -> Tree {
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    let folder = folder.expect("a temporary folder");
    let mut files = Vec::new();
    copy(&corpus::system(name), folder.path(), &mut files);
    files.sort();
    Tree { folder, files }
}

fn copy(from: &Path, to: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if let Ok(link) = std::fs::read_link(&path) {
            drop(std::os::unix::fs::symlink(link, &target));
        } else if path.is_dir() {
            drop(std::fs::create_dir(&target));
            copy(&path, &target, files);
        } else if let Ok(content) = std::fs::read(&path) {
            write(&target, &content);
            files.push((target, content));
        }
    }
}
