//! Whether a load has come to its pace.

/// Looks in a row without a new extreme, after which it has.
const CALM: u32 = 3;
/// A look sets a new extreme only when it lies outside of all earlier ones by more than one part in this many.
const TOLERANCE: u64 = 10;

/// Follows how much a load does from look to look. While it is still beginning, each look has more, or less, than all
/// before; when it has come to its pace, looks only differ as much as they did before.
#[derive(Default)]
pub(crate) struct Steadiness {
    before: Option<u64>,
    /// The least and the most between two looks.
    extremes: Option<(u64, u64)>,
    calm: u32,
}

impl Steadiness {
    /// Takes in that `total` was done so far.
    pub(crate) fn observe(&mut self, total: u64) {
        let Some(before) = self.before.replace(total) else { return };
        let done = total.saturating_sub(before);
        let (least, most) = self.extremes.unwrap_or((u64::MAX, 0));
        let margin = most / TOLERANCE;
        let is_new = done > most + margin || done.saturating_add(margin) < least;
        self.calm = if is_new { 0 } else { self.calm + 1 };
        self.extremes = Some((least.min(done), most.max(done)));
    }

    /// Whether it has come to its pace.
    pub(crate) const fn is_steady(&self) -> bool {
        self.calm >= CALM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many looks a load is steady that does this much from look to look.
    fn steady_after(done: &[u64]) -> Option<usize> {
        let (mut steadiness, mut total) = (Steadiness::default(), 0);
        steadiness.observe(total);
        done.iter().position(|done| {
            total += done;
            steadiness.observe(total);
            steadiness.is_steady()
        })
    }

    #[test]
    fn a_load_is_steady_when_it_does_no_more_and_no_less_than_before() {
        assert_eq!(steady_after(&[100, 101, 99, 100]), Some(3));
        // Begins slowly.
        assert_eq!(steady_after(&[1, 10, 40, 80, 100, 98, 103, 97]), Some(7));
        // Begins with a burst.
        assert_eq!(steady_after(&[900, 500, 300, 100, 101, 97, 99]), Some(6));
        // A disk writes for a while, then waits.
        assert_eq!(steady_after(&[0, 80, 0, 75, 0]), Some(4));
        // Nothing at all is steady, too.
        assert_eq!(steady_after(&[0, 0, 0, 0]), Some(3));
        assert_eq!(steady_after(&[1, 2, 4, 8, 16, 32, 64]), None);
    }
}
