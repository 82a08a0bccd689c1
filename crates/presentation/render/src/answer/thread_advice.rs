//! What would help a thread of a watched program: a sentence, and the command or code.

use howlate_analyse::cause::WhyCause;
use howlate_analyse::watch::LengthSleeps;
use howlate_analyse::{AdvisedThread, Analysis, Cure, Meanwhile, ThreadAdvice};
use howlate_model::{
    CauseKind, FIFO_OF_THREAD_CODE, GroupQuota, GroupWithoutRealtime, Latency, Priority, ProgramLanguage,
    Span,
};

use crate::cause_words::{cause_in_words, first_two, percent};
use crate::command_line::{running_program, watched};
use crate::commands_to_type::{is_command, step_lines};
use crate::numbers::length;
use crate::style::{COMMAND, paint};
use crate::untrusted_text::legible;
use crate::watched_slack::{USUAL_SLACK, finding as slack_finding};

/// Programs that set their threads' priorities themselves if told to: program name, and the switch.
const OWN_SWITCHES: [(&str, &str); 2] = [
    (
        "jackd",
        "start it with `-R` (`jackd -R …`): then it gives its own threads the priorities that they need",
    ),
    (
        "pipewire",
        "let its module `libpipewire-module-rt` set them: it gives its own threads the priorities that they need",
    ),
];

/// A sentence, and the commands or code below it.
pub(super) struct AdviceText {
    pub(super) sentence: String,
    pub(super) steps: String,
}

/// Formats one piece of advice.
pub(super) fn text(advice: &ThreadAdvice, analysis: &Analysis, width: usize) -> AdviceText {
    let writer = AdviceWriter { advice, analysis };
    let (sentence, steps) = writer.sentence_and_steps();
    let sentence = match sentence.strip_prefix(THREAD) {
        Some(rest) => format!("Thread{rest}"),
        None => sentence,
    };
    let sentence = format!("{}. Not tried here", sentence.trim_end_matches('.'));
    let room = width.saturating_sub(5);
    // Code is never wrapped, so that it can be copied.
    let lines = steps.iter().flat_map(|step| match is_command(step) {
        true => step_lines(&legible(step), room),
        false => vec![legible(step).into_owned()],
    });
    let steps = lines.map(|line| format!("     {}\n", paint(COMMAND, line))).collect();
    AdviceText { sentence, steps }
}

/// C code that gives a mutex priority inheritance.
const INHERITANCE: &str = "pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);";
/// Precedes the name of each thread.
const THREAD: &str = "thread";

struct AdviceWriter<'a> {
    advice: &'a ThreadAdvice,
    analysis: &'a Analysis,
}

