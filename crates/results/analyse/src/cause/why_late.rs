//! Summary of a ledger: the usual wake-up, the late ones, and their causes.

use std::collections::BTreeMap;

use howlate_model::{
    CauseKind, CauseShare, FindingId, LateCauses, Ledger, Part, Priority, Span, UndecomposedReason,
    WakeupBreakdown,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Why the wake-ups of a condition were late. Serialised under `results[].why`; names are added to, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Why {
    /// What saw it: `bpf`, `tracefs` or `switches`.
    pub tracer: String,
    /// Wake-ups whose parts are known.
    pub decomposed: u64,
    /// Wake-ups whose parts are not.
    pub not_decomposed: u64,
    /// The same by the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_decomposed_because: BTreeMap<UndecomposedReason, u64>,
    /// Events that the tracer lost.
    pub lost_events: u64,
    /// Readings that were out of order.
    pub clamped: u64,
    /// What tracing adds to the median; absent where too few turns were taken with it and without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_effect_ns: Option<ProbeEffect>,
    /// Each part over all wake-ups.
    pub parts: Vec<WhyPart>,
    /// The late ones.
    pub late: WhyLate,
    /// What made them late, the most first.
    pub causes: Vec<WhyCause>,
    /// The worst, whole.
    pub worst: Vec<WakeupBreakdown>,
}

/// What tracing adds to the median latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProbeEffect {
    /// The median of the differences of turns taken side by side, nanoseconds.
    pub p50: i64,
    /// The interval's lower end.
    pub low: i64,
    /// The interval's upper end.
    pub high: i64,
}

/// One part over all decomposed wake-ups; those that did not have it count as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WhyPart {
    /// Which part of the way from the deadline to the program.
    pub part: Part,
    /// Mean over the wake-ups that were decomposed, ns.
    pub mean_ns: u64,
    /// Median over the wake-ups that were decomposed, ns.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// Longest of the wake-ups that were decomposed, ns.
    pub max_ns: u64,
}

/// The late wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WhyLate {
    /// At least this late.
    #[serde(rename = "above_ns")]
    pub above: Span,
    /// Wake-ups counted as late.
    pub count: u64,
    /// Their lateness together.
    pub total_ns: u64,
    /// How much of it no event explains.
    pub unexplained_ns: u64,
}

/// What one cause contributed to the late wake-ups.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhyCause {
    /// What kind of thing.
    pub kind: CauseKind,
    /// Its name; for the kernel's own way the part's; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where on the way, if nobody knows who it was, if a thread went on after a lazy request to leave the CPU, or if it was at work, which
    /// may be for other requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Whether it is a thread of real-time priority, or several of one name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub real_time: bool,
    /// Whether it is a thread of the late thread's own program; only told of watched programs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// Its real-time priority, the highest one of several; absent where it has none, or where that was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The system call that the thread slept in meanwhile; absent where it did not, or where that was not seen.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The thread of its own program that it waited for meanwhile, where that was kept from going on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub through: String,
    /// Threads between the two, where it did not wait for `through` itself: it waited for the first of them, each for the next, and the last
    /// for `through`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// The thread, if it was always the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its time in the late wake-ups.
    pub late_ns: u64,
    /// The same as a share of their lateness, 0 to 1.
    pub share: f64,
    /// In how many of them.
    pub wakeups: u64,
    /// The most in one.
    #[serde(rename = "max_ns")]
    pub max: Span,
    /// What `howlate doctor` found that bears on it; absent where there is nothing to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<WhyRemedy>,
}

/// What can be done about a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WhyRemedy {
    /// The finding's name, as `howlate doctor --json` has it.
    #[schemars(with = "String")]
    pub finding: FindingId,
    /// What was found.
    pub found: String,
    /// Commands, or one sentence where no command does it.
    pub apply: Vec<String>,
    /// What puts it back.
    pub undo: Vec<String>,
    /// What has to be so for it to help, where no event tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_if: Option<OnlyIf>,
}

/// What has to be so for a remedy to help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnlyIf {
    /// The thread that had the CPU has a lower real-time priority than the late one is given.
    LowerPriority,
    /// The thread that had the CPU is not bound to it: isolation keeps those away that may run elsewhere.
    NotBound,
    /// A device brought the work: what programs of one machine send to each other is served on the CPU of whoever sends.
    OfDevice,
    /// Nice values count among threads of one session or control group.
    SameGroup,
    /// It is one of the CPUs that are named there.
    CpuOfIts,
}

