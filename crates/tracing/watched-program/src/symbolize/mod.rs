//! What the functions of a watched program are called: from the map that runtimes write for `perf`, or from the symbols of what
//! is mapped into it.

mod mappings;
mod perf_map;
mod symbols;

use std::collections::HashMap;

use howlate_procfs::Root;

use mappings::{Mapping, mappings};
use perf_map::PerfMap;
use symbols::function_at;

/// Names that are remembered.
const KEPT: usize = 4_096;

/// The functions of watched processes.
pub struct Functions {
    root: Root,
    /// Of an address in a process; `None`: it has no name.
    known: HashMap<(u32, u64), Option<Named>>,
    maps: HashMap<u32, PerfMap>,
}

impl Default for Functions {
    fn default() -> Self {
        Self::new(Root::live())
    }
}

/// A function with a name, and how much it tells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    of: Origin,
    name: String,
}

/// Where a function is from: the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// A runtime made it at run time from what somebody wrote.
    Runtime,
    /// The program itself.
    Program,
    /// A shared library that the program has loaded.
    Library,
}

impl Functions {
    /// Those of the machine whose files are there.
    pub fn new(root: Root) -> Self {
        Self { root, known: HashMap::new(), maps: HashMap::new() }
    }

    /// The innermost function of a stack that has a name: the innermost of what a runtime made from somebody's source, if it
    /// says what that is; else the innermost of the program itself; else that of a library. Where frames hold no pointer to the
    /// one before, a stack is its first address alone.
    pub fn innermost(&mut self, process: u32, stack: &[u64]) -> Option<String> {
        self.learn(process, stack);
        let named = stack.iter().filter_map(|address| self.known.get(&(process, *address))?.as_ref());
        // Of those that tell as much, the first one.
        named.min_by_key(|one| one.of).map(|one| one.name.clone())
    }

    /// Asks for what is not known yet of a stack.
    fn learn(&mut self, process: u32, stack: &[u64]) {
        let is_new = |address: &&u64| !self.known.contains_key(&(process, **address));
        let new: Vec<u64> = stack.iter().filter(is_new).copied().collect();
        if new.is_empty() {
            return;
        }
        if self.known.len() + new.len() > KEPT {
            self.known.clear();
        }
        let mappings = mappings(&self.root, process);
        let map = self.maps.entry(process).or_default();
        map.look_again(&self.root, process);
        for address in new {
            let found = name(&self.root, process, address, map, &mappings);
            self.known.insert((process, address), found);
        }
    }
}

fn name(root: &Root, process: u32, address: u64, map: &PerfMap, mappings: &[Mapping]) -> Option<Named> {
    if let Some(name) = map.find(address) {
        return Some(Named { of: Origin::Runtime, name });
    }
    let mapping = mappings.iter().find(|one| one.range.contains(&address))?;
    let program = mappings.first().map(|first| &first.path);
    let of = if Some(&mapping.path) == program { Origin::Program } else { Origin::Library };
    let file = root.file_of_process(process, &mapping.path).ok()?;
    let name = function_at(file, mapping.offset_of(address))?;
    let library = mapping.path.rsplit('/').next().unwrap_or_default();
    Some(Named { of, name: format!("{name} ({library})") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_function_that_somebody_wrote_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &[u8]| {
            let file = folder.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        let user = rustix::process::geteuid().as_raw();
        put(
            "proc/7/status",
            format!("Name:\ta\nUid:\t{user}\t{user}\t{user}\t{user}\nNSpid:\t7\t3\n").as_bytes(),
        );
        put(
            "proc/7/root/tmp/perf-3.map",
            b"2000 10 py::serve:/srv/app.py\n3000 10 py::run:/usr/lib/asyncio/events.py\n",
        );
        put("proc/7/maps", b"1000-2000 r-xp 00000000 00:00 0 /usr/lib/libc.so.6\n");
        let mut functions = Functions::new(Root::at(folder.path()));
        let stack = [0x1010, 0x2004, 0x3004];
        assert_eq!(functions.innermost(7, &stack).as_deref(), Some("serve (/srv/app.py)"));
        assert_eq!(functions.innermost(7, &[0x3004]).as_deref(), Some("run (/usr/lib/asyncio/events.py)"));
        assert_eq!(functions.innermost(7, &[0x1010]), None, "no file has its name");
        assert_eq!(functions.innermost(7, &[]), None);
    }

    /// As a stranger's program that root watches may have it.
    #[test]
    fn a_map_that_is_no_file_or_of_somebody_else_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("proc/7/root/tmp")).unwrap();
        let status = |user: u32| {
            let text = format!("Uid:\t{user}\t{user}\t{user}\t{user}\nNSpid:\t7\t3\n");
            std::fs::write(at("proc/7/status"), text).unwrap();
        };
        let found = || Functions::new(Root::at(folder.path())).innermost(7, &[0x2004]);
        let (user, map) = (rustix::process::geteuid().as_raw(), at("proc/7/root/tmp/perf-3.map"));
        let text = "2000 10 py::serve:/srv/app.py\n";
        status(user);
        rustix::fs::mkfifoat(rustix::fs::CWD, &map, rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(found(), None, "a pipe");
        std::fs::remove_file(&map).unwrap();
        std::fs::write(at("secret"), text).unwrap();
        std::os::unix::fs::symlink("../../../../secret", &map).unwrap();
        assert_eq!(found(), None, "a link that leads out");
        std::fs::remove_file(&map).unwrap();
        std::fs::write(&map, text).unwrap();
        status(user + 1);
        assert_eq!(found(), None, "another user's");
        status(user);
        assert_eq!(found().as_deref(), Some("serve (/srv/app.py)"));
    }

    /// This very program: the address of a function of it, as it is mapped here.
    #[test]
    fn a_function_of_a_program_is_found_by_its_symbol() {
        let address = a_function_of_this_program as fn() as usize as u64;
        let mut functions = Functions::default();
        let found = functions.innermost(std::process::id(), &[address]).unwrap();
        assert!(found.contains("a_function_of_this_program"), "{found}");
    }

    #[inline(never)]
    fn a_function_of_this_program() {
        std::hint::black_box(7);
    }
}
