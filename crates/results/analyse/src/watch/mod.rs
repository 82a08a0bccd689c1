//! Programs that were watched: from what a tracer saw of their threads to wake-ups, rhythms and causes. Pure.
//!
//! `observed_wakeup` says of one sleep what it was to end with and when; `wakeup_chains` follows deadlines that threads hand on; `grid` finds strict rhythms; `thread` sums up one
//! thread; `rhythm` reads those sums from a recording. `turns` does for loops that a program has marked what `observed_wakeup` does
//! for sleeps, `due` says when their turns were to begin, and `deadlines` which were not done in time.

mod deadlines;
mod due;
mod grid;
mod loop_turns;
mod observed_wakeup;
mod rhythm;
mod thread;
mod timer_iterations;
mod wakeup_chains;

pub use deadlines::{Deadlines, MissedDeadline};
pub use loop_turns::{CompletedTurn, Turns};
pub use observed_wakeup::Awakening;
pub use rhythm::{
    EventLoopNumbers, IterationWaitNumbers, LengthSleeps, LongReasonNumbers, Rhythm, RhythmNumbers,
    RunQueueNumbers, SpanNumbers, TimerLoopNumbers, TurnsNumbers,
};
pub use thread::ThreadSummary;
pub use timer_iterations::{TimerIteration, TimerIterations};
pub use wakeup_chains::Chains;
