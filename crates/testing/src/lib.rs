//! What tests of several crates share; no crate is built with it.

mod skip;

pub use skip::skip;
