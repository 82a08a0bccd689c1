//! Names of the machines of several recordings.

use std::collections::HashMap;

use howlate_model::{Node, System};

/// Identity of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MachineKey {
    name: Option<String>,
    /// Hash of the machine id; without id and name, a description of the hardware.
    machine: Option<String>,
}

/// Identity of a machine. Older recordings do not have it: then machines of equal hardware count as one.
pub(crate) fn key(node: &Node, system: &System) -> MachineKey {
    if !node.is_unknown() {
        return MachineKey { name: node.name.clone(), machine: node.machine.clone() };
    }
    let System { architecture, processor, memory_bytes, online, .. } = system;
    MachineKey { name: None, machine: Some(format!("{architecture} {processor} {memory_bytes} {online}")) }
}

/// Unique names of machines.
#[derive(Debug, Default)]
pub(crate) struct MachineNames {
    names: HashMap<MachineKey, String>,
}

impl MachineNames {
    pub(crate) fn from_keys<'a>(keys: impl Iterator<Item = &'a MachineKey>) -> Self {
        let mut unique: Vec<&MachineKey> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        unique.extend(keys.filter(|key| seen.insert(*key)));
        let mut counts: HashMap<String, u32> = HashMap::new();
        for key in &unique {
            let preferred_name = counts.entry(preferred_name(key)).or_default();
            *preferred_name = preferred_name.saturating_add(1);
        }
        let mut used: HashMap<String, u32> = HashMap::new();
        let mut names = HashMap::new();
        for key in unique {
            let plain = preferred_name(key);
            let name = if counts[&plain] > 1 { with_id(&plain, key) } else { plain };
            let number = used.entry(name.clone()).or_default();
            *number = number.saturating_add(1);
            let name = if *number > 1 { format!("{name}#{number}") } else { name };
            names.insert(key.clone(), name);
        }
        Self { names }
    }

    /// Whether there is a single machine.
    pub(crate) fn is_one(&self) -> bool {
        self.names.len() <= 1
    }

    /// Name of a machine.
    pub(crate) fn name(&self, key: &MachineKey) -> &str {
        self.names.get(key).map_or("unknown", String::as_str)
    }

    /// Name of a machine in conditions; `None` for a single machine.
    pub(crate) fn in_conditions(&self, key: &MachineKey) -> Option<String> {
        (!self.is_one()).then(|| self.name(key).to_owned())
    }
}

/// Host name, or the beginning of the id.
fn preferred_name(key: &MachineKey) -> String {
    let id = || key.machine.as_deref().filter(|id| !id.contains(' ')).map(|id| beginning(id, 8));
    key.name.clone().or_else(id).unwrap_or_else(|| "unknown".to_owned())
}

/// Name with the id, for duplicates.
fn with_id(name: &str, key: &MachineKey) -> String {
    match key.machine.as_deref().filter(|_| key.name.is_some()) {
        Some(id) => format!("{name}#{}", beginning(id, 4)),
        None => name.to_owned(),
    }
}

fn beginning(text: &str, letters: usize) -> String {
    text.chars().take(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: Option<&str>, machine: Option<&str>) -> MachineKey {
        let (name, machine) = (name.map(str::to_owned), machine.map(str::to_owned));
        key(&Node { name, machine, ..Node::default() }, &System::default())
    }

    #[test]
    fn each_machine_has_a_name_of_its_own() {
        let keys = [
            node(Some("n1"), Some("aaaa0")),
            node(Some("n1"), Some("bbbb0")),
            node(Some("n2"), None),
            node(None, Some("cccccccc0")),
            node(Some("n1"), Some("aaaa1")),
            node(None, None),
        ];
        let names = MachineNames::from_keys(keys.iter().chain(&keys));
        let all: Vec<&str> = keys.iter().map(|key| names.name(key)).collect();
        assert_eq!(all, ["n1#aaaa", "n1#bbbb", "n2", "cccccccc", "n1#aaaa#2", "unknown"]);
        assert_eq!(names.in_conditions(&keys[2]).as_deref(), Some("n2"));
    }

    #[test]
    fn one_machine_needs_no_name() {
        let key = node(Some("n1"), None);
        assert_eq!(MachineNames::from_keys([&key, &key].into_iter()).in_conditions(&key), None);
    }

    #[test]
    fn machines_that_do_not_say_which_they_are_count_as_one_only_where_they_are_alike() {
        let of = |processor: &str| {
            key(&Node::default(), &System { processor: processor.into(), ..System::default() })
        };
        assert_eq!(of("A"), of("A"));
        let keys = [of("A"), of("B")];
        let called = MachineNames::from_keys(keys.iter());
        assert_eq!(keys.each_ref().map(|key| called.name(key)), ["unknown", "unknown#2"]);
    }
}
