//! The choice of a tracer: the best that the machine allows, or one by name.

use std::fmt;
use std::str::FromStr;

use howlate_model::{Caveat, TracerRefusal};

use crate::{MissingEvent, Tier, Tracer};

/// The tracer that the user chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The best available one.
    #[default]
    Auto,
    /// This one, or an error.
    Only(Tier),
    /// No tracer.
    None,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Only(tier) => tier.name(),
            Self::None => "none",
        })
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            _ => match Tier::ALL.into_iter().find(|tier| tier.name() == text) {
                Some(tier) => Ok(Self::Only(tier)),
                None => {
                    let all = Tier::ALL.map(Tier::name).join(", ");
                    Err(format!("unknown tracer `{text}`; write auto, {all} or none"))
                }
            },
        }
    }
}

/// The tracer, if one is available, and why better ones are not.
#[derive(Default)]
pub struct Opened {
    /// Not started yet.
    pub tracer: Option<Box<dyn Tracer>>,
    /// Better tracers that are not available.
    pub refused: Vec<(Tier, TracerRefusal)>,
}

impl Opened {
    /// About tracers that are not available, and about events that this one lacks.
    pub fn caveats(&self) -> Vec<Caveat> {
        let refused = self.refused.iter().map(|(tier, reason)| Caveat::TracerRefused {
            tracer: tier.name().to_owned(),
            reason: reason.clone().into(),
        });
        let missing_caveats = |tracer: &'_ dyn Tracer| -> Vec<Caveat> {
            let goes_without = |missing: &MissingEvent| Caveat::TracerGoesWithout {
                tracer: tracer.tier().name().to_owned(),
                event: missing.event.to_owned(),
                costs: missing.costs.into(),
            };
            tracer.missing_events().iter().map(goes_without).collect()
        };
        refused.chain(self.tracer.as_deref().map(missing_caveats).unwrap_or_default()).collect()
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tier = self.tracer.as_ref().map(|tracer| tracer.tier());
        f.debug_struct("Opened").field("tracer", &tier).field("refused", &self.refused).finish()
    }
}

/// Opens a tracer of at most four `processes`, by their ids in this PID namespace.
pub fn open(choice: Choice, processes: &[u32]) -> Opened {
    let tiers: &[Tier] = match &choice {
        Choice::Auto => &Tier::ALL,
        Choice::Only(tier) => std::slice::from_ref(tier),
        Choice::None => &[],
    };
    let mut opened = Opened::default();
    for tier in tiers {
        match open_tier(*tier, processes) {
            Ok(tracer) => {
                log::debug!("tracer {}: opened", tier.name());
                opened.tracer = Some(tracer);
                break;
            }
            Err(refusal) => {
                log::debug!("tracer {}: {refusal}", tier.name());
                opened.refused.push((*tier, refusal));
            }
        }
    }
    opened
}

fn open_tier(tier: Tier, processes: &[u32]) -> Result<Box<dyn Tracer>, TracerRefusal> {
    match tier {
        #[cfg(target_endian = "little")]
        Tier::Bpf => Ok(Box::new(crate::bpf::Bpf::open(processes, &[])?)),
        #[cfg(not(target_endian = "little"))]
        Tier::Bpf => Err(TracerRefusal::Processor),
        #[cfg(target_endian = "little")]
        Tier::Tracefs => Ok(Box::new(crate::tracefs::Tracefs::open(processes, &[])?)),
        #[cfg(not(target_endian = "little"))]
        Tier::Tracefs => Err(TracerRefusal::Processor),
        Tier::Switches => Ok(Box::new(crate::switches::Switches::open()?)),
    }
}

/// Why the chosen tracer is not available.
#[derive(Debug, thiserror::Error)]
#[error("the {tier} tracer is not available: {refusal}")]
pub struct TracerMissing {
    pub tier: Tier,
    pub refusal: TracerRefusal,
}

/// As [`open`], but an error if a tracer was chosen by name and is not available.
///
/// # Errors
///
/// When the chosen tracer is not available. With [`Choice::Auto`], having none at all is no error.
pub fn open_chosen(choice: Choice, processes: &[u32]) -> Result<Opened, TracerMissing> {
    let opened = open(choice, processes);
    match (choice, opened.refused.first()) {
        (Choice::Only(tier), Some((_, refusal))) => Err(TracerMissing { tier, refusal: refusal.clone() }),
        _ => Ok(opened),
    }
}

/// Removes trace instances that a killed howlate left behind.
pub fn remove_leftovers() {
    #[cfg(target_endian = "little")]
    crate::tracefs::remove_leftovers();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracers_are_chosen_by_name() {
        assert_eq!("auto".parse(), Ok(Choice::Auto));
        assert_eq!("bpf".parse(), Ok(Choice::Only(Tier::Bpf)));
        assert_eq!("switches".parse(), Ok(Choice::Only(Tier::Switches)));
        assert_eq!("none".parse(), Ok(Choice::None));
        assert!("dtrace".parse::<Choice>().unwrap_err().contains("auto"));
    }

    #[test]
    fn none_opens_nothing_and_refuses_nothing() {
        let opened = open(Choice::None, &[1]);
        assert!(opened.tracer.is_none() && opened.refused.is_empty());
    }
}
