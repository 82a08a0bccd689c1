//! What a thread did before it went to sleep on its timer: if it asked too late, it or others kept it from asking.
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
use super::waiting::{blocked, charge_for_loss, wait, wake_up};

/// The system call in which threads wait for each other's locks: futex(2).
pub const LOCK_CALL: &str = "futex";

/// A sleep that is over, with what the thread waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct PastSleep {
    /// The sleep, and what the thread did until it slept again.
    pub sleep: TracedSleep,
    /// What the thread that it waited for did, from falling asleep until being woken, without a gap; empty if only the sleep itself is
    /// known.
    pub blocked: Vec<Segment>,
    /// Threads of its program among those that woke it or had its CPU.
    own_threads: Vec<u32>,
    /// If it stands for several sleeps: all that the thread did from the start of the first until it slept after the last, summed by
    /// cause. Empty otherwise.
    merged: Vec<Segment>,
}

/// Most causes in merged sleeps, the largest ones; the rest is charged to the last of them.
const MERGED_CAUSES: usize = 8;

impl PastSleep {
    /// A sleep without more detail.
    pub const fn from_sleep(sleep: TracedSleep) -> Self {
        Self::new(sleep, Vec::new())
    }

    /// A sleep with what the thread waited for meanwhile.
    pub const fn new(sleep: TracedSleep, blocked: Vec<Segment>) -> Self {
        Self { sleep, blocked, own_threads: Vec::new(), merged: Vec::new() }
    }

    /// Whether this thread, which woke it or had its CPU, is one of its program.
    pub fn is_own(&self, tid: u32) -> bool {
        self.own_threads.contains(&tid)
    }

    /// With the threads of its program among those that woke it or had its CPU.
    pub fn beside(self, own_threads: Vec<u32>) -> Self {
        Self { own_threads, ..self }
    }

    /// Whether it stands for several sleeps.
    pub const fn is_merged(&self) -> bool {
        !self.merged.is_empty()
    }

    /// Merges this sleep and the next to save memory: the time of each cause is kept, but not when it was. `None` if their start and end
    /// are unknown.
    pub fn merged_with(&self, next: &Self) -> Option<Self> {
        let (from, until) = (self.sleep.asleep_since?, next.sleep.asleep_again?);
        let mut line = TimeLine::between(from, until);
        [self, next].into_iter().for_each(|past| cut_past_sleep(&mut line, past, CauseKind::LongWork));
        let parts = line.parts_until_end(Charge::from_wakeup(Part::Arming, CauseKind::LongWork));
        let (at, latency) = (until, Latency::from_span(until.since(from)));
        let mut parts = WakeupBreakdown { at, latency, cpu: None, parts }.by_cause();
        parts.sort_by_key(|(part, _)| Reverse(part.ns));
        let rest = parts.iter().skip(MERGED_CAUSES).map(|(part, _)| part.ns).fold(Span::ZERO, Span::plus);
        parts.truncate(MERGED_CAUSES);
        if let Some((last, _)) = parts.last_mut() {
            last.ns = last.ns.plus(rest);
        }
        let mut begins = from;
        let merged = parts.into_iter().map(|(part, _)| {
            let part = Segment { from: begins, merged: true, ..part };
            begins = begins.plus(part.ns);
            part
        });
        let merged = merged.collect();
        let sleep =
            TracedSleep { asleep_since: Some(from), asleep_again: Some(until), ..next.sleep.without_wait() };
        let own_threads = [self.own_threads.as_slice(), &next.own_threads].concat();
        Some(Self { sleep, blocked: Vec::new(), own_threads, merged })
    }
}

/// What is known of a thread from before the sleep that its wake-up ended.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// The last time that it was stopped or frozen, before `sleeps` begin.
    pub stopped: Option<&'a TracedSleep>,
    /// Its sleeps, the last one at the end.
    pub sleeps: &'a [PastSleep],
    /// Cause of the time in which it ran.
    pub running: CauseKind,
}

