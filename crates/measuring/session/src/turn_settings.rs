//! Settings of the machine that hold for one turn each.

use howlate_guard::{AppliedSettings, Guard};
use howlate_linux::clock;
use howlate_model::{AsText, Caveat, SettingWrite, Span, TurnFailure};

/// What a machine is given before each turn, whether its settings were just changed, put back or left alone: turns
/// would differ by that alone otherwise.
const SETTLE: Span = Span::from_millis(50);

/// Puts settings in force for a turn, and back after it.
pub struct Turning {
    guard: Guard,
    applied: Option<AppliedSettings>,
    settle: Span,
}

impl Turning {
    /// With the guard that has the journal.
    pub const fn with_guard(guard: Guard) -> Self {
        Self { guard, applied: None, settle: SETTLE }
    }

    /// The same where no setting of the machine is tried, but whoever takes turns changes others: they are put back at the end.
    pub const fn of_others(guard: Guard) -> Self {
        Self { guard, applied: None, settle: Span::ZERO }
    }

    /// Puts `writes` in force as far as the kernel lets it, and waits for the machine to settle; tells what it did not
    /// let, and why the turn cannot be taken where it let nothing. Nothing stays changed then, unless that is told.
    pub(crate) fn begin(
        &mut self,
        writes: &[SettingWrite],
    ) -> (Vec<Caveat>, Result<(), AsText<TurnFailure>>) {
        let mut caveats = Vec::new();
        if !writes.is_empty() {
            let mut applied = self.guard.apply_writes(writes);
            caveats.append(&mut applied.caveats);
            if applied.changed_nothing() {
                let why = caveats.iter().find_map(Caveat::setting_left_out);
                caveats.retain(|caveat| caveat.setting_left_out().is_none());
                return (caveats, Err(why.map_or_else(|| AsText::Text(String::new()), AsText::Value)));
            }
            self.applied = Some(applied);
        }
        // A signal that ends the pause ends the measurement as well.
        drop(clock::sleep_for(self.settle));
        (caveats, Ok(()))
    }

    /// Puts them back; tells what could not be, and what somebody else has changed meanwhile.
    pub(crate) fn end(&mut self) -> Vec<Caveat> {
        self.applied.take().map(AppliedSettings::undo).unwrap_or_default()
    }

    /// Puts back whatever is left, and lets the journal go.
    pub(crate) fn finish(mut self) -> Vec<Caveat> {
        let caveats = self.end();
        caveats.into_iter().chain(self.guard.end()).collect()
    }
}