impl AdviceWriter<'_> {
    fn sentence_and_steps(&self) -> (String, Vec<String>) {
        let name = name(&self.advice.thread);
        match &self.advice.cure {
            Cure::RealTime { priority, refused_in } => self.real_time(*priority, refused_in.as_ref()),
            Cure::Inheritance { holder } => self.inheritance(holder),
            Cure::ShorterLock { holder, meanwhile } => match meanwhile {
                Meanwhile::Works => self.shorter_lock(holder),
                Meanwhile::BlockedIn(call) => (self.lock_while_blocked(holder, call), Vec::new()),
                Meanwhile::OffCpu => (self.lock_while_off_cpu(holder), Vec::new()),
            },
            Cure::InterpreterLock { holder } => {
                let other = self.other(holder);
                let is_ready = self.advice.against.iter().any(|cause| cause.kind == CauseKind::Thread);
                let waits = match is_ready {
                    true => format!("{other} keeps {name} from its CPU"),
                    false => format!("{name} waits for {other} (futex)"),
                };
                (
                    format!(
                        "{waits}. This is consistent with the interpreter lock that threads of one Python process share: have it \
                         handed over sooner, or move that work to a process of its own (`multiprocessing`); a priority does not help"
                    ),
                    vec!["sys.setswitchinterval(0.0005)".to_owned()],
                )
            }
            Cure::HandOver { call } => (
                format!(
                    "{name} is blocked in {call}(2) within its own iterations: have another thread make that call, and just hand it the data"
                ),
                Vec::new(),
            ),
            Cure::Memory => (
                format!(
                    "{name} waits for its own memory (page faults): read and lock what it needs before the loop begins"
                ),
                self.in_c("mlockall(MCL_CURRENT | MCL_FUTURE);   // a mapped file: MAP_POPULATE"),
            ),
            Cure::SleepUntil(found) => self.sleep_until(*found),
            Cure::DeadlineRuntime { runtime, period } => self.deadline(*runtime, *period),
            Cure::Quota(quota) => self.quota(quota.as_ref()),
            Cure::Slack(slack) => self.slack(*slack),
            Cure::GiveWay { culprit, tid } => self.give_way(culprit, *tid),
        }
    }

    /// The other thread of the program, which may have the same name.
    fn other(&self, name: &str) -> String {
        match name == self.advice.thread.name {
            true => format!("another thread {}", legible(name)),
            false => legible(name).into_owned(),
        }
    }

    /// The first two causes of the delay.
    fn against(&self) -> String {
        let who = |cause: &WhyCause| match cause.name.as_deref() == Some(self.advice.thread.name.as_str()) {
            true if cause.own => format!("the other {}", legible(&self.advice.thread.name)),
            true => format!("the {} of another process", legible(&self.advice.thread.name)),
            false => cause_in_words(&WhyCause { pid: None, ..cause.clone() }),
        };
        first_two(&self.advice.against.iter().map(who).collect::<Vec<_>>())
    }

    /// Whether the cause is another thread of the program with the same name.
    fn is_namesake(&self, cause: &WhyCause) -> bool {
        cause.own && cause.name.as_deref() == Some(self.advice.thread.name.as_str())
    }

    fn language(&self) -> Option<ProgramLanguage> {
        self.analysis.program.as_ref()?.language
    }

    /// A line of C, unless the program is known to be in another language.
    fn in_c(&self, line: &str) -> Vec<String> {
        self.language().is_none().then(|| line.to_owned()).into_iter().collect()
    }

    /// Whether the thread, or the program, has ended, so that its id is no longer valid.
    fn has_ended(&self) -> bool {
        let is_listed = |ended: &[u32]| self.advice.thread.tid.is_some_and(|tid| ended.contains(&tid));
        self.analysis.program.as_ref().is_some_and(|program| program.started || is_listed(&program.ended))
    }

    fn is_single_thread(&self) -> bool {
        self.analysis.program.as_ref().is_some_and(|program| program.threads == 1)
    }

    fn real_time(
        &self,
        priority: Priority,
        refused_in: Option<&GroupWithoutRealtime>,
    ) -> (String, Vec<String>) {
        let (name, against) = (name(&self.advice.thread), self.against());
        let command = watched(&self.analysis.header.arguments);
        let program = command.split_whitespace().next().unwrap_or_default();
        let file = program.rsplit('/').next().unwrap_or_default();
        if let Some((_, switch)) = OWN_SWITCHES
            .iter()
            .find(|(program_name, _)| *program_name == file || *program_name == self.advice.thread.name)
        {
            return (
                format!("Real-time priorities would keep {against} from delaying {name}: {switch}"),
                Vec::new(),
            );
        }
        if let Some(group) = refused_in {
            let sentence = format!(
                "A real-time priority would keep {against} from delaying {name}, but is refused there: its control group {} has no \
                 running time for real-time threads",
                legible(&group.group)
            );
            return match &group.file {
                Some(file) => {
                    (format!("{sentence}. Give it some first"), self.with_running_time(priority, file))
                }
                None => (sentence, Vec::new()),
            };
        }
        if let Some(blocked) = self.may_not() {
            return (
                format!("A real-time priority would keep {against} from delaying {name}. {}", blocked.0),
                blocked.1,
            );
        }
        let raised = match self.advice.thread.policy.is_realtime() {
            true => format!("Priority {}", priority.get()),
            false => "Real-time priority".to_owned(),
        };
        let mut sentence = match self.is_single_thread() {
            true => format!("{raised} keeps {against} from delaying {name}"),
            false => {
                format!(
                    "{raised} for {name} alone, not for its whole program, keeps {against} from delaying it"
                )
            }
        };
        // A thread with a real-time policy has set it itself, and would set it again.
        let is_started_with_it = self.is_single_thread() && !self.advice.thread.policy.is_realtime();
        let typed_in = self.advice.thread.tid.filter(|_| !self.has_ended()).is_none() && !is_started_with_it;
        if typed_in {
            sentence.push_str(match self.language() {
                Some(ProgramLanguage::Node | ProgramLanguage::Java | ProgramLanguage::Go) => {
                    ": set it while it runs, with `chrt` and its id at that time"
                }
                Some(ProgramLanguage::Python) | None => ": set it in that thread",
            });
            if self.advice.against.iter().any(|cause| self.is_namesake(cause)) {
                sentence.push_str(", not its namesake");
            }
        }
        sentence.push_str(&self.cost());
        sentence.extend(self.how_to_try(priority));
        let steps = match self.advice.thread.tid.filter(|_| !self.has_ended()) {
            Some(tid) => {
                let steps = FIFO_OF_THREAD_CODE.shell.with_priority(priority).join("");
                vec![format!("{}   # {name}", steps.replace("TID", &tid.to_string()))]
            }
            None if is_started_with_it && !command.is_empty() => {
                // `--reset-on-fork`: threads and processes that it starts later stay ordinary.
                vec![format!("chrt --reset-on-fork --fifo {} {command}", priority.get())]
            }
            None => self.in_the_program(priority),
        };
        (sentence, steps)
    }

    /// Why a real-time policy may not be set, and the command that allows it; `None` where it may.
    fn may_not(&self) -> Option<(String, Vec<String>)> {
        use howlate_model::{FindingId, Verdict};
        let findings = self.analysis.header.findings.iter();
        let mut refusals = findings.filter(|finding| {
            finding.id == FindingId::RealtimePermission && finding.verdict == Verdict::Blocks
        });
        let finding = refusals.next()?;
        let steps = finding.remedy.iter().flat_map(|remedy| &remedy.apply).take(1).cloned().collect();
        Some((format!("You may not set one: {}", finding.found), steps))
    }

    /// What other threads on the CPU lose.
    fn cost(&self) -> String {
        match self.advice.thread.much_of_a_cpu() {
            Some(share) => format!(
                ". It ran {} of the time: normal threads on its CPU would get only the rest (by default at least 5 %)",
                percent(share)
            ),
            None => String::new(),
        }
    }

    /// The `howlate tune` command that tries the usual priority on a running program.
    fn how_to_try(&self, priority: Priority) -> Option<String> {
        let program = running_program(&self.analysis.header.arguments).filter(|_| !self.has_ended())?;
        let by_id =
            self.advice.thread.tid.filter(|tid| self.has_other_names(*tid)).map(|tid| tid.to_string());
        let thread = by_id.unwrap_or_else(|| howlate_model::shell_word(&self.advice.thread.name));
        (priority == Priority::USUAL).then(|| {
            format!(". `howlate tune program {program} --thread {thread} --knobs fifo` tries it, which takes about 10 minutes")
        })
    }

    /// Whether the thread was also seen under another name: then only its id selects it reliably.
    fn has_other_names(&self, tid: u32) -> bool {
        let is_it = |outcome: &&howlate_analyse::Outcome| {
            outcome.in_force.as_ref().is_some_and(|in_force| in_force.tid == tid)
        };
        let mut names =
            self.analysis.outcomes().iter().filter(is_it).map(|outcome| outcome.condition.name.as_deref());
        names.any(|name| name != Some(self.advice.thread.name.as_str()))
    }

    /// Code that sets the policy in the thread itself, for a program that will be restarted.
    fn in_the_program(&self, priority: Priority) -> Vec<String> {
        match self.language() {
            Some(ProgramLanguage::Python) => FIFO_OF_THREAD_CODE.python.with_priority(priority),
            Some(ProgramLanguage::Node | ProgramLanguage::Java | ProgramLanguage::Go) => Vec::new(),
            None => FIFO_OF_THREAD_CODE.c.with_priority(priority),
        }
    }

    /// Gives the control group real-time running time, then sets the thread's policy. 450 ms of the period's 1 s leave time for other groups.
    fn with_running_time(&self, priority: Priority, file: &str) -> Vec<String> {
        let grant = format!("echo 450000 | sudo tee {file}");
        match self.advice.thread.tid.filter(|_| !self.has_ended()) {
            Some(tid) => {
                let policy = FIFO_OF_THREAD_CODE
                    .shell
                    .with_priority(priority)
                    .join("")
                    .replace("TID", &tid.to_string());
                vec![format!("{grant} && {policy}   # {}", name(&self.advice.thread))]
            }
            None => vec![grant],
        }
    }

    /// Advice for a contended lock. With priority inheritance the holder is boosted, and the lock goes to the waiter on release.
    fn shorter_lock(&self, holder: &str) -> (String, Vec<String>) {
        let (name, other, holder) = (name(&self.advice.thread), self.other(holder), legible(holder));
        let lends = self.advice.thread.policy.is_realtime() && self.language().is_none();
        let (more, steps) = match lends {
            true => (
                format!(
                    ". If it is a mutex, priority inheritance lends {holder} the priority of {name} meanwhile, and hands it over at once"
                ),
                vec![INHERITANCE.to_owned()],
            ),
            false => (format!("; a priority for {name} does not"), Vec::new()),
        };
        let sentence = format!(
            "{name} waits for {other} (futex): a lock that it holds, or a signal from it. Less work by {holder} first would shorten the \
             wait{more}"
        );
        (sentence, steps)
    }

    fn lock_while_blocked(&self, holder: &str, call: &str) -> String {
        let (name, other, holder) = (name(&self.advice.thread), self.other(holder), legible(holder));
        let call = legible(call);
        format!(
            "{name} waits for {other} (futex), which is blocked in {call}(2) for most of that. If {holder} holds a lock meanwhile, have it \
             release it before the call"
        )
    }

    /// Without a real-time policy there is no priority to lend.
    fn lock_while_off_cpu(&self, holder: &str) -> String {
        let (name, other, holder) = (name(&self.advice.thread), self.other(holder), legible(holder));
        let culprits = self.culprits();
        format!(
            "{name} waits for {other} (futex), which is kept from its CPU by {culprits} meanwhile. A policy for {holder} that comes before \
             {culprits} shortens the wait, and so does less work under the lock; a policy for {name} does not"
        )
    }

    fn inheritance(&self, holder: &str) -> (String, Vec<String>) {
        let (name, holder) = (name(&self.advice.thread), legible(holder));
        let sentence = format!(
            "{name} waits for {holder}, which is kept from its CPU by {} meanwhile. A mutex with priority inheritance lends {holder} \
             the priority of {name}, if it is a mutex that they share",
            self.culprits()
        );
        (sentence, vec![INHERITANCE.to_owned()])
    }

    /// The names alone: whom they delayed is in the sentence already.
    fn culprits(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        for name in self.advice.against.iter().filter_map(|cause| cause.name.as_deref()) {
            let name = legible(name);
            if !names.iter().any(|earlier| *earlier == name) {
                names.push(name.into_owned());
            }
        }
        first_two(&names)
    }

    fn sleep_until(&self, found: LengthSleeps) -> (String, Vec<String>) {
        let [step, without] = [found.step, found.without_delay].map(Latency::from_span);
        let more =
            found.step.minus(found.without_delay).as_secs_f64() / found.without_delay.as_secs_f64().max(1e-9);
        let sentence = format!(
            "{} sleeps for a length instead of until a time, so each delay moves all later iterations: {step} per iteration instead of \
             {without} ({} slower). Sleep until the next time instead",
            name(&self.advice.thread),
            percent(more)
        );
        let code = match self.language() {
            Some(ProgramLanguage::Python) => {
                vec!["next += period; time.sleep(max(0, next - time.monotonic()))".to_owned()]
            }
            _ => self
                .in_c("clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);   // C++: sleep_until"),
        };
        (sentence, code)
    }

    fn deadline(&self, runtime: Span, period: Span) -> (String, Vec<String>) {
        let name = name(&self.advice.thread);
        let more = Span::from_nanos(runtime.as_nanos().saturating_mul(2).min(period.as_nanos() * 9 / 10));
        let sentence = format!(
            "{name} used up its deadline runtime of {} in {}, and waited for its next period. Give it more: as long as its longest \
             iteration computes",
            length(runtime),
            length(period)
        );
        let [runtime, period] = [more, period].map(Span::as_nanos);
        let steps = match self.advice.thread.tid.filter(|_| !self.has_ended()) {
            Some(tid) => vec![format!(
                "chrt --deadline --sched-runtime {runtime} --sched-period {period} --sched-deadline {period} -p 0 {tid}"
            )],
            None => self.in_c(&format!(
                "attributes.sched_runtime = {runtime};   // sched_setattr(2) in the program; period {period}"
            )),
        };
        (sentence, steps)
    }

    fn quota(&self, quota: Option<&GroupQuota>) -> (String, Vec<String>) {
        let name = name(&self.advice.thread);
        let Some(quota) = quota else {
            return (
                format!(
                    "{name} waited because a control group of it had used up its CPU quota: raise it where it is set"
                ),
                Vec::new(),
            );
        };
        let sentence = format!(
            "{name} waited because its control group {} had used up its quota, {} of CPU time in {}: raise it. How much it needs shows \
             only without the limit; here with four times as much",
            legible(&quota.group),
            length(quota.quota),
            length(quota.period)
        );
        (sentence, raised(quota).into_iter().collect())
    }

    fn slack(&self, slack: Span) -> (String, Vec<String>) {
        let whose = match slack == USUAL_SLACK {
            true => "the timer slack that programs have by default",
            false => "its timer slack, which the program, its parent or its service has set",
        };
        let sentence = format!(
            "The kernel may delay the timers of {} by {}, {whose}",
            name(&self.advice.thread),
            length(slack)
        );
        let finding = slack_finding(self.advice.thread.tid.unwrap_or_default(), slack, self.analysis);
        let steps = finding.remedy.map_or_else(Vec::new, |remedy| remedy.apply);
        (sentence, steps.into_iter().take(1).collect())
    }

    fn give_way(&self, culprit: &str, tid: Option<u32>) -> (String, Vec<String>) {
        let (name, culprit) = (name(&self.advice.thread), legible(culprit));
        let id = tid.map_or_else(String::new, |tid| format!(" [{tid}]"));
        let in_it = if self.has_ended() { format!(": set it in {culprit} itself") } else { String::new() };
        let sentence = format!(
            "{culprit}{id}, a thread of the same program, keeps {name} from its CPU. With a higher nice value {culprit} gives way to it, \
             and takes longer{in_it}"
        );
        let steps = match tid.filter(|_| !self.has_ended()) {
            Some(tid) => vec![format!("renice -n 19 -p {tid}   # {culprit}")],
            None => self.in_c("setpriority(PRIO_PROCESS, 0, 19);"),
        };
        (sentence, steps)
    }
}

