//! What the processes of a machine wait for, while they wait.

mod content;
mod live_top;
#[cfg(test)]
mod tests;

pub use live_top::LiveTop;
