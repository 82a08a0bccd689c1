//! A spinning thread: its settings, the loop, the result.

use std::hint::black_box;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Barrier};

use howlate_linux::{clock, memory, sched, signal, thread};
use howlate_model::{CpuSet, Policy, Span, SpinCount, Wakeup};
use howlate_procfs::{OwnSchedstat, Root};

use super::counter::{Counter, TickLength};
use super::loops::{LoopTotals, spin};
use crate::ring::RingWriter;

/// A thread before it starts.
pub(super) struct SpinningThread {
    pub(super) cpu: u32,
    pub(super) policy: Policy,
    pub(super) threshold: Span,
    pub(super) duration: Option<Span>,
    pub(super) tick: TickLength,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) gate: Arc<Barrier>,
    pub(super) out: RingWriter,
    /// Bytes that are copied in each iteration.
    pub(super) copied_bytes: Option<usize>,
}

impl SpinningThread {
    /// Binds the calling thread, and sets its policy.
    pub(super) fn apply_settings(&self) -> io::Result<u32> {
        memory::touch_stack();
        signal::block_all_but_wake_up();
        sched::bind(&CpuSet::from_iter([self.cpu])).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot bind a thread to CPU {}: {error}", self.cpu))
        })?;
        sched::set_policy(sched::THIS_THREAD, self.policy).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot give it the policy {}: {error}", self.policy))
        })?;
        Ok(thread::id())
    }

    /// Spins until stopped. The loop makes no system call.
    pub(super) fn count<C: Counter>(self) -> SpinCount {
        match self.copied_bytes {
            None => self.count_with::<C>(|| ()),
            Some(bytes) => {
                let (source, mut target) = (vec![1_u8; bytes], vec![0_u8; bytes]);
                self.count_with::<C>(move || {
                    target.copy_from_slice(black_box(&source));
                    black_box(&target);
                })
            }
        }
    }

    fn count_with<C: Counter>(mut self, before_reading: impl FnMut()) -> SpinCount {
        let schedstat = OwnSchedstat::open(&Root::live());
        let waited = || schedstat.as_ref().and_then(OwnSchedstat::waited);
        self.gate.wait();
        let (waited_before, start) = (waited(), clock::now());
        let (tick, out) = (self.tick, &mut self.out);
        let (mut gaps, mut total, mut longest) = (0, Span::ZERO, Span::ZERO);
        let mut last = start;
        let duration = self.duration.map_or(u64::MAX, |duration| tick.ticks(duration));
        let totals =
            spin::<C>(tick.ticks(self.threshold).max(1), duration, &self.stop, before_reading, |passed| {
                // A delay between the counter and the clock shifts a gap to a later time, but no gap starts within the previous one.
                let length = tick.span(passed);
                let from = clock::now().minus(length).max(last);
                last = from.plus(length);
                out.push(Wakeup { expected: from, ran: last });
                // Of the rounded lengths, so that the sum is that of the gaps.
                (gaps, total, longest) = (gaps + 1, total.plus(length), longest.max(length));
            });
        let LoopTotals { iterations, shortest, elapsed } = totals;
        SpinCount {
            cpu: self.cpu,
            tid: thread::id(),
            lasted: tick.span(elapsed),
            turns: iterations,
            shortest: tick.span(shortest),
            gaps,
            total,
            longest,
            lost: 0,
            waited: waited_before.and_then(|before| Some(waited()?.minus(before))),
            moved: sched::affinity().is_ok_and(|now| now != CpuSet::from_iter([self.cpu])),
        }
    }
}
