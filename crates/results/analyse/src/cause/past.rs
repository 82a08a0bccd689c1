//! What a thread did before it went to sleep on its timer: who asks too late was kept from asking, by itself or by others.
//!
//! ```text
//! due                                           asleep on its timer
//! |------------|-------|----------|-------------|
//!  runs         ready   blocked    runs
//!               who had for whom,
//!               the CPU? or in which call?
//! ```

use std::cmp::Reverse;

use howlate_model::{
    Cause, CauseKind, CpuHolder, HolderKind, Latency, MonotonicTime, Part, Segment, SleepSite, SleepState,
    Span, TracedSleep, WakeSource, WakeupBreakdown,
};

use super::time_line::{Charge, TimeLine};
use super::waiting::{blocked, lost_to, wait, wake_up};

/// The system call in which threads wait for each other's locks: futex(2).
pub const LOCK_CALL: &str = "futex";

/// A sleep that is over, and what the thread waited for while it slept.
#[derive(Clone, Debug, PartialEq)]
pub struct PastSleep {
    /// The sleep, and what the thread did until it slept again.
    pub sleep: TracedSleep,
    /// From when it had gone to sleep until it was woken, without a gap, where that is known better than from the sleep alone: what
    /// the thread did meanwhile that it waited for.
    pub blocked: Vec<Segment>,
    /// Where it stands for several sleeps: all that the thread did from when it had gone to sleep first until it slept again last, added
    /// up by cause. Empty otherwise.
    folded: Vec<Segment>,
}

/// Causes of a folded stretch that are told apart, those that took the most; the rest is charged to the last of them.
const FOLDED: usize = 8;

impl PastSleep {
    /// One of which nothing more is known.
    pub const fn from_sleep(sleep: TracedSleep) -> Self {
        Self::new(sleep, Vec::new())
    }

    /// One of which it is known what the thread waited for.
    pub const fn new(sleep: TracedSleep, blocked: Vec<Segment>) -> Self {
        Self { sleep, blocked, folded: Vec::new() }
    }

    /// This one and the next as one, in less memory: how long each cause took is kept, when is not. `None` where it is not known from
    /// when to when they were.
    pub fn folded_with(&self, next: &Self) -> Option<Self> {
        let (from, until) = (self.sleep.asleep_since?, next.sleep.asleep_again?);
        let mut line = TimeLine::between(from, until);
        [self, next].into_iter().for_each(|one| live_through(&mut line, one, CauseKind::LongWork));
        let parts = line.parts_until_end(Charge::from_wakeup(Part::Arming, CauseKind::LongWork));
        let (at, latency) = (until, Latency::from_span(until.since(from)));
        let mut parts = WakeupBreakdown { at, latency, cpu: None, parts }.by_cause();
        parts.sort_by_key(|(part, _)| Reverse(part.ns));
        let rest = parts.iter().skip(FOLDED).map(|(part, _)| part.ns).fold(Span::ZERO, Span::plus);
        parts.truncate(FOLDED);
        if let Some((last, _)) = parts.last_mut() {
            last.ns = last.ns.plus(rest);
        }
        let mut begins = from;
        let folded = parts.into_iter().map(|(part, _)| {
            let part = Segment { from: begins, merged: true, ..part };
            begins = begins.plus(part.ns);
            part
        });
        let folded = folded.collect();
        let sleep =
            TracedSleep { asleep_since: Some(from), asleep_again: Some(until), ..next.sleep.without_wait() };
        Some(Self { sleep, blocked: Vec::new(), folded })
    }
}

/// What is known of a thread from before the sleep that its wake-up ended.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// The last time that it was stopped, or frozen, longer ago than `sleeps` go.
    pub stopped: Option<&'a TracedSleep>,
    /// Its sleeps, the last one at the end.
    pub sleeps: &'a [PastSleep],
    /// Whose time it is that it ran.
    pub running: CauseKind,
}

impl Past<'_> {
    /// Nothing is known.
    pub const NONE: Self = Past { stopped: None, sleeps: &[], running: CauseKind::LateArming };
}

/// Cuts up to `asleep`, when it went to sleep at last: by what it did, as far as that is known.
pub(super) fn kept_from_asking(line: &mut TimeLine, past: Past<'_>, asleep: Option<MonotonicTime>) {
    let Some(asleep) = asleep else { return };
    let begin = line.cursor();
    if asleep <= begin {
        return;
    }
    let mut before = TimeLine::between(begin, asleep);
    // Where its sleeps are not known as far back as that.
    let known_since = past.sleeps.first().and_then(|first| first.sleep.asleep_since);
    let stopped =
        past.stopped.filter(|stopped| known_since.is_none_or(|since| stopped.asleep_since < Some(since)));
    stopped.into_iter().for_each(|stopped| stop(&mut before, stopped));
    past.sleeps.iter().for_each(|one| live_through(&mut before, one, past.running));
    let running = Charge::from_wakeup(
        Part::Arming,
        if known_since.is_some() { past.running } else { CauseKind::LateArming },
    );
    for piece in before.parts_until_end(running) {
        let until = piece.from.plus(piece.ns);
        line.cut_as_far(until, Charge { part: Part::Arming, ..Charge::of(&piece) });
    }
}

