//! Periods of known activities of Linux.

use howlate_model::{Policy, Span, System};
use schemars::JsonSchema;
use serde::Serialize;

/// Largest relative difference between a period found and a known one.
const TOLERANCE: f64 = 0.01;

/// Something of the kernel that comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnownPeriod {
    /// What it is.
    pub what: Periodic,
    /// How long it takes until it comes again.
    #[serde(rename = "period_ns")]
    pub period: Span,
}

/// What comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Periodic {
    /// The tick of each CPU.
    Tick,
    /// The period of the fair server and of real-time throttling: `sched_rt_period_us`.
    RtPeriod,
    /// Statistics of virtual memory: `vm.stat_interval`, `mm/vmstat.c`.
    VmStatistics,
    /// The clock source is checked: `WATCHDOG_INTERVAL`, `kernel/time/clocksource.c`.
    ClockSource,
    /// The lockup watchdog: `watchdog_thresh` · 2 / 5, `kernel/watchdog.c`.
    LockupWatchdog,
    /// Memory is written back: `vm.dirty_writeback_centisecs`.
    WriteBack,
    /// Control groups' quotas: `cpu.max`, 100 ms where nobody changes it. Real-time threads have none.
    Quota,
    /// The same of the host, for all that this guest does.
    HostQuota,
    /// Something once a minute: timers of systemd, cron.
    Minute,
}

/// Default of `cpu.max` and `cpu.cfs_period_us`.
const QUOTA: Span = Span::from_millis(100);

const SECOND: Span = Span::from_secs(1);

/// The periods of this machine; Linux's defaults where it does not say.
pub(super) fn periods_of(system: &System) -> Vec<KnownPeriod> {
    let tick =
        system.tick_hz.filter(|hz| *hz > 0).map(|hz| Span::from_nanos(SECOND.as_nanos() / u64::from(hz)));
    let tick = tick.map(|period| (Periodic::Tick, period));
    let usual = [
        (Periodic::Quota, QUOTA),
        (Periodic::ClockSource, Span::from_millis(500)),
        (Periodic::RtPeriod, SECOND),
        (Periodic::VmStatistics, SECOND),
        (Periodic::LockupWatchdog, Span::from_secs(4)),
        (Periodic::WriteBack, Span::from_secs(5)),
        (Periodic::Minute, Span::from_secs(60)),
    ];
    let host_quota = system.hypervisor.is_some().then_some((Periodic::HostQuota, QUOTA));
    tick.into_iter()
        .chain(usual)
        .chain(host_quota)
        .map(|(what, period)| KnownPeriod { what, period })
        .collect()
}

/// Known activities with this period, in nanoseconds, that can delay a thread with this policy.
pub(super) fn near(candidates: &[KnownPeriod], period: f64, policy: Policy) -> Vec<KnownPeriod> {
    // Source: kernel/sched/fair.c: quotas are of the fair class.
    let concerns = |candidate: &&KnownPeriod| candidate.what != Periodic::Quota || !policy.is_realtime();
    let is_near =
        |candidate: &&KnownPeriod| (candidate.period.as_nanos() as f64 / period - 1.0).abs() <= TOLERANCE;
    candidates.iter().filter(is_near).filter(concerns).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_holds_up_no_realtime_thread_but_that_of_the_host_does() {
        let found = |hypervisor: Option<&str>, policy: &str| {
            let system = System { hypervisor: hypervisor.map(str::to_owned), ..System::default() };
            let near = near(&periods_of(&system), 100.2e6, policy.parse().unwrap());
            near.iter().map(|candidate| candidate.what).collect::<Vec<_>>()
        };
        assert_eq!(found(None, "other"), [Periodic::Quota]);
        assert_eq!(found(None, "fifo:80"), []);
        assert_eq!(found(Some("kvm"), "fifo:80"), [Periodic::HostQuota]);
        assert_eq!(found(Some("kvm"), "other"), [Periodic::Quota, Periodic::HostQuota]);
    }
}
