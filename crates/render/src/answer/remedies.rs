//! What to do: at most three things, those first that bear on most of the late time.

use std::cmp::Reverse;

use howlate_analyse::cause::{OnlyIf, families, only_if, remedy};
use howlate_analyse::{Analysis, Insight, Priority, insights};
use howlate_model::{Finding, FindingId};

use super::causes::{Explained, Reasons, in_words};
use crate::commands_to_type::step_lines;
use crate::legible::legible;
use crate::only_if::with_condition;
use crate::prose::wrapped;
use crate::style::{COMMAND, HEADING, paint};

/// Things to do; `howlate doctor` has all.
pub(crate) const MOST: usize = 3;
/// Steps that are shown of each.
const STEPS: usize = 1;

/// Something to do, and what it bears on.
struct Advice<'a> {
    finding: &'a Finding,
    /// What has to be so for it to help against some of it, where no event tells.
    only_if: Option<OnlyIf>,
    /// Late time that it bears on, nanoseconds.
    late_ns: u64,
    /// Who took that time, the most first, each once.
    causes: Vec<String>,
}

impl Reasons<'_> {
    /// What can be done about them: so many things at most.
    pub(crate) fn remedies(&self, most: usize, width: usize) -> String {
        let mut all = advice(&self.explained, &self.analysis.header.findings);
        if all.is_empty() {
            return String::new();
        }
        all.sort_by_key(|one| Reverse(one.late_ns));
        let told = (1..).zip(all.iter().take(most));
        let told = told.map(|(number, one)| written(number, one, self.analysis, width));
        format!("{}\n{}", paint(HEADING, "What to do"), told.collect::<String>())
    }
}

fn advice<'a>(explained: &[Explained<'_>], findings: &'a [Finding]) -> Vec<Advice<'a>> {
    let mut all: Vec<Advice<'a>> = Vec::new();
    for one in explained {
        let policy = one.one.first().policy_in_force();
        for family in families(&one.why) {
            let Some(finding) = remedy(&family.cause, policy, findings) else { continue };
            let (late_ns, who) = (family.cause.late_ns, in_words(&family));
            let only_if = only_if(&family.cause, &finding.id);
            match all.iter_mut().find(|known| known.finding.id == finding.id) {
                Some(known) => {
                    known.late_ns += late_ns;
                    known.only_if = known.only_if.or(only_if);
                    if !known.causes.contains(&who) {
                        known.causes.push(who);
                    }
                }
                None => all.push(Advice { finding, only_if, late_ns, causes: vec![who] }),
            }
        }
    }
    all
}

/// What it is against, what to type, and whether that was tried.
fn written(number: usize, one: &Advice<'_>, analysis: &Analysis, width: usize) -> String {
    let more = one.causes.len().saturating_sub(2);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let against = format!("{}{more}", one.causes.iter().take(2).cloned().collect::<Vec<_>>().join(", "));
    let found = with_condition(one.finding, one.only_if);
    let sentence = format!("{number}. {against}: {}. {}", legible(&found), tried(&one.finding.id, analysis));
    let steps = one.finding.remedy.iter().flat_map(|remedy| &remedy.apply).take(STEPS);
    let lines = steps.flat_map(|step| step_lines(&legible(step), width.saturating_sub(5)));
    let typed: String = lines.map(|line| format!("     {}\n", paint(COMMAND, line))).collect();
    format!("  {}\n{typed}", wrapped(&sentence, width, 5))
}

/// What is known of its effect here.
fn tried(id: &FindingId, analysis: &Analysis) -> String {
    if *id == FindingId::RealtimePermission {
        let gain = insights(analysis).into_iter().find_map(|one| match one {
            Insight::Priority(gain) => Some(gain),
            _ => None,
        });
        if let Some(Priority { ordinary, realtime, .. }) = gain {
            return format!("Measured here: p99 {ordinary} → {realtime}.");
        }
        if analysis.outcomes().iter().any(|one| one.policy_in_force().is_realtime()) {
            return "Tried here: these turns do not settle a difference.".to_owned();
        }
    }
    setting(id).map_or_else(
        || "Not tried here.".to_owned(),
        |settings| format!("Not tried here; to try: `howlate tune --knobs {settings}`."),
    )
}

/// The settings by which `howlate tune` tries what a finding advises.
const fn setting(id: &FindingId) -> Option<&'static str> {
    Some(match id {
        FindingId::RealtimePermission => "fifo,nice,slice",
        FindingId::NicePermission => "nice,slice",
        FindingId::TimerSlack => "timer_slack",
        FindingId::CpuDmaLatency => "cpu_dma_latency",
        FindingId::IdleStates => "idle_states",
        FindingId::InterruptAffinity => "irq_affinity",
        FindingId::IsolatedCpus => "cpuset_isolation",
        FindingId::Preemption => "preemption_model",
        FindingId::FairServer => "fair_server",
        FindingId::RtThrottling => "rt_throttling",
        FindingId::MemoryLock => "memory_lock",
        FindingId::Swap => "swappiness",
        FindingId::TransparentHugePages => "transparent_huge_pages",
        FindingId::NumaBalancing => "numa_balancing",
        _ => return None,
    })
}
