//! Results for a watched thread besides its latency: wakers, hand-offs, marked loops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    CpuHolder, Distribution, EventLoopBlock, IterationsBlock, Ledger, MonotonicTime, OmittedAnswers, Span,
    TimerLoopBlock,
};

/// Who woke a thread, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Woken")]
pub struct WakerCount {
    /// Who woke it.
    pub by: CpuHolder,
    /// Wake-ups by it.
    pub count: u64,
}

/// A way that a deadline was handed on, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HandedOn")]
pub struct HandoffCount {
    /// The names of the threads that it went through, from the one that a timer woke.
    pub through: Vec<String>,
    /// Wake-ups of this kind.
    pub count: u64,
}

/// What a thread got of CPUs, as the kernel tells everybody of their own programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunQueueBlock {
    /// Times that it got a CPU.
    pub switch_ins: u64,
    /// Times that its CPU was taken from it between two sleeps; absent where that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted: Option<u64>,
    /// Ready to run, and waiting for a CPU, in all.
    #[serde(rename = "waited_ns")]
    pub waited: Span,
}

impl RunQueueBlock {
    /// Adds a later block.
    pub fn merge(&mut self, later: &Self) {
        self.switch_ins = self.switch_ins.saturating_add(later.switch_ins);
        let more = |more: u64| self.preempted.unwrap_or(0).saturating_add(more);
        self.preempted = later.preempted.map(more).or(self.preempted);
        self.waited = self.waited.plus(later.waited);
    }
}

/// The rhythm of a watched thread in one stretch of time, and who woke it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedBlock {
    /// Index of the condition: those of the header come first, then those of later lines.
    pub condition: u32,
    /// When the stretch began.
    #[serde(rename = "from_ns")]
    pub from: MonotonicTime,
    /// When the stretch ended.
    #[serde(rename = "until_ns")]
    pub until: MonotonicTime,
    /// Threads that began to be counted here in this stretch: those of a number one after the other, or others at the same
    /// time; absent where none did, and in recordings that do not say.
    #[serde(default, skip_serializing_if = "is_none")]
    pub threads: u64,
    /// From each time at which it was to run to the next.
    pub steps: Distribution,
    /// From each time at which it ran to the next.
    pub intervals: Distribution,
    /// Times of a strict rhythm at which it did not wake, because it was still at work; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<u64>,
    /// Who woke it, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub woken_by: Vec<WakerCount>,
    /// The ways that its deadlines were handed on, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handed_on: Vec<HandoffCount>,
    /// The work of its iterations; absent where its program has not marked them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<IterationsBlock>,
    /// What it got of CPUs; absent where each of its wake-ups was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue: Option<RunQueueBlock>,
    /// The iterations of its event loop; absent where it has none, or none was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_loop: Option<EventLoopBlock>,
    /// Its iterations, from timer to timer; absent where no timer of its own wakes it, or nobody saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_loop: Option<TimerLoopBlock>,
    /// Of requests: answers that are not among them; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_answers: Option<OmittedAnswers>,
}

const fn is_none(threads: &u64) -> bool {
    *threads == 0
}

/// Recorded tracer name for marked loops that were measured without a tracer.
pub const NO_TRACER: &str = "none";

/// Distinct wakers of a thread at most; further ones are counted together, without a name.
pub const WAKERS_KEPT: usize = 64;

impl WatchedBlock {
    /// Whether any marked iteration is known: a finished one, or two in a row.
    pub fn has_iterations(&self) -> bool {
        self.turns.as_ref().is_some_and(|turns| !turns.work.is_empty() || !self.intervals.is_empty())
    }

    /// What its iterations of each kind went to.
    pub(crate) fn ledgers(&mut self) -> impl Iterator<Item = &mut Ledger> {
        let turns = self.turns.iter_mut().map(|turns| &mut turns.ledger);
        let event_loop = self.event_loop.iter_mut().map(|event_loop| &mut event_loop.ledger);
        let timer_loop = self.timer_loop.iter_mut().map(|timer_loop| &mut timer_loop.ledger);
        turns.chain(event_loop).chain(timer_loop)
    }

