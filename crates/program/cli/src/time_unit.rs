//! A unit of time, as it is typed.

use howlate_model::TimeUnit;

/// The unit of a file that does not say its own.
pub(crate) fn time_unit(text: &str) -> Result<TimeUnit, String> {
    TimeUnit::read(text).ok_or_else(|| "write ns, us, ms or s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_typed_as_they_are_printed() {
        assert_eq!(time_unit("us"), Ok(TimeUnit::Microseconds));
        assert_eq!(time_unit("milliseconds"), Ok(TimeUnit::Milliseconds));
        assert!(time_unit("min").is_err());
    }
}
