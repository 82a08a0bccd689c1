//! Guests that are booted one after the other.

use howlate_guest::{
    Acceleration, GuestCommand, GuestError, GuestProgram, GuestSetup, VirtualMachine, counterbalanced,
};
use howlate_model::{Accelerator, Span};

use super::kinds::Bootable;

/// All guests of a run, and the command that runs inside.
pub struct Guests {
    /// The howlate program that runs inside.
    pub program: GuestProgram,
    /// The command that it runs.
    pub command: GuestCommand,
    /// Every round boots one guest of each kind.
    pub kinds: Vec<Bootable>,
    /// How often each kind is booted; `None`: the default.
    pub rounds: Option<u32>,
    /// Maximum time until a guest starts to measure.
    pub boot_deadline: Span,
    /// Maximum time without output.
    pub hang_deadline: Span,
}

impl Guests {
    /// Kinds in the order of their boots, with `rounds` boots each by default.
    pub fn order(&self, rounds: u32) -> Vec<usize> {
        counterbalanced(self.kinds.len(), self.rounds.unwrap_or(rounds))
    }

    /// Setup of one kind in `machine`.
    pub(crate) fn setup<'a>(&'a self, machine: &'a VirtualMachine, index: usize) -> GuestSetup<'a> {
        let kind = &self.kinds[index];
        GuestSetup {
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

/// After KVM failed once, the other guests are emulated at once.
pub(crate) const FELL_BACK: Acceleration = Acceleration::Only(Accelerator::Tcg);

/// The error for a command that failed inside; `said` is its message.
pub fn failed(said: &str) -> GuestError {
    GuestError::Command { stderr: said.trim_start_matches("error: ").to_owned() }
}
