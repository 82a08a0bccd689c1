//! What to do: at most three things, those first that bear on most of the late time.

use std::cmp::Reverse;

use howlate_analyse::cause::{OnlyIf, families, is_caused_by_measuring, only_if, remedy};
use howlate_analyse::{Analysis, Cure, Insight, PriorityEffect, ThreadAdvice, insights, thread_advice};
use howlate_model::{Command, Condition, Finding, FindingId, Header, Policy, Span};

use super::causes::{Explained, Reasons};
use super::thread_advice::{self, Written};
use crate::cause_words::{family_in_words, first_two};
use crate::command_line::{running_program, watched};
use crate::commands_to_type::{is_command, step_lines};
use crate::only_if::with_condition;
use crate::prose::wrapped;
use crate::style::{COMMAND, HEADING, paint};
use crate::untrusted_text::legible;
use crate::watch::{is_helper, stayed_away};
use crate::watched_slack::is_about_howlate;

/// Things to do; `howlate doctor` has all.
pub(crate) const MOST: usize = 3;
/// A cause of so much of the late time is worth a sentence that nothing helps.
const MAIN: f64 = 0.25;
/// Who is late by less hardly asks why.
const WORTH_A_WORD: Span = Span::from_micros(100);
/// How CPUs leave idle states is nothing to change for so little of what makes the latest thread late.
const IDLING: f64 = 1.0 / 3.0;
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
    /// The condition in which it bears on most, and that time.
    most: (&'a Condition, u64),
}

impl Advice<'_> {
    /// Whether the late thread has a real-time priority already.
    fn is_realtime(&self) -> bool {
        self.most.0.policy.is_realtime()
    }
}

impl Reasons<'_> {
    /// What can be done about them: so many things at most.
    pub(crate) fn remedies(&self, most: usize, width: usize) -> String {
        let findings = self.findings();
        let mut all = advice(&self.explained, &findings);
        let of_threads = thread_advice(self.analysis);
        all.retain(|one| !self.is_dwarfed(one, &of_threads));
        all.sort_by_key(|one| Reverse(one.late_ns));
        let of_machine = all.iter().map(|one| written(one, self.analysis, width));
        let is_of_user = |one: &&ThreadAdvice| !is_helper(self.analysis, &one.thread.name, one.thread.tid);
        let of_threads = of_threads.iter().filter(is_of_user);
        let of_threads = of_threads.map(|one| thread_advice::written(one, self.analysis, width));
        // What a program does to itself no setting mends.
        let all = of_event_loops(self.analysis).chain(of_threads).chain(of_machine);
        let told: Vec<Written> = all.take(most).collect();
        if told.is_empty() {
            return self.no_advice(width);
        }
        let lines = (1..).zip(told).map(|(number, one)| {
            let sentence = format!("{number}. {}.", one.sentence.trim_end_matches('.'));
            format!("  {}\n{}", wrapped(&sentence, width, 5), one.typed)
        });
        format!("{}\n{}", paint(HEADING, "What to do"), lines.collect::<String>())
    }

    /// Whether threads of a watched program are later for other reasons, so that how CPUs wake is not what anybody asks about: it is little of
    /// it, a loop drifts, or an event loop does not come back.
    fn is_dwarfed(&self, advice: &Advice<'_>, of_threads: &[ThreadAdvice]) -> bool {
        let is_of_idling = matches!(advice.finding.id, FindingId::CpuDmaLatency | FindingId::IdleStates);
        let late = |one: &Explained<'_>| one.why.causes.iter().map(|cause| cause.late_ns).sum::<u64>();
        let most = self.explained.iter().map(late).max().unwrap_or(0);
        let is_watched = self.analysis.header.command == Command::Watch;
        let drifts = of_threads.iter().any(|one| matches!(one.cure, Cure::SleepUntil(_)));
        let is_loops = stayed_away(self.analysis).iter().any(|one| one.to_do.is_some());
        let is_soon = self.explained.iter().all(|one| one.why.late.above < WORTH_A_WORD);
        let is_little = is_soon || advice.late_ns as f64 <= IDLING * most as f64;
        is_of_idling && is_watched && (drifts || is_loops || is_little)
    }

    /// What doctor found, as far as it bears on whoever was late: of a watched program its own threads, limits and groups are known, and
    /// howlate's are none of theirs.
    fn findings(&self) -> Vec<Finding> {
        let is_watched = self.analysis.header.command == Command::Watch;
        let findings = self.analysis.header.findings.iter();
        findings.filter(|one| !(is_watched && is_about_howlate(&one.id))).cloned().collect()
    }

    /// Where nothing is to be done about what made a watched program late, that is said.
    fn no_advice(&self, width: usize) -> String {
        if self.analysis.header.command != Command::Watch {
            return String::new();
        }
        let main = |one: &Explained<'_>| {
            let first = families(&one.why).into_iter().next()?;
            let matters = first.cause.share >= MAIN && one.why.late.above >= WORTH_A_WORD;
            (matters && !is_caused_by_measuring(&first.cause)).then_some(first)
        };
        let first = self.explained.iter().filter_map(main).max_by_key(|family| family.cause.late_ns);
        let Some(first) = first else { return String::new() };
        let text =
            format!("No advice: nothing is known here that helps against {}.", family_in_words(&first));
        format!("{}\n", wrapped(&text, width, 0))
    }
}

/// What brings event loops of a watched program back sooner.
fn of_event_loops(analysis: &Analysis) -> impl Iterator<Item = Written> {
    let all = stayed_away(analysis);
    all.into_iter().filter_map(|one| Some(Written { sentence: one.to_do?, typed: String::new() }))
}

