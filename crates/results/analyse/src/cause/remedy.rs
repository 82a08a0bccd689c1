//! Remedies for causes: the finding of `howlate doctor` that says what to do.
//!
//! Users will follow the advice. A finding stands beside a cause only where it can change that cause for the thread that was late;
//! the table, with the reason of each row, is in `docs/causes.md`.

use howlate_model::FindingId::{
    self, CpuDmaLatency, CpuQuota, FairServer, Hypervisor, IdleStates, InterruptAffinity, IsolatedCpus,
    MemoryLock, NicePermission, NohzFull, NumaBalancing, Preemption, RealtimePermission, RtGroupScheduling,
    RtThrottling, SchedExt, Steal, Swap, TimerSlack, TransparentHugePages,
};
use howlate_model::{CauseKind, Finding, Part, Policy, Priority, Remedy, Verdict};

use super::{OnlyIf, Why, WhyCause, WhyRemedy};

/// A cause of less than this share of the late time is not worth changing anything for.
const LEAST_SHARE: f64 = 0.05;
/// A cause met in fewer late wake-ups may never come again.
const LEAST_WAKEUPS: u64 = 3;

/// Softirqs that are served where their device's interrupt is. The others follow the thread that caused them.
const DEVICE_SOFTIRQS: [&str; 4] = ["NET_RX", "NET_TX", "BLOCK", "IRQ_POLL"];

/// The findings that bear on `cause` for a late thread of this policy, the best first: settings of the thread that are easily undone
/// come before settings of the machine.
///
/// None for the kernel's own path, which takes its time with other settings too, nor for unknown causes.
fn findings_against(cause: &WhyCause, policy: Policy) -> &'static [FindingId] {
    let is_realtime = policy.is_realtime();
    match cause.kind {
        // Real-time threads have none: timerslack_ns(5) in proc(5).
        CauseKind::TimerSlack if !is_realtime => &[TimerSlack],
        CauseKind::IdleExit => &[CpuDmaLatency, IdleStates],
        // The scheduler first, which is at fault with every thread; real-time ones are none of its:
        // Documentation/scheduler/sched-ext.rst.
        CauseKind::Scheduler => &[SchedExt, RtGroupScheduling, RealtimePermission],
        CauseKind::Interrupt if is_device_interrupt(cause) => &[InterruptAffinity],
        CauseKind::Softirq if DEVICE_SOFTIRQS.contains(&cause.name()) => &[InterruptAffinity],
        // Callbacks of RCU are run elsewhere for CPUs that `rcu_nocbs=` names, as those of `nohz_full=` are:
        // Documentation/admin-guide/kernel-per-CPU-kthreads.rst.
        CauseKind::Softirq if cause.name() == "RCU" => &[NohzFull],
        CauseKind::Thread if cause.name().starts_with("rcuc/") && is_realtime => &[NohzFull],
        CauseKind::Thread => against_thread(cause, policy),
        CauseKind::Throttled => &[CpuQuota],
        // The server of normal threads does what throttling did.
        CauseKind::RtThrottled => &[FairServer, RtThrottling],
        CauseKind::PageFault => &[MemoryLock, Swap, TransparentHugePages, NumaBalancing],
        CauseKind::Hypervisor => &[Steal, Hypervisor],
        _ => &[],
    }
}

fn against_thread(cause: &WhyCause, policy: Policy) -> &'static [FindingId] {
    // The finding on real-time priority leads to the usual priority.
    let may_rise = policy.priority().is_some_and(|priority| priority < Priority::USUAL);
    match policy.is_realtime() {
        // Howlate's own threads exist because it measures; no thread gets ahead of the stopper; raising a program does not help against
        // threads of the same program; and no policy wakes a blocked thread.
        _ if is_caused_by_measuring(cause) || is_stopper(cause) || cause.own || !cause.through.is_empty() => {
            &[]
        }
        // No weight takes the CPU from a real-time thread, and no preemption takes it from one of higher priority.
        false if cause.real_time => &[RtGroupScheduling, RealtimePermission],
        // Weight and slice only make the request come sooner, and here it had come.
        false if cause.is_lazy_preemption() => &[Preemption, RtGroupScheduling, RealtimePermission],
        // Preempted by others: priority first, then weight.
        false => &[RtGroupScheduling, RealtimePermission, NicePermission],
        // An interrupt thread runs on the CPU of its interrupt.
        true if cause.name().starts_with("irq/") => &[InterruptAffinity],
        true if cause.real_time && is_bound(cause) => &[],
        true if cause.real_time && may_rise => &[RealtimePermission, IsolatedCpus],
        true if cause.real_time => &[IsolatedCpus],
        // No isolation keeps away a thread that is bound to the CPU.
        true if is_bound(cause) => &[Preemption],
        true => &[Preemption, IsolatedCpus],
    }
}

