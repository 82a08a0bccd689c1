//! Describes the machine, and finds what on it makes wake-ups late.
//!
//! Everything is read from files below a [`Root`](howlate_procfs::Root): `/` on a live machine, a captured
//! tree in tests. Nothing is written, no program is started, and a file that is missing
//! is a fact about the machine, never an error.
//!
//! - [`describe`] returns the machine as a recording contains it.
//! - [`node`] returns the identity of the machine.
//! - [`examine`] returns one finding for each property that affects wake-up latency.
//! - [`settings`] lists the settings that may make wake-ups more punctual.

mod debugfs;
mod describe;
mod disturbance;
mod findings;
mod group_freezes;
mod group_quotas;
mod kernel;
mod kernel_config;
mod node;
mod process;
pub mod settings;

pub use describe::describe;
pub use disturbance::Disturbance;
pub use findings::group_without_realtime;
pub use findings::{examine, for_running};
pub use group_freezes::GroupFreezes;
pub use group_quotas::GroupQuotas;
pub use node::node;
