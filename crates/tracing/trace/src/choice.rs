//! Which tracer: the best that the machine allows, or the one that was asked for.

use std::fmt;
use std::str::FromStr;

use howlate_model::{Caveat, TracerRefusal};

use crate::{Gap, Tier, Tracer};

/// What was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The best that can be had.
    #[default]
    Auto,
    /// This one or none.
    Only(Tier),
    /// None is wanted.
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

/// A tracer, if there is one, and why better ones are not.
#[derive(Default)]
pub struct Opened {
    /// Ready, not started yet.
    pub tracer: Option<Box<dyn Tracer>>,
    /// Those that were tried and could not be had.
    pub refused: Vec<(Tier, TracerRefusal)>,
}

impl Opened {
    /// What is to be said of those that cannot be had, and of the one that can.
    pub fn caveats(&self) -> Vec<Caveat> {
        let refused = self.refused.iter().map(|(tier, reason)| Caveat::TracerRefused {
            tracer: tier.name().to_owned(),
            reason: reason.clone().into(),
        });
        let of = |tracer: &'_ dyn Tracer| -> Vec<Caveat> {
            let goes_without = |gap: &Gap| Caveat::TracerGoesWithout {
                tracer: tracer.tier().name().to_owned(),
                event: gap.event.to_owned(),
                costs: gap.costs.into(),
            };
            tracer.gaps().iter().map(goes_without).collect()
        };
        refused.chain(self.tracer.as_deref().map(of).unwrap_or_default()).collect()
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tier = self.tracer.as_ref().map(|tracer| tracer.tier());
        f.debug_struct("Opened").field("tracer", &tier).field("refused", &self.refused).finish()
    }
}

/// Opens a tracer that watches `processes`: by their ids as this process sees them, four at most.
pub fn open(choice: Choice, processes: &[u32]) -> Opened {
    let tiers: &[Tier] = match &choice {
        Choice::Auto => &Tier::ALL,
        Choice::Only(tier) => std::slice::from_ref(tier),
        Choice::None => &[],
    };
    let mut opened = Opened::default();
    for tier in tiers {
        match try_one(*tier, processes) {
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

fn try_one(tier: Tier, processes: &[u32]) -> Result<Box<dyn Tracer>, TracerRefusal> {
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

/// Removes what a killed howlate has left in the kernel.
pub fn clear_up() {
    #[cfg(target_endian = "little")]
    crate::tracefs::clear_up();
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
