//! Remedies for waits for a lock, by what the thread that holds it does meanwhile.

use howlate_model::{CauseKind, ProgramLanguage, Span, WatchedProgram};

use super::{Cure, Meanwhile, ThreadAdvice, ThreadRow};
use crate::cause::WhyCause;
use crate::watch::Rhythm;

/// What a thread that is waited for did meanwhile, nanoseconds.
#[derive(Default)]
pub(super) struct Holding {
    /// All of it.
    total: u64,
    /// It ran.
    worked: u64,
    /// Others had its CPU.
    off_cpu: u64,
    /// The call in which it was blocked for longest, and for how long.
    call: Option<(String, u64)>,
}

/// Whether the cause is that thread, or what kept it from going on.
pub(super) fn waits_for(cause: &WhyCause, holder: &str) -> bool {
    match (cause.kind, cause.via.first()) {
        (_, Some(first)) => first == holder,
        (CauseKind::Lock, None) if cause.through.is_empty() => cause.name.as_deref() == Some(holder),
        _ => cause.through == holder,
    }
}

impl Holding {
    /// Of these waits for it.
    pub(super) fn of<'a>(waits: impl IntoIterator<Item = &'a WhyCause>) -> Self {
        let mut holding = Self::default();
        waits.into_iter().for_each(|cause| holding.add(cause));
        holding
    }

    fn add(&mut self, cause: &WhyCause) {
        self.total = self.total.saturating_add(cause.late_ns);
        match cause.kind {
            CauseKind::Lock if cause.through.is_empty() => {
                self.worked = self.worked.saturating_add(cause.late_ns)
            }
            CauseKind::Thread => self.off_cpu = self.off_cpu.saturating_add(cause.late_ns),
            // Of several calls, the one that took longest.
            CauseKind::SystemCall if self.call.as_ref().is_none_or(|(_, most)| *most < cause.late_ns) => {
                self.call = Some((cause.call.clone(), cause.late_ns))
            }
            _ => {}
        }
    }

    /// What took half of it or more, its own work first; `None` where that was nothing of these.
    pub(super) fn mostly(self) -> Option<Meanwhile> {
        let is_most = |nanos: u64| nanos.saturating_mul(2) >= self.total;
        match self.call {
            // Of older recordings nothing is known but that it was waited for.
            _ if self.total == 0 || is_most(self.worked) => Some(Meanwhile::Works),
            Some((call, nanos)) if is_most(nanos) && !call.is_empty() => Some(Meanwhile::BlockedIn(call)),
            _ if is_most(self.off_cpu) => Some(Meanwhile::OffCpu),
            _ => None,
        }
    }
}

impl ThreadRow<'_> {
    /// The remedy for waits for a lock of that thread; `None` if none fits what it does meanwhile.
    pub(super) fn lock_cure(&self, holder: &str, program: &WatchedProgram) -> Option<Cure> {
        let (meanwhile, holder) = (self.meanwhile(holder)?, holder.to_owned());
        match (meanwhile, program.language.is_some()) {
            // A thread that is blocked does not have the interpreter's lock.
            (Meanwhile::Works, true) if program.language == Some(ProgramLanguage::Python) => {
                Some(Cure::InterpreterLock { holder })
            }
            (Meanwhile::OffCpu, true) => None,
            (Meanwhile::OffCpu, false) if self.thread.policy.is_realtime() => {
                Some(Cure::Inheritance { holder })
            }
            (meanwhile, _) => Some(Cure::ShorterLock { holder, meanwhile }),
        }
    }

    /// What the thread that it waits for does for most of that time; `None` if that is nothing that a remedy fits.
    fn meanwhile(&self, holder: &str) -> Option<Meanwhile> {
        Holding::of(&self.waits_for_holder(holder)).mostly()
    }

    /// Advice for this thread. Where the holder of a lock is off its CPU, it is against those who have that.
    pub(super) fn advise(&self, cure: Cure, late_ns: u64, causes: Vec<WhyCause>) -> ThreadAdvice {
        let holder = match &cure {
            Cure::Inheritance { holder } | Cure::ShorterLock { holder, meanwhile: Meanwhile::OffCpu } => {
                holder
            }
            _ => return ThreadAdvice { thread: self.thread.clone(), cure, late_ns, against: causes },
        };
        let mut against = causes.into_iter().chain(self.waits_for_holder(holder)).collect::<Vec<_>>();
        against.retain(|cause| cause.kind == CauseKind::Thread);
        ThreadAdvice { thread: self.thread.clone(), cure, late_ns, against }
    }

    /// What its iterations, and where these are not recorded its late wake-ups, went to while it waited for that thread.
    fn waits_for_holder(&self, holder: &str) -> Vec<WhyCause> {
        let timer_loop = self.outcome.rhythm.as_deref().and_then(Rhythm::timer_loop);
        let all = timer_loop.map(|timer_loop| WhyCause::all_of(&timer_loop.ledger.late_causes(Span::ZERO)));
        let of = |causes: Vec<WhyCause>| {
            causes.into_iter().filter(|cause| waits_for(cause, holder)).collect::<Vec<_>>()
        };
        let in_iterations = all.map(of).unwrap_or_default();
        if in_iterations.is_empty() { of(self.each.clone()) } else { in_iterations }
    }
}
