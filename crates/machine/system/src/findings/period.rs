//! Periods as people say them.

/// `every second`, `every 500 ms`.
pub(super) fn every(millis: impl Into<i128>) -> String {
    match millis.into() {
        1000 => "every second".to_owned(),
        millis => format!("every {millis} ms"),
    }
}