/// `migration/N`, which preempts all other threads. Source: kernel/stop_machine.c.
fn is_stopper(cause: &WhyCause) -> bool {
    cause.name().starts_with("migration/")
}

/// A per-CPU thread of the kernel: `ksoftirqd/1`, `kworker/1:2`, or several of them with a `*` for the number. `kworker/u8:3` may
/// run anywhere.
fn is_bound(cause: &WhyCause) -> bool {
    let number = cause.name().split_once('/').and_then(|(_, number)| number.chars().next());
    number.is_some_and(|first| first.is_ascii_digit() || first == '*')
}

/// The tick comes to every CPU, whichever way interrupts are routed.
fn is_device_interrupt(cause: &WhyCause) -> bool {
    !matches!(cause.name(), "" | "local_timer")
}

/// Howlate's own threads, its loads, and the terminal that shows its output: they would not run without the measurement.
pub fn is_caused_by_measuring(cause: &WhyCause) -> bool {
    let names = ["load-", "howlate", "tmux: "];
    names.iter().any(|name| cause.name().starts_with(name))
}

/// Whether a cause was met too seldom for advice.
pub fn is_rare(cause: &WhyCause) -> bool {
    cause.wakeups < LEAST_WAKEUPS
}

/// The best finding that says what to do about `cause` for a late thread of this policy. `None` if nothing can be done, doctor found
/// nothing, or the cause is too small or too rare.
pub fn remedy<'a>(cause: &WhyCause, policy: Policy, findings: &'a [Finding]) -> Option<&'a Finding> {
    if cause.share < LEAST_SHARE || is_rare(cause) {
        return None;
    }
    let helps =
        |finding: &&Finding| helps(finding) && is_about(finding, cause) && !is_superseded(finding, findings);
    findings_against(cause, policy)
        .iter()
        .find_map(|id| findings.iter().find(|finding| &finding.id == id).filter(helps))
}

/// The condition under which that finding helps against `cause`, if no event tells whether it holds.
pub fn only_if(cause: &WhyCause, finding: &FindingId) -> Option<OnlyIf> {
    match (cause.kind, finding) {
        (CauseKind::Thread, RtGroupScheduling | RealtimePermission) if cause.real_time => {
            Some(OnlyIf::LowerPriority)
        }
        (CauseKind::Thread, IsolatedCpus) => Some(OnlyIf::NotBound),
        (CauseKind::Thread, NicePermission) => Some(OnlyIf::SameGroup),
        (_, NohzFull) => Some(OnlyIf::CpuOfIts),
        (CauseKind::Softirq, InterruptAffinity) => Some(OnlyIf::OfDevice),
        _ => None,
    }
}

/// Whether the finding is about the cause: a quota of another group than the throttled one is not. If a namespace makes a group the
/// top one, its path does not tell.
fn is_about(finding: &Finding, cause: &WhyCause) -> bool {
    if finding.id != CpuQuota || cause.name().is_empty() {
        return true;
    }
    let folder = finding
        .evidence
        .first()
        .and_then(|evidence| evidence.path.rsplit_once('/'))
        .map_or("", |(folder, _)| folder);
    let below = folder.strip_prefix("/sys/fs/cgroup").unwrap_or(folder);
    let is_top = below.is_empty() || below.starts_with("/cpu") && !below[1..].contains('/');
    is_top || below.ends_with(cause.name())
}

/// RT throttling does not matter beside the fair server, which takes the CPU whatever the budget is, unless that is off.
fn is_superseded(finding: &Finding, findings: &[Finding]) -> bool {
    let serves = |finding: &Finding| {
        finding.id == FairServer && (finding.verdict == Verdict::Unknown || finding.remedy.is_some())
    };
    finding.id == RtThrottling && findings.iter().any(serves)
}

impl WhyCause {
    /// Its name; empty if it has none.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Whether a thread went on after a lazy request to leave the CPU.
    pub fn is_lazy_preemption(&self) -> bool {
        self.part == Some(Part::LazyPreemption)
    }
}

