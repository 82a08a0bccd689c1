//! `cargo xtask supply`: what is built in from elsewhere: under which licence, from where, how often.
//!
//! The rules are those of `cargo deny check licenses bans sources`; they are checked here from cargo's own
//! metadata, so that nothing has to be built or fetched for it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;

/// Licences that may be part of the program: they ask for no more than their text beside it.
const LICENCES: [&str; 12] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "BSL-1.0",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
];

/// The only place that crates come from.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// A crate that must not come in.
struct Ban {
    name: &'static str,
    reason: &'static str,
    /// Crates that may bring it all the same.
    brought_by: &'static [&'static str],
}

const BANNED: [Ban; 5] = [
    Ban {
        name: "openssl-sys",
        reason: "a C library that a static program would have to carry",
        brought_by: &[],
    },
    Ban { name: "native-tls", reason: "the same by another name", brought_by: &[] },
    Ban { name: "atty", reason: "unmaintained; std::io::IsTerminal does it", brought_by: &[] },
    Ban {
        name: "chrono",
        reason: "howlate has its own times, and dates from the C library",
        brought_by: &["parquet", "quick-junit"],
    },
    Ban {
        name: "lazy_static",
        reason: "std::sync::LazyLock does it",
        brought_by: &["fraction", "sharded-slab"],
    },
];

/// Crates that come in several versions because others have not moved on yet. Another one is looked at before it is
/// added here.
const SEVERAL: [&str; 9] =
    ["base64", "getrandom", "hashbrown", "miniz_oxide", "nom", "num-bigint", "r-efi", "roxmltree", "syn"];

/// Checks; prints what is wrong.
pub fn run() -> ExitCode {
    match metadata(&[]).map(|metadata| wrong(&packages(&metadata))) {
        Ok(wrong) if wrong.is_empty() => {
            println!("licences, bans, sources: ok");
            ExitCode::SUCCESS
        }
        Ok(wrong) => {
            wrong.iter().for_each(|one| println!("{one}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// What `cargo metadata` says of everything that Cargo.lock holds; with these features, if any are chosen.
pub fn metadata(features: &[&str]) -> io::Result<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked"]).args(features);
    let output = cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A crate from elsewhere.
#[derive(Clone, Debug)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub licence: String,
    source: String,
    /// The crates that depend on it, those of this workspace too.
    dependents: Vec<String>,
}

/// The crates from elsewhere.
pub fn packages(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let dependents = dependents(metadata);
    let package = |one: &Value| Package {
        name: text(&one["name"]),
        version: text(&one["version"]),
        licence: text(&one["license"]),
        source: text(&one["source"]),
        dependents: dependents.get(&text(&one["id"])).cloned().unwrap_or_default(),
    };
    let all = metadata["packages"].as_array().into_iter().flatten();
    all.filter(|one| !one["source"].is_null()).map(package).collect()
}

/// By a crate's id, the names of those that depend on it.
fn dependents(metadata: &Value) -> BTreeMap<String, Vec<String>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let names: BTreeMap<String, String> =
        list(&metadata["packages"]).iter().map(|one| (text(&one["id"]), text(&one["name"]))).collect();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let name = names.get(&text(&node["id"])).cloned().unwrap_or_default();
        for needed in list(&node["deps"]) {
            found.entry(text(&needed["pkg"])).or_default().push(name.clone());
        }
    }
    found
}

/// What is wrong, a line each.
fn wrong(packages: &[Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for Package { name, version, licence, source, dependents } in packages {
        versions.entry(name).or_default().push(version);
        if !allows(licence) {
            wrong.push(format!(
                "licence: {name} {version} is under `{licence}`, which LICENCES does not allow"
            ));
        }
        if source != SOURCE {
            wrong.push(format!("source: {name} {version} comes from {source}"));
        }
        if let Some(ban) = BANNED.iter().find(|ban| ban.name == name) {
            let by = dependents.iter().filter(|one| !ban.brought_by.contains(&one.as_str()));
            wrong.extend(by.map(|by| format!("ban: {name} {version}, brought by {by}: {}", ban.reason)));
        }
    }
    let several = versions.iter().filter(|(name, versions)| versions.len() > 1 && !SEVERAL.contains(name));
    wrong.extend(
        several.map(|(name, versions)| format!("ban: {name} comes in versions {}", versions.join(", "))),
    );
    wrong
}

/// Whether a licence expression can be kept with licences that are allowed: of alternatives one, of
/// conjunctions all. `/` is the older way to write `OR`.
fn allows(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    conjunctions(&expression).iter().all(|part| {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        part.split(" OR ").any(|one| LICENCES.contains(&one.trim()))
    })
}

/// The parts of an expression that are joined by `AND` outside parentheses. An `OR` beside such an `AND`, without
/// parentheses, binds less: it is not written by anyone so far, and is refused then.
fn conjunctions(expression: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for word in expression.split_whitespace() {
        depth += word.matches('(').count();
        match parts.last_mut() {
            Some(_) if word == "AND" && depth == 0 => parts.push(String::new()),
            Some(part) => *part = format!("{part} {word}"),
            None => {}
        }
        depth = depth.saturating_sub(word.matches(')').count());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_keeps_the_rules() {
        let metadata = metadata(&[]).unwrap();
        let packages = packages(&metadata);
        assert!(packages.len() > 100);
        assert_eq!(wrong(&packages), [] as [String; 0]);
    }

    #[test]
    fn licences_are_alternatives_or_conjunctions() {
        for fine in ["MIT", "MIT/Apache-2.0", "MIT OR GPL-3.0", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
            assert!(allows(fine), "{fine}");
        }
        for not in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND MPL-2.0", "LGPL-2.1/GPL-2.0"] {
            assert!(!allows(not), "{not}");
        }
    }

    #[test]
    fn what_breaks_a_rule_is_named() {
        let one = |name: &str, version: &str, licence: &str, source: &str| Package {
            name: name.into(),
            version: version.into(),
            licence: licence.into(),
            source: source.into(),
            dependents: vec!["parquet".into(), "howlate-render".into()],
        };
        let said = wrong(&[
            one("a", "1", "GPL-3.0", SOURCE),
            one("b", "1", "MIT", "git+https://example.org/b"),
            one("atty", "1", "MIT", SOURCE),
            one("chrono", "1", "MIT", SOURCE),
            one("twice", "1", "MIT", SOURCE),
            one("twice", "2", "MIT", SOURCE),
        ]);
        let kinds: Vec<&str> = said.iter().map(|one| one.split(' ').next().unwrap_or_default()).collect();
        assert_eq!(kinds, ["licence:", "source:", "ban:", "ban:", "ban:", "ban:"]);
        let chrono: Vec<&String> = said.iter().filter(|one| one.contains("chrono")).collect();
        assert!(chrono.len() == 1 && chrono[0].contains("brought by howlate-render"), "{chrono:?}");
    }
}
