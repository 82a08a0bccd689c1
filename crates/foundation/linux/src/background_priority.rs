//! Lowers the calling thread's scheduling policy while other threads are to run first.

use howlate_model::Policy;

use crate::sched;

/// The calling thread's scheduling policy: its normal one, or a lower one in the background.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundPriority {
    normal: Policy,
    background: Policy,
    is_lowered: bool,
}

impl BackgroundPriority {
    /// A thread that runs under `normal` until it is lowered.
    pub const fn new(normal: Policy, background: Policy) -> Self {
        Self { normal, background, is_lowered: false }
    }

    /// Whether the thread is in the background.
    pub const fn is_lowered(&self) -> bool {
        self.is_lowered
    }

    /// Moves the thread to the background. A policy that the kernel refuses leaves the thread as it was.
    pub fn lower(&mut self) {
        self.is_lowered = true;
        drop(sched::set_policy(sched::THIS_THREAD, self.background));
    }

    /// Returns a lowered thread to its normal policy.
    pub fn restore(&mut self) {
        if self.is_lowered {
            self.is_lowered = false;
            drop(sched::set_policy(sched::THIS_THREAD, self.normal));
        }
    }

    /// Whether a thread can return from the background, tried on a new thread: without privilege the kernel allows it only
    /// within `RLIMIT_NICE` (sched(7)).
    pub fn can_be_restored(&self) -> bool {
        let policies = [self.background, self.normal];
        let try_both =
            move || policies.iter().all(|policy| sched::set_policy(sched::THIS_THREAD, *policy).is_ok());
        let trial = std::thread::Builder::new().spawn(try_both);
        trial.is_ok_and(|trial| trial.join().unwrap_or(false))
    }
}