impl Why {
    /// Adds the best of `findings` beside each cause that something can be done about, for a thread of this policy.
    #[must_use]
    pub fn with_remedies(mut self, policy: Policy, findings: &[Finding]) -> Self {
        for cause in &mut self.causes {
            cause.remedy = remedy(cause, policy, findings).map(|finding| beside(cause, finding));
        }
        self
    }
}

fn beside(cause: &WhyCause, finding: &Finding) -> WhyRemedy {
    let Remedy { apply, undo, .. } = finding.remedy.clone().unwrap_or_default();
    let (id, found) = (finding.id.clone(), finding.found.clone());
    WhyRemedy { only_if: only_if(cause, &id), finding: id, found, apply, undo }
}

/// Whether the finding asks for a change. A good or unknown setting needs none, but a permission is a means even if it is good.
fn helps(finding: &Finding) -> bool {
    let has_steps = finding.remedy.as_ref().is_some_and(|remedy| !remedy.apply.is_empty());
    let is_means = matches!(finding.id, RealtimePermission | NicePermission | MemoryLock | CpuDmaLatency);
    has_steps
        && match finding.verdict {
            Verdict::Good => is_means,
            Verdict::Unknown => false,
            Verdict::Blocks | Verdict::Costs | Verdict::Note => true,
        }
}

#[cfg(test)]
mod tests {
    use howlate_model::Span;

    use super::*;

    const FIFO: Policy = Policy::Fifo { priority: Priority::USUAL };

    fn cause(kind: CauseKind, name: &str) -> WhyCause {
        let name = (!name.is_empty()).then(|| name.to_owned());
        let (max, part, pid, remedy) = (Span::from_micros(90), None::<Part>, None, None);
        WhyCause {
            kind,
            name,
            part,
            real_time: false,
            own: false,
            priority: None,
            call: String::new(),
            through: String::new(),
            via: Vec::new(),
            pid,
            late_ns: 400_000,
            share: 0.4,
            wakeups: 20,
            max,
            remedy,
        }
    }

    fn finding(id: FindingId, verdict: Verdict, apply: &[&str]) -> Finding {
        let apply = apply.iter().map(|text| (*text).to_owned()).collect();
        let remedy = Some(Remedy { apply, undo: Vec::new(), ..Remedy::default() });
        let (found, why) = (String::new(), String::new());
        Finding { id, verdict, found, evidence: Vec::new(), why, cost: None, remedy }
    }

    /// Every finding, each with something to type.
    fn all() -> Vec<Finding> {
        let unrelated = [FindingId::RealtimeKernel, FindingId::Mitigations, FindingId::TimerMigration];
        let rcu = std::iter::once(NohzFull);
        let ids = unrelated.into_iter().chain(rcu).chain(all_findings_against());
        ids.map(|id| finding(id, Verdict::Costs, &["do it"])).collect()
    }

    fn all_findings_against() -> Vec<FindingId> {
        let mut ids = Vec::new();
        for kind in KINDS {
            for policy in [Policy::OTHER, FIFO] {
                ids.extend(findings_against(&cause(kind, "hog"), policy).iter().cloned());
            }
        }
        ids
    }

    const KINDS: [CauseKind; 19] = [
        CauseKind::LateArming,
        CauseKind::LongWork,
        CauseKind::TimerSlack,
        CauseKind::IdleExit,
        CauseKind::Scheduler,
        CauseKind::Interrupt,
        CauseKind::Softirq,
        CauseKind::Thread,
        CauseKind::OtherTimers,
        CauseKind::Kernel,
        CauseKind::Stopped,
        CauseKind::Throttled,
        CauseKind::RtThrottled,
        CauseKind::PageFault,
        CauseKind::Migration,
        CauseKind::Hypervisor,
        CauseKind::Machine,
        CauseKind::Undetermined,
        CauseKind::Unexplained,
    ];

    fn finding_for(kind: CauseKind, name: &str, policy: Policy) -> Option<FindingId> {
        remedy(&cause(kind, name), policy, &all()).map(|finding| finding.id.clone())
    }

