//! When a recording was begun, on the clock of the world.

use howlate_analyse::Analysis;
use jiff::Timestamp;

/// When it was begun; the beginning of 1970 where its header does not say so in RFC 3339.
pub(super) fn begun(analysis: &Analysis) -> Timestamp {
    analysis.header.started.parse().unwrap_or(Timestamp::UNIX_EPOCH)
}
