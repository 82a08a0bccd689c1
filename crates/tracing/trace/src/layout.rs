//! Builds records for tests of their readers, laid out by the BTF types in the BPF objects.
//! <https://docs.kernel.org/bpf/btf.html>

use std::path::Path;

use elf::ElfBytes;
use elf::endian::AnyEndian;

/// Bytes that all BTF types begin with.
const COMMON: usize = 12;

/// A BTF type, as far as records use it.
#[derive(Debug)]
enum BtfType {
    /// Its size in bytes.
    Number(usize),
    Array {
        of: u32,
        count: usize,
    },
    Struct {
        name: String,
        size: usize,
        members: Vec<StructMember>,
    },
    Enum {
        name: String,
        enumerators: Vec<(String, u32)>,
    },
    /// A typedef or qualifier of another type.
    Alias(u32),
    Other,
}

#[derive(Debug)]
struct StructMember {
    name: String,
    of: u32,
    offset: usize,
}

/// All types of an object.
pub(crate) struct BtfTypes(Vec<BtfType>);

impl BtfTypes {
    /// Types of `bpf/OBJECT.bpf.o`.
    pub(crate) fn of(object: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("bpf/{object}.bpf.o"));
        let file = std::fs::read(path).unwrap();
        let elf = ElfBytes::<AnyEndian>::minimal_parse(&file).unwrap();
        let section = elf.section_header_by_name(".BTF").unwrap().unwrap();
        Self(types(elf.section_data(&section).unwrap().0))
    }

    /// Names and values of an `enum`.
    pub(crate) fn enumerators(&self, enum_name: &str) -> Vec<(String, u32)> {
        let enumerators = self.0.iter().find_map(|btf_type| match btf_type {
            BtfType::Enum { name, enumerators } if name == enum_name => Some(enumerators.clone()),
            _ => None,
        });
        enumerators.unwrap_or_else(|| panic!("no enum {enum_name}"))
    }

    /// A zeroed `struct`.
    pub(crate) fn record(&self, struct_name: &str) -> TestRecord<'_> {
        let is_struct =
            |btf_type: &BtfType| matches!(btf_type, BtfType::Struct { name, .. } if name == struct_name);
        let index = self.0.iter().position(is_struct).unwrap_or_else(|| panic!("no struct {struct_name}"));
        let index = u32::try_from(index).unwrap();
        TestRecord { layouts: self, of: index, bytes: vec![0; self.size(index)] }
    }

    fn size(&self, index: u32) -> usize {
        match &self.0[index as usize] {
            BtfType::Number(size) | BtfType::Struct { size, .. } => *size,
            BtfType::Array { of, count } => self.size(*of) * count,
            BtfType::Enum { .. } => 4,
            BtfType::Alias(of) => self.size(*of),
            BtfType::Other => panic!("no part of a record"),
        }
    }

    /// Offset and size of the member at `path` in type `index`: `timer.expected`, `turn[2].id`.
    fn locate(&self, index: u32, path: &str) -> (usize, usize) {
        let path = path.trim_start_matches('.');
        if path.is_empty() {
            return (0, self.size(index));
        }
        let (offset, of, rest) = match &self.0[index as usize] {
            BtfType::Alias(of) => (0, *of, path),
            BtfType::Array { of, count } => {
                let (number, rest) = path.strip_prefix('[').and_then(|path| path.split_once(']')).unwrap();
                let number: usize = number.parse().unwrap();
                assert!(number < *count, "{path}");
                (number * self.size(*of), *of, rest)
            }
            BtfType::Struct { members, .. } => {
                let end = path.find(['.', '[']).unwrap_or(path.len());
                let member = members.iter().find(|member| member.name == path[..end]);
                let member = member.unwrap_or_else(|| panic!("no {path}: {members:?}"));
                (member.offset, member.of, &path[end..])
            }
            other => panic!("no {path} in {other:?}"),
        };
        let (within, size) = self.locate(of, rest);
        (offset + within, size)
    }
}

