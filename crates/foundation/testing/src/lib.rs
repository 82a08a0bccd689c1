//! What tests of several crates share; no crate is built with it.

mod lingering;
mod skip;
mod sleep_process;
mod tree;

pub use lingering::lingering_connection;
pub use skip::skip;
pub use sleep_process::Sleeps;
pub use tree::{tree, write_below};
