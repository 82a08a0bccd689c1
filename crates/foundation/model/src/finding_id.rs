//! The stable names of findings.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which property of the system a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingId {
    /// What was asked for at boot and has no effect.
    BootParameters,
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
    /// Whether the kernel was built to find faults of its own.
    DebugKernel,
    /// Where interrupts go that a driver asks for later.
    DefaultInterruptAffinity,
    /// What the processor prefers, performance or energy.
    EnergyPreference,
    /// What is kept free for normal threads beside real-time ones.
    FairServer,
    /// Who sets CPU frequencies.
    FrequencyGovernor,
    /// Whether CPUs are kept below what they can do.
    FrequencyLimit,
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
    /// Whether faults of the hardware are reported.
    MachineChecks,
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
    /// What the firmware is told to prefer, performance or silence.
    PlatformProfile,
    /// Where the kernel can be preempted.
    Preemption,
    /// How much threads wait, all over the machine, now.
    Pressure,
    /// Whether callbacks of RCU run on isolated CPUs.
    RcuCallbacks,
    /// Whether the kernel is a PREEMPT_RT one.
    RealtimeKernel,
    /// Whether rtkit hands out real-time priorities.
    RealtimeKit,
    /// Which real-time priorities this process may have.
    RealtimePermission,
    /// How long a real-time thread may compute before its program is ended.
    RealtimeTime,
    /// Whether packets that came in are handled on isolated CPUs.
    ReceiveSteering,
    /// Whether this control group has real-time running time.
    RtGroupScheduling,
    /// How long real-time threads may run.
    RtThrottling,
    /// Whether equal pages of several programs are merged.
    SamePageMerging,
    /// Whether a scheduler of BPF schedules normal threads.
    SchedExt,
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
    /// Whether heat or a weak supply has slowed CPUs down.
    ThermalThrottling,
    /// How often the tick comes.
    Tick,
    /// Whether timers of idle CPUs expire elsewhere.
    TimerMigration,
    /// How much later than asked timers of this process may expire.
    TimerSlack,
    /// Whether the kernel traces itself.
    Tracer,
    /// Whether the kernel joins pages.
    TransparentHugePages,
    /// Which programs set the machine's settings again.
    TuningDaemons,
    /// Whether CPUs clock higher for a while.
    Turbo,
    /// Whether sound and serial devices on USB are put to sleep.
    UsbPower,
    /// How long serial adapters on USB keep what they have received.
    UsbSerialLatency,
    /// Which watchdogs run.
    Watchdogs,
    /// One that this version does not know, of a recording that another has made.
    #[serde(untagged)]
    Other(String),
}

impl FindingId {
    /// The name used in recordings.
    pub fn name(&self) -> &str {
        match self {
            Self::BootParameters => "boot_parameters",
            Self::Capabilities => "capabilities",
            Self::Clocksource => "clocksource",
            Self::Container => "container",
            Self::CpuDmaLatency => "cpu_dma_latency",
            Self::CpuQuota => "cpu_quota",
            Self::DebugKernel => "debug_kernel",
            Self::DefaultInterruptAffinity => "default_interrupt_affinity",
            Self::EnergyPreference => "energy_preference",
            Self::FairServer => "fair_server",
            Self::FrequencyGovernor => "frequency_governor",
            Self::FrequencyLimit => "frequency_limit",
            Self::GraphicsPower => "graphics_power",
            Self::HighResolutionTimers => "high_resolution_timers",
            Self::Hypervisor => "hypervisor",
            Self::IdleStates => "idle_states",
            Self::InterruptAffinity => "interrupt_affinity",
            Self::IsolatedCpus => "isolated_cpus",
            Self::KernelThreads => "kernel_threads",
            Self::LeftSettings => "left_settings",
            Self::MachineChecks => "machine_checks",
            Self::MemoryLock => "memory_lock",
            Self::Mitigations => "mitigations",
            Self::NicePermission => "nice_permission",
            Self::NohzFull => "nohz_full",
            Self::NumaBalancing => "numa_balancing",
            Self::PcieLinkPower => "pcie_link_power",
            Self::PlatformProfile => "platform_profile",
            Self::Preemption => "preemption",
            Self::Pressure => "pressure",
            Self::RcuCallbacks => "rcu_callbacks",
            Self::RealtimeKernel => "realtime_kernel",
            Self::RealtimeKit => "realtime_kit",
            Self::RealtimePermission => "realtime_permission",
            Self::RealtimeTime => "realtime_time",
            Self::ReceiveSteering => "receive_steering",
            Self::RtGroupScheduling => "rt_group_scheduling",
            Self::RtThrottling => "rt_throttling",
            Self::SamePageMerging => "same_page_merging",
            Self::SchedExt => "sched_ext",
            Self::Seccomp => "seccomp",
            Self::ServiceLimits => "service_limits",
            Self::Smt => "smt",
            Self::Steal => "steal",
            Self::Swap => "swap",
            Self::ThermalThrottling => "thermal_throttling",
            Self::Tick => "tick",
            Self::TimerMigration => "timer_migration",
            Self::TimerSlack => "timer_slack",
            Self::Tracer => "tracer",
            Self::TransparentHugePages => "transparent_huge_pages",
            Self::TuningDaemons => "tuning_daemons",
            Self::Turbo => "turbo",
            Self::UsbPower => "usb_power",
            Self::UsbSerialLatency => "usb_serial_latency",
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
            "boot_parameters",
            "capabilities",
            "clocksource",
            "container",
            "cpu_dma_latency",
            "cpu_quota",
            "debug_kernel",
            "default_interrupt_affinity",
            "energy_preference",
            "fair_server",
            "frequency_governor",
            "frequency_limit",
            "graphics_power",
            "high_resolution_timers",
            "hypervisor",
            "idle_states",
            "interrupt_affinity",
            "isolated_cpus",
            "kernel_threads",
            "left_settings",
            "machine_checks",
            "memory_lock",
            "mitigations",
            "nice_permission",
            "nohz_full",
            "numa_balancing",
            "pcie_link_power",
            "platform_profile",
            "preemption",
            "pressure",
            "rcu_callbacks",
            "realtime_kernel",
            "realtime_kit",
            "realtime_permission",
            "realtime_time",
            "receive_steering",
            "rt_group_scheduling",
            "rt_throttling",
            "same_page_merging",
            "sched_ext",
            "seccomp",
            "service_limits",
            "smt",
            "steal",
            "swap",
            "thermal_throttling",
            "tick",
            "timer_migration",
            "timer_slack",
            "tracer",
            "transparent_huge_pages",
            "tuning_daemons",
            "turbo",
            "usb_power",
            "usb_serial_latency",
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
