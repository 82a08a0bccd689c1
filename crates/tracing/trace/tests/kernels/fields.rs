//! The fields that an object reads, from its relocations.
//!
//! Source: `struct bpf_core_relo` in the kernel's `include/uapi/linux/bpf.h`, `Documentation/bpf/btf.rst` on `.BTF.ext`.

use std::collections::BTreeSet;

use elf::ElfBytes;
use elf::endian::LittleEndian;

use crate::types::{StructField, TypeTable};

/// `BPF_CORE_FIELD_EXISTS`: the program checks whether the field exists, and can do without.
const FIELD_EXISTS: u32 = 2;
/// The last of `enum bpf_core_relo_kind` that is about a field.
const LAST_OF_FIELDS: u32 = 5;

/// Separates the flavours of a structure in kernels of different versions: `task_struct___6_1`.
const FLAVOUR: &str = "___";

/// Fields that a program reads without checking that they exist: a structure, and the names that lead to the field. A program that checks
/// one field of a flavour checks for that flavour.
pub(crate) fn required_fields(object: &[u8]) -> BTreeSet<(String, Vec<String>)> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(object).unwrap();
    let section = |name| file.section_data(&file.section_header_by_name(name).unwrap().unwrap()).unwrap().0;
    let types = TypeTable::parse(section(".BTF"));
    let all: Vec<Relocation> = relocations(section(".BTF.ext"));
    let field_relocations = all.iter().filter(|relocation| relocation.kind <= LAST_OF_FIELDS);
    let (checked, read): (Vec<_>, Vec<_>) =
        field_relocations.partition(|relocation| relocation.kind == FIELD_EXISTS);
    let steps = |relocation: &Relocation| types.steps(relocation.type_id, types.text(relocation.access));
    let checked: BTreeSet<StructField> =
        checked.into_iter().filter_map(|relocation| steps(relocation).pop()).collect();
    let is_checked = |field: &StructField| {
        let has_flavour = field.0.contains(FLAVOUR);
        checked.contains(field) || has_flavour && checked.iter().any(|(structure, _)| *structure == field.0)
    };
    let unchecked = read.into_iter().map(steps).filter(|steps| !steps.iter().any(is_checked));
    unchecked.filter_map(path).collect()
}

/// The structure in which fields begin, without its flavour, and their names.
fn path(steps: Vec<StructField>) -> Option<(String, Vec<String>)> {
    let structure = steps.first()?.0.split(FLAVOUR).next()?.to_owned();
    Some((structure, steps.into_iter().map(|(_, field)| field).collect()))
}

/// `struct bpf_core_relo`, except for the instruction.
struct Relocation {
    type_id: u32,
    access: u32,
    kind: u32,
}

fn relocations(ext: &[u8]) -> Vec<Relocation> {
    let word = |at: usize| u32::from_le_bytes(ext[at..at + 4].try_into().unwrap());
    // The header ends with where its third table begins, relative to its end, and how long it is.
    let begin = (word(4) + word(24)) as usize;
    let end = begin + word(28) as usize;
    let record = word(begin) as usize;
    let mut all = Vec::new();
    let mut at = begin + 4;
    while at < end {
        let count = word(at + 4) as usize;
        at += 8;
        let relocation =
            |at: usize| Relocation { type_id: word(at + 4), access: word(at + 8), kind: word(at + 12) };
        all.extend((0..count).map(|number| relocation(at + number * record)));
        at += count * record;
    }
    all
}