fn advice<'a>(explained: &'a [Explained<'_>], findings: &'a [Finding]) -> Vec<Advice<'a>> {
    let mut all: Vec<Advice<'a>> = Vec::new();
    for one in explained {
        let (policy, condition) = (one.one.first().policy_in_force(), &one.one.first().condition);
        for family in families(&one.why) {
            let Some(finding) = remedy(&family.cause, policy, findings) else { continue };
            let (late_ns, who) = (family.cause.late_ns, family_in_words(&family));
            let only_if = only_if(&family.cause, &finding.id);
            match all.iter_mut().find(|known| known.finding.id == finding.id) {
                Some(known) => {
                    known.late_ns += late_ns;
                    if late_ns > known.most.1 {
                        known.most = (condition, late_ns);
                    }
                    known.only_if = known.only_if.or(only_if);
                    if !known.causes.contains(&who) {
                        known.causes.push(who);
                    }
                }
                None => all.push(Advice {
                    finding,
                    only_if,
                    late_ns,
                    causes: vec![who],
                    most: (condition, late_ns),
                }),
            }
        }
    }
    all
}

/// What it does against whom, how things stand, what to type, and whether that was tried.
fn written(one: &Advice<'_>, analysis: &Analysis, width: usize) -> Written {
    let against = first_two(&one.causes);
    let found = with_condition(one.finding, one.only_if);
    let sentence =
        format!("{}: {}. {}", effect(one, &against, analysis), legible(&found), tried(one, analysis));
    let steps = one.finding.remedy.iter().flat_map(|remedy| &remedy.apply).take(STEPS);
    let named = steps.cloned();
    let lines = named.flat_map(|step| step_lines(&legible(&step), width.saturating_sub(5)));
    let typed = lines.map(|line| format!("     {}\n", paint(COMMAND, line))).collect();
    Written { sentence, typed }
}

/// Who was late.
const fn delayed(analysis: &Analysis) -> &'static str {
    match analysis.header.command {
        Command::Watch => "the program",
        Command::Notify => "the receiver",
        _ => "the thread",
    }
}

/// What following the advice changes for the late thread.
fn effect(one: &Advice<'_>, against: &str, analysis: &Analysis) -> String {
    match &one.finding.id {
        FindingId::RealtimePermission if one.is_realtime() => {
            format!("A higher real-time priority keeps {against} from delaying {}", delayed(analysis))
        }
        FindingId::RealtimePermission => {
            format!("Real-time priority keeps {against} from delaying {}", delayed(analysis))
        }
        FindingId::NicePermission => format!("A lower nice value gives it CPU time ahead of {against}"),
        FindingId::Preemption => format!("Full preemption lets it run while {against} is in the kernel"),
        FindingId::TimerSlack => "Without timer slack its sleeps end when they are due".to_owned(),
        FindingId::CpuDmaLatency | FindingId::IdleStates => {
            "A CPU that is kept out of deep idle states wakes sooner".to_owned()
        }
        FindingId::InterruptAffinity => format!("Kept to other CPUs, {against} would not delay it"),
        FindingId::IsolatedCpus => format!("A CPU of its own keeps {against} away"),
        _ => format!("Against {against}"),
    }
}

/// What is known of its effect here.
fn tried(one: &Advice<'_>, analysis: &Analysis) -> String {
    if one.finding.id == FindingId::RealtimePermission && !one.is_realtime() {
        let gain = insights(analysis).into_iter().find_map(|one| match one {
            Insight::Priority(gain) => Some(gain),
            _ => None,
        });
        if let Some(PriorityEffect { ordinary, realtime, .. }) = gain {
            return format!("Measured here: p99 {ordinary} → {realtime}.");
        }
        if is_tried(one, analysis) {
            return "Tried here: no difference found with these turns.".to_owned();
        }
    }
    if takes_a_restart(one.finding) {
        return "Not tried here: it takes a restart.".to_owned();
    }
    setting(&one.finding.id).map_or_else(
        || "Not tried here.".to_owned(),
        |settings| format!("Not tried here. To try it: `{}`.", tune(settings, one.most.0, &analysis.header)),
    )
}

/// Whether the same was measured with a real-time policy beside it. Threads of a program that differ are no trial of one another.
fn is_tried(one: &Advice<'_>, analysis: &Analysis) -> bool {
    let late = one.most.0;
    let is_same = |other: &Condition| {
        (&other.work, &other.load, &other.kernel) == (&late.work, &late.load, &late.kernel)
    };
    let outcomes = analysis.outcomes().iter();
    let is_watched = analysis.header.command == Command::Watch;
    !is_watched
        && outcomes
            .filter(|other| is_same(&other.condition))
            .any(|other| other.policy_in_force().is_realtime())
}

/// Whether it is done at the next start of the machine only, where no run can try it.
fn takes_a_restart(finding: &Finding) -> bool {
    let first = finding.remedy.iter().find_map(|remedy| remedy.apply.first());
    first.is_some_and(|step| !is_command(step) && step.ends_with("restart"))
}

/// The command that tries these settings on what was late.
fn tune(settings: &str, condition: &Condition, header: &Header) -> String {
    if header.command == Command::Watch {
        return match running_program(&header.arguments) {
            Some(program) => format!("howlate tune program {program} --knobs {settings}"),
            None => format!("howlate tune --knobs {settings} -- {}", watched(&header.arguments)),
        };
    }
    let mut words = "howlate tune".to_owned();
    let (policy, load) = (condition.policy, &condition.load);
    if policy != Policy::OTHER || !load.is_idle() {
        words.push_str(" cyclic");
    }
    if policy != Policy::OTHER {
        words.push_str(&format!(" --policy {policy}"));
    }
    if !load.is_idle() {
        words.push_str(&format!(" --load {load}"));
    }
    format!("{words} --knobs {settings}")
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
