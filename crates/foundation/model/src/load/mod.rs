//! Background loads, and what they achieved.

mod effect;
mod kind;
mod parse;
mod quote;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::quote::quoted;
use crate::CpuSet;

pub use effect::{LoadBlock, LoadReport, PartEffect, add_each};
pub use kind::{Hackbench, LoadKind};
pub use parse::{LoadError, LoadList};

/// A background load that conditions are measured under: parts that run side by side.
///
/// Typed and recorded as text, such as `idle`, `pipe:50%` or `cpu+disk:/var/tmp`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Load {
    parts: Vec<LoadPart>,
}

impl Load {
    /// No load by howlate.
    pub const IDLE: Self = Self { parts: Vec::new() };

    /// A load of these parts; idle if there are none.
    pub const fn from_parts(parts: Vec<LoadPart>) -> Self {
        Self { parts }
    }

    /// `cpu`: two normal threads per CPU that never sleep.
    pub fn cpu() -> Self {
        Self::from_parts(vec![LoadPart::new(LoadKind::Cpu)])
    }

    /// `awake`: every CPU kept from idling by a process that gives way to all others.
    pub fn awake() -> Self {
        Self::from_parts(vec![LoadPart::new(LoadKind::Awake)])
    }

    /// Binds parts without CPUs of their own to `cpus`.
    #[must_use]
    pub fn bound_to(mut self, cpus: &CpuSet) -> Self {
        for part in &mut self.parts {
            part.cpus.get_or_insert_with(|| cpus.clone());
        }
        self
    }

    /// The parts, which run concurrently.
    pub fn parts(&self) -> &[LoadPart] {
        &self.parts
    }

    /// Whether howlate applies no load.
    pub const fn is_idle(&self) -> bool {
        self.parts.is_empty()
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_idle() {
            return f.pad("idle");
        }
        let parts: Vec<String> = self.parts.iter().map(LoadPart::to_string).collect();
        f.pad(&parts.join("+"))
    }
}

impl From<Load> for String {
    fn from(load: Load) -> Self {
        load.to_string()
    }
}

/// One part of a load.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadPart {
    pub kind: LoadKind,
    /// Share of the time that it works.
    pub intensity: Intensity,
    /// Number of concurrent workers; `None` for the load's default.
    pub workers: Option<u32>,
    /// CPUs of the workers; `None` for all that howlate may use.
    pub cpus: Option<CpuSet>,
}

impl LoadPart {
    /// A part at full intensity with the default number of workers.
    pub const fn new(kind: LoadKind) -> Self {
        Self { kind, intensity: Intensity::FULL, workers: None, cpus: None }
    }
}

impl fmt::Display for LoadPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if self.intensity != Intensity::FULL {
            write!(f, ":{}%", self.intensity.percent())?;
        }
        if let Some(workers) = self.workers {
            write!(f, ":workers={workers}")?;
        }
        match &self.cpus {
            Some(cpus) => write!(f, ":{}", quoted(&format!("cpus={cpus}"))),
            None => Ok(()),
        }
    }
}

/// How much of the time each worker of a load works: 1 % to 100 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Intensity(u8);

impl Intensity {
    pub const FULL: Self = Self(100);

    /// `percent` of the time, if that is from 1 to 100.
    pub fn new(percent: u8) -> Option<Self> {
        (1..=100).contains(&percent).then_some(Self(percent))
    }

    /// Share of each CPU that it takes, percent.
    pub const fn percent(self) -> u8 {
        self.0
    }
}

#[cfg(test)]
mod tests;