    #[test]
    fn an_ordinary_thread_is_offered_priority_and_a_real_time_one_what_it_lacks() {
        assert_eq!(finding_for(CauseKind::Thread, "hog", Policy::OTHER), Some(RtGroupScheduling));
        assert_eq!(finding_for(CauseKind::Thread, "hog", FIFO), Some(Preemption));
        for policy in [Policy::OTHER, FIFO] {
            assert_eq!(finding_for(CauseKind::Thread, "load-cpu", policy), None, "howlate makes it");
            assert_eq!(finding_for(CauseKind::Thread, "howlate", policy), None, "it is there to measure");
        }
        assert_eq!(finding_for(CauseKind::TimerSlack, "", FIFO), None, "real-time threads have none");
    }

    #[test]
    fn against_lazy_preemption_no_weight_is_offered() {
        let lazy = WhyCause { part: Some(Part::LazyPreemption), ..cause(CauseKind::Thread, "hog") };
        assert_eq!(
            findings_against(&lazy, Policy::OTHER),
            [Preemption, RtGroupScheduling, RealtimePermission],
            "the request had come"
        );
    }

    #[test]
    fn against_a_real_time_thread_neither_weight_nor_preemption_is_offered() {
        let hog = WhyCause { real_time: true, ..cause(CauseKind::Thread, "hog") };
        assert_eq!(findings_against(&hog, FIFO), [IsolatedCpus]);
        let low = Policy::Fifo { priority: Priority::USUAL.lowered(70) };
        assert_eq!(findings_against(&hog, low), [RealtimePermission, IsolatedCpus], "its own may be higher");
        assert_eq!(findings_against(&hog, Policy::OTHER), [RtGroupScheduling, RealtimePermission]);
    }

    #[test]
    fn no_isolation_is_advised_against_who_belongs_to_the_cpu() {
        let thread = |name: &str, real_time| WhyCause { real_time, ..cause(CauseKind::Thread, name) };
        assert_eq!(findings_against(&thread("rcuc/0", true), FIFO), [NohzFull]);
        for name in ["kworker/1:2", "kworker/1:*", "ksoftirqd/*"] {
            assert_eq!(findings_against(&thread(name, false), FIFO), [Preemption], "{name}");
            assert_eq!(findings_against(&thread(name, true), FIFO), [], "{name}");
        }
        for name in ["kworker/u8:3", "hog", "a/b"] {
            assert_eq!(findings_against(&thread(name, false), FIFO), [Preemption, IsolatedCpus], "{name}");
        }
        assert_eq!(
            findings_against(&thread("irq/36-eth0", true), FIFO),
            [InterruptAffinity],
            "where its interrupt is"
        );
        for policy in [Policy::OTHER, FIFO] {
            assert_eq!(
                findings_against(&thread("migration/1", true), policy),
                [],
                "it runs ahead of everybody"
            );
        }
    }

    #[test]
    fn what_advice_depends_on_and_no_event_tells_is_said() {
        let above = WhyCause { real_time: true, ..cause(CauseKind::Thread, "above") };
        let hog = cause(CauseKind::Thread, "hog");
        assert_eq!(only_if(&above, &RealtimePermission), Some(OnlyIf::LowerPriority));
        assert_eq!(only_if(&hog, &RealtimePermission), None);
        assert_eq!(only_if(&hog, &IsolatedCpus), Some(OnlyIf::NotBound));
        assert_eq!(only_if(&cause(CauseKind::Softirq, "NET_RX"), &InterruptAffinity), Some(OnlyIf::OfDevice));
        assert_eq!(only_if(&cause(CauseKind::Interrupt, "eth0"), &InterruptAffinity), None);
        let remedied = beside(&above, &finding(RealtimePermission, Verdict::Good, &["chrt"]));
        assert_eq!(serde_json::to_value(remedied).unwrap()["only_if"], "lower_priority");
    }

    #[test]
    fn throttling_is_nothing_to_change_while_the_fair_server_runs() {
        let throttling = finding(RtThrottling, Verdict::Note, &["echo -1"]);
        let server = |verdict, apply: &[&str]| match apply {
            [] => Finding { remedy: None, ..finding(FairServer, verdict, &[]) },
            _ => finding(FairServer, verdict, apply),
        };
        let finding_for = |findings: &[Finding]| {
            remedy(&cause(CauseKind::RtThrottled, ""), FIFO, findings).map(|finding| finding.id.clone())
        };
        assert_eq!(finding_for(std::slice::from_ref(&throttling)), Some(RtThrottling), "before 6.12");
        assert_eq!(finding_for(&[throttling.clone(), server(Verdict::Note, &["echo 0"])]), Some(FairServer));
        assert_eq!(finding_for(&[throttling.clone(), server(Verdict::Unknown, &[])]), None, "it may run");
        assert_eq!(finding_for(&[throttling, server(Verdict::Note, &[])]), Some(RtThrottling), "it is off");
    }

