//! Start and stop conditions of a turn, and hooks while it runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{CpuSet, Latency, Span, Wakeup};

/// Start and stop conditions of a turn, and hooks while it runs.
#[derive(Clone, Debug, Default)]
pub struct TurnControl {
    /// Ends at once when a latency exceeds this.
    pub stop_above: Option<Span>,
    /// Called at once by the thread that exceeded it.
    pub on_above: Option<ThresholdAction>,
    /// Called by each thread after each wake-up, outside the measured time.
    pub after_each: Option<WakeupHookFactory>,
    /// Ends at once when set: Ctrl-C, for example.
    pub interrupted: Arc<AtomicBool>,
    /// Ends as soon as it is set, as complete: the stop rule is decided.
    pub enough: Arc<AtomicBool>,
    /// CPUs of the observer, apart from the measured ones; `None`: any.
    pub observer_cpus: Option<CpuSet>,
    /// Poll interval of the observer; `None` for the engine's default.
    pub poll_interval: Option<Span>,
    /// Whether the first thread that is done ends the turn for all.
    pub first_ends: bool,
    /// Common start, on the clock of the first task.
    pub start: TurnStart,
    /// Settings of the whole process.
    pub process: ProcessState,
}

impl TurnControl {
    /// Whether the run is to end at once.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.is_enough()
    }

    /// Whether the stop rule is decided.
    pub fn is_enough(&self) -> bool {
        self.enough.load(Ordering::Relaxed)
    }
}

/// Settings of the whole process, as the kernel confirmed them; every thread reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessState {
    /// Whether the memory is locked.
    pub memory_locked: bool,
    /// Value held in `/dev/cpu_dma_latency`, microseconds; `None` if not held.
    pub dma_latency_us: Option<i32>,
}

/// When all threads of a turn start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnStart {
    /// As soon as all are ready.
    #[default]
    Soon,
    /// On the next full second.
    FullSecond,
}

/// Action of the thread whose latency exceeded the threshold, such as stopping a trace.
#[derive(Clone)]
pub struct ThresholdAction(Arc<dyn Fn(Latency) + Send + Sync>);

impl ThresholdAction {
    pub fn new(act: impl Fn(Latency) + Send + Sync + 'static) -> Self {
        Self(Arc::new(act))
    }

    pub fn call(&self, latency: Latency) {
        (self.0)(latency);
    }
}

impl fmt::Debug for ThresholdAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnAbove")
    }
}

/// Called by a thread after each of its wake-ups, before it waits again, for example to read its accounting.
pub type WakeupHook = Box<dyn FnMut(Wakeup)>;

/// Creates the hook of each measuring thread.
#[derive(Clone)]
pub struct WakeupHookFactory(Arc<dyn Fn() -> WakeupHook + Send + Sync>);

impl WakeupHookFactory {
    /// `create` is called once in each thread.
    pub fn new(create: impl Fn() -> WakeupHook + Send + Sync + 'static) -> Self {
        Self(Arc::new(create))
    }

    /// The hook of the calling thread.
    pub fn create(&self) -> WakeupHook {
        (self.0)()
    }
}

impl fmt::Debug for WakeupHookFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AfterEach")
    }
}
