//! No two files of a crate need each other: what is below does not know what is above it.
//!
//! What counts: `use` and paths in code that lead to another file of the same crate, tests left out. A
//! re-export (`pub use`) does not count; whoever uses a re-exported name uses the file that defines it. A
//! folder's own `mod.rs`, or the file of its name beside it, may hold what its files share and use them too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, ItemFn, ItemMod, ItemUse, Macro, MetaList, UseTree, Visibility};

/// A path's words.
type Words = Vec<String>;

/// A module that has a file of its own.
#[derive(Default)]
struct Module {
    file: PathBuf,
    /// Modules that have files of their own.
    children: Vec<String>,
    /// Paths that it takes in with `use`.
    taken: Vec<Words>,
    /// Those that it passes on.
    passed_on: Vec<Words>,
    /// Paths that stand in code.
    paths: Vec<Words>,
}

/// The modules of a crate, by path: empty for the crate itself.
type Modules = BTreeMap<Words, Module>;

#[test]
fn files_of_a_crate_do_not_need_each_other() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
    let folders =
        |of: &Path| fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let sources =
        folders(&crates).into_iter().flat_map(|stage| folders(&stage)).map(|a_crate| a_crate.join("src"));
    let roots = sources.flat_map(|source| ["lib.rs", "main.rs"].map(|name| source.join(name)));
    let found: Vec<String> = roots.filter(|root| root.exists()).flat_map(|root| circles(&root)).collect();
    assert!(found.is_empty(), "these files need each other:\n{}", found.join("\n"));
}

#[test]
fn a_circle_is_found_and_a_passed_on_name_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let circles = || circles(&folder.path().join("lib.rs"));
    write("lib.rs", "mod one; mod two; pub use one::One; pub struct Root;");
    write("one.rs", "use crate::Root; // crate::two\npub struct One(Root);");
    write("two.rs", "use crate::One; pub fn two(_: One) {}");
    assert_eq!(circles(), Vec::<String>::new());
    for one in ["crate::two::two()", "assert!(crate::two::two())"] {
        write("one.rs", &format!("pub struct One; #[cfg(test)] mod tests {{ fn f() {{ {one}; }} }}"));
        assert_eq!(circles(), Vec::<String>::new());
        write("one.rs", &format!("pub struct One; fn f() {{ {one}; }}"));
        let found = circles();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("one.rs") && found[0].contains("two.rs") && !found[0].contains("lib.rs"));
    }
    write("one.rs", "#[error(\"{}\", crate::two::two())] pub struct One;");
    assert_eq!(circles().len(), 1);
}

/// The circles of the crate with this root, one line each.
fn circles(root: &Path) -> Vec<String> {
    let mut modules = Modules::new();
    read(root, &[], &mut modules);
    let needs: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        modules.iter().map(|(path, module)| (&module.file, needs(path, module, &modules))).collect();
    let shown = |circle: Vec<&PathBuf>| {
        let names: Vec<String> = circle.iter().map(|file| file.display().to_string()).collect();
        format!("  {}", names.join(" ⇄ "))
    };
    together(&needs).into_iter().map(shown).collect()
}

/// Groups of files each of which leads to all others of its group.
fn together<'a>(needs: &BTreeMap<&'a PathBuf, BTreeSet<&'a PathBuf>>) -> BTreeSet<Vec<&'a PathBuf>> {
    let reach: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        needs.keys().map(|from| (*from, reached(from, needs))).collect();
    let group = |(file, reached): (&&'a PathBuf, &BTreeSet<&'a PathBuf>)| -> Vec<&'a PathBuf> {
        reached.iter().copied().filter(|other| reach[other].contains(file)).collect()
    };
    reach.iter().map(group).filter(|group| group.len() > 1).collect()
}

fn reached<'a>(
    from: &'a PathBuf,
    needs: &BTreeMap<&'a PathBuf, BTreeSet<&'a PathBuf>>,
) -> BTreeSet<&'a PathBuf> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(needs[file].iter().copied().filter(|one| seen.insert(*one)));
    }
    seen
}

