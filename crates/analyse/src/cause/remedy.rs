//! What doctor found that bears on a cause.

use howlate_model::FindingId::{
    self, CpuDmaLatency, CpuQuota, FairServer, Hypervisor, IdleStates, InterruptAffinity, IsolatedCpus,
    MemoryLock, Mitigations, NicePermission, NohzFull, NumaBalancing, Preemption, RealtimeKernel,
    RealtimePermission, RtGroupScheduling, RtThrottling, Steal, Swap, TimerMigration, TimerSlack,
    TransparentHugePages,
};
use howlate_model::{CauseKind, Finding, Remedy, Verdict};

use super::{Why, WhyRemedy};

/// The findings that bear on each kind of cause, the nearest first.
const BEARING: &[(CauseKind, &[FindingId])] = &[
    (CauseKind::TimerSlack, &[TimerSlack]),
    (CauseKind::IdleExit, &[IdleStates, CpuDmaLatency, Steal, Hypervisor]),
    (CauseKind::Interrupt, &[InterruptAffinity]),
    (CauseKind::Softirq, &[InterruptAffinity, IsolatedCpus]),
    (CauseKind::Thread, &[RtGroupScheduling, RealtimePermission, IsolatedCpus, NicePermission]),
    (CauseKind::OtherTimers, &[TimerMigration, NohzFull]),
    (CauseKind::Throttled, &[CpuQuota]),
    (CauseKind::RtThrottled, &[RtThrottling, FairServer, RtGroupScheduling]),
    (CauseKind::PageFault, &[MemoryLock, Swap, TransparentHugePages, NumaBalancing]),
    (CauseKind::Hypervisor, &[Steal, Hypervisor]),
    (CauseKind::Undetermined, &[Steal, Hypervisor]),
    (CauseKind::Kernel, &[RealtimeKernel, Preemption, Mitigations]),
];

/// The nearest finding that says what to do about causes of this kind. `None` where doctor found nothing to be done.
pub fn remedy(kind: CauseKind, findings: &[Finding]) -> Option<&Finding> {
    let bearing = BEARING.iter().find(|(of, _)| *of == kind)?.1;
    bearing.iter().find_map(|id| findings.iter().find(|one| &one.id == id && helps(one)))
}

impl Why {
    /// The same, with the nearest of `findings` beside each cause that something can be done about.
    #[must_use]
    pub fn with_remedies(mut self, findings: &[Finding]) -> Self {
        for cause in &mut self.causes {
            cause.remedy = remedy(cause.kind, findings).map(beside);
        }
        self
    }
}

fn beside(finding: &Finding) -> WhyRemedy {
    let Remedy { apply, undo } = finding.remedy.clone().unwrap_or_default();
    WhyRemedy { finding: finding.id.clone(), found: finding.found.clone(), apply, undo }
}

/// What is as it should be, or was not read, needs nothing done.
fn helps(finding: &Finding) -> bool {
    let says = finding.remedy.as_ref().is_some_and(|remedy| !remedy.apply.is_empty());
    says && !matches!(finding.verdict, Verdict::Good | Verdict::Unknown)
}

#[cfg(test)]
mod tests {
    use howlate_model::{Cause, Explained, Latency, Ledger, MonotonicTime, Part, Segment, Span};

    use super::*;

    fn finding(id: FindingId, verdict: Verdict, apply: &[&str]) -> Finding {
        let apply = apply.iter().map(|text| (*text).to_owned()).collect();
        let remedy = Some(Remedy { apply, undo: Vec::new() });
        let (found, why) = (String::new(), String::new());
        Finding { id, verdict, found, evidence: Vec::new(), why, cost: None, remedy }
    }

    #[test]
    fn the_nearest_finding_that_can_be_acted_on_is_the_remedy() {
        let all = [
            finding(IsolatedCpus, Verdict::Note, &["isolcpus=1"]),
            finding(RealtimePermission, Verdict::Blocks, &["ulimit -r 80"]),
            finding(TimerSlack, Verdict::Good, &["nothing"]),
            finding(CpuQuota, Verdict::Costs, &[]),
        ];
        let id = |kind| remedy(kind, &all).map(|one| one.id.clone());
        assert_eq!(id(CauseKind::Thread), Some(RealtimePermission));
        assert_eq!(id(CauseKind::Softirq), Some(IsolatedCpus));
        assert_eq!(id(CauseKind::TimerSlack), None, "it is as it should be");
        assert_eq!(id(CauseKind::Throttled), None, "it says nothing to type");
        assert_eq!(id(CauseKind::LateArming), None, "that is the program's own");
    }

    #[test]
    fn a_remedy_stands_beside_the_causes_that_it_bears_on() {
        let part = |kind, ns| {
            let cause = Cause { part: Part::Waiting, kind, name: String::new() };
            Segment { cause, pid: None, from: MonotonicTime::default(), ns: Span::from_nanos(ns) }
        };
        let parts = vec![part(CauseKind::Thread, 70), part(CauseKind::LateArming, 30)];
        let (at, latency) = (MonotonicTime::default(), Latency::from_nanos(100));
        let mut ledger = Ledger::default();
        ledger.add(&Explained { at, latency, cpu: None, parts });
        let findings = [finding(RealtimePermission, Verdict::Blocks, &["ulimit -r 80"])];
        let why = Why::from_ledger(&ledger, "bpf", Some(Span::ZERO), None).with_remedies(&findings);
        let told: Vec<_> = why.causes.iter().map(|one| one.remedy.as_ref()).collect();
        let beside = told[0].unwrap();
        assert_eq!(
            (&beside.finding, &beside.apply[..]),
            (&RealtimePermission, &["ulimit -r 80".to_owned()][..])
        );
        assert_eq!(told[1], None);
    }
}