/// A record as a BPF program would send it.
pub(crate) struct TestRecord<'a> {
    layouts: &'a BtfTypes,
    of: u32,
    bytes: Vec<u8>,
}

impl TestRecord<'_> {
    pub(crate) fn set(&mut self, path: &str, value: impl Into<u64>) {
        let (offset, size) = self.layouts.locate(self.of, path);
        let value: u64 = value.into();
        match size {
            4 => self.bytes[offset..offset + 4].copy_from_slice(&u32::try_from(value).unwrap().to_ne_bytes()),
            8 => self.bytes[offset..offset + 8].copy_from_slice(&value.to_ne_bytes()),
            _ => panic!("{path} has {size} bytes"),
        }
    }

    /// Sets fields of the member at `part`.
    pub(crate) fn set_all(&mut self, part: &str, fields: &[(&str, u64)]) {
        fields.iter().for_each(|(field, value)| self.set(&format!("{part}.{field}"), *value));
    }

    pub(crate) fn name(&mut self, path: &str, name: &str) {
        let (offset, size) = self.layouts.locate(self.of, path);
        assert!(name.len() < size, "{path}");
        self.bytes[offset..offset + name.len()].copy_from_slice(name.as_bytes());
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Bytes before the member at `path`.
    pub(crate) fn up_to(mut self, path: &str) -> Vec<u8> {
        self.bytes.truncate(self.layouts.locate(self.of, path).0);
        self.bytes
    }
}

fn number(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(*bytes[offset..].first_chunk().unwrap())
}

/// The types of a `.BTF` section by number; 0 is void.
fn types(section: &[u8]) -> Vec<BtfType> {
    let at = |offset| number(section, offset) as usize;
    let (header, types, section_length, names) = (at(4), at(8), at(12), at(16));
    let strings = &section[header + names..];
    let mut rest = &section[header + types..header + types + section_length];
    let mut all = vec![BtfType::Other];
    while !rest.is_empty() {
        let (btf_type, length) = parse_type(rest, strings);
        all.push(btf_type);
        rest = &rest[length..];
    }
    all
}

/// The first type in `bytes`, and its length.
fn parse_type(bytes: &[u8], strings: &[u8]) -> (BtfType, usize) {
    let string = |offset: u32| {
        let rest = &strings[offset as usize..];
        String::from_utf8(rest.split(|byte| *byte == 0).next().unwrap().to_vec()).unwrap()
    };
    let (name, info, size) = (number(bytes, 0), number(bytes, 4), number(bytes, 8));
    let count = (info & 0xffff) as usize;
    let parts = |size: usize| (0..count).map(move |part| COMMON + part * size);
    let of_parts = |size: usize| COMMON + count * size;
    match info >> 24 & 0x1f {
        1 => (BtfType::Number(size as usize), COMMON + 4),
        2 => (BtfType::Number(8), COMMON),
        3 => (BtfType::Array { of: number(bytes, 12), count: number(bytes, 20) as usize }, COMMON + 12),
        4 | 5 => {
            let members = parts(12).map(|at| StructMember {
                name: string(number(bytes, at)),
                of: number(bytes, at + 4),
                // In bits; the upper byte is the width of a bit field, which no record has.
                offset: (number(bytes, at + 8) & 0x00ff_ffff) as usize / 8,
            });
            let members = members.collect();
            (BtfType::Struct { name: string(name), size: size as usize, members }, of_parts(12))
        }
        6 => {
            let enumerators = parts(8).map(|at| (string(number(bytes, at)), number(bytes, at + 4))).collect();
            (BtfType::Enum { name: string(name), enumerators }, of_parts(8))
        }
        8..=11 | 18 => (BtfType::Alias(size), COMMON),
        13 => (BtfType::Other, of_parts(8)),
        14 | 17 => (BtfType::Other, COMMON + 4),
        15 | 19 => (BtfType::Other, of_parts(12)),
        _ => (BtfType::Other, COMMON),
    }
}
