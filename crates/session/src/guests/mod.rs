//! The same measurement in other kernels: guests are booted in turn, and the lines of each go into one recording.

mod boots;
#[allow(clippy::module_inception, reason = "the guests themselves")]
mod guests;
mod kinds;
mod printed;
mod rounds;

pub use boots::Boots;
pub use guests::{Guests, failed};
pub use kinds::{Bootable, HostChoices};
pub use printed::Printed;
pub use rounds::Rounds;
