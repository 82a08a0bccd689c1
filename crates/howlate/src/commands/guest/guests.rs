//! Guests that are booted in turn, and what is the same for all of them.

use howlate_guest::{
    Acceleration, GuestCommand, GuestError, Program, Setup, VirtualMachine, counterbalanced,
};
use howlate_model::Accelerator;

use super::kinds::Bootable;
use crate::cli::Guest;
use crate::error::Error;
use crate::terminal::{InPlace, is_watched};

/// What is booted, and what runs inside.
pub(super) struct Guests<'a> {
    pub(super) args: &'a Guest,
    pub(super) program: Program,
    pub(super) command: GuestCommand,
    pub(super) kinds: Vec<Bootable>,
}

impl Guests<'_> {
    /// Which of them is booted when; so many times each, unless it was said otherwise.
    pub(super) fn order(&self, rounds: u32) -> Vec<usize> {
        counterbalanced(self.kinds.len(), self.args.rounds.unwrap_or(rounds))
    }

    /// One of them, in this machine.
    pub(super) fn setup<'a>(&'a self, machine: &'a VirtualMachine, index: usize) -> Setup<'a> {
        let kind = &self.kinds[index];
        Setup {
            machine,
            kernel: &kind.kernel,
            program: &self.program,
            command: &self.command,
            settings: &kind.settings,
            boot_deadline: self.args.boot_deadline,
            hang_deadline: self.args.hang_deadline,
        }
    }

    /// Where is shown how far one is, if somebody looks.
    pub(super) fn place(&self) -> Option<InPlace> {
        (!self.args.printing.quiet && is_watched()).then(InPlace::default)
    }
}

/// KVM did not run one: the others need not wait for it again.
pub(super) const FELL_BACK: Acceleration = Acceleration::Only(Accelerator::Tcg);

/// What ran inside failed, and said so.
pub(super) fn failed(said: &str) -> Error {
    GuestError::Command { said: said.trim_start_matches("error: ").to_owned() }.into()
}
