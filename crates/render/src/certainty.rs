//! How sure a number is.

use howlate_analyse::exceeded_at_most;

use crate::numbers::count;

/// What the maximum of a result is worth.
pub fn what_the_maximum_supports(n: u64) -> Option<String> {
    let one_in = exceeded_at_most(n).filter(|_| n >= 20)?;
    Some(format!(
        "no later than the max but for at most 1 wake-up in {} (95 %, if they are independent)",
        count(one_in)
    ))
}
