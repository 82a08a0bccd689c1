//! The stage of a run that has several.

use howlate_model::Span;

/// The stages of `howlate tune`, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuneStage {
    /// The baseline against itself.
    SelfTest,
    /// Each setting against the baseline.
    Screening,
    /// Combinations of settings that help.
    Joining,
    /// The chosen set, on turns of its own.
    Confirming,
}

/// The current stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    pub which: TuneStage,
    /// Maximum remaining time at its start, for it and all following stages.
    pub left: Span,
    /// Maximum time of all stages.
    pub whole: Span,
}

impl TuneStage {
    const ALL: [Self; 4] = [Self::SelfTest, Self::Screening, Self::Joining, Self::Confirming];

    /// `stage 2 of 4: each setting`
    pub fn in_words(self) -> String {
        let number = Self::ALL.iter().take_while(|stage| **stage != self).count() + 1;
        let what = match self {
            Self::SelfTest => "baseline against itself",
            Self::Screening => "each setting",
            Self::Joining => "settings together",
            Self::Confirming => "confirming",
        };
        format!("stage {number} of {}: {what}", Self::ALL.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_says_which_of_how_many_it_is() {
        assert_eq!(TuneStage::SelfTest.in_words(), "stage 1 of 4: baseline against itself");
        assert_eq!(TuneStage::Confirming.in_words(), "stage 4 of 4: confirming");
    }
}
