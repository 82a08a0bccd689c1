//! What tests of several crates share; no crate is built with it.

mod skip;
mod sleep_process;
mod tree;

pub use skip::skip;
pub use sleep_process::Sleeps;
pub use tree::{tree, write_below};
