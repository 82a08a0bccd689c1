//! `cargo xtask supply`: licences, sources, versions and advisories of dependencies, checked by cargo-deny by the rules in
//! `deny.toml`.
//!
//! Building cargo-deny takes three minutes of two CPUs, so the tests check only if the input has changed since the last check, of
//! which this command writes the hashes into `deny.stamp`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use sha2::{Digest as _, Sha256};

use crate::cross;
use crate::packages::CargoTool;

/// Not optimised: a check takes a second, and the build half as long.
const CARGO_DENY: CargoTool = CargoTool { name: "cargo-deny", version: "0.20.2", options: &["--debug"] };

/// Files on which the result depends, besides the advisories.
const CHECKED_FILES: [&str; 2] = ["Cargo.lock", "deny.toml"];
/// Hashes of these files at the last check that passed.
const STAMP: &str = "deny.stamp";

/// Arguments for the checks that need no advisories.
const RULES: [&str; 4] = ["check", "licenses", "bans", "sources"];

/// Result of a check.
pub struct SupplyCheck {
    /// Whether all checks that could run passed.
    pub has_passed: bool,
    /// A check that could not run, and why.
    pub skipped: Option<String>,
}

/// Checks and updates the stamp; cargo-deny prints violations.
pub fn run() -> ExitCode {
    let result = check().and_then(|result| {
        if result.has_passed {
            write_stamp()?;
        }
        Ok(result)
    });
    match result {
        Ok(SupplyCheck { has_passed, skipped }) => {
            skipped.iter().for_each(|skipped| println!("skipped: {skipped}"));
            if has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing has changed since the last check.
pub fn is_unchanged() -> io::Result<bool> {
    let root = cross::root()?;
    Ok(fs::read_to_string(root.join(STAMP))
        .is_ok_and(|stamp| hashes(&root).is_ok_and(|hashes| hashes == stamp)))
}

fn write_stamp() -> io::Result<()> {
    let root = cross::root()?;
    fs::write(root.join(STAMP), hashes(&root)?)
}

/// A line per file: hash and name.
fn hashes(root: &Path) -> io::Result<String> {
    let line = |name: &str| -> io::Result<String> {
        let hash = Sha256::digest(fs::read(root.join(name))?);
        let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{digits}  {name}\n"))
    };
    CHECKED_FILES.into_iter().map(line).collect()
}

/// Runs cargo-deny, which is installed if missing.
pub fn check() -> io::Result<SupplyCheck> {
    let root = cross::root()?;
    let program = CARGO_DENY.provide(&cross::target_folder(&root))?;
    let deny = |arguments: &[&str]| -> io::Result<bool> {
        Ok(Command::new(&program).args(arguments).current_dir(&root).status()?.success())
    };
    let keeps_rules = deny(&RULES)?;
    if !fetches_advisories(&program, &root)? {
        let skipped = "advisories: their database at github.com/RustSec/advisory-db cannot be reached";
        return Ok(SupplyCheck { has_passed: keeps_rules, skipped: Some(skipped.to_owned()) });
    }
    let is_safe = deny(&["check", "--disable-fetch", "advisories"])?;
    Ok(SupplyCheck { has_passed: keeps_rules && is_safe, skipped: None })
}

/// Whether the advisory database could be updated.
fn fetches_advisories(program: &Path, root: &Path) -> io::Result<bool> {
    Ok(Command::new(program).args(["fetch", "db"]).current_dir(root).output()?.status.success())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Whether the dependencies keep the rules after replacing a text in them; `None` if cargo-deny is not installed.
    fn keeps_rules((text, replacement): (&str, &str)) -> Option<bool> {
        let root = cross::root().unwrap();
        let Some(program) = CARGO_DENY.find(&cross::target_folder(&root)) else {
            howlate_testing::skip("cargo-deny is not installed: `cargo xtask supply` does it");
            return None;
        };
        let rules = fs::read_to_string(root.join("deny.toml")).unwrap();
        assert!(rules.contains(text), "{text}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deny.toml");
        fs::write(&path, rules.replace(text, replacement)).unwrap();
        let mut deny = Command::new(program);
        deny.args(["--offline", "--config"]).arg(path).args(RULES).current_dir(root);
        Some(deny.output().unwrap().status.success())
    }

    #[test]
    fn a_change_of_what_was_looked_at_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        CHECKED_FILES.into_iter().for_each(|name| write(name, "a"));
        let before = hashes(folder.path()).unwrap();
        assert_eq!(before.lines().count(), CHECKED_FILES.len());
        for name in CHECKED_FILES {
            write(name, "b");
            assert_ne!(hashes(folder.path()).unwrap(), before, "{name}");
            write(name, "a");
        }
        assert_eq!(hashes(folder.path()).unwrap(), before);
    }

    #[test]
    fn what_is_built_in_keeps_the_rules_and_not_others() {
        let Some(unchanged) = keeps_rules(("", "")) else { return };
        assert!(unchanged);
        let stricter = [
            ("    \"Unicode-3.0\",\n", ""),
            ("wrappers = [\"parquet\", \"quick-junit\"], ", ""),
            ("    { crate = \"syn\"", "    { crate = \"syn-of-old\""),
            ("[sources]", "[sources]\nallow-registry = [\"https://example.org/index\"]"),
        ];
        for stricter in stricter {
            assert_eq!(keeps_rules(stricter), Some(false), "{stricter:?}");
        }
    }
}
