//! The targets under libFuzzer, which mutates the inputs that reach new code.
//! Built and started by `cargo xtask fuzz`: one target at a time, named in `HOWLATE_FUZZ_TARGET`.

#![no_main]
#![allow(clippy::print_stdout, clippy::exit, reason = "a developer's command")]

use std::path::Path;
use std::sync::OnceLock;

use howlate_fuzz::{Target, targets};
use libfuzzer_sys::fuzz_target;

/// Environment variable: the target to run; `list` prints the names of all targets.
const TARGET: &str = "HOWLATE_FUZZ_TARGET";
/// Environment variable: the folder into which seeds are written before libFuzzer reads its corpora.
const SEEDS: &str = "HOWLATE_FUZZ_SEEDS";

static ACTIVE_TARGET: OnceLock<Target> = OnceLock::new();

fuzz_target!(
    init: prepare(),
    |input: &[u8]| {
        if let Some(target) = ACTIVE_TARGET.get() {
            (target.body)(input);
        }
    }
);

fn prepare() {
    let value = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let name = value(TARGET);
    if name == "list" {
        targets::ALL.iter().for_each(|target| println!("{}", target.name));
        std::process::exit(0);
    }
    let target = targets::find(&name).unwrap_or_else(|| panic!("there is no target `{name}`"));
    howlate_fuzz::write_seeds(&target, Path::new(&value(SEEDS))).expect("seeds can be written");
    drop(ACTIVE_TARGET.set(target));
}
