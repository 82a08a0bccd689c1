//! A load under way.

use howlate_linux::clock;
use howlate_model::{Caveat, Load, LoadReport, MonotonicTime, PartEffect, Span};
use howlate_procfs::{Root, Stat};

use crate::duty_cycle::CYCLE;
use crate::error::StartError;
use crate::helper::Helper;

/// How often it is looked whether a load has come to its pace: at work and rest of several cycles.
const LOOK_EVERY: Span = CYCLE.times(4);
/// A load that is not steady after this long never is.
const MOST_TO_SETTLE: Span = Span::from_secs(1);

/// A load that runs until it is stopped or dropped.
pub struct Running {
    helpers: Vec<Helper>,
    /// When it began, or went on for another turn.
    began: MonotonicTime,
    /// What each part had done by then; `None` where it began with nothing.
    before: Option<Vec<PartEffect>>,
    /// How long it was given to settle.
    settled: Option<Span>,
    last: Moment,
    /// Parts whose end was told already.
    told: Vec<bool>,
}

/// What had been done at one moment.
struct Moment {
    at: MonotonicTime,
    parts: Vec<PartEffect>,
    kernel: Stat,
}

/// What was done from one moment to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The earlier moment.
    pub from: MonotonicTime,
    /// The later moment.
    pub until: MonotonicTime,
    /// What each part did.
    pub parts: Vec<PartEffect>,
    /// Context switches of the whole machine, where the kernel tells.
    pub context_switches: Option<u64>,
    /// Interrupts of the whole machine, where the kernel tells.
    pub interrupts: Option<u64>,
}

/// A part that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The part, as typed.
    pub part: String,
    /// What it said last, or how it ended.
    pub words: String,
    /// How long it took, when it did all that it had to do; `None` when it failed.
    pub took: Option<Span>,
}

impl Running {
    /// Starts `load`; returns when every part has begun.
    ///
    /// # Errors
    ///
    /// When a part cannot be started; the others are ended.
    pub fn start(load: &Load) -> Result<Self, StartError> {
        let mut helpers = load.parts().iter().map(Helper::start).collect::<Result<Vec<_>, _>>()?;
        let last = Moment::now(&mut helpers);
        let told = vec![false; helpers.len()];
        Ok(Self { began: last.at, before: None, settled: None, helpers, last, told })
    }

    /// Waits until every part has come to its pace, as its own counters show: what a load does when it begins is not what
    /// it does. Gives up after a second, as some are never steady. Samples begin anew.
    #[must_use]
    pub fn settled(mut self) -> Self {
        let give_up = self.began.plus(MOST_TO_SETTLE);
        while self.are_beginning() && clock::now() < give_up {
            // A signal that ends the pause only makes the look come earlier.
            drop(clock::sleep_for(LOOK_EVERY));
        }
        self.last = Moment::now(&mut self.helpers);
        self.settled = Some(self.last.at.since(self.began));
        self
    }

    /// The same load, at the pace that it has, for another turn: what is told of it begins anew. `None`, and it is ended, where
    /// a part has ended by itself.
    #[must_use]
    pub fn going_on(mut self) -> Option<Self> {
        if self.helpers.iter_mut().any(|helper| helper.how_ended().is_some()) {
            return None;
        }
        self.last = Moment::now(&mut self.helpers);
        (self.began, self.settled) = (self.last.at, Some(Span::ZERO));
        self.before = Some(self.last.parts.clone());
        Some(self)
    }

    /// Whether any part has not come to its pace. All are looked at, so that the time between two looks is the same.
    fn are_beginning(&mut self) -> bool {
        let steady = self.helpers.iter_mut().map(Helper::is_steady).filter(|steady| *steady).count();
        steady < self.helpers.len()
    }

    /// What was done since the last sample, or since the start.
    pub fn sample(&mut self) -> Sample {
        let now = Moment::now(&mut self.helpers);
        let parts = now.parts.iter().zip(&self.last.parts).map(|(now, then)| since(now, then));
        let added =
            |of: fn(&Stat) -> Option<u64>| Some(of(&now.kernel)?.saturating_sub(of(&self.last.kernel)?));
        let sample = Sample {
            from: self.last.at,
            until: now.at,
            parts: parts.collect(),
            context_switches: added(Stat::context_switches),
            interrupts: added(Stat::interrupts),
        };
        self.last = now;
        sample
    }

    /// The parts that ended by themselves since this was asked last.
    pub fn ended(&mut self) -> Vec<Ended> {
        let mut ended = Vec::new();
        for (helper, told) in self.helpers.iter_mut().zip(&mut self.told).filter(|(_, told)| !**told) {
            if let Some(words) = helper.how_ended() {
                *told = true;
                ended.push(Ended { part: helper.part().to_string(), words, took: helper.took() });
            }
        }
        ended
    }

    /// Whether every part has ended by itself; never when idle.
    pub fn is_over(&self) -> bool {
        !self.told.is_empty() && self.told.iter().all(|told| *told)
    }

    /// What is not as it should be with a load that runs.
    pub fn caveats(&self) -> Vec<Caveat> {
        let nice = |helper: &Helper| {
            Some(Caveat::LoadNice { load: helper.part().to_string(), nice: helper.unwanted_nice()? })
        };
        self.helpers.iter().filter_map(nice).collect()
    }

    /// Ends it; tells what it did. `None` when there was none.
    pub fn stop(mut self) -> Option<LoadReport> {
        self.report()
    }

    /// What it did since it began, or went on. `None` when there is none.
    pub fn report(&mut self) -> Option<LoadReport> {
        let now = Moment::now(&mut self.helpers);
        let parts = match &self.before {
            None => now.parts,
            Some(before) => now.parts.iter().zip(before).map(|(now, then)| since(now, then)).collect(),
        };
        let cpu = parts.iter().filter_map(|part| part.cpu).fold(Span::ZERO, Span::plus);
        (!self.helpers.is_empty()).then(|| LoadReport {
            cpu,
            elapsed: now.at.since(self.began),
            settled: self.settled,
            parts,
        })
    }
}

impl Moment {
    fn now(helpers: &mut [Helper]) -> Self {
        let parts = helpers.iter_mut().map(Helper::effect).collect();
        Self { parts, kernel: Stat::read(&Root::live()), at: clock::now() }
    }
}

/// What a part did between two moments.
fn since(now: &PartEffect, then: &PartEffect) -> PartEffect {
    PartEffect {
        operations: now.operations.zip(then.operations).map(|(now, then)| now.saturating_sub(then)),
        cpu: now.cpu.zip(then.cpu).map(|(now, then)| now.minus(then)),
        ..now.clone()
    }
}
