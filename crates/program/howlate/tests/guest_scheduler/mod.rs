//! A scheduler of BPF (sched_ext) that lets a thread wait while its CPU is idle: in a guest, whose scheduler is its own.

use std::path::Path;
use std::process::Command;

use crate::common::{is_installed, libraries, skip};
use crate::guest_init::console;
use crate::guests;

const BPFTOOL: &str = "/usr/sbin/bpftool";

/// The scheduler's object, and what loads it; `None` where they cannot be had, with the reason printed.
fn files(folder: &Path) -> Option<Vec<(String, Vec<u8>)>> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guest_scheduler/scheduler.bpf.c");
    if !is_installed("clang")
        || !is_installed(BPFTOOL)
        || !Path::new("/usr/include/bpf/bpf_helpers.h").exists()
    {
        skip("needs clang, bpftool and libbpf-dev");
        return None;
    }
    let object = folder.join("scheduler.o");
    let includes = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let compiled = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", &includes, "-c", source, "-o"])
        .arg(&object)
        .status();
    assert!(compiled.unwrap().success());
    let read = |path: &Path| std::fs::read(path).unwrap();
    let mut all =
        vec![("/scheduler.o".to_owned(), read(&object)), ("/bpftool".to_owned(), read(Path::new(BPFTOOL)))];
    let of_bpftool = libraries(Path::new(BPFTOOL)).into_iter();
    all.extend(of_bpftool.map(|library| (library.to_str().unwrap().to_owned(), read(&library))));
    Some(all)
}

/// The number after this name in a line that begins so.
fn number(message: &str, line: &str, name: &str) -> Option<u64> {
    let found = message.lines().find_map(|each| each.trim().strip_prefix(line))?;
    let rest = &found[found.find(name)? + name.len()..];
    rest.split([',', ' ']).find(|word| !word.is_empty())?.parse().ok()
}

/// The scheduler's own sum is the witness.
#[test]
fn a_scheduler_that_leaves_its_cpu_idle_is_named_and_how_long_it_did() {
    let Some(_permit) = guests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(files) = files(folder.path()) else { return };
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, content)| (path.as_str(), content.as_slice())).collect();
    let Some(message) = console("debian:backports", "guest_scheduler/init.c", &files) else { return };
    if message.contains("no sched_ext") {
        return skip("needs a kernel with sched_ext among Debian's backports");
    }
    let of = |line, name| number(&message, line, name).unwrap_or_else(|| panic!("{line} {name}: {message}"));
    let (waited, held) = (of("under it:", "waited "), of("held:", "waited "));
    assert!(waited.abs_diff(held) <= held / 50, "{message}");
    assert!(
        of("under it:", "left idle ") > waited / 10 && of("under it:", "longest idle exit ") <= 3_000,
        "{message}"
    );
    assert!(message.contains("state: disabled") && of("after it:", "times ") == 0, "{message}");
}
