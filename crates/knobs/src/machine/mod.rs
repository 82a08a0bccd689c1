//! Knobs of the machine while it runs: files of the kernel, put back afterwards.

mod autogroup;
mod boost;
mod clocksource;
mod compaction;
mod cpu_dma_latency;
mod cpuset_isolation;
mod energy_preference;
mod fair_server;
mod frequency_governor;
mod halt_polling;
mod housekeeping;
mod idle_governor;
mod idle_states;
mod irq_affinity;
mod numa_balancing;
mod preemption_model;
mod receive_steering;
mod resume_latency;
mod rt_throttling;
mod same_page_merging;
mod smt;
mod stat_interval;
mod swappiness;
mod timer_migration;
mod transparent_huge_pages;
mod watchdogs;
mod workqueue_cpus;

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
