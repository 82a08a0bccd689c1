//! Type information of a kernel (BTF), as `bpftool` prints it.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::printed;

/// All types of a kernel.
pub(super) struct Types {
    by_number: HashMap<u64, Value>,
    /// Structures and names of types, each by its kind and name.
    by_name: HashMap<(String, String), u64>,
}

/// A field of a structure, with what it begins at and takes, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) offset: u64,
    pub(super) size: u64,
    /// What the source calls its type; with how many there are, of an array.
    pub(super) of: String,
    pub(super) elements: Option<u64>,
    pub(super) signed: bool,
}

impl Types {
    pub(super) fn read(file: &Path) -> io::Result<Self> {
        let dump = printed(Command::new("bpftool").args(["btf", "dump", "--json", "file"]).arg(file))?;
        let mut dump: Value = serde_json::from_slice(&dump)?;
        let Value::Array(all) = dump["types"].take() else { return Err(io::Error::other("no types")) };
        let (mut by_number, mut by_name) = (HashMap::new(), HashMap::new());
        for entry in all {
            let number = entry["id"].as_u64().unwrap_or(0);
            if let (Some(kind), Some(name)) = (entry["kind"].as_str(), entry["name"].as_str()) {
                by_name.entry((kind.to_owned(), name.to_owned())).or_insert(number);
            }
            by_number.insert(number, entry);
        }
        Ok(Self { by_number, by_name })
    }

    /// Whether there is this name of a type.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.by_name.contains_key(&("TYPEDEF".to_owned(), name.to_owned()))
    }

    /// The fields of a structure; `None` where there is none of that name.
    pub(super) fn fields(&self, structure: &str) -> Option<Vec<Field>> {
        let number = self.by_name.get(&("STRUCT".to_owned(), structure.to_owned()))?;
        let members = self.by_number.get(number)?["members"].as_array()?;
        members.iter().map(|member| self.field(member)).collect()
    }

    fn field(&self, member: &Value) -> Option<Field> {
        let mut entry = self.by_number.get(&member["type_id"].as_u64()?)?;
        let mut elements = None;
        if entry["kind"] == "ARRAY" {
            elements = entry["nr_elems"].as_u64();
            entry = self.behind(entry)?;
        }
        let size = self.size(entry)? * elements.unwrap_or(1);
        Some(Field {
            name: member["name"].as_str()?.to_owned(),
            offset: member["bits_offset"].as_u64()? / 8,
            size,
            of: self.called(entry)?,
            elements,
            signed: self.is_signed(entry)?,
        })
    }

    fn behind(&self, entry: &Value) -> Option<&Value> {
        self.by_number.get(&entry["type_id"].as_u64()?)
    }

    /// The type of its own behind names and qualifiers.
    fn plain<'a>(&'a self, mut entry: &'a Value) -> Option<&'a Value> {
        while matches!(entry["kind"].as_str()?, "TYPEDEF" | "CONST" | "VOLATILE" | "TYPE_TAG") {
            entry = self.behind(entry)?;
        }
        Some(entry)
    }

    fn size(&self, entry: &Value) -> Option<u64> {
        let entry = self.plain(entry)?;
        if entry["kind"] == "PTR" { Some(8) } else { entry["size"].as_u64() }
    }

    fn is_signed(&self, entry: &Value) -> Option<bool> {
        Some(self.plain(entry)?["encoding"] == "SIGNED")
    }

    fn called(&self, entry: &Value) -> Option<String> {
        let name = entry["name"].as_str().unwrap_or_default();
        Some(match entry["kind"].as_str()? {
            "PTR" => "void *".to_owned(),
            "CONST" | "VOLATILE" | "TYPE_TAG" => self.called(self.behind(entry)?)?,
            "STRUCT" => format!("struct {name}"),
            "ENUM" | "ENUM64" => format!("enum {name}"),
            _ => name.to_owned(),
        })
    }
}
