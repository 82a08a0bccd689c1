//! Of very many pairs of conditions, as two fleets give them, those that are worth reading.

use std::borrow::Cow;

use howlate_analyse::compare::{Compared, Comparison, Verdict};

use crate::numbers::count;

/// More pairs are not read by people; programs have all of them.
const MOST: usize = 200;

/// The pairs that people are shown: those that differ come first where they are too many, but stand in their order.
pub(super) fn worth_reading(comparison: &Comparison) -> Cow<'_, Comparison> {
    let Comparison { compared, alone } = comparison;
    if compared.len() <= MOST {
        return Cow::Borrowed(comparison);
    }
    let mut places: Vec<usize> = (0..compared.len()).collect();
    // Stable: the first of those that are alike.
    places.sort_by_key(|place| !differs(&compared[*place]));
    places.truncate(MOST);
    places.sort_unstable();
    let compared = places.into_iter().map(|place| compared[place].clone()).collect();
    Cow::Owned(Comparison { compared, alone: *alone })
}

fn differs(one: &Compared) -> bool {
    one.statistics.iter().any(|tested| matches!(tested.verdict, Verdict::Better | Verdict::Worse))
}

/// What is said of the pairs that are not shown.
pub(super) fn others(comparison: &Comparison, shown: &Comparison) -> Option<String> {
    let left = comparison.compared.len() - shown.compared.len();
    let number = |comparison: &Comparison| comparison.compared.iter().filter(|one| differs(one)).count();
    let differ = match number(comparison) - number(shown) {
        0 => "none".to_owned(),
        more => count(more as u64),
    };
    (left > 0).then(|| {
        let left = count(left as u64);
        format!("{left} more pairs of conditions, of which {differ} differ: `--format json` has all of them.")
    })
}
