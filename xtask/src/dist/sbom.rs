//! `howlate-VERSION.cdx.json`: the software bill of materials, in CycloneDX 1.5.
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
use crate::cross;

/// Writes the file; returns its path.
pub(crate) fn write(out: &Path) -> io::Result<PathBuf> {
    let path = out.join(format!("howlate-{VERSION}.cdx.json"));
    let text = serde_json::to_string_pretty(&sbom(&metadata()?)?)? + "\n";
    fs::write(&path, text)?;
    Ok(path)
}

/// The output of `cargo metadata` for everything in `Cargo.lock`.
fn metadata() -> io::Result<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked"]).current_dir(cross::root()?);
    let output = cargo.output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The program, its components, and the dependencies of each.
fn sbom(metadata: &Value) -> io::Result<Value> {
    let packages: BTreeMap<&str, &Value> = by_id(&metadata["packages"]);
    let nodes: BTreeMap<&str, &Value> = by_id(&metadata["resolve"]["nodes"]);
    let program = packages.iter().find(|(_, package)| package["name"] == "howlate").map(|(id, _)| *id);
    let program = program.ok_or_else(|| io::Error::other("there is no package `howlate`"))?;
    let used = built_in(program, &nodes);
    let component_of = |id: &&str| packages.get(*id).map(|package| component(package));
    let mut components: Vec<Value> =
        used.iter().filter(|id| **id != program).filter_map(component_of).collect();
    components.extend(linked_libraries()?);
    let dependency = |id: &&str| {
        let on: Vec<String> = dependencies(nodes.get(*id))
            .filter_map(|on| packages.get(on))
            .map(|package| reference(package))
            .collect();
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
        "dependencies": used.iter().filter_map(dependency).collect::<Vec<Value>>(),
    }))
}

/// Libraries in the static program that are not cargo packages, with the versions of the machine that builds.
fn linked_libraries() -> io::Result<Vec<Value>> {
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

fn output_of(program: &str, arguments: &[&str]) -> io::Result<String> {
    let output = Command::new(program).args(arguments).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(io::Error::other(format!("`{program} {}` failed", arguments.join(" ")))),
    }
}

fn by_id(array: &Value) -> BTreeMap<&str, &Value> {
    array.as_array().into_iter().flatten().filter_map(|value| Some((value["id"].as_str()?, value))).collect()
}

/// IDs of all packages that become part of the program or run while it is built.
fn built_in<'a>(program: &'a str, nodes: &BTreeMap<&'a str, &'a Value>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::from([program]);
    let mut waiting = VecDeque::from([program]);
    while let Some(id) = waiting.pop_front() {
        waiting.extend(dependencies(nodes.get(id)).filter(|on| found.insert(on)));
    }
    found
}

/// IDs of a package's dependencies, without those that only its tests use.
fn dependencies<'a>(node: Option<&&'a Value>) -> impl Iterator<Item = &'a str> {
    let dependencies = node.and_then(|node| node["deps"].as_array()).into_iter().flatten();
    let is_built_in = |dependency: &&Value| {
        dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"] != "dev")
    };
    dependencies.filter(is_built_in).filter_map(|dependency| dependency["pkg"].as_str())
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
        // `MIT/Apache-2.0` is an older way to write `MIT OR Apache-2.0`.
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
        let has = |name: &str| components.iter().any(|component| component["name"] == name);
        assert!(has("clap") && has("howlate-model") && has("serde"));
        for linked in ["glibc", "libgcc", "rust-std"] {
            let component = components.iter().find(|component| component["name"] == linked).unwrap();
            assert!(
                component["version"].as_str().unwrap().starts_with(|first: char| first.is_ascii_digit()),
                "{component}"
            );
        }
        assert!(!has("proptest") && !has("howlate-fuzz") && !has("assert_cmd"));
        assert_eq!(sbom["metadata"]["component"]["name"], "howlate");
        let references: BTreeSet<&str> =
            components.iter().filter_map(|component| component["bom-ref"].as_str()).collect();
        assert_eq!(references.len(), components.len());
        let is_component = |on: &Value| references.contains(on.as_str().unwrap_or_default());
        for dependency in sbom["dependencies"].as_array().unwrap() {
            assert!(dependency["dependsOn"].as_array().unwrap().iter().all(is_component), "{dependency}");
        }
        assert!(
            components
                .iter()
                .all(|component| !component["licenses"][0]["expression"].as_str().unwrap().is_empty())
        );
    }
}
