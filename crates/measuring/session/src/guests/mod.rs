//! Measurements in other kernels: guests are booted one after the other into one recording.

mod boots;
mod in_turn;
mod kinds;
mod printed;
mod rounds;

pub use boots::Boots;
pub use in_turn::{Guests, failed};
pub use kinds::{Bootable, HostChoices};
pub use printed::GuestOutput;
pub use rounds::Rounds;