/// The thread with its id, marked as a thread, so that its name is not taken for the program's.
fn name(thread: &AdvisedThread) -> String {
    let tid = thread.tid.map_or_else(String::new, |tid| format!(" [{tid}]"));
    format!("{THREAD} {}{tid}", legible(&thread.name))
}

/// The command that quadruples the quota: for Kubernetes, Docker and systemd their own, otherwise a write to the cgroup file.
fn raised(quota: &GroupQuota) -> Option<String> {
    let [micros, period] = [quota.quota, quota.period].map(|span| span.as_nanos() / 1_000);
    let (four, last) = (micros.saturating_mul(4), quota.group.rsplit('/').next()?);
    let cpus = four as f64 / period.max(1) as f64;
    if quota.group.contains("kubepods") {
        return Some(format!("# in the pod's manifest: resources.limits.cpu: \"{cpus:.2}\", or none"));
    }
    let container = last.strip_prefix("docker-").and_then(|id| id.strip_suffix(".scope"));
    let container = container.or_else(|| quota.group.starts_with("/docker/").then_some(last));
    if let Some(id) = container {
        return Some(format!("docker update --cpus {cpus:.2} {}", id.get(..12).unwrap_or(id)));
    }
    if last.ends_with(".service") {
        return Some(format!("systemctl set-property --runtime {last} CPUQuota={:.0}%", cpus * 100.0));
    }
    let value = if !quota.file.ends_with("_us") { format!("{four} {period}") } else { four.to_string() };
    Some(format!("echo {} | sudo tee {}", howlate_model::shell_word(&value), quota.file))
}

