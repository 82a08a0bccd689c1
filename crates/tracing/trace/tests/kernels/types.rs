//! Type information as `.BTF` holds it, as far as fields of structures are looked up by name.
//!
//! Source: `Documentation/bpf/btf.rst`.

/// A structure, and one of its fields.
pub(crate) type StructField = (String, String);

/// `struct btf_header`: its length, and where types and strings begin and end, relative to its end.
const HEADER: [usize; 5] = [4, 8, 12, 16, 20];

/// All types of an object or a kernel; the first has number 1.
pub(crate) struct TypeTable {
    all: Vec<TypeEntry>,
    strings: Vec<u8>,
}

struct TypeEntry {
    name: u32,
    kind: TypeKind,
}

enum TypeKind {
    /// A structure or union: name and type of each member.
    Members(Vec<(u32, u32)>),
    /// A name for another type, or another type with a qualifier.
    Alias(u32),
    /// Elements of another type.
    Array(u32),
    Other,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

impl TypeTable {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let [begin, types, types_len, strings, strings_len] = HEADER.map(|at| word(bytes, at) as usize);
        let mut rest = &bytes[begin + types..begin + types + types_len];
        let mut all = vec![TypeEntry { name: 0, kind: TypeKind::Other }];
        while !rest.is_empty() {
            let (entry, len) = TypeEntry::parse(rest);
            all.push(entry);
            rest = &rest[len..];
        }
        Self { all, strings: bytes[begin + strings..begin + strings + strings_len].to_vec() }
    }

    pub(crate) fn text(&self, at: u32) -> &str {
        let text = &self.strings[at as usize..];
        std::str::from_utf8(text.split(|byte| *byte == 0).next().unwrap()).unwrap()
    }

    fn name(&self, number: u32) -> &str {
        self.text(self.all[number as usize].name)
    }

    /// The structure behind typedefs, qualifiers and arrays.
    fn behind(&self, mut number: u32) -> u32 {
        while let TypeKind::Alias(next) | TypeKind::Array(next) = self.all[number as usize].kind {
            number = next;
        }
        number
    }

    fn members(&self, number: u32) -> &[(u32, u32)] {
        match &self.all[self.behind(number) as usize].kind {
            TypeKind::Members(members) => members,
            _ => &[],
        }
    }

    /// The fields on the path of an access string such as `0:5:2`, each with its structure. Unnamed nested members belong to the structure
    /// around them; array indices are skipped.
    pub(crate) fn steps(&self, type_id: u32, access: &str) -> Vec<StructField> {
        let mut number = type_id;
        let mut structure = String::new();
        let mut steps = Vec::new();
        for index in access.split(':').skip(1).map(|index| index.parse::<usize>().unwrap()) {
            let Some((name, next)) = self.members(number).get(index) else { continue };
            match self.name(self.behind(number)) {
                "" => {}
                name => name.clone_into(&mut structure),
            }
            if *name != 0 {
                steps.push((structure.clone(), self.text(*name).to_owned()));
            }
            number = *next;
        }
        steps
    }

    /// Whether a structure of this name has the field that these names lead to, through any types of this kernel.
    pub(crate) fn has(&self, structure: &str, path: &[String]) -> bool {
        let numbers = 1..u32::try_from(self.all.len()).unwrap();
        let mut named = numbers.filter(|number| self.name(*number) == structure);
        named.any(|number| self.leads(number, path))
    }

    fn leads(&self, number: u32, path: &[String]) -> bool {
        let Some((first, rest)) = path.split_first() else { return true };
        self.members(number).iter().any(|(name, next)| match self.text(*name) {
            "" => self.leads(*next, path),
            name => name == first && self.leads(*next, rest),
        })
    }
}

impl TypeEntry {
    /// One type, and how many bytes it takes.
    fn parse(bytes: &[u8]) -> (Self, usize) {
        let [name, info, other] = [0, 4, 8].map(|at| word(bytes, at));
        let count = (info & 0xffff) as usize;
        let member = |number: usize| (word(bytes, 12 + number * 12), word(bytes, 16 + number * 12));
        let (kind, len) = match info >> 24 & 0x1f {
            3 => (TypeKind::Array(word(bytes, 12)), 12),
            4 | 5 => (TypeKind::Members((0..count).map(member).collect()), count * 12),
            8..=11 | 18 => (TypeKind::Alias(other), 0),
            1 | 14 | 17 => (TypeKind::Other, 4),
            6 | 13 => (TypeKind::Other, count * 8),
            15 | 19 => (TypeKind::Other, count * 12),
            _ => (TypeKind::Other, 0),
        };
        (Self { name, kind }, 12 + len)
    }
}
