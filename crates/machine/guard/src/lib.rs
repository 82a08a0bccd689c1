//! Changes settings of the machine for a measurement, and restores them afterwards.
//!
//! Before anything is changed, this program is started again as a guardian process that stores the
//! previous values. The guardian restores them when its standard input ends: because the
//! measurement is over, or because the kernel closed it with a killed process. So not even
//! `SIGKILL` leaves the machine changed.
//!
//! Changes are also recorded in a journal that both processes keep locked: two runs cannot mistake
//! each other's settings for the machine's own, a killed guardian is noticed and replaced, and where both
//! were killed, the next start restores what they left ([`restore_leftovers`]).

mod break_trace;
mod guardian;
mod helper_main;
mod journal;
mod leftover_finding;
mod quota_cgroup;
mod registry;
mod saved_setting;
mod scope;
mod setting;
mod setting_request;
mod thread_setting;

pub use break_trace::KernelTrace;
pub use helper_main::GUARDIAN;
pub use journal::{LockError, leftovers, restore, restore_leftovers};
pub use leftover_finding::leftover_finding;
pub use quota_cgroup::QuotaCgroup;
pub use scope::{AppliedSettings, Guard};
pub use setting::changed_value;
pub use setting_request::{SettingRequest, UnknownSetting};
pub use thread_setting::{ThreadSettingKind, read_thread_setting, thread_exists, thread_setting_name};
