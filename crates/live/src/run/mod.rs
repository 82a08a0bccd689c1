//! A run while it is measured.

mod detail;
mod recent;
mod summary;
#[cfg(test)]
mod tests;
mod thread;

pub use thread::LiveRun;
