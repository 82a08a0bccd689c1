//! What doctor found that bears on a cause.

use howlate_model::{Finding, Kind, Verdict};

/// The findings that bear on each kind of cause, by their stable names, the nearest first.
const BEARING: &[(Kind, &[&str])] = &[
    (Kind::TimerSlack, &["timer_slack"]),
    (Kind::IdleExit, &["idle_states", "cpu_dma_latency", "steal", "hypervisor"]),
    (Kind::Interrupt, &["interrupt_affinity"]),
    (Kind::Softirq, &["interrupt_affinity", "isolated_cpus"]),
    (Kind::Thread, &["rt_group_scheduling", "realtime_permission", "isolated_cpus", "nice_permission"]),
    (Kind::OtherTimers, &["timer_migration", "nohz_full"]),
    (Kind::Throttled, &["cpu_quota"]),
    (Kind::RtThrottled, &["rt_throttling", "fair_server", "rt_group_scheduling"]),
    (Kind::PageFault, &["memory_lock", "swap", "transparent_huge_pages", "numa_balancing"]),
    (Kind::Hypervisor, &["steal", "hypervisor"]),
    (Kind::Undetermined, &["steal", "hypervisor"]),
    (Kind::Kernel, &["realtime_kernel", "preemption", "mitigations"]),
];

/// The nearest finding that says what to do about causes of this kind. `None` where doctor found nothing to be done.
pub fn remedy(kind: Kind, findings: &[Finding]) -> Option<&Finding> {
    let bearing = BEARING.iter().find(|(of, _)| *of == kind)?.1;
    bearing.iter().find_map(|id| findings.iter().find(|one| one.id == *id && helps(one)))
}

/// What is as it should be, or was not read, needs nothing done.
fn helps(finding: &Finding) -> bool {
    let says = finding.remedy.as_ref().is_some_and(|remedy| !remedy.apply.is_empty());
    says && !matches!(finding.verdict, Verdict::Good | Verdict::Unknown)
}

#[cfg(test)]
mod tests {
    use howlate_model::Remedy;

    use super::*;

    fn finding(id: &str, verdict: Verdict, apply: &[&str]) -> Finding {
        let apply = apply.iter().map(|text| (*text).to_owned()).collect();
        let remedy = Some(Remedy { apply, undo: Vec::new() });
        let (found, why) = (String::new(), String::new());
        Finding { id: id.into(), verdict, found, evidence: Vec::new(), why, cost: None, remedy }
    }

    #[test]
    fn the_nearest_finding_that_can_be_acted_on_is_the_remedy() {
        let all = [
            finding("isolated_cpus", Verdict::Note, &["isolcpus=1"]),
            finding("realtime_permission", Verdict::Blocks, &["ulimit -r 80"]),
            finding("timer_slack", Verdict::Good, &["nothing"]),
            finding("cpu_quota", Verdict::Costs, &[]),
        ];
        let id = |kind| remedy(kind, &all).map(|one| one.id.as_str());
        assert_eq!(id(Kind::Thread), Some("realtime_permission"));
        assert_eq!(id(Kind::Softirq), Some("isolated_cpus"));
        assert_eq!(id(Kind::TimerSlack), None, "it is as it should be");
        assert_eq!(id(Kind::Throttled), None, "it says nothing to type");
        assert_eq!(id(Kind::LateArming), None, "that is the program's own");
    }
}