impl Why {
    /// Reads `ledger`; wake-ups count as late above `above`, or above the 99th percentile.
    pub fn from_ledger(
        ledger: &Ledger,
        tracer: &str,
        above: Option<Span>,
        probe_effect_ns: Option<ProbeEffect>,
    ) -> Self {
        let late = ledger.late_causes(above.unwrap_or_else(|| p99(ledger)));
        Self {
            tracer: tracer.to_owned(),
            decomposed: ledger.decomposed,
            not_decomposed: ledger.undecomposed(),
            not_decomposed_because: ledger.not_decomposed.clone(),
            lost_events: ledger.lost_events,
            clamped: ledger.clamped,
            probe_effect_ns,
            parts: parts(ledger),
            late: WhyLate::of(&late),
            causes: WhyCause::all_of(&late),
            worst: ledger.worst().to_vec(),
        }
    }
}

impl WhyLate {
    pub(crate) fn of(late: &LateCauses) -> Self {
        Self {
            above: late.above,
            count: late.count,
            total_ns: late.total,
            unexplained_ns: time_of_kind(late, CauseKind::Unexplained),
        }
    }

    /// The share that no event explains, 0 to 1.
    pub fn unexplained_share(&self) -> f64 {
        share(self.unexplained_ns, self.total_ns)
    }
}

fn p99(ledger: &Ledger) -> Span {
    let p99 = ledger.latency.quantile(0.99).map_or(0, |late| late.as_nanos().max(0));
    Span::from_nanos(p99.unsigned_abs())
}

fn time_of_kind(late: &LateCauses, kind: CauseKind) -> u64 {
    late.causes.iter().filter(|(cause, _)| cause.kind == kind).map(|(_, share)| share.total).sum()
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn parts(ledger: &Ledger) -> Vec<WhyPart> {
    ledger
        .parts()
        .iter()
        .map(|(part, recorded)| {
            let mut all = recorded.clone();
            all.record_n(
                howlate_model::Latency::default(),
                ledger.decomposed.saturating_sub(recorded.count()),
            );
            let at =
                |quantile| all.quantile(quantile).map_or(0, |value| value.as_nanos().max(0).unsigned_abs());
            let sum = u64::try_from(all.sum_nanos()).unwrap_or(0);
            let mean_ns = sum.checked_div(all.count()).unwrap_or(0);
            WhyPart { part: *part, mean_ns, p50_ns: at(0.5), p99_ns: at(0.99), max_ns: at(1.0) }
        })
        .collect()
}

/// What counts as one cause, wherever on the path it occurred; the kernel's own path and unknown causes are kept apart by part.
type CauseKey = (CauseKind, String, Option<Part>, bool, bool, String, String, Vec<String>);

impl WhyCause {
    /// The causes of late wake-ups, the most first.
    pub(crate) fn all_of(late: &LateCauses) -> Vec<Self> {
        let mut by_key: BTreeMap<CauseKey, (CauseShare, Option<Priority>)> = BTreeMap::new();
        for (cause, cause_share) in &late.causes {
            let name = if cause.kind == CauseKind::Kernel {
                cause.part.name().to_owned()
            } else {
                cause.name.clone()
            };
            let is_unknown = cause.kind == CauseKind::Undetermined && name.is_empty();
            let is_lazy = cause.part == Part::LazyPreemption && cause.kind == CauseKind::Thread;
            let is_work = matches!(cause.part, Part::AtWork | Part::OtherRequests);
            let part = (is_unknown || is_lazy || is_work).then_some(cause.part);
            let (call, through, via) = (cause.call.clone(), cause.through.clone(), cause.via.clone());
            by_key
                .entry((cause.kind, name, part, cause.real_time, cause.own, call, through, via))
                .and_modify(|(sum, priority)| {
                    sum.add(cause_share);
                    *priority = (*priority).max(cause.priority);
                })
                .or_insert((*cause_share, cause.priority));
        }
        let mut causes: Vec<WhyCause> = by_key
            .into_iter()
            .map(|((kind, name, part, real_time, own, call, through, via), (sum, priority))| WhyCause {
                kind,
                part,
                real_time,
                own,
                priority,
                call,
                through,
                via,
                name: (!name.is_empty()).then_some(name),
                pid: sum.pid.single(),
                late_ns: sum.total,
                share: share(sum.total, late.total),
                wakeups: sum.wakeups.min(late.count),
                max: sum.max,
                remedy: None,
            })
            .collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.late_ns));
        causes
    }
}
