//! What is fed.

mod cyclictest;
mod distribution;
mod guest;
mod import;
mod outputs;
mod plan;
mod probe;
mod recording;
mod requests;
mod rings;
mod trees;
mod values;

use crate::Target;

/// Every target of this crate; the command line of howlate is fed by a test of the program.
pub const ALL: [Target; 14] = [
    recording::TARGET,
    import::TARGET,
    outputs::TARGET,
    distribution::TARGET,
    plan::TARGET,
    values::TARGET,
    cyclictest::TARGET,
    trees::TARGET,
    probe::TARGET,
    guest::TARGET,
    rings::RING,
    rings::SHARED,
    rings::LOOPS,
    requests::TARGET,
];

/// The target of this name.
pub fn named(name: &str) -> Option<Target> {
    ALL.into_iter().find(|target| target.name == name)
}