#[cfg(test)]
mod tests {
    use howlate_model::{Command, Header, Policy, WatchedProgram};

    use super::*;

    fn advice(cure: Cure) -> ThreadAdvice {
        let thread = AdvisedThread {
            name: "control".into(),
            tid: Some(4_712),
            policy: Policy::OTHER,
            share: Some(0.1),
        };
        ThreadAdvice { thread, cure, late_ns: 1, against: Vec::new() }
    }

    fn advice_text(cure: Cure, steps: &str, program: WatchedProgram) -> (String, String) {
        text_of_advice(&advice(cure), steps, program)
    }

    fn text_of_advice(advice: &ThreadAdvice, steps: &str, program: WatchedProgram) -> (String, String) {
        let arguments = steps.split(' ').map(str::to_owned).collect();
        let header = Header { command: Command::Watch, arguments, ..Header::for_conditions(Vec::new()) };
        let mut analysis = Analysis::new(header);
        analysis.program = Some(Box::new(program));
        let AdviceText { sentence, steps } = text(advice, &analysis, 80);
        (sentence, anstream::adapter::strip_str(&steps).to_string())
    }

    fn real_time(steps: &str, program: WatchedProgram) -> (String, String) {
        advice_text(Cure::RealTime { priority: Priority::USUAL, refused_in: None }, steps, program)
    }

