//! Every planned wake-up.

use std::borrow::Cow;

use howlate_model::Distribution;

/// Latencies that happened and those that missed periods would have had.
pub(crate) fn planned<'a>(
    latency: &'a Distribution,
    swallowed: Option<&Distribution>,
) -> Cow<'a, Distribution> {
    let Some(swallowed) = swallowed else { return Cow::Borrowed(latency) };
    let mut all = latency.clone();
    all.merge(swallowed);
    Cow::Owned(all)
}
