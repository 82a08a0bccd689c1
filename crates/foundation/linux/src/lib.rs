//! Safe wrappers of the system calls that howlate uses and `rustix` does not offer in the form needed. The only crate
//! with `unsafe` code.
//!
//! It makes no decisions: each function is one call, with its errors as the kernel gives them.

pub mod attributes;
pub mod background_priority;
pub mod child;
pub mod clock;
pub mod condition_variable;
pub mod cycle_counter;
pub mod dma_latency;
pub mod file_table;
pub mod files;
pub mod helper;
pub mod memory;
pub mod message_queue;
pub mod parent;
pub mod perf;
pub mod posix_timer;
pub mod process;
pub mod queued_signal;
pub mod sched;
pub mod semaphore;
pub mod shared_memory;
pub mod signal;
mod signal_set;
pub mod socket;
pub mod suspended_program;
pub mod syslog_capability;
pub mod sysv;
pub mod terminal_keys;
pub mod termination;
pub mod thread;
pub mod uring;
pub mod usage;
pub mod wait_syscall_table;
