//! Lengths of time as hwlatdetect reads them: a whole number with one of a few units.

/// Seconds: `30`, `15s`, `2m`, `1h`, `1d`, `1w`.
pub(super) fn seconds(text: &str) -> Option<u64> {
    counted(text, &[("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800), ("", 1)])
}

/// Microseconds: `20`, `20us`, `1ms`, `1s`.
pub(super) fn micros(text: &str) -> Option<u64> {
    counted(text, &[("us", 1), ("ms", 1_000), ("s", 1_000_000), ("", 1)])
}

/// A number and the first unit that it ends in.
fn counted(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let of = |(unit, factor): &(&str, u64)| {
        let number = text.strip_suffix(unit)?;
        let is_whole = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        is_whole.then(|| number.parse::<u64>().ok()?.checked_mul(*factor)).flatten()
    };
    units.iter().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_one_unit_at_most() {
        assert_eq!(["30", "15s", "2m", "1w"].map(seconds), [Some(30), Some(15), Some(120), Some(604_800)]);
        assert_eq!(
            ["20", "20us", "2ms", "1s"].map(micros),
            [Some(20), Some(20), Some(2_000), Some(1_000_000)]
        );
        assert_eq!(["5m4s", "", "-3", "1.5s", "s", "99999999999999999w"].map(seconds), [None; 6]);
        assert_eq!(micros("3m"), None);
    }
}
