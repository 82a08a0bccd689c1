//! `cargo xtask bench why`: what tracing costs, each figure with its limit.
//!
//! `HOWLATE_BENCH_LONG` makes the flood of events last ten minutes instead of one.

mod first_sample;
mod flood;
pub(super) mod limit;
pub(super) mod ping_pong;
mod probe_effect;

use std::io;

use limit::BenchLimits;
pub use limit::LimitExceeded;

use super::program::built;

/// Prints each figure; fails with [`LimitExceeded`] when one is above its limit.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let mut limits = BenchLimits::default();
    ping_pong::run(&mut limits)?;
    for tier in probe_effect::TIERS {
        probe_effect::run(&howlate, tier, &mut limits)?;
    }
    first_sample::run(&howlate, &mut limits)?;
    flood::run(&howlate, &mut limits)?;
    limits.verdict()
}
