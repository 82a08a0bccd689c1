//! First processes of guests that do more than measure: howlate is a program started by them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{is_installed, libraries, skip, stderr};
use crate::{cannot_fetch, guest};

/// Compiles a first process from a source in this folder; howlate and `files` are appended to its code. `None` where it cannot be built,
/// with the reason printed.
fn first_process(folder: &Path, source: &str, files: &[(&str, &[u8])]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let (program, howlate) = (folder.join("init"), folder.join("howlate"));
    let compiled =
        Command::new("cc").args(["-static", "-O1", "-pthread", "-o"]).arg(&program).arg(source).output();
    if !compiled.is_ok_and(|output| output.status.success()) || !is_installed("strip") {
        skip("needs a C compiler, a static C library and strip (binutils)");
        return None;
    }
    let stripped = Command::new("strip").arg("-o").arg(&howlate).arg(env!("CARGO_BIN_EXE_howlate")).status();
    assert!(stripped.unwrap().success());
    let mut all = std::fs::read(&program).unwrap();
    let begin = all.len();
    let mut add = |path: &str, content: &[u8]| {
        all.extend(format!("{path} {}\n", content.len()).bytes());
        all.extend(content);
    };
    add("/howlate", &std::fs::read(&howlate).unwrap());
    for library in libraries(&howlate) {
        add(library.to_str().unwrap(), &std::fs::read(&library).unwrap());
    }
    files.iter().for_each(|(path, content)| add(path, content));
    all.extend(format!("{begin:>16}").bytes());
    std::fs::write(&program, all).unwrap();
    Some(program)
}

/// What a first process prints in a guest with this kernel; `None` where that cannot be had, with the reason printed.
pub(crate) fn console(kernel: &str, source: &str, files: &[(&str, &[u8])]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let program = first_process(folder.path(), source, files)?;
    let program = program.to_str().unwrap();
    let options = ["--kernel", kernel, "--memory", "1G", "--boot-deadline", "20m", "--program", program];
    // It runs no protocol of `howlate guest` and sends no recording: what it prints is in the error. As for tracing: older emulators
    // may loop forever in a breakpoint of the kernel.
    let output = guest(&options, &["cyclic", "--samples", "1", "--why"]).output().unwrap();
    (!cannot_fetch(&output)).then(|| stderr(&output))
}
