//! What to do: at most three things, those first that affect most of the late time.

use std::cmp::Reverse;

use howlate_analyse::cause::{OnlyIf, families, is_caused_by_measuring, is_rare, only_if, remedy};
use howlate_analyse::{
    Analysis, Cure, Insight, PriorityEffect, ThreadAdvice, insights, request_advice, thread_advice,
};
use howlate_model::{Command, Condition, Finding, FindingId, Header, Policy, Span};

use super::causes::{CauseReport, LateLoop};
use super::request_advice;
use super::thread_advice::{self, AdviceText};
use crate::cause_words::{family_in_words, first_two};
use crate::command_line::{running_program, watched};
use crate::commands_to_type::{is_command, step_lines};
use crate::only_if::with_condition;
use crate::prose::wrapped;
use crate::style::{COMMAND, HEADING, paint};
use crate::untrusted_text::legible;
use crate::watch::{blocked_event_loops, is_helper};
use crate::watched_slack::is_about_howlate;

/// Remedies shown; `howlate doctor` lists all.
pub(crate) const MOST: usize = 3;
/// Minimum share of a cause for the sentence that says why there is no advice against it.
const MAIN: f64 = 0.25;
/// Wake-ups less late than this need no explanation.
const WORTH_A_WORD: Span = Span::from_micros(100);
/// Idle-state advice for a watched program is dropped below this share of the latest thread's late time.
const IDLING: f64 = 1.0 / 3.0;
/// Steps shown of each remedy.
const STEPS: usize = 1;

/// A finding whose remedy would reduce some of the late time.
struct FindingAdvice<'a> {
    finding: &'a Finding,
    /// A precondition for the remedy to help, where no event shows whether it holds.
    only_if: Option<OnlyIf>,
    /// Late time it would reduce, nanoseconds.
    late_ns: u64,
    /// Names of the causes, largest first, each once.
    causes: Vec<String>,
    /// The condition it affects most, and the late time there, nanoseconds.
    most: (&'a Condition, u64),
}

impl FindingAdvice<'_> {
    /// Whether the late thread already has a real-time priority.
    fn is_realtime(&self) -> bool {
        self.most.0.policy.is_realtime()
    }
}

