//! Machine settings that are applied for a single turn.

use howlate_guard::{AppliedSettings, Guard};
use howlate_linux::clock;
use howlate_model::{AsText, Caveat, SettingWrite, Span, TurnFailure};

/// Delay before every turn, whether or not its settings were changed: without it, turns would differ by the delay
/// alone.
const SETTLE: Span = Span::from_millis(50);

/// Applies machine settings for a turn and restores them afterwards.
pub struct TurnSettings {
    guard: Guard,
    applied: Option<AppliedSettings>,
    settle: Span,
}

impl TurnSettings {
    /// Uses the guard that holds the journal.
    pub const fn with_guard(guard: Guard) -> Self {
        Self { guard, applied: None, settle: SETTLE }
    }

    /// For runs that try no machine settings, but whose engine changes settings by itself: they are restored at the end.
    pub const fn for_external_changes(guard: Guard) -> Self {
        Self { guard, applied: None, settle: Span::ZERO }
    }

    /// Applies `writes` and waits for the machine to settle. Returns caveats about writes that the kernel refused. When it
    /// refused all of them, the result is an error, and every remaining change has a caveat.
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
        // A signal that ends this sleep also ends the measurement.
        drop(clock::sleep_for(self.settle));
        (caveats, Ok(()))
    }

    /// Restores the settings; returns caveats about those that were not restored, or that another process has changed meanwhile.
    pub(crate) fn end(&mut self) -> Vec<Caveat> {
        self.applied.take().map(AppliedSettings::undo).unwrap_or_default()
    }

    /// Restores the remaining settings and releases the journal.
    pub(crate) fn finish(mut self) -> Vec<Caveat> {
        let caveats = self.end();
        caveats.into_iter().chain(self.guard.end()).collect()
    }
}
