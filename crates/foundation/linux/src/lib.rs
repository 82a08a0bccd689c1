//! Safe wrappers of the system calls that howlate uses and that `rustix` does not offer
//! in the form needed. The only crate with `unsafe` code.
//!
//! What it does not do: decide anything. Each function is one call, with its errors as
//! the kernel gives them.

pub mod attributes;
pub mod background_priority;
pub mod child;
pub mod clock;
pub mod condition_variable;
pub mod cycle_counter;
pub mod dma_latency;
pub mod file;
pub mod held_before_exec;
pub mod helper;
pub mod kernel_addresses;
pub mod keys;
pub mod memory;
pub mod message_queue;
pub mod mount;
pub mod network;
pub mod own_files;
pub mod parent;
pub mod peer;
pub mod perf;
pub mod posix_timer;
pub mod process;
pub mod queued_signal;
pub mod sched;
pub mod semaphore;
pub mod shared_memory;
pub mod signal;
mod signal_set;
pub mod sysv;
pub mod termination;
pub mod thread;
pub mod uring;
pub mod usage;
pub mod wait_syscall_table;
