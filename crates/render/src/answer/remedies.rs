//! What to do: at most three things, those first that bear on most of the late time.

use std::cmp::Reverse;

use howlate_analyse::cause::{OnlyIf, families, only_if, remedy};
use howlate_analyse::{Analysis, Insight, Priority, insights};
use howlate_model::{Command, Condition, Finding, FindingId, Header, Policy};

use super::causes::{Explained, Reasons, in_words};
use crate::cause_words::first_two;
use crate::command_line::{watched, watched_process};
use crate::commands_to_type::{is_command, step_lines};
use crate::only_if::with_condition;
use crate::prose::wrapped;
use crate::style::{COMMAND, HEADING, paint};
use crate::untrusted_text::legible;
use crate::watch::stayed_away;

/// Things to do; `howlate doctor` has all.
pub(crate) const MOST: usize = 3;
/// What stands for a program in what to type, where none is known.
const ANY_PROGRAM: &str = "PROGRAM …";
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
        let mut all = advice(&self.explained, &self.analysis.header.findings);
        all.sort_by_key(|one| Reverse(one.late_ns));
        let of_machine = all.iter().map(|one| written(one, self.analysis, width));
        // What a program does to itself no setting mends.
        let told: Vec<Written> = of_event_loops(self.analysis).chain(of_machine).take(most).collect();
        if told.is_empty() {
            return String::new();
        }
        let lines = (1..).zip(told).map(|(number, one)| {
            let sentence = format!("{number}. {}", one.sentence);
            format!("  {}\n{}", wrapped(&sentence, width, 5), one.typed)
        });
        format!("{}\n{}", paint(HEADING, "What to do"), lines.collect::<String>())
    }
}

/// A sentence, and below it what to type.
struct Written {
    sentence: String,
    typed: String,
}

/// What brings event loops of a watched program back sooner.
fn of_event_loops(analysis: &Analysis) -> impl Iterator<Item = Written> {
    let all = stayed_away(&analysis.outcomes().iter().collect::<Vec<_>>());
    all.into_iter().filter_map(|one| Some(Written { sentence: one.to_do?, typed: String::new() }))
}

fn advice<'a>(explained: &'a [Explained<'_>], findings: &'a [Finding]) -> Vec<Advice<'a>> {
    let mut all: Vec<Advice<'a>> = Vec::new();
    for one in explained {
        let (policy, condition) = (one.one.first().policy_in_force(), &one.one.first().condition);
        for family in families(&one.why) {
            let Some(finding) = remedy(&family.cause, policy, findings) else { continue };
            let (late_ns, who) = (family.cause.late_ns, in_words(&family));
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
    let named = steps.map(|step| step.replace(ANY_PROGRAM, &program(&analysis.header)));
    let lines = named.flat_map(|step| step_lines(&legible(&step), width.saturating_sub(5)));
    let typed = lines.map(|line| format!("     {}\n", paint(COMMAND, line))).collect();
    Written { sentence, typed }
}

/// The program that was watched from its start, as it was typed.
fn program(header: &Header) -> String {
    let is_started = header.command == Command::Watch && watched_process(&header.arguments).is_none();
    let typed = if is_started { watched(&header.arguments) } else { String::new() };
    if typed.is_empty() { ANY_PROGRAM.to_owned() } else { typed }
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
        if let Some(Priority { ordinary, realtime, .. }) = gain {
            return format!("Measured here: p99 {ordinary} → {realtime}.");
        }
        if analysis.outcomes().iter().any(|one| one.policy_in_force().is_realtime()) {
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

/// Whether it is done at the next start of the machine only, where no run can try it.
fn takes_a_restart(finding: &Finding) -> bool {
    let first = finding.remedy.iter().find_map(|remedy| remedy.apply.first());
    first.is_some_and(|step| !is_command(step) && step.ends_with("restart"))
}

/// The command that tries these settings on what was late.
fn tune(settings: &str, condition: &Condition, header: &Header) -> String {
    if header.command == Command::Watch {
        if let Some(process) = watched_process(&header.arguments) {
            return format!("howlate tune program {process} --knobs {settings}");
        }
        return format!("howlate tune --knobs {settings} -- {}", program(header));
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
