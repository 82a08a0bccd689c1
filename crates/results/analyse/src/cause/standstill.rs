//! Time in which no CPU of the machine ran.
//!
//! ```text
//! this CPU       |------ one part, without an event ------|
//! all others          no interrupt that was due there  |
//!                     |-------- stood still -----------|
//! ```

use std::cmp::Reverse;

use howlate_model::{CauseKind, MonotonicInterval, MonotonicTime, Segment, Span};

/// Shorter ones are ignored: CPUs that wait for one lock with interrupts off stand still together as well, but not for long.
const SHORTEST: Span = Span::from_millis(1);

/// Charges the time of a standstill to `below`, the layer below the kernel. Between two parts this CPU had an event: most of the
/// standstill, as far as it lies in the wake-up, has to be in one part, or in parts whose places are not known.
pub(super) fn charge_standstill(parts: &mut Vec<Segment>, still: MonotonicInterval, below: CauseKind) {
    let within = overlap(still, stamp(parts));
    if length(within) < SHORTEST {
        return;
    }
    let mut begins = 0;
    for one_place in parts.chunk_by(|part, next| part.merged && next.merged) {
        let range = begins..begins + one_place.len();
        begins = range.end;
        let here = overlap(still, stamp(one_place));
        if length(here).times(2) > length(within) {
            let pieces = match one_place {
                [part] => cut_out(part, here, below).collect(),
                merged => cut_out_of_merged(merged, here, below),
            };
            parts.splice(range, pieces);
            return;
        }
    }
}

/// The part before, in and after the standstill, which lies within it. An idle CPU is still idle where the standstill begins: the
/// machine may have stood still since the last event before it.
fn cut_out(
    part: &Segment,
    still: MonotonicInterval,
    below: CauseKind,
) -> impl Iterator<Item = Segment> + use<> {
    let piece = |stamp: MonotonicInterval| Segment { from: stamp.from, ns: length(stamp), ..part.clone() };
    let mut before = piece(MonotonicInterval { from: part.from, until: still.from });
    if before.cause.kind == CauseKind::IdleExit {
        charge(&mut before, CauseKind::Undetermined);
    }
    let after = piece(MonotonicInterval { from: still.until, until: part.from.plus(part.ns) });
    let mut within = piece(still);
    charge(&mut within, below);
    [before, within, after].into_iter().filter(|piece| !piece.ns.is_zero())
}

/// The parts before, in and after the standstill, which takes its time from the longest of them: whatever had the CPU when it began
/// seems to have had it all along.
fn cut_out_of_merged(merged: &[Segment], still: MonotonicInterval, below: CauseKind) -> Vec<Segment> {
    let begins = stamp(merged).from;
    let mut within = Segment { ns: length(still), merged: false, ..merged[0].clone() };
    charge(&mut within, below);
    let mut room = still.from.since(begins);
    let (mut all, mut after) = (Vec::new(), Vec::new());
    for part in less(merged, length(still)) {
        let before = part.ns.min(room);
        room = room.minus(before);
        after.push(Segment { ns: part.ns.minus(before), ..part.clone() });
        all.push(Segment { ns: before, ..part });
    }
    all.push(within);
    all.append(&mut after);
    all.retain(|part| !part.ns.is_zero());
    let mut cursor = begins;
    for part in &mut all {
        (part.from, cursor) = (cursor, cursor.plus(part.ns));
    }
    all
}

/// The parts without `excess`, which is taken from the longest, and if that is too short also from the next.
fn less(parts: &[Segment], mut excess: Span) -> Vec<Segment> {
    let mut parts = parts.to_vec();
    let mut by_length: Vec<&mut Segment> = parts.iter_mut().collect();
    by_length.sort_by_key(|part| Reverse(part.ns));
    for part in by_length {
        let taken = part.ns.min(excess);
        (part.ns, excess) = (part.ns.minus(taken), excess.minus(taken));
    }
    parts
}

/// From the start of the first part to the end of the last; of no length if there are none.
fn stamp(parts: &[Segment]) -> MonotonicInterval {
    let from = parts.first().map_or(MonotonicTime::default(), |part| part.from);
    MonotonicInterval { from, until: parts.last().map_or(from, |last| last.from.plus(last.ns)) }
}

fn length(stamp: MonotonicInterval) -> Span {
    stamp.until.since(stamp.from)
}

/// The intersection; of no length if there is none.
fn overlap(first: MonotonicInterval, second: MonotonicInterval) -> MonotonicInterval {
    MonotonicInterval { from: first.from.max(second.from), until: first.until.min(second.until) }
}

/// Charges a part to `kind`, without the name of what was under way, which is not to blame.
pub(super) fn charge(part: &mut Segment, kind: CauseKind) {
    (part.cause.kind, part.pid) = (kind, None);
    part.cause.name.clear();
    part.cause.real_time = false;
}
