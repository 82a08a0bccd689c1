//! The BPF programs against the types of distribution kernels, without booting them: `testdata/kernels/`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fields;
mod types;

use std::error::Error;
use std::path::{Path, PathBuf};

use aya_obj::Object;
use aya_obj::btf::Btf;

use crate::types::TypeTable;

const OBJECTS: [(&str, &[u8]); 3] = [
    ("wakeups", include_bytes!("../../bpf/wakeups.bpf.o")),
    ("waits", include_bytes!("../../bpf/waits.bpf.o")),
    ("late", include_bytes!("../../bpf/late.bpf.o")),
];

/// The files with the types, each in a directory with the name of its kernel.
fn kernels() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/kernels");
    let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|path| path.is_dir()).map(|path| path.join("types.btf")).collect()
}

/// An error with its sources.
fn in_full(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", in_full(source)))
}

#[test]
fn every_program_finds_its_fields_in_every_kernel() {
    let mut refused = Vec::new();
    for path in kernels() {
        let types = Btf::parse_file(&path, Default::default()).unwrap();
        for (name, bytes) in OBJECTS {
            let mut object = Object::parse(bytes).unwrap();
            if let Err(error) = object.relocate_btf(&types) {
                refused.push(format!("{name}, {}: {}", path.display(), in_full(&error)));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

/// A loader reports no error for a missing field: the kernel refuses the program when it reaches that instruction.
#[test]
fn every_kernel_has_the_fields_that_programs_do_not_ask_for() {
    let mut missing_fields = Vec::new();
    for path in kernels() {
        let kernel = TypeTable::parse(&std::fs::read(&path).unwrap());
        for (name, bytes) in OBJECTS {
            let needed = fields::required_fields(bytes);
            assert!(needed.len() > 10, "{name} reads {needed:?}");
            let missing = needed.into_iter().filter(|(structure, field)| !kernel.has(structure, field));
            missing_fields.extend(missing.map(|(structure, field)| {
                format!(
                    "{}: struct {structure} has no {}, which {name} reads",
                    path.display(),
                    field.join(".")
                )
            }));
        }
    }
    assert!(missing_fields.is_empty(), "{missing_fields:#?}");
}

/// `late` works without these fields, but would report neither cgroup nor user.
#[test]
fn every_kernel_tells_the_group_and_the_user_of_a_thread() {
    let expected = [
        ("task_struct", "cgroups"),
        ("css_set", "dfl_cgrp"),
        ("cgroup", "kn"),
        ("kernfs_node", "id"),
        ("task_struct", "real_cred"),
        ("cred", "uid"),
    ];
    for path in kernels() {
        let kernel = TypeTable::parse(&std::fs::read(&path).unwrap());
        for (structure, field) in expected {
            assert!(kernel.has(structure, &[field.to_owned()]), "{}: {structure}.{field}", path.display());
        }
    }
}

#[test]
fn there_are_ordinary_and_real_time_kernels() {
    let is_rt = |path: &PathBuf| path.to_string_lossy().contains("-rt-");
    let all = kernels();
    assert_eq!((all.len(), all.iter().filter(|path| is_rt(path)).count()), (16, 8));
}
