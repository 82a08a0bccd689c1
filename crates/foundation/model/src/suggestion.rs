//! Suggestions for misspelled names.

/// Minimum Jaro-Winkler similarity of a suggestion. 1 is equal; `stress` and `stress-ng` have 0.93.
const LEAST_SIMILARITY: f64 = 0.7;

/// The name that has `found` as a whole word, as `timer_slack` has `slack`; otherwise the most similar one above the minimum.
pub fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<&str> = names.into_iter().collect();
    let has_word = |name: &&&str| name.split(['_', '-']).any(|word| word == found);
    if let Some(name) = names.iter().find(has_word) {
        return Some(name);
    }
    let alike = names.into_iter().map(|name| (strsim::jaro_winkler(found, name), name));
    let best = alike.max_by(|left, other| left.0.total_cmp(&other.0));
    best.filter(|(alike, _)| *alike >= LEAST_SIMILARITY).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        let names = ["idle", "cpu", "pipe", "interrupt", "stress-ng"];
        assert_eq!(nearest("pip", names), Some("pipe"));
        assert_eq!(nearest("interupts", names), Some("interrupt"));
        assert_eq!(nearest("stress", names), Some("stress-ng"));
        assert_eq!(nearest("xyzzy", names), None);
        assert_eq!(nearest("slack", ["slice", "timer_slack"]), Some("timer_slack"));
    }
}
