//! The same targets under libFuzzer, which sees what code an input reaches and goes on from inputs that reach more.
//! Built and started by `cargo xtask fuzz`: one target at a time, named by the environment.

#![no_main]
#![allow(clippy::print_stdout, clippy::exit, reason = "a developer's command")]

use std::path::Path;
use std::sync::OnceLock;

use howlate_fuzz::{Target, targets};
use libfuzzer_sys::fuzz_target;

/// Which target is fed; `list` has their names printed.
const TARGET: &str = "HOWLATE_FUZZ_TARGET";
/// The folder that its seeds are written into before libFuzzer reads its corpora.
const SEEDS: &str = "HOWLATE_FUZZ_SEEDS";

static FED: OnceLock<Target> = OnceLock::new();

fuzz_target!(
    init: prepare(),
    |input: &[u8]| {
        if let Some(target) = FED.get() {
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
    let target = targets::named(&name).unwrap_or_else(|| panic!("there is no target `{name}`"));
    howlate_fuzz::write_seeds(&target, Path::new(&value(SEEDS))).expect("seeds can be written");
    drop(FED.set(target));
}