impl CauseReport<'_> {
    /// The numbered list of at most `most` remedies.
    pub(crate) fn remedies(&self, most: usize, width: usize) -> String {
        let findings = self.findings();
        let mut all = advice(&self.loops, &findings);
        let of_threads = thread_advice(self.analysis);
        all.retain(|advice| !self.is_dwarfed(advice, &of_threads));
        all.sort_by_key(|advice| Reverse(advice.late_ns));
        let of_machine = all.iter().map(|advice| finding_advice_text(advice, self.analysis, width));
        let is_of_user =
            |advice: &&ThreadAdvice| !is_helper(self.analysis, &advice.thread.name, advice.thread.tid);
        let of_threads = of_threads.iter().filter(is_of_user);
        let of_threads = of_threads.map(|advice| thread_advice::text(advice, self.analysis, width));
        // Advice on the program itself comes first: no setting of the machine replaces it.
        let of_requests = request_advice(self.analysis);
        let of_requests = of_requests.iter().map(request_advice::text);
        let of_program = of_requests.chain(event_loop_advice(self.analysis)).chain(of_threads);
        let all = of_program.chain(of_machine);
        let texts: Vec<AdviceText> = all.take(most).collect();
        if texts.is_empty() {
            return self.no_advice(&findings, width);
        }
        let lines = (1..).zip(texts).map(|(number, advice)| {
            let sentence = format!("{number}. {}.", advice.sentence.trim_end_matches('.'));
            format!("  {}\n{}", wrapped(&sentence, width, 5), advice.steps)
        });
        format!("{}\n{}", paint(HEADING, "What to do"), lines.collect::<String>())
    }

    /// Whether advice on idle states would distract: threads of a watched program are late mostly for other reasons, a loop drifts, or an event loop is blocked.
    fn is_dwarfed(&self, advice: &FindingAdvice<'_>, of_threads: &[ThreadAdvice]) -> bool {
        let is_of_idling = matches!(advice.finding.id, FindingId::CpuDmaLatency | FindingId::IdleStates);
        let late =
            |late_loop: &LateLoop<'_>| late_loop.why.causes.iter().map(|cause| cause.late_ns).sum::<u64>();
        let most = self.loops.iter().map(late).max().unwrap_or(0);
        let is_watched = self.analysis.header.command == Command::Watch;
        let drifts = of_threads.iter().any(|advice| matches!(advice.cure, Cure::SleepUntil(_)));
        let is_loops =
            blocked_event_loops(self.analysis).iter().any(|blocked_loop| blocked_loop.to_do.is_some());
        let is_soon = self.loops.iter().all(|late_loop| late_loop.why.late.above < WORTH_A_WORD);
        let is_little = is_soon || advice.late_ns as f64 <= IDLING * most as f64;
        is_of_idling && is_watched && (drifts || is_loops || is_little)
    }

    /// The findings of `doctor` that apply to the late threads. For a watched program those about howlate's own process do not.
    fn findings(&self) -> Vec<Finding> {
        let is_watched = self.analysis.header.command == Command::Watch;
        let findings = self.analysis.header.findings.iter();
        findings.filter(|finding| !(is_watched && is_about_howlate(&finding.id))).cloned().collect()
    }

    /// Says why a watched program is given no advice.
    fn no_advice(&self, findings: &[Finding], width: usize) -> String {
        if self.analysis.header.command != Command::Watch {
            return String::new();
        }
        let main = |late_loop: &LateLoop<'_>| {
            let first = families(&late_loop.why).into_iter().next()?;
            let matters = first.cause.share >= MAIN && late_loop.why.late.above >= WORTH_A_WORD;
            let policy = late_loop.together.first().policy_in_force();
            let has_remedy = remedy(&first.cause, policy, findings).is_some();
            (matters && !is_caused_by_measuring(&first.cause)).then_some((first, has_remedy))
        };
        let first = self.loops.iter().filter_map(main).max_by_key(|(family, _)| family.cause.late_ns);
        let Some((first, has_remedy)) = first else { return String::new() };
        let what = family_in_words(&first);
        let text = if is_rare(&first.cause) {
            format!("No advice: too few late wake-ups were due to {what}.")
        } else if has_remedy {
            format!("No advice: the remedy for {what} would make little difference.")
        } else {
            format!("No advice: howlate knows no remedy for {what} here.")
        };
        format!("{}\n", wrapped(&text, width, 0))
    }
}

/// What would shorten the callbacks that block event loops of a watched program.
fn event_loop_advice(analysis: &Analysis) -> impl Iterator<Item = AdviceText> {
    let all = blocked_event_loops(analysis);
    all.into_iter()
        .filter_map(|blocked_loop| Some(AdviceText { sentence: blocked_loop.to_do?, steps: String::new() }))
}

