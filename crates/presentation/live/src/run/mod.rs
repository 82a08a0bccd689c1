//! A run while it is measured.

mod detail;
mod live_run;
mod recent;
mod summary;
#[cfg(test)]
mod tests;

pub use live_run::LiveRun;