impl Past<'_> {
    /// Nothing is known.
    pub const NONE: Self = Past { stopped: None, sleeps: &[], running: CauseKind::LateArming };
}

/// Cuts up to `asleep`, when it last went to sleep, by what it did until then, as far as that is known.
pub(super) fn cut_before_sleep(line: &mut TimeLine, past: Past<'_>, asleep: Option<MonotonicTime>) {
    let Some(asleep) = asleep else { return };
    let begin = line.cursor();
    if asleep <= begin {
        return;
    }
    let mut before = TimeLine::between(begin, asleep);
    // The stop counts only if its sleeps are not known as far back.
    let known_since = past.sleeps.first().and_then(|first| first.sleep.asleep_since);
    let stopped =
        past.stopped.filter(|stopped| known_since.is_none_or(|since| stopped.asleep_since < Some(since)));
    stopped.into_iter().for_each(|stopped| cut_stop(&mut before, stopped));
    past.sleeps.iter().for_each(|sleep| cut_past_sleep(&mut before, sleep, past.running));
    let running = Charge::from_wakeup(
        Part::Arming,
        if known_since.is_some() { past.running } else { CauseKind::LateArming },
    );
    for piece in before.parts_until_end(running) {
        let until = piece.from.plus(piece.ns);
        line.cut_as_far(until, Charge::of(&piece).within(Part::Arming));
    }
}

