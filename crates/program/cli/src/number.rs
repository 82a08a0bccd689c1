//! Whole numbers as they are typed.

/// A whole number; of what people write otherwise, the message says how to type it here.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|error: std::num::ParseIntError| match meant(text) {
        Some(number) => format!("type {number}"),
        None => format!("{error}; type a whole number, such as 1000"),
    })
}

/// The number behind `1e6`, `1_000_000`, `10k` or `1M`, if it is a whole one.
fn meant(text: &str) -> Option<u64> {
    let plain: String = text.chars().filter(|letter| !matches!(letter, '_' | ' ' | ',' | '\u{a0}')).collect();
    let (digits, factor) = match plain.strip_suffix(['k', 'K', 'M']) {
        Some(digits) if plain.ends_with('M') => (digits, 1e6),
        Some(digits) => (digits, 1e3),
        None => (plain.as_str(), 1.0),
    };
    /// Beyond this a double holds no whole numbers.
    const MOST: f64 = 9_007_199_254_740_992.0;
    let number = digits.parse::<f64>().ok()? * factor;
    let is_whole = (0.0..=MOST).contains(&number) && number.fract() == 0.0;
    is_whole.then(|| format!("{number}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_written_otherwise_is_told_as_it_is_typed() {
        assert_eq!(whole("1000000"), Ok(1_000_000));
        for text in ["1e6", "1_000_000", "1,000,000", "1000k", "1M", "1000000.0"] {
            assert_eq!(whole(text), Err("type 1000000".to_owned()), "{text}");
        }
        for text in ["", "-5", "1.5", "many", "inf", "1e300", "NaN"] {
            let said = whole(text).unwrap_err();
            assert!(said.ends_with("type a whole number, such as 1000"), "{text}: {said}");
        }
    }
}
