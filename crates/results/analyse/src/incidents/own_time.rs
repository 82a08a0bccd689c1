//! How long a culprit had what others waited for, counted once however many waited.

use howlate_model::{Incident, Segment, Span};

/// Time intervals of one culprit, each with its owner: the thread, or the CPU if it is no thread's.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnTime(Vec<(TimeOwner, i64, i64)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TimeOwner {
    Thread(u32),
    Cpu(u32),
}

impl OwnTime {
    /// Adds a part of an incident.
    pub(super) fn add(&mut self, incident: &Incident, part: &Segment) {
        let owner = part.pid.map_or(TimeOwner::Cpu(incident.cpu), TimeOwner::Thread);
        let from = part.from.as_nanos();
        self.0.push((owner, from, part.from.plus(part.ns).as_nanos()));
    }

    /// The union of the intervals of each owner.
    pub(super) fn sum(mut self) -> Span {
        self.0.sort_unstable();
        let (mut sum, mut last) = (0_u64, None);
        for (owner, from, until) in self.0 {
            let begin = match last {
                Some((last_owner, end)) if last_owner == owner => from.max(end),
                _ => from,
            };
            sum = sum.saturating_add(until.saturating_sub(begin).max(0).unsigned_abs());
            let end =
                last.filter(|(last_owner, _)| *last_owner == owner).map_or(until, |(_, end)| until.max(end));
            last = Some((owner, end));
        }
        Span::from_nanos(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_waited_for_is_counted_once() {
        let thread = TimeOwner::Thread(7);
        let own = OwnTime(vec![
            (thread, 10, 30),
            (thread, 0, 20),
            (thread, 12, 15),
            (thread, 50, 60),
            (TimeOwner::Thread(8), 0, 5),
            (TimeOwner::Cpu(0), 3, 4),
            (TimeOwner::Cpu(1), 3, 4),
        ]);
        assert_eq!(own.sum(), Span::from_nanos(30 + 10 + 5 + 1 + 1));
        assert_eq!(OwnTime::default().sum(), Span::ZERO);
    }
}
