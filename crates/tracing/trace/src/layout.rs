//! Records as the programs in the kernel lay them out, by the types (BTF) that their objects carry: what the tests of their readers
//! are made of. <https://docs.kernel.org/bpf/btf.html>

use std::path::Path;

use elf::ElfBytes;
use elf::endian::AnyEndian;

/// Bytes of the part that all types begin with.
const COMMON: usize = 12;

/// A type, as far as a record can have it.
#[derive(Debug)]
enum Type {
    /// Of so many bytes.
    Number(usize),
    Array {
        of: u32,
        count: usize,
    },
    Struct {
        name: String,
        size: usize,
        members: Vec<Member>,
    },
    Enum {
        name: String,
        enumerators: Vec<(String, u32)>,
    },
    /// Another name of a type.
    Alias(u32),
    Other,
}

#[derive(Debug)]
struct Member {
    name: String,
    of: u32,
    offset: usize,
}

/// All types of an object.
pub(crate) struct Layouts(Vec<Type>);

impl Layouts {
    /// Of `bpf/OBJECT.bpf.o`.
    pub(crate) fn of(object: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("bpf/{object}.bpf.o"));
        let file = std::fs::read(path).unwrap();
        let elf = ElfBytes::<AnyEndian>::minimal_parse(&file).unwrap();
        let section = elf.section_header_by_name(".BTF").unwrap().unwrap();
        Self(types(elf.section_data(&section).unwrap().0))
    }

    /// The names and numbers of an `enum`.
    pub(crate) fn enumerators(&self, wanted: &str) -> Vec<(String, u32)> {
        let found = self.0.iter().find_map(|one| match one {
            Type::Enum { name, enumerators } if name == wanted => Some(enumerators.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no enum {wanted}"))
    }

    /// A `struct` of zeros.
    pub(crate) fn record(&self, wanted: &str) -> Record<'_> {
        let is_it = |one: &Type| matches!(one, Type::Struct { name, .. } if name == wanted);
        let index = self.0.iter().position(is_it).unwrap_or_else(|| panic!("no struct {wanted}"));
        let index = u32::try_from(index).unwrap();
        Record { layouts: self, of: index, bytes: vec![0; self.size(index)] }
    }

    fn size(&self, index: u32) -> usize {
        match &self.0[index as usize] {
            Type::Number(size) | Type::Struct { size, .. } => *size,
            Type::Array { of, count } => self.size(*of) * count,
            Type::Enum { .. } => 4,
            Type::Alias(of) => self.size(*of),
            Type::Other => panic!("no part of a record"),
        }
    }

    /// Where `path` lies in `index`, and how many bytes it has: `timer.expected`, `turn[2].id`.
    fn place(&self, index: u32, path: &str) -> (usize, usize) {
        let path = path.trim_start_matches('.');
        if path.is_empty() {
            return (0, self.size(index));
        }
        let (offset, of, rest) = match &self.0[index as usize] {
            Type::Alias(of) => (0, *of, path),
            Type::Array { of, count } => {
                let (number, rest) = path.strip_prefix('[').and_then(|path| path.split_once(']')).unwrap();
                let number: usize = number.parse().unwrap();
                assert!(number < *count, "{path}");
                (number * self.size(*of), *of, rest)
            }
            Type::Struct { members, .. } => {
                let end = path.find(['.', '[']).unwrap_or(path.len());
                let member = members.iter().find(|one| one.name == path[..end]);
                let member = member.unwrap_or_else(|| panic!("no {path}: {members:?}"));
                (member.offset, member.of, &path[end..])
            }
            other => panic!("no {path} in {other:?}"),
        };
        let (within, size) = self.place(of, rest);
        (offset + within, size)
    }
}

/// What a program would send.
pub(crate) struct Record<'a> {
    layouts: &'a Layouts,
    of: u32,
    bytes: Vec<u8>,
}

impl Record<'_> {
    pub(crate) fn set(&mut self, path: &str, value: impl Into<u64>) {
        let (offset, size) = self.layouts.place(self.of, path);
        let value: u64 = value.into();
        match size {
            4 => self.bytes[offset..offset + 4].copy_from_slice(&u32::try_from(value).unwrap().to_ne_bytes()),
            8 => self.bytes[offset..offset + 8].copy_from_slice(&value.to_ne_bytes()),
            _ => panic!("{path} has {size} bytes"),
        }
    }

    /// Fields of the part whose path is `part`, a number each.
    pub(crate) fn set_all(&mut self, part: &str, fields: &[(&str, u64)]) {
        fields.iter().for_each(|(field, value)| self.set(&format!("{part}.{field}"), *value));
    }

    pub(crate) fn name(&mut self, path: &str, name: &str) {
        let (offset, size) = self.layouts.place(self.of, path);
        assert!(name.len() < size, "{path}");
        self.bytes[offset..offset + name.len()].copy_from_slice(name.as_bytes());
    }

    /// All of it.
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// As far as `path`.
    pub(crate) fn up_to(mut self, path: &str) -> Vec<u8> {
        self.bytes.truncate(self.layouts.place(self.of, path).0);
        self.bytes
    }
}

/// The number at `offset`.
fn number(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(*bytes[offset..].first_chunk().unwrap())
}

/// The types of a section, by their numbers; 0 is none.
fn types(section: &[u8]) -> Vec<Type> {
    let at = |offset| number(section, offset) as usize;
    let (header, types, length, names) = (at(4), at(8), at(12), at(16));
    let strings = &section[header + names..];
    let mut rest = &section[header + types..header + types + length];
    let mut all = vec![Type::Other];
    while !rest.is_empty() {
        let (one, bytes) = next(rest, strings);
        all.push(one);
        rest = &rest[bytes..];
    }
    all
}

/// The first type of `bytes`, and how many of them it has.
fn next(bytes: &[u8], strings: &[u8]) -> (Type, usize) {
    let string = |offset: u32| {
        let rest = &strings[offset as usize..];
        String::from_utf8(rest.split(|byte| *byte == 0).next().unwrap().to_vec()).unwrap()
    };
    let (name, info, size) = (number(bytes, 0), number(bytes, 4), number(bytes, 8));
    let many = (info & 0xffff) as usize;
    let parts = |size: usize| (0..many).map(move |part| COMMON + part * size);
    let of_parts = |size: usize| COMMON + many * size;
    match info >> 24 & 0x1f {
        1 => (Type::Number(size as usize), COMMON + 4),
        2 => (Type::Number(8), COMMON),
        3 => (Type::Array { of: number(bytes, 12), count: number(bytes, 20) as usize }, COMMON + 12),
        4 | 5 => {
            let members = parts(12).map(|at| Member {
                name: string(number(bytes, at)),
                of: number(bytes, at + 4),
                // In bits; the upper byte is the width of a bit field, which no record has.
                offset: (number(bytes, at + 8) & 0x00ff_ffff) as usize / 8,
            });
            let members = members.collect();
            (Type::Struct { name: string(name), size: size as usize, members }, of_parts(12))
        }
        6 => {
            let enumerators = parts(8).map(|at| (string(number(bytes, at)), number(bytes, at + 4))).collect();
            (Type::Enum { name: string(name), enumerators }, of_parts(8))
        }
        8..=11 | 18 => (Type::Alias(size), COMMON),
        13 => (Type::Other, of_parts(8)),
        14 | 17 => (Type::Other, COMMON + 4),
        15 | 19 => (Type::Other, of_parts(12)),
        _ => (Type::Other, COMMON),
    }
}
