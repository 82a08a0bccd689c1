//! Which threads a late thread waited for, and when: the path through its program, for pictures of it.

use std::ops::Range;

use crate::{CauseKind, Segment};

/// A stretch of parts in which the late thread waited for one thread, directly or by way of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitedThread<'a> {
    /// The thread's name.
    pub thread: &'a str,
    /// The thread that it waited for itself meanwhile; `None` where what the parts say happened to it.
    pub waits_for: Option<&'a str>,
    /// The parts, by place.
    pub parts: Range<usize>,
}

/// An arrow from a thread to the one that goes on once it is done: with the part that follows the stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// The stretch that ends, by place.
    pub from: usize,
    /// The stretch that begins, by place; `None`: the late thread itself goes on.
    pub to: Option<usize>,
}

/// The stretches of each thread that was waited for, in order of time, those nearest to the late thread first. Parts whose place
/// among the others is unknown end them.
pub fn waited_threads(parts: &[Segment]) -> Vec<WaitedThread<'_>> {
    let mut all: Vec<WaitedThread<'_>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        let chain = chain(part);
        let step = |depth: usize| {
            let mut rest = chain.iter().skip(depth).copied();
            rest.next().map(|thread| (thread, rest.next()))
        };
        let same = |(depth, stretch): (usize, &usize)| {
            let stretch = &all[*stretch];
            step(depth) == Some((stretch.thread, stretch.waits_for))
        };
        let continued = open.iter().enumerate().take_while(|both| same(*both)).count();
        open.truncate(continued);
        open.iter().for_each(|stretch| all[*stretch].parts.end = place.saturating_add(1));
        for (thread, waits_for) in (continued..chain.len()).filter_map(step) {
            open.push(all.len());
            all.push(WaitedThread { thread, waits_for, parts: place..place.saturating_add(1) });
        }
    }
    all
}

/// Arrows between the stretches of [`waited_threads`]: from each last thread of a chain to the nearest waiting one that goes on.
pub fn path_steps(parts: &[Segment], waited: &[WaitedThread<'_>]) -> Vec<PathStep> {
    let ends = waited.iter().enumerate().filter(|(_, stretch)| stretch.waits_for.is_none());
    let step = |(from, stretch): (usize, &WaitedThread<'_>)| {
        let part = stretch.parts.end;
        let before = chain(parts.get(stretch.parts.clone())?.last()?);
        let after = chain(parts.get(part)?);
        // The same thread in another stretch has not ended its wait.
        if after.last() == before.last() {
            return None;
        }
        let goes_on = after.last().filter(|thread| before.contains(thread));
        let to = waited.iter().position(|next| next.parts.start == part && Some(&next.thread) == goes_on);
        Some(PathStep { from, to })
    };
    ends.filter_map(step).collect()
}

/// The threads from the one that the late thread waited for to the one that the part is about.
fn chain(part: &Segment) -> Vec<&str> {
    let cause = &part.cause;
    if part.merged {
        return Vec::new();
    }
    // The thread that it waited for and what that did is one part, unless that waited itself.
    let is_wait = matches!(cause.kind, CauseKind::Lock | CauseKind::SystemCall);
    let last = is_wait.then_some(cause.name.as_str());
    let named = [Some(cause.through.as_str()), last].into_iter().flatten().filter(|name| !name.is_empty());
    cause.via.iter().map(String::as_str).chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, MonotonicTime, Part, Span};

    fn part(kind: CauseKind, name: &str, through: &str, via: &[&str]) -> Segment {
        let cause = Cause {
            through: through.to_owned(),
            via: via.iter().map(|&name| name.to_owned()).collect(),
            ..Cause::new(Part::Blocked, kind, name.to_owned())
        };
        Segment::new(cause, None, MonotonicTime::from_nanos(0), Span::from_nanos(1))
    }

    fn at_work() -> Segment {
        let cause = Cause::new(Part::AtWork, CauseKind::LongWork, String::new());
        Segment::new(cause, None, MonotonicTime::from_nanos(0), Span::from_nanos(1))
    }

    #[test]
    fn a_path_leads_from_the_last_of_a_chain_to_who_goes_on() {
        // It waits for keeper, and that for writer, which hog and kworker keep from the CPU; then keeper works, then it does.
        let parts = [
            at_work(),
            part(CauseKind::Thread, "hog", "writer", &["keeper"]),
            part(CauseKind::Thread, "kworker", "writer", &["keeper"]),
            part(CauseKind::Lock, "keeper", "", &[]),
            at_work(),
        ];
        let waited = waited_threads(&parts);
        let stretch = |thread, waits_for, parts| WaitedThread { thread, waits_for, parts };
        assert_eq!(
            waited,
            [
                stretch("keeper", Some("writer"), 1..3),
                stretch("writer", None, 1..3),
                stretch("keeper", None, 3..4)
            ]
        );
        assert_eq!(
            path_steps(&parts, &waited),
            [PathStep { from: 1, to: Some(2) }, PathStep { from: 2, to: None }]
        );
    }

    #[test]
    fn nobody_is_waited_for_where_it_is_unknown_who_or_when() {
        assert_eq!(waited_threads(&[at_work(), part(CauseKind::Thread, "hog", "", &[])]), []);
        let merged = Segment { merged: true, ..part(CauseKind::Thread, "hog", "writer", &[]) };
        let parts =
            [part(CauseKind::Lock, "writer", "", &[]), merged, part(CauseKind::Lock, "writer", "", &[])];
        let waited = waited_threads(&parts);
        assert_eq!(waited.iter().map(|stretch| stretch.parts.clone()).collect::<Vec<_>>(), [0..1, 2..3]);
        assert_eq!(path_steps(&parts, &waited), [PathStep { from: 0, to: None }]);
    }
}
