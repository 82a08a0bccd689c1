//! What begins and ends a turn besides its own end, and how it is watched.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{CpuSet, Latency, Span, Wakeup};

/// What begins and ends a turn besides its own end, and how it is watched.
#[derive(Clone, Debug, Default)]
pub struct TurnControl {
    /// Ends at once when a latency exceeds this.
    pub stop_above: Option<Span>,
    /// Done at once, by the thread that exceeded it.
    pub on_above: Option<ThresholdAction>,
    /// Done by each thread after each wake-up, outside what is measured.
    pub after_each: Option<WakeupHookFactory>,
    /// Ends at once when set: Ctrl-C, for example.
    pub interrupted: Arc<AtomicBool>,
    /// Ends as soon as it is set, having done all that was asked: what was to be known is.
    pub enough: Arc<AtomicBool>,
    /// Where the observer runs, away from what is measured; `None`: anywhere.
    pub observer_cpus: Option<CpuSet>,
    /// How often the observer polls; `None`: as often as the engine usually does.
    pub poll_interval: Option<Span>,
    /// Whether the first thread that is done ends the turn for all.
    pub first_ends: bool,
    /// When the common start is, on the clock of the first task.
    pub start: TurnStart,
    /// What holds for the whole process meanwhile.
    pub process: ProcessState,
}

impl TurnControl {
    /// Whether the run is to end at once.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.is_enough()
    }

    /// Whether all is known that was to be known.
    pub fn is_enough(&self) -> bool {
        self.enough.load(Ordering::Relaxed)
    }
}

/// Settings of the whole process, as the kernel confirmed them; every thread reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessState {
    /// Whether its memory is locked.
    pub memory_locked: bool,
    /// What it holds in `/dev/cpu_dma_latency`, in microseconds; `None`: nothing.
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

/// What the thread does whose latency exceeded the threshold, such as stopping a trace.
#[derive(Clone)]
pub struct ThresholdAction(Arc<dyn Fn(Latency) + Send + Sync>);

impl ThresholdAction {
    /// `act` gets the latency.
    pub fn new(act: impl Fn(Latency) + Send + Sync + 'static) -> Self {
        Self(Arc::new(act))
    }

    /// Calls what waits for a latency beyond the limit.
    pub fn call(&self, latency: Latency) {
        (self.0)(latency);
    }
}

impl fmt::Debug for ThresholdAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnAbove")
    }
}

/// What one thread does after each of its wake-ups, before it waits again, such as reading its own account.
pub type WakeupHook = Box<dyn FnMut(Wakeup)>;

/// Makes, in each measuring thread, what that thread does after each of its wake-ups.
#[derive(Clone)]
pub struct WakeupHookFactory(Arc<dyn Fn() -> WakeupHook + Send + Sync>);

impl WakeupHookFactory {
    /// `begin` is called once in each thread.
    pub fn new(begin: impl Fn() -> WakeupHook + Send + Sync + 'static) -> Self {
        Self(Arc::new(begin))
    }

    /// What the calling thread is to do.
    pub fn begin(&self) -> WakeupHook {
        (self.0)()
    }
}

impl fmt::Debug for WakeupHookFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AfterEach")
    }
}
