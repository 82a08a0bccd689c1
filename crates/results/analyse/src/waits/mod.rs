//! What the threads of a machine wait for: reasons from stacks, and sums over a while. Pure.

mod accumulator;
mod functions;
mod grouped;
mod kind;
mod reason;
mod sum;

pub use accumulator::{Adding, Order, Table, Wait, Waiter};
pub use grouped::Culprit;
pub use kind::{Nature, WaitKind};
pub use reason::Reason;
pub use sum::{Behind, Sum};

#[cfg(test)]
mod tests;
