//! A spinning thread: its settings, the loop, the account.

use std::hint::black_box;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Barrier};

use howlate_linux::{clock, memory, sched, signal, thread};
use howlate_model::{CpuSet, Policy, Span, SpinCount, Wakeup};
use howlate_procfs::{OwnSchedstat, Root};

use super::counter::{Counter, TickLength};
use super::turns::{Turns, spin};
use crate::ring::RingWriter;

/// What a thread is given.
pub(super) struct Spinning {
    pub(super) cpu: u32,
    pub(super) policy: Policy,
    pub(super) above: Span,
    pub(super) lasts: Option<Span>,
    pub(super) tick: TickLength,
    pub(super) ending: Arc<AtomicBool>,
    pub(super) gate: Arc<Barrier>,
    pub(super) out: RingWriter,
    /// Bytes that are copied at each turn.
    pub(super) copies: Option<usize>,
}

impl Spinning {
    /// Binds the calling thread, and gives it its policy.
    pub(super) fn settle(&self) -> io::Result<u32> {
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

    /// Spins until it is over. The loop makes no system call.
    pub(super) fn count<C: Counter>(self) -> SpinCount {
        match self.copies {
            None => self.count_with::<C>(|| ()),
            Some(bytes) => {
                let (from, mut to) = (vec![1_u8; bytes], vec![0_u8; bytes]);
                self.count_with::<C>(move || {
                    to.copy_from_slice(black_box(&from));
                    black_box(&to);
                })
            }
        }
    }

    fn count_with<C: Counter>(mut self, between: impl FnMut()) -> SpinCount {
        let account = OwnSchedstat::open(&Root::live());
        let waited = || account.as_ref().and_then(OwnSchedstat::waited);
        self.gate.wait();
        let (before, began) = (waited(), clock::now());
        let (tick, out) = (self.tick, &mut self.out);
        let (mut gaps, mut total, mut longest) = (0, 0, 0);
        let mut last = began;
        let lasts = self.lasts.map_or(u64::MAX, |lasts| tick.ticks(lasts));
        let turns = spin::<C>(tick.ticks(self.above).max(1), lasts, &self.ending, between, |passed| {
            // What comes between the counter and the clock moves a gap behind its time, but no gap begins within the last.
            let length = tick.span(passed);
            let from = clock::now().minus(length).max(last);
            last = from.plus(length);
            out.push(Wakeup { expected: from, ran: last });
            (gaps, total, longest) = (gaps + 1, total + passed, longest.max(passed));
        });
        let Turns { turns, shortest, lasted } = turns;
        SpinCount {
            cpu: self.cpu,
            tid: thread::id(),
            lasted: tick.span(lasted),
            turns,
            shortest: tick.span(shortest),
            gaps,
            total: tick.span(total),
            longest: tick.span(longest),
            lost: 0,
            waited: before.and_then(|before| Some(waited()?.minus(before))),
            moved: sched::affinity().is_ok_and(|now| now != CpuSet::from_iter([self.cpu])),
        }
    }
}