fn advice<'a>(loops: &'a [LateLoop<'_>], findings: &'a [Finding]) -> Vec<FindingAdvice<'a>> {
    let mut all: Vec<FindingAdvice<'a>> = Vec::new();
    for late_loop in loops {
        let first = late_loop.together.first();
        let (policy, condition, findings) =
            (first.policy_in_force(), &first.condition, first.relevant_findings(findings));
        for family in families(&late_loop.why) {
            let Some(finding) = remedy(&family.cause, policy, findings) else { continue };
            let (late_ns, who) = (family.cause.late_ns, family_in_words(&family));
            let only_if = only_if(&family.cause, &finding.id);
            match all.iter_mut().find(|advice| advice.finding.id == finding.id) {
                Some(advice) => {
                    advice.late_ns += late_ns;
                    if late_ns > advice.most.1 {
                        advice.most = (condition, late_ns);
                    }
                    advice.only_if = advice.only_if.or(only_if);
                    if !advice.causes.contains(&who) {
                        advice.causes.push(who);
                    }
                }
                None => all.push(FindingAdvice {
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

/// One item: the effect and against whom, the finding, what to type, and whether it was tried.
fn finding_advice_text(advice: &FindingAdvice<'_>, analysis: &Analysis, width: usize) -> AdviceText {
    let against = first_two(&advice.causes);
    let found = with_condition(advice.finding, advice.only_if);
    let sentence =
        format!("{}: {}. {}", effect(advice, &against, analysis), legible(&found), tried(advice, analysis));
    let steps = advice.finding.remedy.iter().flat_map(|remedy| &remedy.apply).take(STEPS);
    let commands = steps.cloned();
    let lines = commands.flat_map(|step| step_lines(&legible(&step), width.saturating_sub(5)));
    let steps = lines.map(|line| format!("     {}\n", paint(COMMAND, line))).collect();
    AdviceText { sentence, steps }
}

/// The name of the late side in sentences.
const fn delayed(analysis: &Analysis) -> &'static str {
    match analysis.header.command {
        Command::Watch => "the program",
        Command::Notify => "the receiver",
        _ => "the thread",
    }
}

/// The effect of the remedy on the late thread.
fn effect(advice: &FindingAdvice<'_>, against: &str, analysis: &Analysis) -> String {
    match &advice.finding.id {
        FindingId::RealtimePermission if advice.is_realtime() => {
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

/// Whether the effect was measured in this recording, and the command that would try it.
fn tried(advice: &FindingAdvice<'_>, analysis: &Analysis) -> String {
    if advice.finding.id == FindingId::RealtimePermission && !advice.is_realtime() {
        let gain = insights(analysis).into_iter().find_map(|insight| match insight {
            Insight::Priority(gain) => Some(gain),
            _ => None,
        });
        if let Some(PriorityEffect { ordinary, realtime, .. }) = gain {
            return format!("Measured here: p99 {ordinary} → {realtime}.");
        }
        if is_tried(advice, analysis) {
            return "Tried here: no difference found with these turns.".to_owned();
        }
    }
    if takes_a_restart(advice.finding) {
        return "Not tried here: it takes a restart.".to_owned();
    }
    setting(&advice.finding.id).map_or_else(
        || "Not tried here.".to_owned(),
        |settings| {
            let command = tune(settings, advice.most.0, &analysis.header);
            if analysis.program.as_ref().is_some_and(|program| program.started) {
                // The default of `--budget`: a program that ends before leaves nothing decided.
                return format!("Not tried here. `{command}` tries it, if the program runs for 10 minutes.");
            }
            format!("Not tried here. To try it: `{command}`.")
        },
    )
}

/// Whether this recording has the same work and load with a real-time policy. Threads of one watched program do not count as such a trial.
fn is_tried(advice: &FindingAdvice<'_>, analysis: &Analysis) -> bool {
    let late = advice.most.0;
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

/// Whether the remedy applies only after a reboot, so that no run can try it.
fn takes_a_restart(finding: &Finding) -> bool {
    let first = finding.remedy.iter().find_map(|remedy| remedy.apply.first());
    first.is_some_and(|step| !is_command(step) && step.ends_with("restart"))
}

/// The command that tries these settings on the late condition.
fn tune(settings: &str, condition: &Condition, header: &Header) -> String {
    if header.command == Command::Watch {
        return match running_program(&header.arguments) {
            Some(program) => format!("howlate tune program {program} --knobs {settings}"),
            None => format!("howlate tune --knobs {settings} -- {}", watched(&header.arguments)),
        };
    }
    let mut command = "howlate tune".to_owned();
    let (policy, load) = (condition.policy, &condition.load);
    if policy != Policy::OTHER || !load.is_idle() {
        command.push_str(" cyclic");
    }
    if policy != Policy::OTHER {
        command.push_str(&format!(" --policy {policy}"));
    }
    if !load.is_idle() {
        command.push_str(&format!(" --load {load}"));
    }
    format!("{command} --knobs {settings}")
}

/// The names of the `howlate tune` settings that correspond to a finding.
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
