//! Knobs of the machine while it runs: files of the kernel, put back afterwards.

pub mod autogroup;
pub mod boost;
pub mod clocksource;
mod compaction;
mod cpu_dma_latency;
mod cpuset_isolation;
pub mod energy_preference;
pub mod fair_server;
pub mod frequency_governor;
mod halt_polling;
pub(crate) mod housekeeping;
mod idle_governor;
pub mod idle_states;
pub mod irq_affinity;
pub mod numa_balancing;
pub mod preemption_model;
pub mod receive_steering;
mod resume_latency;
pub mod rt_throttling;
pub mod same_page_merging;
pub mod smt;
mod stat_interval;
pub mod swappiness;
pub mod timer_migration;
pub mod transparent_huge_pages;
pub mod watchdogs;
pub mod workqueue_cpus;

use crate::knob::Knob;

/// All of them, in the order in which they are listed.
pub(crate) const ALL: &[&Knob] = &[
    &cpu_dma_latency::KNOB,
    &resume_latency::KNOB,
    &idle_states::KNOB,
    &idle_governor::KNOB,
    &frequency_governor::KNOB,
    &energy_preference::KNOB,
    &boost::KNOB,
    &preemption_model::KNOB,
    &rt_throttling::KNOB,
    &fair_server::KNOB,
    &timer_migration::KNOB,
    &irq_affinity::KNOB,
    &receive_steering::KNOB,
    &workqueue_cpus::KNOB,
    &watchdogs::KNOB,
    &numa_balancing::KNOB,
    &same_page_merging::KNOB,
    &transparent_huge_pages::KNOB,
    &compaction::KNOB,
    &swappiness::KNOB,
    &stat_interval::KNOB,
    &smt::KNOB,
    &cpuset_isolation::KNOB,
    &autogroup::KNOB,
    &clocksource::KNOB,
    &halt_polling::KNOB,
];
