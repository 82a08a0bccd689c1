//! `watch --on-late`: what is done about late wake-ups.

use howlate_blackbox::{ActionRunner, LateAction};
use howlate_linux::sched;
use howlate_model::{LateWakeup, MonotonicTime, Span};
use howlate_watch_session::LateActions;

/// Does the same as a recorder does about its incidents.
pub(super) struct OnLate {
    above: Span,
    actions: Vec<LateAction>,
    runner: ActionRunner,
    has_stopped: bool,
}

impl OnLate {
    /// Commands run under the policy that this thread has now.
    pub(super) fn new(above: Span, actions: Vec<LateAction>) -> Self {
        let runner = ActionRunner::new(sched::policy(sched::THIS_THREAD).ok());
        Self { above, actions, runner, has_stopped: false }
    }
}

impl LateActions for OnLate {
    fn above(&self) -> Span {
        self.above
    }

    fn take(&mut self, late: &LateWakeup, now: MonotonicTime) -> bool {
        // Only the first one ends the watch, so only that one is acted on.
        self.has_stopped =
            self.has_stopped || self.runner.take(&self.actions, &|| serde_json::to_vec(late), now);
        self.has_stopped
    }

    fn look(&mut self, now: MonotonicTime) {
        self.runner.look(now);
    }

    fn end(&mut self) -> u64 {
        if self.has_stopped {
            self.runner.finish();
        }
        self.runner.left_out
    }
}