    #[test]
    fn a_class_is_for_one_thread_by_its_id_or_in_its_code() {
        let running = WatchedProgram { threads: 3, ..WatchedProgram::default() };
        let (sentence, steps) = real_time("watch control", running.clone());
        assert!(steps.contains("chrt --reset-on-fork --fifo -p 80 4712"), "{steps}");
        assert!(
            sentence.contains("howlate tune program control --thread control --knobs fifo"),
            "{sentence}"
        );
        let started = WatchedProgram { started: true, ..running };
        let (sentence, steps) = real_time("watch -- ./loop 8", started.clone());
        assert!(
            steps.contains("pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK"),
            "{steps}"
        );
        assert!(
            !steps.contains("4712") && !sentence.contains("howlate tune"),
            "that thread has ended: {steps}"
        );
        let python = WatchedProgram { language: Some(ProgramLanguage::Python), ..started.clone() };
        assert!(real_time("watch -- python3 loop.py", python).1.contains("SCHED_RESET_ON_FORK"));
        let alone = WatchedProgram { threads: 1, ..started };
        let (_, steps) = real_time("watch -- ./loop 8", alone.clone());
        assert_eq!(steps.trim(), "chrt --reset-on-fork --fifo 80 ./loop 8");
        let mut advice = advice(Cure::RealTime { priority: Priority::USUAL, refused_in: None });
        advice.thread.policy = Policy::Fifo { priority: Priority::USUAL };
        let (_, steps) = text_of_advice(&advice, "watch -- ./loop 8", alone);
        assert!(steps.contains("pthread_setschedparam"), "it would set its own again: {steps}");
    }

