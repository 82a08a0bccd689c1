//! The same measurement in other kernels: guests are booted in turn, and the lines of each go into one recording.

mod boots;
mod in_turn;
mod kinds;
mod printed;
mod rounds;

pub use boots::Boots;
pub use in_turn::{Guests, failed};
pub use kinds::{Bootable, HostChoices};
pub use printed::Printed;
pub use rounds::Rounds;
