//! What the threads of a machine wait for: reasons from stacks, and sums per interval. Pure.

mod accumulator;
mod functions;
mod groups;
mod kind;
mod reason;
mod sum;

pub use accumulator::{WaitAccumulator, WaitOrder, WaitTable, WaitTotal, WaiterTotals};
pub use groups::CpuCulprit;
pub use kind::{WaitKind, WaitNature};
pub use reason::WaitReason;
pub use sum::{CpuHolderTime, WaitSum};

#[cfg(test)]
mod tests;