    /// A thread of the program had the CPU.
    fn by_thread(name: &str) -> WhyCause {
        WhyCause {
            kind: CauseKind::Thread,
            name: Some(name.into()),
            part: None,
            real_time: false,
            own: true,
            priority: None,
            call: String::new(),
            through: String::new(),
            via: Vec::new(),
            pid: None,
            late_ns: 1,
            share: 0.9,
            wakeups: 10,
            max: Span::from_millis(1),
            remedy: None,
        }
    }

    /// Raising the priority of both threads would make the late one later.
    #[test]
    fn of_two_threads_of_one_name_it_is_told_which() {
        let mut advice = advice(Cure::RealTime { priority: Priority::USUAL, refused_in: None });
        advice.against = vec![by_thread("control")];
        let started = WatchedProgram { threads: 4, started: true, ..WatchedProgram::default() };
        let (sentence, _) = text_of_advice(&advice, "watch -- ./siblings", started);
        assert!(sentence.contains("keeps the other control from delaying it"), "{sentence}");
        assert!(sentence.contains("not its namesake"), "{sentence}");
        advice.against.push(WhyCause { own: false, ..by_thread("control") });
        let (sentence, _) = text_of_advice(&advice, "watch -- ./siblings", WatchedProgram::default());
        assert!(
            sentence.contains("keeps the other control and the control of another process"),
            "{sentence}"
        );
    }

    #[test]
    fn who_sets_its_own_priorities_is_asked_to() {
        let program = WatchedProgram { started: true, threads: 5, ..WatchedProgram::default() };
        let (sentence, steps) = real_time("watch -- jackd -d dummy", program);
        assert!(sentence.contains("jackd -R") && steps.is_empty(), "{sentence}{steps}");
    }

    #[test]
    fn a_quota_is_raised_by_whoever_set_it() {
        let raised = |group: &str, file: &str| {
            let (quota, period) = (Span::from_millis(20), Span::from_millis(100));
            raised(&GroupQuota { group: group.into(), file: file.into(), quota, period }).unwrap()
        };
        let cpu_quota = "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us";
        assert_eq!(raised("/a", cpu_quota), format!("echo 80000 | sudo tee {cpu_quota}"));
        let cpu_max = "/sys/fs/cgroup/a/cpu.max";
        assert_eq!(raised("/a", cpu_max), format!("echo '80000 100000' | sudo tee {cpu_max}"));
        assert_eq!(
            raised("/system.slice/api.service", cpu_max),
            "systemctl set-property --runtime api.service CPUQuota=80%"
        );
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(raised(&format!("/docker/{id}"), cpu_quota), "docker update --cpus 0.80 0123456789ab");
        assert!(raised("/kubepods/burstable/pod1/x", cpu_max).contains("resources.limits.cpu"));
    }

