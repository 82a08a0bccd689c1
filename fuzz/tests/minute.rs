//! A few thousand inputs per target in every test run.

use howlate_fuzz::{in_a_test, targets};

fn feed(name: &str, inputs: u64) {
    let target = targets::find(name).expect("the target's name");
    assert!(in_a_test(&target, inputs).inputs >= inputs);
}

#[test]
fn recordings() {
    feed("recording", 1_500);
    feed("import", 3_000);
    feed("outputs", 120);
    feed("distribution", 20_000);
}

#[test]
fn what_is_typed() {
    feed("plan", 3_000);
    feed("values", 10_000);
    feed("cyclictest", 5_000);
}

#[test]
fn the_machine() {
    feed("trees", 500);
}

#[test]
fn other_processes() {
    feed("probe", 20_000);
    feed("guest", 3_000);
    feed("ring", 20_000);
    feed("shared-memory", 20_000);
    feed("loops", 5_000);
}