/// Reads a module's file, and those of the modules that it declares.
fn read(file: &Path, path: &[String], modules: &mut Modules) {
    let text = fs::read_to_string(file).unwrap();
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut module = Module { file: file.to_owned(), ..Module::default() };
    module.visit_file(&parsed);
    let is_root = matches!(file.file_stem().unwrap().to_str(), Some("lib" | "main" | "mod"));
    let folder = file.parent().unwrap();
    let folder = if is_root { folder.to_owned() } else { folder.join(path.last().unwrap()) };
    for name in &module.children {
        let candidates = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
        if let Some(child) = candidates.iter().find(|file| file.exists()) {
            read(child, &[path, std::slice::from_ref(name)].concat(), modules);
        }
    }
    modules.insert(path.to_vec(), module);
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args().is_ok_and(|on: syn::Path| on.is_ident("test"))
    };
    attributes.iter().any(is_test)
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if is_for_tests(&item.attrs) {
            return;
        }
        if item.content.is_none() {
            self.children.push(item.ident.to_string());
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut paths = Vec::new();
        flatten(&item.tree, &[], &mut paths);
        match item.vis {
            Visibility::Inherited => self.taken.extend(paths),
            _ => self.passed_on.extend(paths),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.paths.extend(paths_among(&item.tokens.to_string()));
        visit::visit_macro(self, item);
    }

    /// `#[error("…", crate::limits::MOST)]` becomes code as well.
    fn visit_meta_list(&mut self, item: &'ast MetaList) {
        self.paths.extend(paths_among(&item.tokens.to_string()));
        visit::visit_meta_list(self, item);
    }
}

/// What stands in a macro or an attribute is no syntax tree: its paths are found by their signs.
fn paths_among(tokens: &str) -> Vec<Words> {
    let text = tokens.replace(" :: ", "::");
    let is_sign = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':';
    let paths = text.split(is_sign).filter(|word| word.contains("::"));
    paths.map(|path| path.split("::").map(str::to_owned).collect()).collect()
}

/// The paths of a use tree: `a::{b, c::d}` is two.
fn flatten(tree: &UseTree, before: &[String], found: &mut Vec<Words>) {
    let with = |name: String| [before, &[name]].concat();
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &with(path.ident.to_string()), found),
        UseTree::Group(group) => group.items.iter().for_each(|item| flatten(item, before, found)),
        UseTree::Name(name) => found.push(with(name.ident.to_string())),
        UseTree::Rename(name) => found.push(with(name.ident.to_string())),
        UseTree::Glob(_) => found.push(before.to_vec()),
    }
}

/// The files that a module needs, other than its own.
fn needs<'a>(path: &[String], module: &Module, modules: &'a Modules) -> BTreeSet<&'a PathBuf> {
    let all = module.taken.iter().chain(&module.paths);
    let files = all.filter_map(|to| file_of(path, to, modules, 0));
    files.filter(|file| **file != module.file && !is_roof_of(file, &module.file)).collect()
}

/// Whether `roof` is the `mod.rs` of a folder that `file` is in, or stands beside the folder with its name.
fn is_roof_of(roof: &Path, file: &Path) -> bool {
    let is_inside = matches!(roof.file_stem().unwrap().to_str(), Some("lib" | "main" | "mod"));
    file.starts_with(if is_inside { roof.parent().unwrap().to_owned() } else { roof.with_extension("") })
}

/// The file that defines what `to`, said in the module at `from`, leads to.
fn file_of<'a>(from: &[String], to: &[String], modules: &'a Modules, depth: usize) -> Option<&'a PathBuf> {
    let mut at = from.to_vec();
    let (first, rest) = to.split_first()?;
    match first.as_str() {
        "crate" => at.clear(),
        "self" => {}
        "super" => _ = at.pop()?,
        // A module declared here; anything else is another crate, or was taken in by a `use`.
        child if modules.contains_key(&[from, &[child.to_owned()]].concat()) => at.push(child.to_owned()),
        _ => return None,
    }
    for word in rest {
        let below = [at.as_slice(), std::slice::from_ref(word)].concat();
        if word == "super" {
            at.pop()?;
        } else if modules.contains_key(&below) {
            at = below;
        } else {
            return Some(origin(&at, word, modules, depth).unwrap_or(&modules[&at].file));
        }
    }
    Some(&modules[&at].file)
}

/// Where a name comes from that the module at `at` does not define but takes in.
fn origin<'a>(at: &[String], name: &str, modules: &'a Modules, depth: usize) -> Option<&'a PathBuf> {
    const DEEP: usize = 8;
    let module = &modules[at];
    let all = module.passed_on.iter().chain(&module.taken);
    let path = all.into_iter().find(|path| path.last().is_some_and(|last| last == name))?;
    if depth > DEEP { None } else { file_of(at, path, modules, depth + 1) }
}
