//! A running load.

use howlate_linux::clock;
use howlate_model::{Caveat, Load, LoadReport, MonotonicTime, PartEffect, Span};
use howlate_procfs::{Root, Stat};

use crate::duty_cycle::CYCLE;
use crate::error::StartError;
use crate::helper::LoadHelper;

/// How often steadiness is checked: after several cycles of work and rest.
const CHECK_INTERVAL: Span = CYCLE.times(4);
/// A load that is not steady after this time never will be.
const SETTLE_TIMEOUT: Span = Span::from_secs(1);

/// A load that runs until it is stopped or dropped.
pub struct RunningLoad {
    helpers: Vec<LoadHelper>,
    /// When it started, or was reused for another turn.
    started_at: MonotonicTime,
    /// Effect of each part up to `started_at`; `None` if the load started then.
    baseline: Option<Vec<PartEffect>>,
    /// How long it took to become steady.
    settling_time: Option<Span>,
    last: Snapshot,
    /// By part, whether its end was returned already.
    is_reported: Vec<bool>,
}

/// Totals at one time.
struct Snapshot {
    at: MonotonicTime,
    parts: Vec<PartEffect>,
    machine: Stat,
}

/// Effect of a load in an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadSample {
    pub from: MonotonicTime,
    pub until: MonotonicTime,
    pub parts: Vec<PartEffect>,
    /// Context switches of the whole machine, if known.
    pub context_switches: Option<u64>,
    /// Interrupts of the whole machine, if known.
    pub interrupts: Option<u64>,
}

/// A part that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedPart {
    /// The part, as typed.
    pub part: String,
    /// Its last line on standard error, or its exit status.
    pub reason: String,
    /// Time until its work was complete; `None` when it failed.
    pub completion_time: Option<Span>,
}

impl RunningLoad {
    /// Starts `load`; returns when every part has started.
    ///
    /// # Errors
    ///
    /// When a part cannot be started; the others are ended.
    pub fn start(load: &Load) -> Result<Self, StartError> {
        let mut helpers = load.parts().iter().map(LoadHelper::start).collect::<Result<Vec<_>, _>>()?;
        let last = Snapshot::now(&mut helpers);
        let is_reported = vec![false; helpers.len()];
        Ok(Self { started_at: last.at, baseline: None, settling_time: None, helpers, last, is_reported })
    }

    /// Waits until every part is steady by its own counters, as the first moments of a load are not typical. Gives up after a
    /// second, as some loads are never steady. Resets the start of the next sample.
    #[must_use]
    pub fn wait_until_steady(mut self) -> Self {
        let give_up = self.started_at.plus(SETTLE_TIMEOUT);
        while self.is_settling() && clock::now() < give_up {
            // A signal that ends the sleep only makes the next check earlier.
            drop(clock::sleep_for(CHECK_INTERVAL));
        }
        self.last = Snapshot::now(&mut self.helpers);
        self.settling_time = Some(self.last.at.since(self.started_at));
        self
    }

    /// Continues the steady load for another turn, with a new baseline. `None`, and the load is stopped, where a part has ended
    /// by itself.
    #[must_use]
    pub fn reuse(mut self) -> Option<Self> {
        if self.helpers.iter_mut().any(|helper| helper.end_reason().is_some()) {
            return None;
        }
        self.last = Snapshot::now(&mut self.helpers);
        (self.started_at, self.settling_time) = (self.last.at, Some(Span::ZERO));
        self.baseline = Some(self.last.parts.clone());
        Some(self)
    }

    /// Whether any part is not steady yet. Checks all parts, so that their intervals are equal.
    fn is_settling(&mut self) -> bool {
        let steady = self.helpers.iter_mut().map(LoadHelper::is_steady).filter(|steady| *steady).count();
        steady < self.helpers.len()
    }

    /// Effect since the last sample, or since the start.
    pub fn sample(&mut self) -> LoadSample {
        let now = Snapshot::now(&mut self.helpers);
        let parts = now.parts.iter().zip(&self.last.parts).map(|(now, then)| since(now, then));
        let difference = |counter: fn(&Stat) -> Option<u64>| {
            Some(counter(&now.machine)?.saturating_sub(counter(&self.last.machine)?))
        };
        let sample = LoadSample {
            from: self.last.at,
            until: now.at,
            parts: parts.collect(),
            context_switches: difference(Stat::context_switches),
            interrupts: difference(Stat::interrupts),
        };
        self.last = now;
        sample
    }

    /// The parts that ended by themselves since the last call.
    pub fn newly_ended(&mut self) -> Vec<EndedPart> {
        let mut ended = Vec::new();
        let parts = self.helpers.iter_mut().zip(&mut self.is_reported);
        for (helper, is_reported) in parts.filter(|(_, is_reported)| !**is_reported) {
            if let Some(reason) = helper.end_reason() {
                *is_reported = true;
                ended.push(EndedPart {
                    part: helper.part().to_string(),
                    reason,
                    completion_time: helper.completion_time(),
                });
            }
        }
        ended
    }

    /// Whether every part has ended by itself; never when idle.
    pub fn is_over(&self) -> bool {
        !self.is_reported.is_empty() && self.is_reported.iter().all(|is_reported| *is_reported)
    }

    /// Caveats about the running load.
    pub fn caveats(&self) -> Vec<Caveat> {
        let nice = |helper: &LoadHelper| {
            Some(Caveat::LoadNice { load: helper.part().to_string(), nice: helper.unexpected_nice()? })
        };
        self.helpers.iter().filter_map(nice).collect()
    }

    /// Stops the load and reports its effect. `None` if the load is empty.
    pub fn stop(mut self) -> Option<LoadReport> {
        self.report()
    }

    /// Its effect since the start or the reuse. `None` if the load is empty.
    pub fn report(&mut self) -> Option<LoadReport> {
        let now = Snapshot::now(&mut self.helpers);
        let parts = match &self.baseline {
            None => now.parts,
            Some(baseline) => now.parts.iter().zip(baseline).map(|(now, then)| since(now, then)).collect(),
        };
        let cpu = parts.iter().filter_map(|part| part.cpu).fold(Span::ZERO, Span::plus);
        (!self.helpers.is_empty()).then(|| LoadReport {
            cpu,
            elapsed: now.at.since(self.started_at),
            settled: self.settling_time,
            parts,
        })
    }
}

impl Snapshot {
    fn now(helpers: &mut [LoadHelper]) -> Self {
        let parts = helpers.iter_mut().map(LoadHelper::effect).collect();
        Self { parts, machine: Stat::read(&Root::live()), at: clock::now() }
    }
}

/// Effect of a part between two snapshots.
fn since(now: &PartEffect, then: &PartEffect) -> PartEffect {
    PartEffect {
        operations: now.operations.zip(then.operations).map(|(now, then)| now.saturating_sub(then)),
        cpu: now.cpu.zip(then.cpu).map(|(now, then)| now.minus(then)),
        ..now.clone()
    }
}
