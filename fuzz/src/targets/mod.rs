//! The fuzz targets.

mod outputs;
mod processes;
mod recordings;
mod trees;
mod user_input;

use crate::Target;

/// Every target of this crate; the command line of howlate is fuzzed by a test of the program.
pub const ALL: [Target; 14] = [
    recordings::RECORDING,
    recordings::IMPORT,
    outputs::TARGET,
    recordings::DISTRIBUTION,
    user_input::PLAN,
    user_input::VALUES,
    user_input::CYCLICTEST,
    trees::TARGET,
    processes::PROBE,
    processes::GUEST,
    processes::RING,
    processes::SHARED_MEMORY,
    processes::LOOPS,
    processes::REQUESTS,
];

pub fn find(name: &str) -> Option<Target> {
    ALL.into_iter().find(|target| target.name == name)
}
