//! Which part of a run in several is measured now.

use howlate_model::Span;

/// A part of trying settings, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuneStage {
    /// The baseline against itself.
    SelfTest,
    /// Each setting against the baseline.
    Screening,
    /// Settings that help, together.
    Joining,
    /// What was chosen, on turns of its own.
    Confirming,
}

/// A part of a run that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Which it is.
    pub which: TuneStage,
    /// The time that is left at its beginning, for it and for all that follow, at most.
    pub left: Span,
    /// The time that all of them may take.
    pub whole: Span,
}

impl TuneStage {
    const ALL: [Self; 4] = [Self::SelfTest, Self::Screening, Self::Joining, Self::Confirming];

    /// `stage 2 of 4: each setting`
    pub fn in_words(self) -> String {
        let number = Self::ALL.iter().take_while(|one| **one != self).count() + 1;
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
