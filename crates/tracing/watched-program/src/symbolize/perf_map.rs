//! `/tmp/perf-PID.map`, in which language runtimes list the functions that they generate.
//!
//! Python writes it with `-X perf`, Node with `--perf-basic-prof`.
//! Source: Linux, tools/perf/Documentation/jit-interface.txt.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;

use howlate_procfs::{Root, Status};

/// Bytes that are read: more than a large program has.
const MAX_BYTES: u64 = 16 << 20;

/// Functions that a runtime has generated; a later entry replaces an earlier one at its address.
#[derive(Debug, Default)]
pub(super) struct PerfMap {
    /// By address: length and name.
    functions: std::collections::BTreeMap<u64, (u64, String)>,
    /// Bytes of the map that have been read.
    read: usize,
}

impl PerfMap {
    /// Reads what was appended.
    pub(super) fn update(&mut self, root: &Root, process: u32) {
        let Some(text) = map_of(root, process) else { return };
        let new = text.get(self.read..).unwrap_or_default();
        for (address, length, name) in new.lines().filter_map(entry) {
            self.functions.insert(address, (length, name));
        }
        self.read = text.len();
    }

    /// The function at an address.
    pub(super) fn find(&self, address: u64) -> Option<String> {
        let (start, (length, name)) = self.functions.range(..=address).next_back()?;
        (address - start < *length).then(|| readable(name))
    }
}

/// The map of a process, whose number is that of its own PID namespace. As `perf` does, a map of another user is ignored.
fn map_of(root: &Root, process: u32) -> Option<String> {
    let status = Status::read(root, process);
    let numbers = status.evidence("NSpid");
    let own = numbers.text()?.split_ascii_whitespace().last()?;
    let file = root.open_in_process_root(process, &format!("/tmp/perf-{own}.map")).ok()?;
    if file.metadata().ok().map(|metadata| metadata.uid()) != status.effective_user() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// As in `7f3a5c021340 b py::handler:/srv/app.py`.
fn entry(line: &str) -> Option<(u64, u64, String)> {
    let mut fields = line.splitn(3, ' ');
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    Some((hex(fields.next()?)?, hex(fields.next()?)?, fields.next()?.to_owned()))
}

/// As in source code: `handler (/srv/app.py)`.
fn readable(name: &str) -> String {
    if let Some((function, file)) = name.strip_prefix("py::").and_then(|name| name.split_once(':')) {
        return format!("{function} ({file})");
    }
    // Of V8: how it was compiled, then its name, the file, line and column: `JS:*handler /srv/app.js:3:18`.
    let Some((kind, rest)) = name.split_once(':') else { return name.to_owned() };
    if !["JS", "LazyCompile", "Function", "Script", "Eval"].contains(&kind) {
        return name.to_owned();
    }
    match rest.trim_start_matches(['*', '~', '^', '+']).split_once(' ') {
        Some(("", place)) => format!("a function without a name ({place})"),
        Some((function, place)) => format!("{function} ({place})"),
        None => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(readable("py::handler:/srv/app.py"), "handler (/srv/app.py)");
        assert_eq!(readable("JS:*handler /srv/app.js:3:18"), "handler (/srv/app.js:3:18)");
        assert_eq!(readable("LazyCompile:~ /srv/app.js:1:1"), "a function without a name (/srv/app.js:1:1)");
        assert_eq!(readable("Builtin:InterpreterEntryTrampoline"), "Builtin:InterpreterEntryTrampoline");
    }

    #[test]
    fn an_address_is_of_the_function_around_it() {
        let mut map = PerfMap::default();
        for line in ["1000 10 first", "0x2000 8 second", "1000 20 its successor", "broken", ""] {
            entry(line)
                .into_iter()
                .for_each(|(at, length, name)| drop(map.functions.insert(at, (length, name))));
        }
        assert_eq!(map.find(0x1018).as_deref(), Some("its successor"));
        assert_eq!((map.find(0x2008), map.find(0x500)), (None, None));
    }
}
