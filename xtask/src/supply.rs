//! `cargo xtask supply`: what is built in from elsewhere: under which licence, from where, how often, and whether anything is
//! known against it. cargo-deny looks; the rules are in `deny.toml`.
//!
//! Building cargo-deny takes three minutes of two CPUs, so that the tests look only where something has changed since it was looked
//! last: what was looked at then is in `deny.stamp`, which this command writes.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use sha2::{Digest as _, Sha256};

use crate::cross;
use crate::tools::Tool;

/// What looks, for a second: not optimised, building it takes half as long, once.
const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", options: &["--debug"] };

/// What the answer depends on, besides what is known against crates.
const LOOKED_AT: [&str; 2] = ["Cargo.lock", "deny.toml"];
/// Where it is written down what was looked at, and found to be as it should.
const STAMP: &str = "deny.stamp";

/// What needs nothing but the crates that are there.
const RULES: [&str; 4] = ["check", "licenses", "bans", "sources"];

/// What came of looking.
pub struct Checked {
    /// Whether all rules are kept that could be checked.
    pub is_kept: bool,
    /// What could not be checked, and why.
    pub skipped: Option<String>,
}

/// Looks; cargo-deny prints what is wrong.
pub fn run() -> ExitCode {
    let looked = check().and_then(|checked| {
        if checked.is_kept {
            stamp()?;
        }
        Ok(checked)
    });
    match looked {
        Ok(Checked { is_kept, skipped }) => {
            skipped.iter().for_each(|skipped| println!("skipped: {skipped}"));
            if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing has changed since the last look.
pub fn is_as_checked() -> io::Result<bool> {
    let root = cross::root()?;
    Ok(fs::read_to_string(root.join(STAMP)).is_ok_and(|stamp| state(&root).is_ok_and(|state| state == stamp)))
}

fn stamp() -> io::Result<()> {
    let root = cross::root()?;
    fs::write(root.join(STAMP), state(&root)?)
}

/// A line for each file: what is in it, as a hash, and its name.
fn state(root: &Path) -> io::Result<String> {
    let line = |name: &str| -> io::Result<String> {
        let hash = Sha256::digest(fs::read(root.join(name))?);
        let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{digits}  {name}\n"))
    };
    LOOKED_AT.into_iter().map(line).collect()
}

/// Looks, with cargo-deny installed if need be.
pub fn check() -> io::Result<Checked> {
    let root = cross::root()?;
    let program = CARGO_DENY.provide(&cross::target_folder(&root))?;
    let deny = |words: &[&str]| -> io::Result<bool> {
        Ok(Command::new(&program).args(words).current_dir(&root).status()?.success())
    };
    let keeps_rules = deny(&RULES)?;
    if !fetches_advisories(&program, &root)? {
        let skipped = "advisories: their database at github.com/RustSec/advisory-db cannot be reached";
        return Ok(Checked { is_kept: keeps_rules, skipped: Some(skipped.to_owned()) });
    }
    let is_safe = deny(&["check", "--disable-fetch", "advisories"])?;
    Ok(Checked { is_kept: keeps_rules && is_safe, skipped: None })
}

/// Whether what is known against crates is here, and of today.
fn fetches_advisories(program: &Path, root: &Path) -> io::Result<bool> {
    Ok(Command::new(program).args(["fetch", "db"]).current_dir(root).output()?.status.success())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Whether the rules are kept, with some words of them changed; `None` where cargo-deny is not installed.
    fn keeps(changed: (&str, &str)) -> Option<bool> {
        let root = cross::root().unwrap();
        let Some(program) = CARGO_DENY.find(&cross::target_folder(&root)) else {
            howlate_testing::skip("cargo-deny is not installed: `cargo xtask supply` does it");
            return None;
        };
        let rules = fs::read_to_string(root.join("deny.toml")).unwrap();
        assert!(rules.contains(changed.0), "{}", changed.0);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deny.toml");
        fs::write(&path, rules.replace(changed.0, changed.1)).unwrap();
        let mut deny = Command::new(program);
        deny.args(["--offline", "--config"]).arg(path).args(RULES).current_dir(root);
        Some(deny.output().unwrap().status.success())
    }

    #[test]
    fn a_change_of_what_was_looked_at_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        LOOKED_AT.into_iter().for_each(|name| write(name, "a"));
        let before = state(folder.path()).unwrap();
        assert_eq!(before.lines().count(), LOOKED_AT.len());
        for name in LOOKED_AT {
            write(name, "b");
            assert_ne!(state(folder.path()).unwrap(), before, "{name}");
            write(name, "a");
        }
        assert_eq!(state(folder.path()).unwrap(), before);
    }

    #[test]
    fn what_is_built_in_keeps_the_rules_and_not_others() {
        let Some(as_they_are) = keeps(("", "")) else { return };
        assert!(as_they_are);
        let stricter = [
            ("    \"Unicode-3.0\",\n", ""),
            ("wrappers = [\"parquet\", \"quick-junit\"], ", ""),
            ("    { crate = \"syn\"", "    { crate = \"syn-of-old\""),
            ("[sources]", "[sources]\nallow-registry = [\"https://example.org/index\"]"),
        ];
        for stricter in stricter {
            assert_eq!(keeps(stricter), Some(false), "{stricter:?}");
        }
    }
}