/// Cuts by a stop, during which it could not arm its timer.
fn cut_stop(line: &mut TimeLine, stopped: &TracedSleep) {
    let (Some(from), Some(until)) = (stopped.asleep_since, stopped.switched_in) else { return };
    line.cut_as_far(from, Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
    line.cut_as_far(until, blocked(&stopped.asleep));
}

/// Cuts by a past sleep, and by what the thread did until it slept again.
pub(super) fn cut_past_sleep(line: &mut TimeLine, past: &PastSleep, running: CauseKind) {
    for piece in &past.merged {
        let mut charge = Charge::of(piece);
        if charge.cause.kind == CauseKind::LongWork {
            charge.cause.kind = running;
        }
        line.cut_as_far(piece.from.plus(piece.ns), charge);
    }
    let sleep = &past.sleep;
    let runs = || Charge::from_wakeup(Part::Arming, running);
    if let Some(since) = sleep.asleep_since {
        line.cut_as_far(since, runs());
        for piece in &past.blocked {
            line.cut_as_far(piece.from, charge_for_sleep(sleep));
            line.cut_as_far(piece.from.plus(piece.ns), Charge::of(piece));
        }
        line.cut_as_far(sleep.waking, charge_for_sleep(sleep));
    }
    wake_up(line, sleep);
    wait(line, sleep);
    for lost in &sleep.lost {
        line.cut_as_far(lost.from, runs());
        line.cut_as_far(lost.until, charge_for_loss(lost, sleep));
    }
    // Others had its CPU as well, at unknown times.
    let rest = if sleep.lost_more > 0 { CauseKind::Undetermined } else { running };
    if let Some(again) = sleep.asleep_again {
        line.cut_as_far(again, Charge::from_wakeup(Part::Arming, rest));
    }
}

/// What a thread slept in, as far as the sleep itself tells.
pub(super) fn charge_for_sleep(sleep: &TracedSleep) -> Charge {
    if let SleepState::Stopped(_) = sleep.asleep {
        return blocked(&sleep.asleep);
    }
    let waker = match &sleep.woken_by {
        WakeSource::Other(who) if who.holder == HolderKind::Thread => Some(who),
        _ => None,
    };
    let pid = waker.and_then(|who| who.pid);
    Charge { cause: wait_cause(sleep, waker), pid, through_pid: None, merged: false }
}

/// What a thread waited for that was blocked until `waker` woke it.
pub fn wait_cause(sleep: &TracedSleep, waker: Option<&CpuHolder>) -> Cause {
    let name = waker.map_or_else(String::new, |who| who.name.clone());
    let (kind, call, name) = match &sleep.slept_in {
        Some(SleepSite::PageFault) => (CauseKind::PageFault, "", String::new()),
        Some(SleepSite::Call(call)) if call == LOCK_CALL && waker.is_some() => {
            (CauseKind::Lock, call.as_str(), name)
        }
        Some(SleepSite::Call(call)) => (CauseKind::SystemCall, call.as_str(), name),
        Some(SleepSite::Start) | None => (CauseKind::SystemCall, "", name),
    };
    Cause { call: call.to_owned(), ..Cause::new(Part::Blocked, kind, name) }
}

/// What a thread with the sleeps `past` did from `from` until `until`. Time in which it ran, or of which nothing is known, gets the
/// cause and thread of `otherwise`.
pub fn activity(
    past: &[&PastSleep],
    from: MonotonicTime,
    until: MonotonicTime,
    otherwise: &Segment,
) -> Vec<Segment> {
    let mut line = TimeLine::between(from, until);
    past.iter().for_each(|sleep| cut_past_sleep(&mut line, sleep, CauseKind::LongWork));
    let mut parts = line.parts_until_end(Charge::from_wakeup(Part::Arming, CauseKind::LongWork));
    for part in &mut parts {
        // If it lost its CPU more often than is listed, it ran or was about to.
        let may_run = matches!(part.cause.kind, CauseKind::LongWork | CauseKind::Undetermined);
        let is_running = may_run && part.cause.part == Part::Arming;
        match is_running {
            true => (part.cause, part.pid) = (otherwise.cause.clone(), otherwise.pid),
            false => part.cause.part = otherwise.cause.part,
        }
    }
    parts
}

/// What a thread with the sleeps `past` did from `from` until `until`, part by part; its own work in between is [`Part::AtWork`]. `None`
/// where not all of that is known: the sleeps have to follow each other, the first one over by `from`, or begun.
pub fn work_parts(past: &[PastSleep], from: MonotonicTime, until: MonotonicTime) -> Option<Vec<Segment>> {
    let first = &past.first()?.sleep;
    let has_begun = first.waking <= from || first.asleep_since.is_some_and(|since| since <= from);
    let is_known = has_begun
        && past.last()?.sleep.asleep_again >= Some(until)
        && past.windows(2).all(|pair| pair[0].sleep.asleep_again >= pair[1].sleep.asleep_since);
    if !is_known {
        return None;
    }
    let mut line = TimeLine::between(from, until);
    past.iter().for_each(|sleep| cut_past_sleep(&mut line, sleep, CauseKind::LongWork));
    let mut parts = line.parts_until_end(Charge::from_wakeup(Part::Arming, CauseKind::LongWork));
    for part in &mut parts {
        if part.cause.part == Part::Arming {
            part.cause.part = Part::AtWork;
        }
        let is_own = |pid: u32| past.iter().any(|sleep| sleep.is_own(pid));
        part.cause.own |= part.cause.kind == CauseKind::Thread && part.pid.is_some_and(is_own);
    }
    Some(parts)
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
            ..TracedSleep::new(7, at(since + 300), WakeSource::Other(reader))
        })
    }

    fn time_by_kind(past: &[PastSleep], from: i64, until: i64) -> Vec<(CauseKind, u64)> {
        let mut line = TimeLine::between(at(from), at(until));
        past.iter().for_each(|sleep| cut_past_sleep(&mut line, sleep, CauseKind::LongWork));
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
        let [first, second] = [[0, 1], [2, 3]]
            .map(|[earlier, later]: [usize; 2]| all[earlier].merged_with(&all[later]).unwrap());
        let whole = first.merged_with(&second).unwrap();
        let expected =
            [(CauseKind::SystemCall, 1_200), (CauseKind::LongWork, 2_800), (CauseKind::Unexplained, 0)];
        assert_eq!(time_by_kind(&all, 0, 4_000), expected);
        assert_eq!(time_by_kind(&[first, second], 0, 4_000), expected);
        assert_eq!(time_by_kind(&[whole], 0, 4_000), expected);
    }
}
