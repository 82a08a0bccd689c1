//! What waits too long for a CPU, of the whole machine, while it is recorded.

mod content;
mod live_record;
#[cfg(test)]
mod tests;

pub use live_record::LiveRecord;
