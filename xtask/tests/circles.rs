//! No dependency cycles between the files of a crate.
//!
//! A dependency is a `use` or a path in code that leads to another file of the crate; tests do not count. A re-export (`pub use`)
//! does not count either: a re-exported name is a dependency on the file that defines it. A folder's own `mod.rs`, or the file of
//! its name beside it, may use the folder's files and define what they share.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, ItemFn, ItemMod, ItemUse, Macro, MetaList, UseTree, Visibility};

/// The segments of a path.
type Segments = Vec<String>;

/// A module that has a file of its own.
#[derive(Default)]
struct Module {
    file: PathBuf,
    /// Child modules with files of their own.
    children: Vec<String>,
    /// Paths of `use`.
    imports: Vec<Segments>,
    /// Paths of `pub use`.
    reexports: Vec<Segments>,
    /// Paths in code.
    paths: Vec<Segments>,
}

/// The modules of a crate by their path, which is empty for the crate's root.
type Modules = BTreeMap<Segments, Module>;

#[test]
fn files_of_a_crate_do_not_need_each_other() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
    let entries =
        |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let sources =
        entries(&crates).into_iter().flat_map(|stage| entries(&stage)).map(|package| package.join("src"));
    let roots = sources.flat_map(|source| ["lib.rs", "main.rs"].map(|name| source.join(name)));
    let found: Vec<String> = roots.filter(|root| root.exists()).flat_map(|root| circles(&root)).collect();
    assert!(found.is_empty(), "these files need each other:\n{}", found.join("\n"));
}

#[test]
fn a_circle_is_found_and_a_reexport_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let circles = || circles(&folder.path().join("lib.rs"));
    write("lib.rs", "mod one; mod two; pub use one::One; pub struct Root;");
    write("one.rs", "use crate::Root; // crate::two\npub struct One(Root);");
    write("two.rs", "use crate::One; pub fn two(_: One) {}");
    assert_eq!(circles(), Vec::<String>::new());
    for code in ["crate::two::two()", "assert!(crate::two::two())"] {
        write("one.rs", &format!("pub struct One; #[cfg(test)] mod tests {{ fn f() {{ {code}; }} }}"));
        assert_eq!(circles(), Vec::<String>::new());
        write("one.rs", &format!("pub struct One; fn f() {{ {code}; }}"));
        let found = circles();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("one.rs") && found[0].contains("two.rs") && !found[0].contains("lib.rs"));
    }
    write("one.rs", "#[error(\"{}\", crate::two::two())] pub struct One;");
    assert_eq!(circles().len(), 1);
}

/// The circles of a crate, one line each.
fn circles(root: &Path) -> Vec<String> {
    let mut modules = Modules::new();
    read(root, &[], &mut modules);
    let needs: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        modules.iter().map(|(path, module)| (&module.file, needs(path, module, &modules))).collect();
    let line = |circle: Vec<&PathBuf>| {
        let names: Vec<String> = circle.iter().map(|file| file.display().to_string()).collect();
        format!("  {}", names.join(" ⇄ "))
    };
    strongly_connected(&needs).into_iter().map(line).collect()
}

/// Strongly connected components of more than one file.
fn strongly_connected<'a>(
    needs: &BTreeMap<&'a PathBuf, BTreeSet<&'a PathBuf>>,
) -> BTreeSet<Vec<&'a PathBuf>> {
    let reach: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        needs.keys().map(|from| (*from, reachable(from, needs))).collect();
    let group = |(file, reached): (&&'a PathBuf, &BTreeSet<&'a PathBuf>)| -> Vec<&'a PathBuf> {
        reached.iter().copied().filter(|other| reach[other].contains(file)).collect()
    };
    reach.iter().map(group).filter(|group| group.len() > 1).collect()
}

fn reachable<'a>(
    from: &'a PathBuf,
    needs: &BTreeMap<&'a PathBuf, BTreeSet<&'a PathBuf>>,
) -> BTreeSet<&'a PathBuf> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(needs[file].iter().copied().filter(|file| seen.insert(*file)));
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
            Visibility::Inherited => self.imports.extend(paths),
            _ => self.reexports.extend(paths),
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

/// Macros and attributes have tokens instead of a syntax tree, so paths are found by their `::`.
fn paths_among(tokens: &str) -> Vec<Segments> {
    let text = tokens.replace(" :: ", "::");
    let is_separator = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':';
    let paths = text.split(is_separator).filter(|token| token.contains("::"));
    paths.map(|path| path.split("::").map(str::to_owned).collect()).collect()
}

/// The paths of a use tree: `a::{b, c::d}` is two.
fn flatten(tree: &UseTree, prefix: &[String], found: &mut Vec<Segments>) {
    let path = |name: String| [prefix, &[name]].concat();
    match tree {
        UseTree::Path(tree) => flatten(&tree.tree, &path(tree.ident.to_string()), found),
        UseTree::Group(group) => group.items.iter().for_each(|item| flatten(item, prefix, found)),
        UseTree::Name(name) => found.push(path(name.ident.to_string())),
        UseTree::Rename(name) => found.push(path(name.ident.to_string())),
        UseTree::Glob(_) => found.push(prefix.to_vec()),
    }
}

/// The files that a module needs, other than its own.
fn needs<'a>(path: &[String], module: &Module, modules: &'a Modules) -> BTreeSet<&'a PathBuf> {
    let paths = module.imports.iter().chain(&module.paths);
    let files = paths.filter_map(|to| file_of(path, to, modules, 0));
    files.filter(|file| **file != module.file && !is_parent_of(file, &module.file)).collect()
}

/// Whether `parent` is the `mod.rs` of a folder that `file` is in, or the file beside the folder with its name.
fn is_parent_of(parent: &Path, file: &Path) -> bool {
    let is_inside = matches!(parent.file_stem().unwrap().to_str(), Some("lib" | "main" | "mod"));
    file.starts_with(if is_inside { parent.parent().unwrap().to_owned() } else { parent.with_extension("") })
}

/// The file that defines what the path `to` means in the module `from`.
fn file_of<'a>(from: &[String], to: &[String], modules: &'a Modules, depth: usize) -> Option<&'a PathBuf> {
    let mut at = from.to_vec();
    let (first, rest) = to.split_first()?;
    match first.as_str() {
        "crate" => at.clear(),
        "self" => {}
        "super" => _ = at.pop()?,
        // A child module; anything else is another crate, or was imported.
        child if modules.contains_key(&[from, &[child.to_owned()]].concat()) => at.push(child.to_owned()),
        _ => return None,
    }
    for segment in rest {
        let below = [at.as_slice(), std::slice::from_ref(segment)].concat();
        if segment == "super" {
            at.pop()?;
        } else if modules.contains_key(&below) {
            at = below;
        } else {
            return Some(origin(&at, segment, modules, depth).unwrap_or(&modules[&at].file));
        }
    }
    Some(&modules[&at].file)
}

/// The file that defines a name which the module `at` imports or re-exports.
fn origin<'a>(at: &[String], name: &str, modules: &'a Modules, depth: usize) -> Option<&'a PathBuf> {
    /// Re-exports of re-exports that are followed.
    const DEPTH: usize = 8;
    let module = &modules[at];
    let paths = module.reexports.iter().chain(&module.imports);
    let path = paths.into_iter().find(|path| path.last().is_some_and(|last| last == name))?;
    if depth > DEPTH { None } else { file_of(at, path, modules, depth + 1) }
}
