//! Knobs that take a restart: named, never tried.

pub(crate) mod core_to_isolate;
mod idle_poll;
mod isolcpus;
mod mitigations;
pub mod nohz_full;
mod rcu_nocbs;
mod threadirqs;

use crate::knob::Knob;

/// All of them, in the order in which they are listed.
pub(crate) const ALL: &[&Knob] = &[
    &isolcpus::KNOB,
    &nohz_full::KNOB,
    &rcu_nocbs::KNOB,
    &threadirqs::KNOB,
    &idle_poll::KNOB,
    &mitigations::KNOB,
];
