//! The black box recorder of `howlate record`: watches every thread of the machine for weeks. Each late wait becomes
//! a line at once, with its causes; the waits of all threads become a line a minute. Programs may request the
//! timelines of all CPUs, and hand over the turns of their loops.
//!
//! ```text
//! trace ──► late waits, at once ──► chosen? ──► parts and causes ──► incident ─────────────┐
//!      └──► waits of each group, once a minute ──► chosen? ──► minute ─────────────────────┼──► files of a folder
//! watched programs ──► their requests: late ones at once, all of them once a minute ───────┘
//! ```

mod background_priority;
mod disk_health;
mod explain;
mod install;
mod notify;
mod offered_loops;
mod pending_incidents;
mod rate_limit;
mod recorder;
mod requests;
mod script_name;
mod served_requests;
mod servers;
mod sizes;
mod snap;
mod snap_lines;
mod thread_filter;
mod thread_owner;
mod threshold;

pub use background_priority::at_start_priority;
pub use disk_health::DiskEvent;
pub use howlate_recording::{RotationLimits, TimelineQuota};
pub use install::{InstallError, InstalledFiles, SystemdUnit};
pub use recorder::{RecordError, RecorderDisplay, RecorderOptions, RecordingSummary, SignalFlags, record};
pub use requests::ListenError;
pub use served_requests::ServerEvent;
pub use sizes::{ByteSize, age};
pub use snap::{SnapError, snap};
pub use thread_filter::{PolicyKind, ThreadFilter, uid_of, user_names};

/// Entry point of `fuzz/`: messages of programs, as any program may send them.
pub mod fuzzing {
    use howlate_linux::clock;

    use crate::requests::check_message;

    /// Panics unless whatever `bytes` contain was parsed into something short and legible.
    pub fn message(bytes: &[u8]) {
        check_message(bytes, clock::now());
    }
}
