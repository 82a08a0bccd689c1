//! What recordings are known by.

/// What a recording is known by, wherever it is copied to.
pub fn new_id() -> String {
    format!("{:032x}", fastrand::u128(..))
}
