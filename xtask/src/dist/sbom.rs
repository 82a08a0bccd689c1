//! `howlate-VERSION.cdx.json`: what is built into the program, as CycloneDX 1.5 has it.
//!
//! Not cargo-cyclonedx: it writes the time and a random number into each file, so that no two builds are the same
//! (cyclonedx-rust-cargo, number 514).
//!
//! Source: <https://cyclonedx.org/docs/1.5/json/>

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::VERSION;
use crate::metadata::metadata;

/// Writes it; returns where.
pub(crate) fn write(out: &Path) -> io::Result<PathBuf> {
    let path = out.join(format!("howlate-{VERSION}.cdx.json"));
    let text = serde_json::to_string_pretty(&sbom(&metadata()?)?)? + "\n";
    fs::write(&path, text)?;
    Ok(path)
}

/// The program, what it is built from, and what each of these is built from.
fn sbom(metadata: &Value) -> io::Result<Value> {
    let packages: BTreeMap<&str, &Value> = by_id(&metadata["packages"]);
    let nodes: BTreeMap<&str, &Value> = by_id(&metadata["resolve"]["nodes"]);
    let program = packages.iter().find(|(_, package)| package["name"] == "howlate").map(|(id, _)| *id);
    let program = program.ok_or_else(|| io::Error::other("there is no package `howlate`"))?;
    let used = used(program, &nodes);
    let of = |id: &&str| packages.get(*id).map(|package| component(package));
    let mut components: Vec<Value> = used.iter().filter(|id| **id != program).filter_map(of).collect();
    components.extend(linked()?);
    let depends = |id: &&str| {
        let on: Vec<String> =
            built_in(nodes.get(*id)).filter_map(|on| packages.get(on)).map(|on| reference(on)).collect();
        packages.get(*id).map(|package| json!({ "ref": reference(package), "dependsOn": on }))
    };
    let mut main = component(packages[program]);
    main["type"] = json!("application");
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": main, "tools": [{ "name": "cargo xtask dist", "version": VERSION }] },
        "components": components,
        "dependencies": used.iter().filter_map(depends).collect::<Vec<Value>>(),
    }))
}

/// What is linked into the static program besides packages of cargo: Rust's standard library, glibc and GCC's unwinder, as they
/// are on the machine that builds.
fn linked() -> io::Result<Vec<Value>> {
    let rustc = output_of(&std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()), &["--version"])?;
    let glibc = output_of("getconf", &["GNU_LIBC_VERSION"])?;
    let gcc = output_of("cc", &["-dumpfullversion", "-dumpversion"])?;
    let second = |text: &str| text.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let component = |name: &str, version: String, license: &str, source: &str| {
        json!({
            "type": "library",
            "bom-ref": format!("pkg:generic/{name}@{version}"),
            "name": name,
            "version": version,
            "purl": format!("pkg:generic/{name}@{version}"),
            "licenses": [{ "expression": license }],
            "externalReferences": [{ "type": "vcs", "url": source }],
        })
    };
    Ok(vec![
        component("glibc", second(&glibc), "LGPL-2.1-or-later", "https://sourceware.org/git/glibc.git"),
        component(
            "libgcc",
            gcc.trim().to_owned(),
            "GPL-3.0-or-later WITH GCC-exception-3.1",
            "https://gcc.gnu.org/git/gcc.git",
        ),
        component("rust-std", second(&rustc), "MIT OR Apache-2.0", "https://github.com/rust-lang/rust"),
    ])
}

fn output_of(program: &str, words: &[&str]) -> io::Result<String> {
    let output = Command::new(program).args(words).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(io::Error::other(format!("`{program} {}` failed", words.join(" ")))),
    }
}

fn by_id(all: &Value) -> BTreeMap<&str, &Value> {
    all.as_array().into_iter().flatten().filter_map(|one| Some((one["id"].as_str()?, one))).collect()
}

/// Everything that becomes part of the program, or runs while it is built.
fn used<'a>(program: &'a str, nodes: &BTreeMap<&'a str, &'a Value>) -> BTreeSet<&'a str> {
    let mut used = BTreeSet::from([program]);
    let mut waiting = VecDeque::from([program]);
    while let Some(id) = waiting.pop_front() {
        waiting.extend(built_in(nodes.get(id)).filter(|on| used.insert(on)));
    }
    used
}

/// What a package is built from; not what only its tests use.
fn built_in<'a>(node: Option<&&'a Value>) -> impl Iterator<Item = &'a str> {
    let all = node.and_then(|node| node["deps"].as_array()).into_iter().flatten();
    let is_built_in =
        |on: &&Value| on["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"] != "dev");
    all.filter(is_built_in).filter_map(|on| on["pkg"].as_str())
}

fn reference(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

fn component(package: &Value) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
        // The older way to write `OR`.
        "licenses": [{ "expression": package["license"].as_str().unwrap_or_default().replace('/', " OR ") }],
    });
    if let Some(repository) = package["repository"].as_str() {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lists_what_is_built_in_and_nothing_that_only_tests_use() {
        let sbom = sbom(&metadata().unwrap()).unwrap();
        let components = sbom["components"].as_array().unwrap();
        let has = |name: &str| components.iter().any(|one| one["name"] == name);
        assert!(has("clap") && has("howlate-model") && has("serde"));
        for linked in ["glibc", "libgcc", "rust-std"] {
            let one = components.iter().find(|one| one["name"] == linked).unwrap();
            assert!(
                one["version"].as_str().unwrap().starts_with(|first: char| first.is_ascii_digit()),
                "{one}"
            );
        }
        assert!(!has("proptest") && !has("howlate-fuzz") && !has("assert_cmd"));
        assert_eq!(sbom["metadata"]["component"]["name"], "howlate");
        let references: BTreeSet<&str> =
            components.iter().filter_map(|one| one["bom-ref"].as_str()).collect();
        assert_eq!(references.len(), components.len());
        let known = |on: &Value| references.contains(on.as_str().unwrap_or_default());
        for one in sbom["dependencies"].as_array().unwrap() {
            assert!(one["dependsOn"].as_array().unwrap().iter().all(known), "{one}");
        }
        assert!(components.iter().all(|one| !one["licenses"][0]["expression"].as_str().unwrap().is_empty()));
    }
}