    #[test]
    fn where_it_is_refused_its_group_is_given_time_first() {
        let steps = |file: Option<&str>| {
            let group = GroupWithoutRealtime { group: "/app".into(), file: file.map(str::to_owned) };
            let cure = Cure::RealTime { priority: Priority::USUAL, refused_in: Some(group) };
            let (sentence, steps) =
                advice_text(cure, "watch 4711", WatchedProgram { threads: 3, ..WatchedProgram::default() });
            assert!(sentence.contains("/app") && !steps.contains("renice"), "{sentence}{steps}");
            steps
        };
        assert_eq!(steps(None), "", "no file gives it any");
        let command = steps(Some("/sys/fs/cgroup/cpu/app/cpu.rt_runtime_us"));
        assert!(
            command.contains("echo 450000 | sudo tee /sys/fs/cgroup/cpu/app/cpu.rt_runtime_us && chrt"),
            "{command}"
        );
        assert!(command.contains("--reset-on-fork --fifo -p 80 "), "{command}");
    }

    /// The id may belong to another thread by now.
    #[test]
    fn a_thread_that_has_ended_is_not_named_by_its_id() {
        let advice_after_end = |ended: Vec<u32>| {
            let cure = Cure::RealTime { priority: Priority::USUAL, refused_in: None };
            advice_text(cure, "watch 4711", WatchedProgram { threads: 3, ended, ..WatchedProgram::default() })
        };
        let (_, steps) = advice_after_end(Vec::new());
        let id =
            steps.split_whitespace().find_map(|word| word.parse::<u32>().ok().filter(|id| *id > 99)).unwrap();
        let (sentence, steps) = advice_after_end(vec![id]);
        assert!(!steps.contains("chrt") && steps.contains("pthread_setschedparam"), "{steps}");
        assert!(!sentence.contains("howlate tune"), "{sentence}");
    }

    #[test]
    fn of_a_lock_it_is_said_what_its_holder_does_meanwhile() {
        let text = |meanwhile| {
            let mut advice = advice(Cure::ShorterLock { holder: "planner".into(), meanwhile });
            advice.against = vec![by_thread("hog"), by_thread("hog")];
            text_of_advice(&advice, "watch 4711", WatchedProgram::default()).0
        };
        let hostile = text(Meanwhile::BlockedIn("\u{1b}[2J".into()));
        assert!(!hostile.contains('\u{1b}'), "{hostile:?}");
        let blocked = text(Meanwhile::BlockedIn("fsync".into()));
        assert!(blocked.contains("planner (futex), which is blocked in fsync(2) for most"), "{blocked}");
        let off_cpu = text(Meanwhile::OffCpu);
        assert!(off_cpu.contains("kept from its CPU by hog meanwhile. A policy for planner"), "{off_cpu}");
    }

    /// With an interpreter's own locks, the program cannot set the mutex protocol.
    #[test]
    fn who_has_a_priority_can_lend_it_through_a_mutex() {
        let shorter_lock = |policy, language| {
            let mut advice =
                advice(Cure::ShorterLock { holder: "planner".into(), meanwhile: Meanwhile::Works });
            advice.thread.policy = policy;
            text_of_advice(&advice, "watch 4711", WatchedProgram { language, ..WatchedProgram::default() })
        };
        let fifo = Policy::Fifo { priority: Priority::USUAL };
        let (sentence, steps) = shorter_lock(fifo, None);
        assert!(
            sentence.contains("Less work by planner") && sentence.contains("lends planner"),
            "{sentence}"
        );
        assert!(steps.contains("PTHREAD_PRIO_INHERIT"), "{steps}");
        for (policy, language) in [(Policy::OTHER, None), (fifo, Some(ProgramLanguage::Java))] {
            let (sentence, steps) = shorter_lock(policy, language);
            assert!(!sentence.contains("lends") && steps.is_empty(), "{sentence}{steps}");
        }
    }
}
