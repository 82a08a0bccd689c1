//! All measurement engines.

use std::cell::RefCell;

use howlate_measure::{NotifyEngine, ThreadEngine};
use howlate_model::{Engine, EngineError, Turn};
use howlate_runtimes::{ProbeEngine, Probes};

/// All engines; the first suitable one runs a turn.
pub(crate) struct Engines<'a>(Vec<Box<dyn Engine + 'a>>);

impl<'a> Engines<'a> {
    pub(crate) fn new(probes: &'a RefCell<Probes>) -> Self {
        let probe_engine = ProbeEngine { probes };
        Self(vec![Box::new(ThreadEngine), Box::new(NotifyEngine), Box::new(probe_engine)])
    }

    /// All engines, with `first` before them.
    pub(crate) fn with_first(first: Option<Box<dyn Engine + 'a>>, probes: &'a RefCell<Probes>) -> Self {
        Self(first.into_iter().chain(Self::new(probes).0).collect())
    }

    /// The engine that runs `turn`.
    pub(crate) fn for_turn(&mut self, turn: &Turn) -> Result<&mut (dyn Engine + 'a), EngineError> {
        let mechanism = turn.tasks.first().map(|task| task.work.mechanism().to_string());
        let engine = self.0.iter_mut().find(|engine| engine.takes(turn));
        let not_taken = || EngineError::NotTaken { mechanism: mechanism.unwrap_or_default() };
        engine.map(Box::as_mut).ok_or_else(not_taken)
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Load, Notifier, Peers, ReceiverCpu, Runtime, Sleeper, Span, Task, Wait, Work};

    use super::*;

    fn turn(work: Work) -> Turn {
        let (load, estimate) = (Load::IDLE, Span::ZERO);
        Turn { tasks: vec![Task::new(work)], load, duration: None, cut_after: None, estimate }
    }

    #[test]
    fn every_kind_of_work_has_one_engine() {
        let length = Span::from_millis(1);
        let sleep = |mechanism| Work::Sleep { mechanism, target_ns: length };
        let notify = Work::Notify {
            mechanism: Notifier::Futex,
            after_ns: length,
            between: Peers::Threads,
            sender_cpu: None,
            placement: None,
            receiver: ReceiverCpu::AsLeft,
            round_trip: false,
        };
        let probes = RefCell::new(Probes::default());
        let engines = Engines::new(&probes);
        for work in [
            Work::Cyclic { mechanism: Wait::Timerfd, period_ns: length },
            sleep(Sleeper::Wait(Wait::Ppoll)),
            sleep(Sleeper::Runtime(Runtime::Python)),
            notify,
        ] {
            let turn = turn(work);
            assert_eq!(engines.0.iter().filter(|engine| engine.takes(&turn)).count(), 1, "{work:?}");
        }
    }
}