/// While it was stopped it could not ask.
fn stop(line: &mut TimeLine, stopped: &TracedSleep) {
    let (Some(from), Some(until)) = (stopped.asleep_since, stopped.switched_in) else { return };
    line.cut_as_far(from, Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
    line.cut_as_far(until, blocked(&stopped.asleep));
}

/// Cuts by a sleep that is over, and by what came after it, until the thread slept again.
pub(super) fn live_through(line: &mut TimeLine, past: &PastSleep, running: CauseKind) {
    for piece in &past.folded {
        let mut charge = Charge::of(piece);
        if charge.kind == CauseKind::LongWork {
            charge.kind = running;
        }
        line.cut_as_far(piece.from.plus(piece.ns), charge);
    }
    let one = &past.sleep;
    let runs = || Charge::from_wakeup(Part::Arming, running);
    if let Some(since) = one.asleep_since {
        line.cut_as_far(since, runs());
        for piece in &past.blocked {
            line.cut_as_far(piece.from, sleeping(one));
            line.cut_as_far(piece.from.plus(piece.ns), Charge::of(piece));
        }
        line.cut_as_far(one.waking, sleeping(one));
    }
    wake_up(line, one);
    wait(line, one);
    for lost in &one.lost {
        line.cut_as_far(lost.from, runs());
        line.cut_as_far(lost.until, lost_to(lost, &one.lost));
    }
    // Others had its CPU as well, and nobody knows when.
    let rest = if one.lost_more > 0 { CauseKind::Undetermined } else { running };
    if let Some(again) = one.asleep_again {
        line.cut_as_far(again, Charge::from_wakeup(Part::Arming, rest));
    }
}

/// In what a thread slept, as far as the sleep itself tells.
pub(super) fn sleeping(one: &TracedSleep) -> Charge {
    if let SleepState::Stopped(_) = one.asleep {
        return blocked(&one.asleep);
    }
    let waker = match &one.woken_by {
        WakeSource::Other(who) if who.holder == HolderKind::Thread => Some(who),
        _ => None,
    };
    let Cause { part, kind, name, call, .. } = waited_in(one, waker);
    let pid = waker.and_then(|who| who.pid);
    Charge { pid, call, ..Charge::from_wakeup(part, kind).named(&name) }
}

/// What a thread waited for that was blocked until `waker` woke it.
pub fn waited_in(one: &TracedSleep, waker: Option<&CpuHolder>) -> Cause {
    let name = waker.map_or_else(String::new, |who| who.name.clone());
    let (kind, call, name) = match &one.slept_in {
        Some(SleepSite::PageFault) => (CauseKind::PageFault, "", String::new()),
        Some(SleepSite::Call(call)) if call == LOCK_CALL && waker.is_some() => {
            (CauseKind::Lock, call.as_str(), name)
        }
        Some(SleepSite::Call(call)) => (CauseKind::SystemCall, call.as_str(), name),
        None => (CauseKind::SystemCall, "", name),
    };
    Cause { call: call.to_owned(), ..Cause::new(Part::Blocked, kind, name) }
}

/// What a thread did from `from` until `until`, of which its sleeps are `past`: a stretch in which it ran, or of which nothing is
/// known, is the cause of `otherwise`, by its thread.
pub fn activity(
    past: &[&PastSleep],
    from: MonotonicTime,
    until: MonotonicTime,
    otherwise: &Segment,
) -> Vec<Segment> {
    let mut line = TimeLine::between(from, until);
    past.iter().for_each(|one| live_through(&mut line, one, CauseKind::LongWork));
    let mut parts = line.parts_until_end(Charge::from_wakeup(Part::Arming, CauseKind::LongWork));
    for part in &mut parts {
        // Where it lost its CPU more often than is known, it ran or was about to.
        let is_its = matches!(part.cause.kind, CauseKind::LongWork | CauseKind::Undetermined);
        let is_running = is_its && part.cause.part == Part::Arming;
        match is_running {
            true => (part.cause, part.pid) = (otherwise.cause.clone(), otherwise.pid),
            false => part.cause.part = otherwise.cause.part,
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    /// Blocked in write for 300 of each 1 000, and at work for the rest.
    fn writes(number: i64) -> PastSleep {
        let since = number * 1_000;
        let reader = CpuHolder { holder: HolderKind::Thread, pid: Some(9), name: "reader".to_owned() };
        PastSleep::from_sleep(TracedSleep {
            asleep_since: Some(at(since)),
            slept_in: Some(SleepSite::Call("write".to_owned())),
            switched_in: Some(at(since + 300)),
            asleep_again: Some(at(since + 1_000)),
            ..TracedSleep::woken(7, at(since + 300), WakeSource::Other(reader))
        })
    }

    fn took(past: &[PastSleep], from: i64, until: i64) -> Vec<(CauseKind, u64)> {
        let mut line = TimeLine::between(at(from), at(until));
        past.iter().for_each(|one| live_through(&mut line, one, CauseKind::LongWork));
        let parts = line.parts_until_end(Charge::from_wakeup(Part::Arming, CauseKind::Unexplained));
        let (kinds, mut all) =
            ([CauseKind::SystemCall, CauseKind::LongWork, CauseKind::Unexplained], Vec::new());
        for kind in kinds {
            all.push((
                kind,
                parts.iter().filter(|part| part.cause.kind == kind).map(|part| part.ns.as_nanos()).sum(),
            ));
        }
        all
    }

    #[test]
    fn what_took_the_time_is_kept_where_sleeps_are_folded() {
        let all: Vec<PastSleep> = (0..4).map(writes).collect();
        let [first, second] =
            [[0, 1], [2, 3]].map(|[one, next]: [usize; 2]| all[one].folded_with(&all[next]).unwrap());
        let whole = first.folded_with(&second).unwrap();
        let wanted =
            [(CauseKind::SystemCall, 1_200), (CauseKind::LongWork, 2_800), (CauseKind::Unexplained, 0)];
        assert_eq!(took(&all, 0, 4_000), wanted);
        assert_eq!(took(&[first, second], 0, 4_000), wanted);
        assert_eq!(took(&[whole], 0, 4_000), wanted);
    }
}
