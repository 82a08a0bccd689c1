//! Guests that are booted in turn, and what is the same for all of them.

use howlate_guest::{
    Acceleration, GuestCommand, GuestError, Program, Setup, VirtualMachine, counterbalanced,
};
use howlate_model::{Accelerator, Span};

use super::kinds::Bootable;

/// What is booted, and what runs inside.
pub struct Guests {
    /// The howlate that runs inside.
    pub program: Program,
    /// What it is to do.
    pub command: GuestCommand,
    /// One guest of each is booted in a round.
    pub kinds: Vec<Bootable>,
    /// How often each is booted, if that was said.
    pub rounds: Option<u32>,
    /// How long one may take before it begins to measure.
    pub boot_deadline: Span,
    /// How long one may stay silent.
    pub hang_deadline: Span,
}

impl Guests {
    /// Which of them is booted when; so many times each, unless it was said otherwise.
    pub fn order(&self, rounds: u32) -> Vec<usize> {
        counterbalanced(self.kinds.len(), self.rounds.unwrap_or(rounds))
    }

    /// One of them, in this machine.
    pub(crate) fn setup<'a>(&'a self, machine: &'a VirtualMachine, index: usize) -> Setup<'a> {
        let kind = &self.kinds[index];
        Setup {
            machine,
            kernel: &kind.kernel,
            program: &self.program,
            command: &self.command,
            settings: &kind.settings,
            boot_deadline: self.boot_deadline,
            hang_deadline: self.hang_deadline,
        }
    }
}

/// KVM did not run one: the others need not wait for it again.
pub(crate) const FELL_BACK: Acceleration = Acceleration::Only(Accelerator::Tcg);

/// What ran inside failed, and said so.
pub fn failed(said: &str) -> GuestError {
    GuestError::Command { said: said.trim_start_matches("error: ").to_owned() }
}
