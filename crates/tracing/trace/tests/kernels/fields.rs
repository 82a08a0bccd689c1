//! The fields that an object reads, from its relocations.
//!
//! Source: `struct bpf_core_relo` in the kernel's `include/uapi/linux/bpf.h`, `Documentation/bpf/btf.rst` on `.BTF.ext`.

use std::collections::BTreeSet;

use elf::ElfBytes;
use elf::endian::LittleEndian;

use crate::types::{Field, Types};

/// `BPF_CORE_FIELD_EXISTS`: the program asks whether the field is there, and goes without.
const ASKS: u32 = 2;
/// The last of `enum bpf_core_relo_kind` that is about a field.
const LAST_OF_FIELDS: u32 = 5;

/// What tells the flavours of a structure apart, as kernels of different versions have it: `task_struct___6_1`.
const FLAVOUR: &str = "___";

/// The fields that a program reads without asking whether they are there: a structure, and the names that lead to the field.
/// Who asks for one field of a flavour asks for that flavour.
pub(crate) fn needed(object: &[u8]) -> BTreeSet<(String, Vec<String>)> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(object).unwrap();
    let section = |name| file.section_data(&file.section_header_by_name(name).unwrap().unwrap()).unwrap().0;
    let types = Types::parse(section(".BTF"));
    let of_fields: Vec<Relocation> = relocations(section(".BTF.ext"));
    let of_fields = of_fields.iter().filter(|one| one.kind <= LAST_OF_FIELDS);
    let (asked, read): (Vec<_>, Vec<_>) = of_fields.partition(|one| one.kind == ASKS);
    let steps = |one: &Relocation| types.steps(one.of, types.text(one.access));
    let asked: BTreeSet<Field> = asked.into_iter().filter_map(|one| steps(one).pop()).collect();
    let is_asked = |field: &Field| {
        let has_flavour = field.0.contains(FLAVOUR);
        asked.contains(field) || has_flavour && asked.iter().any(|(structure, _)| *structure == field.0)
    };
    let taken_for_granted = read.into_iter().map(steps).filter(|steps| !steps.iter().any(is_asked));
    taken_for_granted.filter_map(path).collect()
}

/// The structure in which fields begin, whatever its flavour, and their names.
fn path(steps: Vec<Field>) -> Option<(String, Vec<String>)> {
    let structure = steps.first()?.0.split(FLAVOUR).next()?.to_owned();
    Some((structure, steps.into_iter().map(|(_, field)| field).collect()))
}

/// `struct bpf_core_relo`, but for the instruction.
struct Relocation {
    of: u32,
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
        let one = |at: usize| Relocation { of: word(at + 4), access: word(at + 8), kind: word(at + 12) };
        all.extend((0..count).map(|number| one(at + number * record)));
        at += count * record;
    }
    all
}