    /// Counts one wake-up by `who`.
    pub fn record_waker(&mut self, who: &CpuHolder) {
        self.count(who, 1);
    }

    /// Counts deadlines handed on through threads with these names; dropped if there are too many distinct chains.
    pub fn record_handoff(&mut self, through: &[String], times: u64) {
        let handoff = self.handed_on.iter_mut().find(|handoff| handoff.through == through);
        if let Some(handoff) = handoff {
            handoff.count = handoff.count.saturating_add(times);
        } else if self.handed_on.len() < WAKERS_KEPT {
            self.handed_on.push(HandoffCount { through: through.to_vec(), count: times });
        }
    }

    /// Adds a later block of the same thread.
    pub fn merge(&mut self, later: &Self) {
        self.until = self.until.max(later.until);
        self.threads = self.threads.saturating_add(later.threads);
        self.steps.merge(&later.steps);
        self.intervals.merge(&later.intervals);
        self.missed = later.missed.map(|more| self.missed.unwrap_or(0).saturating_add(more)).or(self.missed);
        if let Some(turns) = &later.turns {
            self.turns.get_or_insert_default().merge(turns);
        }
        if let Some(run_queue) = &later.run_queue {
            self.run_queue.get_or_insert_default().merge(run_queue);
        }
        if let Some(event_loop) = &later.event_loop {
            self.event_loop.get_or_insert_default().merge(event_loop);
        }
        if let Some(timer_loop) = &later.timer_loop {
            self.timer_loop.get_or_insert_default().merge(timer_loop);
        }
        if let Some(omitted) = &later.omitted_answers {
            self.omitted_answers.get_or_insert_default().merge(omitted);
        }
        later.woken_by.iter().for_each(|waker| self.count(&waker.by, waker.count));
        later.handed_on.iter().for_each(|handoff| self.record_handoff(&handoff.through, handoff.count));
        self.handed_on.sort_by_key(|handoff| std::cmp::Reverse(handoff.count));
        self.woken_by.sort_by_key(|waker| std::cmp::Reverse(waker.count));
    }

    fn count(&mut self, who: &CpuHolder, times: u64) {
        let room = self.woken_by.len() < WAKERS_KEPT;
        let nameless = CpuHolder { holder: who.holder, pid: None, name: String::new() };
        let is = |waker: &&mut WakerCount, who: &CpuHolder| {
            waker.by.holder == who.holder && waker.by.name == who.name
        };
        if let Some(waker) = self.woken_by.iter_mut().find(|waker| is(waker, who)) {
            // Several threads of one name are counted together.
            waker.by.pid = waker.by.pid.filter(|pid| who.pid == Some(*pid));
            waker.count = waker.count.saturating_add(times);
        } else if room {
            self.woken_by.push(WakerCount { by: who.clone(), count: times });
        } else if let Some(rest) = self.woken_by.iter_mut().find(|waker| is(waker, &nameless)) {
            rest.count = rest.count.saturating_add(times);
        } else {
            self.woken_by.push(WakerCount { by: nameless, count: times });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HolderKind;

    fn thread(pid: u32, name: &str) -> CpuHolder {
        CpuHolder { holder: HolderKind::Thread, pid: Some(pid), name: name.to_owned() }
    }

    #[test]
    fn wakers_of_one_name_are_counted_together() {
        let mut block = WatchedBlock::default();
        [thread(1, "a"), thread(2, "b"), thread(3, "b")].iter().for_each(|who| block.record_waker(who));
        let mut all = WatchedBlock::default();
        all.merge(&block);
        all.merge(&block);
        let counts: Vec<_> =
            all.woken_by.iter().map(|waker| (waker.by.name.as_str(), waker.by.pid, waker.count)).collect();
        assert_eq!(counts, [("b", None, 4), ("a", Some(1), 2)]);
    }

    #[test]
    fn a_crowd_of_wakers_takes_no_more_room() {
        let mut block = WatchedBlock::default();
        (0..1_000).for_each(|number| block.record_waker(&thread(number, &format!("t{number}"))));
        assert_eq!(block.woken_by.iter().map(|waker| waker.count).sum::<u64>(), 1_000);
        assert!(block.woken_by.len() <= WAKERS_KEPT + 1);
    }
}
