//! Why wake-ups were late, from what a tracer saw. Pure: events in, parts out.
//!
//! `join` finds what was seen of each wake-up, `decompose` splits it into parts whose sum is its
//! lateness; the model's `Ledger` adds them up, and `late` reads it.

mod bounds;
mod decompose;
mod families;
mod hypervisor;
mod inherited_deadline;
mod join;
mod late;
mod line;
mod only_if;
mod remedy;
mod traces;
mod turn;

pub use decompose::{Decomposed, decompose};
pub use families::{Family, families};
pub use inherited_deadline::handed_on;
pub use join::{Joiner, Judged};
pub use late::{ProbeEffect, Why, WhyCause, WhyLate, WhyPart, WhyRemedy};
pub use only_if::OnlyIf;
pub use remedy::{only_if, remedy};
pub use traces::Traces;
pub use turn::{Beforehand, turn};

#[cfg(test)]
mod replay;
#[cfg(test)]
mod tests;
