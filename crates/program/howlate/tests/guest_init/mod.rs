//! First processes of guests that do something else than measure: howlate is a program beside them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{is_installed, skip};

/// Compiles one, from a source below this folder, with howlate and `files` behind its code; `None`, with the reason said, where it
/// cannot be built.
pub(crate) fn first_process(folder: &Path, source: &str, files: &[(&str, &[u8])]) -> Option<PathBuf> {
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
        add(&library, &std::fs::read(&library).unwrap());
    }
    files.iter().for_each(|(path, content)| add(path, content));
    all.extend(format!("{begin:>16}").bytes());
    std::fs::write(&program, all).unwrap();
    Some(program)
}

/// What `ldd` lists, the loader included; nothing of a static program.
fn libraries(program: &Path) -> Vec<String> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned).collect()
}
