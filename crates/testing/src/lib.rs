//! What tests of several crates share; no crate is built with it.

mod skip;
mod sleeps;
mod tree;

pub use skip::skip;
pub use sleeps::Sleeps;
pub use tree::{tree, write_below};
