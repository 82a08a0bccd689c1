//! The stable names of findings.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which property of the system a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingId {
    /// Which capabilities this process holds.
    Capabilities,
    /// What the kernel reads the time from.
    Clocksource,
    /// That this process runs in a container.
    Container,
    /// Who holds `/dev/cpu_dma_latency`, and at what.
    CpuDmaLatency,
    /// The quota of this process's control group.
    CpuQuota,
    /// Where interrupts go that a driver asks for later.
    DefaultInterruptAffinity,
    /// What the processor prefers, performance or energy.
    EnergyPreference,
    /// What is kept free for normal threads beside real-time ones.
    FairServer,
    /// Who sets CPU frequencies.
    FrequencyGovernor,
    /// Whether graphics processors are switched off when idle.
    GraphicsPower,
    /// Whether timers expire between ticks.
    HighResolutionTimers,
    /// That the machine is virtual.
    Hypervisor,
    /// How deep CPUs sleep when idle.
    IdleStates,
    /// Which CPUs serve interrupts.
    InterruptAffinity,
    /// Which CPUs the scheduler leaves alone.
    IsolatedCpus,
    /// Whether the kernel's own threads may run on isolated CPUs.
    KernelThreads,
    /// What a killed howlate has left changed.
    LeftSettings,
    /// How much memory this process may lock.
    MemoryLock,
    /// What is done against faults of the processor.
    Mitigations,
    /// Which nice values this process may have.
    NicePermission,
    /// Which CPUs go without the tick.
    NohzFull,
    /// Whether pages are moved between NUMA nodes.
    NumaBalancing,
    /// How readily links of PCI Express sleep.
    PcieLinkPower,
    /// Where the kernel can be preempted.
    Preemption,
    /// How much threads wait, all over the machine, now.
    Pressure,
    /// Whether the kernel is a PREEMPT_RT one.
    RealtimeKernel,
    /// Whether rtkit hands out real-time priorities.
    RealtimeKit,
    /// Which real-time priorities this process may have.
    RealtimePermission,
    /// Whether this control group has real-time running time.
    RtGroupScheduling,
    /// How long real-time threads may run.
    RtThrottling,
    /// Whether a filter decides which system calls this process may make.
    Seccomp,
    /// What the service allows that this process is of.
    ServiceLimits,
    /// Whether two CPUs share a core.
    Smt,
    /// How long the hypervisor ran something else.
    Steal,
    /// Whether memory can go to a disk.
    Swap,
    /// How often the tick comes.
    Tick,
    /// Whether timers of idle CPUs expire elsewhere.
    TimerMigration,
    /// How much later than asked timers of this process may expire.
    TimerSlack,
    /// Whether the kernel joins pages.
    TransparentHugePages,
    /// Whether CPUs clock higher for a while.
    Turbo,
    /// Which watchdogs run.
    Watchdogs,
    /// One that this version does not know, of a recording that another has made.
    #[serde(untagged)]
    Other(String),
}

impl FindingId {
    /// The published name.
    pub fn name(&self) -> &str {
        match self {
            Self::Capabilities => "capabilities",
            Self::Clocksource => "clocksource",
            Self::Container => "container",
            Self::CpuDmaLatency => "cpu_dma_latency",
            Self::CpuQuota => "cpu_quota",
            Self::DefaultInterruptAffinity => "default_interrupt_affinity",
            Self::EnergyPreference => "energy_preference",
            Self::FairServer => "fair_server",
            Self::FrequencyGovernor => "frequency_governor",
            Self::GraphicsPower => "graphics_power",
            Self::HighResolutionTimers => "high_resolution_timers",
            Self::Hypervisor => "hypervisor",
            Self::IdleStates => "idle_states",
            Self::InterruptAffinity => "interrupt_affinity",
            Self::IsolatedCpus => "isolated_cpus",
            Self::KernelThreads => "kernel_threads",
            Self::LeftSettings => "left_settings",
            Self::MemoryLock => "memory_lock",
            Self::Mitigations => "mitigations",
            Self::NicePermission => "nice_permission",
            Self::NohzFull => "nohz_full",
            Self::NumaBalancing => "numa_balancing",
            Self::PcieLinkPower => "pcie_link_power",
            Self::Preemption => "preemption",
            Self::Pressure => "pressure",
            Self::RealtimeKernel => "realtime_kernel",
            Self::RealtimeKit => "realtime_kit",
            Self::RealtimePermission => "realtime_permission",
            Self::RtGroupScheduling => "rt_group_scheduling",
            Self::RtThrottling => "rt_throttling",
            Self::Seccomp => "seccomp",
            Self::ServiceLimits => "service_limits",
            Self::Smt => "smt",
            Self::Steal => "steal",
            Self::Swap => "swap",
            Self::Tick => "tick",
            Self::TimerMigration => "timer_migration",
            Self::TimerSlack => "timer_slack",
            Self::TransparentHugePages => "transparent_huge_pages",
            Self::Turbo => "turbo",
            Self::Watchdogs => "watchdogs",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, is_known: bool) {
        let id: FindingId = serde_json::from_value(name.into()).unwrap();
        assert_eq!((id.name(), !matches!(id, FindingId::Other(_))), (name, is_known));
        assert_eq!(serde_json::to_value(&id).unwrap(), name);
    }

    #[test]
    fn names_are_those_of_recordings() {
        let names = [
            "capabilities",
            "clocksource",
            "container",
            "cpu_dma_latency",
            "cpu_quota",
            "default_interrupt_affinity",
            "energy_preference",
            "fair_server",
            "frequency_governor",
            "graphics_power",
            "high_resolution_timers",
            "hypervisor",
            "idle_states",
            "interrupt_affinity",
            "isolated_cpus",
            "kernel_threads",
            "left_settings",
            "memory_lock",
            "mitigations",
            "nice_permission",
            "nohz_full",
            "numa_balancing",
            "pcie_link_power",
            "preemption",
            "pressure",
            "realtime_kernel",
            "realtime_kit",
            "realtime_permission",
            "rt_group_scheduling",
            "rt_throttling",
            "seccomp",
            "service_limits",
            "smt",
            "steal",
            "swap",
            "tick",
            "timer_migration",
            "timer_slack",
            "transparent_huge_pages",
            "turbo",
            "watchdogs",
        ];
        names.iter().for_each(|name| check(name, true));
    }

    #[test]
    fn what_another_version_has_found_is_kept_as_it_is() {
        check("phase_of_the_moon", false);
        check("", false);
    }
}
