//! Selects nodes by their features.

/// Features that nodes must have: all of them, or any.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Constraint {
    features: Vec<String>,
    is_any: bool,
}

impl Constraint {
    /// `fast`, `fast&big`, `fast,big`, or `fast|big`; `None` of what only Slurm itself can resolve, such as counts and brackets.
    pub(super) fn read(text: &str) -> Option<Self> {
        let is_any = text.contains('|');
        if is_any && text.contains(['&', ',']) {
            return None;
        }
        let features: Vec<String> = text.split(['|', '&', ',']).map(|word| word.trim().to_owned()).collect();
        let is_feature = |word: &String| {
            !word.is_empty()
                && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.:=/".contains(letter))
        };
        features.iter().all(is_feature).then_some(Self { features, is_any })
    }

    /// Whether a node with these features will do.
    pub(super) fn is_met_by(&self, features: &[String]) -> bool {
        let mut each = self.features.iter().map(|feature| features.contains(feature));
        if self.is_any { each.any(|is_there| is_there) } else { each.all(|is_there| is_there) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_all_asked_for_or_any() {
        let met = |text: &str, features: &[&str]| {
            let features: Vec<String> = features.iter().map(|feature| (*feature).to_owned()).collect();
            Constraint::read(text).map(|constraint| constraint.is_met_by(&features))
        };
        assert_eq!(met("rt", &["rt", "big"]), Some(true));
        assert_eq!(met("rt", &["rt2"]), Some(false));
        assert_eq!(met("rt&big", &["big"]), Some(false));
        assert_eq!(met("rt,big", &["big", "rt"]), Some(true));
        assert_eq!(met("rt|big", &["big"]), Some(true));
        assert_eq!(met("rt|big", &[]), Some(false));
        for only_slurm in ["", "rt&", "rt|big&x", "[rt|big]", "rt*4", "(rt|big)&x", "!rt", "rt big"] {
            assert_eq!(met(only_slurm, &[]), None, "{only_slurm}");
        }
    }
}
