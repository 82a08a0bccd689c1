//! How long somebody had what others waited for, counted once however many waited.

use howlate_model::{Incident, Segment, Span};

/// Stretches of time of one culprit, each with whose it was: the thread, or the CPU where it is no thread's.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnTime(Vec<(Whose, i64, i64)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Thread(u32),
    Cpu(u32),
}

impl OwnTime {
    /// A part of an incident.
    pub(super) fn add(&mut self, of: &Incident, part: &Segment) {
        let whose = part.pid.map_or(Whose::Cpu(of.cpu), Whose::Thread);
        let from = part.from.as_nanos();
        self.0.push((whose, from, part.from.plus(part.ns).as_nanos()));
    }

    /// All of it.
    pub(super) fn sum(mut self) -> Span {
        self.0.sort_unstable();
        let (mut sum, mut known) = (0_u64, None);
        for (whose, from, until) in self.0 {
            let counted = match known {
                Some((of, end)) if of == whose => from.max(end),
                _ => from,
            };
            sum = sum.saturating_add(until.saturating_sub(counted).max(0).unsigned_abs());
            let end = known.filter(|(of, _)| *of == whose).map_or(until, |(_, end)| until.max(end));
            known = Some((whose, end));
        }
        Span::from_nanos(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_waited_for_is_counted_once() {
        let thread = Whose::Thread(7);
        let own = OwnTime(vec![
            (thread, 10, 30),
            (thread, 0, 20),
            (thread, 12, 15),
            (thread, 50, 60),
            (Whose::Thread(8), 0, 5),
            (Whose::Cpu(0), 3, 4),
            (Whose::Cpu(1), 3, 4),
        ]);
        assert_eq!(own.sum(), Span::from_nanos(30 + 10 + 5 + 1 + 1));
        assert_eq!(OwnTime::default().sum(), Span::ZERO);
    }
}