    #[test]
    fn the_quota_of_another_group_is_no_remedy() {
        let quota = |path: &str| {
            let evidence = vec![howlate_model::Evidence { path: path.into(), value: "4000".into() }];
            Finding { evidence, ..finding(CpuQuota, Verdict::Costs, &["echo max"]) }
        };
        let is_advised = |group: &str, path: &str| {
            remedy(&cause(CauseKind::Throttled, group), Policy::OTHER, &[quota(path)]).is_some()
        };
        assert!(is_advised("/a/b", "/sys/fs/cgroup/a/b/cpu.max"));
        assert!(is_advised("/a", "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"));
        assert!(!is_advised("/a", "/sys/fs/cgroup/cpu/b/cpu.cfs_quota_us"));
        assert!(!is_advised("/a", "/sys/fs/cgroup/b/cpu.max"));
        assert!(is_advised("/docker/1", "/sys/fs/cgroup/cpu.max"), "the top of its own namespace");
        assert!(is_advised("/docker/1", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us"));
        assert!(is_advised("", "/sys/fs/cgroup/cpu/b/cpu.cfs_quota_us"), "the tracer does not say which");
    }

    #[test]
    fn nothing_is_advised_against_what_no_setting_changes() {
        let none = [
            (CauseKind::Kernel, "wake_up"),
            (CauseKind::Undetermined, ""),
            (CauseKind::Unexplained, ""),
            (CauseKind::LateArming, ""),
            (CauseKind::LongWork, ""),
            (CauseKind::OtherTimers, ""),
            (CauseKind::Stopped, "gdb"),
            (CauseKind::Migration, ""),
            (CauseKind::Interrupt, "local_timer"),
            (CauseKind::Softirq, "TIMER"),
            (CauseKind::Softirq, "SCHED"),
        ];
        for (kind, name) in none {
            for policy in [Policy::OTHER, FIFO] {
                assert_eq!(finding_for(kind, name, policy), None, "{kind:?} {name}");
            }
        }
        assert_eq!(finding_for(CauseKind::Softirq, "RCU", FIFO), Some(NohzFull));
        assert_eq!(finding_for(CauseKind::Softirq, "NET_RX", FIFO), Some(InterruptAffinity));
        assert_eq!(finding_for(CauseKind::Interrupt, "eth0", FIFO), Some(InterruptAffinity));
    }

    #[test]
    fn what_is_small_or_was_met_once_is_left_alone() {
        let all = all();
        let finding_for_share = |share, wakeups| {
            let cause = WhyCause { share, wakeups, ..cause(CauseKind::PageFault, "") };
            remedy(&cause, FIFO, &all).map(|finding| finding.id.clone())
        };
        assert_eq!(
            (finding_for_share(0.04, 20), finding_for_share(0.9, 2), finding_for_share(0.05, 3)),
            (None, None, Some(MemoryLock))
        );
    }

    #[test]
    fn what_one_may_do_is_a_means_and_what_is_as_it_should_be_is_not() {
        let findings = [
            finding(RtGroupScheduling, Verdict::Good, &["nothing"]),
            finding(RealtimePermission, Verdict::Good, &["chrt --fifo 80 PROGRAM"]),
            finding(CpuQuota, Verdict::Costs, &[]),
        ];
        let id = |kind, name| {
            remedy(&cause(kind, name), Policy::OTHER, &findings).map(|finding| finding.id.clone())
        };
        assert_eq!(id(CauseKind::Thread, "hog"), Some(RealtimePermission));
        assert_eq!(id(CauseKind::Throttled, "/a"), None, "it says nothing to type");
    }

    /// The published table has every row of this one, so that each has a reason.
    #[test]
    fn the_docs_have_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/causes.md");
        let page = std::fs::read_to_string(path).unwrap();
        for id in all_findings_against() {
            assert!(
                page.contains(&format!("`{}`", id.name())),
                "docs/causes.md says nothing of {}",
                id.name()
            );
        }
    }
}
