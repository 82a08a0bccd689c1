//! Watched programs: from traced sleeps of their threads to wake-ups, rhythms and causes. Pure.
//!
//! `observed_wakeup` reads one sleep; `wakeup_chains` follows deadlines that threads pass along, and `passed_deadlines` tells
//! which of several; `grid` finds strict rhythms; `thread` sums up one thread; `rhythm` reads those sums from a recording, and `length_sleeps` finds loops
//! that drift in them. For requests to servers, `answers` says what their time went to. For loops that a program has marked, `loop_turns` does what `observed_wakeup` does for sleeps, `due` infers when iterations
//! were due, and `deadlines` finds those that were not done in time.

mod answers;
mod deadlines;
mod due;
mod grid;
mod iteration_parts;
mod length_sleeps;
mod loop_turns;
mod observed_wakeup;
mod passed_deadlines;
mod rhythm;
mod thread;
mod timer_iterations;
mod wakeup_chains;

pub use answers::{AnsweredRequest, AnsweringThread};
pub use deadlines::{Deadlines, MissedDeadline};
pub use iteration_parts::{IterationParts, LoopParts};
pub use length_sleeps::LengthSleeps;
pub use loop_turns::{CompletedTurn, LoopTurns};
pub use observed_wakeup::Awakening;
pub use rhythm::{
    EventLoopNumbers, IterationWaitNumbers, LongReasonNumbers, Rhythm, RhythmNumbers, RunQueueNumbers,
    SlowestIterations, SpanNumbers, TimerLoopNumbers, TurnsNumbers,
};
pub use thread::ThreadSummary;
pub use timer_iterations::{TimerIteration, TimerIterations};
pub use wakeup_chains::WakeupChains;
