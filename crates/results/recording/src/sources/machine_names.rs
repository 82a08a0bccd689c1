//! What the machines of several recordings are called.

use std::collections::HashMap;

use howlate_model::{Node, System};

/// What makes a machine the same as another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    name: Option<String>,
    /// The hash of its id; where neither that nor a name is known, what it is made of.
    machine: Option<String>,
}

/// Of a machine. Earlier recordings do not say which one it was: what the hardware is must do, so that at least machines
/// that are not alike are not mixed.
pub(crate) fn key(node: &Node, system: &System) -> Key {
    if !node.is_unknown() {
        return Key { name: node.name.clone(), machine: node.machine.clone() };
    }
    let System { architecture, processor, memory_bytes, online, .. } = system;
    Key { name: None, machine: Some(format!("{architecture} {processor} {memory_bytes} {online}")) }
}

/// The names of machines: each has one, and no two the same.
#[derive(Debug, Default)]
pub(crate) struct Called {
    names: HashMap<Key, String>,
}

impl Called {
    pub(crate) fn from_keys<'a>(keys: impl Iterator<Item = &'a Key>) -> Self {
        let mut once: Vec<&Key> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        once.extend(keys.filter(|key| seen.insert(*key)));
        let mut wish: HashMap<String, u32> = HashMap::new();
        for key in &once {
            let wished = wish.entry(wished(key)).or_default();
            *wished = wished.saturating_add(1);
        }
        let mut taken: HashMap<String, u32> = HashMap::new();
        let mut names = HashMap::new();
        for key in once {
            let plain = wished(key);
            let name = if wish[&plain] > 1 { told_apart(&plain, key) } else { plain };
            let number = taken.entry(name.clone()).or_default();
            *number = number.saturating_add(1);
            let name = if *number > 1 { format!("{name}#{number}") } else { name };
            names.insert(key.clone(), name);
        }
        Self { names }
    }

    /// Whether there is only one machine.
    pub(crate) fn is_one(&self) -> bool {
        self.names.len() <= 1
    }

    /// What a machine is called.
    pub(crate) fn name(&self, key: &Key) -> &str {
        self.names.get(key).map_or("unknown", String::as_str)
    }

    /// The same as conditions say it, which do not where there is only one.
    pub(crate) fn in_conditions(&self, key: &Key) -> Option<String> {
        (!self.is_one()).then(|| self.name(key).to_owned())
    }
}

/// As it calls itself, or the beginning of its id.
fn wished(key: &Key) -> String {
    let id = || key.machine.as_deref().filter(|id| !id.contains(' ')).map(|id| beginning(id, 8));
    key.name.clone().or_else(id).unwrap_or_else(|| "unknown".to_owned())
}

/// Where two have one name, the id follows it.
fn told_apart(name: &str, key: &Key) -> String {
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

    fn node(name: Option<&str>, machine: Option<&str>) -> Key {
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
        let called = Called::from_keys(keys.iter().chain(&keys));
        let names: Vec<&str> = keys.iter().map(|key| called.name(key)).collect();
        assert_eq!(names, ["n1#aaaa", "n1#bbbb", "n2", "cccccccc", "n1#aaaa#2", "unknown"]);
        assert_eq!(called.in_conditions(&keys[2]).as_deref(), Some("n2"));
    }

    #[test]
    fn one_machine_needs_no_name() {
        let key = node(Some("n1"), None);
        assert_eq!(Called::from_keys([&key, &key].into_iter()).in_conditions(&key), None);
    }

    #[test]
    fn machines_that_do_not_say_which_they_are_count_as_one_only_where_they_are_alike() {
        let of = |processor: &str| {
            key(&Node::default(), &System { processor: processor.into(), ..System::default() })
        };
        assert_eq!(of("A"), of("A"));
        let keys = [of("A"), of("B")];
        let called = Called::from_keys(keys.iter());
        assert_eq!(keys.each_ref().map(|key| called.name(key)), ["unknown", "unknown#2"]);
    }
}
