//! Type information, as `bpftool` tells it.

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
        let told = printed(Command::new("bpftool").args(["btf", "dump", "--json", "file"]).arg(file))?;
        let mut told: Value = serde_json::from_slice(&told)?;
        let Value::Array(all) = told["types"].take() else { return Err(io::Error::other("no types")) };
        let (mut by_number, mut by_name) = (HashMap::new(), HashMap::new());
        for one in all {
            let number = one["id"].as_u64().unwrap_or(0);
            if let (Some(kind), Some(name)) = (one["kind"].as_str(), one["name"].as_str()) {
                by_name.entry((kind.to_owned(), name.to_owned())).or_insert(number);
            }
            by_number.insert(number, one);
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
        let mut one = self.by_number.get(&member["type_id"].as_u64()?)?;
        let mut elements = None;
        if one["kind"] == "ARRAY" {
            elements = one["nr_elems"].as_u64();
            one = self.behind(one)?;
        }
        let size = self.size(one)? * elements.unwrap_or(1);
        Some(Field {
            name: member["name"].as_str()?.to_owned(),
            offset: member["bits_offset"].as_u64()? / 8,
            size,
            of: self.called(one)?,
            elements,
            signed: self.is_signed(one)?,
        })
    }

    fn behind(&self, one: &Value) -> Option<&Value> {
        self.by_number.get(&one["type_id"].as_u64()?)
    }

    /// The type of its own behind names and qualifiers.
    fn plain<'a>(&'a self, mut one: &'a Value) -> Option<&'a Value> {
        while matches!(one["kind"].as_str()?, "TYPEDEF" | "CONST" | "VOLATILE" | "TYPE_TAG") {
            one = self.behind(one)?;
        }
        Some(one)
    }

    fn size(&self, one: &Value) -> Option<u64> {
        let one = self.plain(one)?;
        if one["kind"] == "PTR" { Some(8) } else { one["size"].as_u64() }
    }

    fn is_signed(&self, one: &Value) -> Option<bool> {
        Some(self.plain(one)?["encoding"] == "SIGNED")
    }

    fn called(&self, one: &Value) -> Option<String> {
        let name = one["name"].as_str().unwrap_or_default();
        Some(match one["kind"].as_str()? {
            "PTR" => "void *".to_owned(),
            "CONST" | "VOLATILE" | "TYPE_TAG" => self.called(self.behind(one)?)?,
            "STRUCT" => format!("struct {name}"),
            "ENUM" | "ENUM64" => format!("enum {name}"),
            _ => name.to_owned(),
        })
    }
}
