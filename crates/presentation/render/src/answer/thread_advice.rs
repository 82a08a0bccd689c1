//! What would help a thread of a watched program: a sentence, and what to type or to write in the program.

use howlate_analyse::cause::WhyCause;
use howlate_analyse::watch::LengthSleeps;
use howlate_analyse::{AdvisedThread, Analysis, Cure, ThreadAdvice};
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

/// Programs that set the priorities of their own threads when they are asked to: by the name of the program.
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

/// A sentence, and below it what to type.
pub(super) struct Written {
    pub(super) sentence: String,
    pub(super) typed: String,
}

/// What is said and typed of one piece of advice.
pub(super) fn written(one: &ThreadAdvice, analysis: &Analysis, width: usize) -> Written {
    let told = Told { one, analysis };
    let (sentence, typed) = told.words();
    let sentence = match sentence.strip_prefix(THREAD) {
        Some(rest) => format!("Thread{rest}"),
        None => sentence,
    };
    let sentence = format!("{}. Not tried here", sentence.trim_end_matches('.'));
    let room = width.saturating_sub(5);
    // Code is copied as it is, however long its line.
    let lines = typed.iter().flat_map(|step| match is_command(step) {
        true => step_lines(&legible(step), room),
        false => vec![legible(step).into_owned()],
    });
    let typed = lines.map(|line| format!("     {}\n", paint(COMMAND, line))).collect();
    Written { sentence, typed }
}

/// What makes a mutex lend its holder the priority of who waits for it, in C.
const INHERITANCE: &str = "pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);";
/// What a thread is called by before its name.
const THREAD: &str = "thread";

struct Told<'a> {
    one: &'a ThreadAdvice,
    analysis: &'a Analysis,
}

impl Told<'_> {
    fn words(&self) -> (String, Vec<String>) {
        let name = name(&self.one.thread);
        match &self.one.cure {
            Cure::RealTime { priority, refused_in } => self.real_time(*priority, refused_in.as_ref()),
            Cure::Inheritance { holder } => self.inheritance(holder),
            Cure::ShorterLock { holder } => self.shorter_lock(holder),
            Cure::InterpreterLock { holder } => {
                let other = self.other(holder);
                let is_ready = self.one.against.iter().any(|cause| cause.kind == CauseKind::Thread);
                let waits = match is_ready {
                    true => format!("{other} keeps {name} from its CPU"),
                    false => format!("{name} waits for {other} (futex)"),
                };
                (
                    format!(
                        "{waits}. Threads of one Python process share the interpreter's lock, which that is consistent with: have it \
                         handed over sooner, or move that work to a process of its own (`multiprocessing`); a priority does not help"
                    ),
                    vec!["sys.setswitchinterval(0.0005)".to_owned()],
                )
            }
            Cure::HandOver { call } => (
                format!(
                    "{name} is blocked in {call}(2) within its own iterations: have another thread make that call, and only hand the data over"
                ),
                Vec::new(),
            ),
            Cure::Memory => (
                format!(
                    "{name} waits for its own memory (page faults): read what it needs, and lock it, before the loop begins"
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

    /// Another thread of the program, which may have the same name.
    fn other(&self, name: &str) -> String {
        match name == self.one.thread.name {
            true => format!("another thread {}", legible(name)),
            false => legible(name).into_owned(),
        }
    }

    /// Against whom, the first two.
    fn against(&self) -> String {
        let who = |cause: &WhyCause| match self.is_namesake(cause) {
            true => format!("the other {}", legible(&self.one.thread.name)),
            false => cause_in_words(&WhyCause { pid: None, ..cause.clone() }),
        };
        first_two(&self.one.against.iter().map(who).collect::<Vec<_>>())
    }

    /// Whether it is another thread of the program with the same name.
    fn is_namesake(&self, cause: &WhyCause) -> bool {
        cause.own && cause.name.as_deref() == Some(self.one.thread.name.as_str())
    }

    fn language(&self) -> Option<ProgramLanguage> {
        self.analysis.program.as_ref()?.language
    }

    /// A line for programs of which nothing says that they are no C or C++.
    fn in_c(&self, line: &str) -> Vec<String> {
        self.language().is_none().then(|| line.to_owned()).into_iter().collect()
    }

    /// Whether the program has ended with the watching, or the thread before: its id is nobody's now.
    fn has_ended(&self) -> bool {
        let is_gone = |ended: &[u32]| self.one.thread.tid.is_some_and(|tid| ended.contains(&tid));
        self.analysis.program.as_ref().is_some_and(|program| program.started || is_gone(&program.ended))
    }

    fn is_single_thread(&self) -> bool {
        self.analysis.program.as_ref().is_some_and(|program| program.threads == 1)
    }

    fn real_time(
        &self,
        priority: Priority,
        refused_in: Option<&GroupWithoutRealtime>,
    ) -> (String, Vec<String>) {
        let (name, against) = (name(&self.one.thread), self.against());
        let command = watched(&self.analysis.header.arguments);
        let program = command.split_whitespace().next().unwrap_or_default();
        let file = program.rsplit('/').next().unwrap_or_default();
        if let Some((_, switch)) =
            OWN_SWITCHES.iter().find(|(of, _)| *of == file || *of == self.one.thread.name)
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
        let raised = match self.one.thread.policy.is_realtime() {
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
        // One that has a real-time policy already has set it itself, and would do so again.
        let is_started_with_it = self.is_single_thread() && !self.one.thread.policy.is_realtime();
        let typed_in = self.one.thread.tid.filter(|_| !self.has_ended()).is_none() && !is_started_with_it;
        if typed_in {
            sentence.push_str(match self.language() {
                Some(ProgramLanguage::Node | ProgramLanguage::Java | ProgramLanguage::Go) => {
                    ": set it while it runs, by `chrt` with the id that it has then"
                }
                Some(ProgramLanguage::Python) | None => ": set it in that thread",
            });
            if self.one.against.iter().any(|cause| self.is_namesake(cause)) {
                sentence.push_str(", not in the other of its name");
            }
        }
        sentence.push_str(&self.cost());
        sentence.extend(self.how_to_try(priority));
        let typed = match self.one.thread.tid.filter(|_| !self.has_ended()) {
            Some(tid) => {
                let typed = FIFO_OF_THREAD_CODE.shell.with_priority(priority).join("");
                vec![format!("{}   # {name}", typed.replace("TID", &tid.to_string()))]
            }
            None if is_started_with_it && !command.is_empty() => {
                // Threads that it starts later, and what it executes beside itself, stay ordinary.
                vec![format!("chrt --reset-on-fork --fifo {} {command}", priority.get())]
            }
            None => self.in_the_program(priority),
        };
        (sentence, typed)
    }

    /// Whether howlate itself may set such a policy: whoever reads this may then, too. Otherwise why not, and what to type.
    fn may_not(&self) -> Option<(String, Vec<String>)> {
        use howlate_model::{FindingId, Verdict};
        let findings = self.analysis.header.findings.iter();
        let mut blocking =
            findings.filter(|one| one.id == FindingId::RealtimePermission && one.verdict == Verdict::Blocks);
        let finding = blocking.next()?;
        let steps = finding.remedy.iter().flat_map(|remedy| &remedy.apply).take(1).cloned().collect();
        Some((format!("You may not set one: {}", finding.found), steps))
    }

    /// What others lose by it.
    fn cost(&self) -> String {
        match self.one.thread.much_of_a_cpu() {
            Some(share) => format!(
                ". It ran {} of the time: others of its CPU would get only the rest, and beyond 95 % the kernel stops it",
                percent(share)
            ),
            None => String::new(),
        }
    }

    /// What tries the usual priority on a running program.
    fn how_to_try(&self, priority: Priority) -> Option<String> {
        let program = running_program(&self.analysis.header.arguments).filter(|_| !self.has_ended())?;
        let by_id = self.one.thread.tid.filter(|tid| self.has_other_names(*tid)).map(|tid| tid.to_string());
        let thread = by_id.unwrap_or_else(|| howlate_model::shell_word(&self.one.thread.name));
        (priority == Priority::USUAL).then(|| {
            format!(". `howlate tune program {program} --thread {thread} --knobs fifo` tries it, which takes about 10 minutes")
        })
    }

    /// Whether it was seen under another name as well, so that this one may not be its own for long.
    fn has_other_names(&self, tid: u32) -> bool {
        let is_it = |one: &&howlate_analyse::Outcome| one.in_force.as_ref().is_some_and(|one| one.tid == tid);
        let mut names =
            self.analysis.outcomes().iter().filter(is_it).map(|one| one.condition.name.as_deref());
        names.any(|name| name != Some(self.one.thread.name.as_str()))
    }

    /// The same as code, for a thread of a program that is started anew.
    fn in_the_program(&self, priority: Priority) -> Vec<String> {
        match self.language() {
            Some(ProgramLanguage::Python) => FIFO_OF_THREAD_CODE.python.with_priority(priority),
            Some(ProgramLanguage::Node | ProgramLanguage::Java | ProgramLanguage::Go) => Vec::new(),
            None => FIFO_OF_THREAD_CODE.c.with_priority(priority),
        }
    }

    /// The group's running time, and then the policy of its thread. Half of the time leaves something to other groups.
    fn with_running_time(&self, priority: Priority, file: &str) -> Vec<String> {
        let grant = format!("echo 450000 | sudo tee {file}");
        match self.one.thread.tid.filter(|_| !self.has_ended()) {
            Some(tid) => {
                let policy = FIFO_OF_THREAD_CODE
                    .shell
                    .with_priority(priority)
                    .join("")
                    .replace("TID", &tid.to_string());
                vec![format!("{grant} && {policy}   # {}", name(&self.one.thread))]
            }
            None => vec![grant],
        }
    }

    /// Who has a priority can lend it, and is handed a lock that does so at once: whoever had it cannot take it again first.
    fn shorter_lock(&self, holder: &str) -> (String, Vec<String>) {
        let (name, other, holder) = (name(&self.one.thread), self.other(holder), legible(holder));
        let lends = self.one.thread.policy.is_realtime() && self.language().is_none();
        let (more, typed) = match lends {
            true => (
                format!(
                    ". If it is a mutex, priority inheritance lends {holder} the priority of {name} meanwhile, and hands it over at once"
                ),
                vec![INHERITANCE.to_owned()],
            ),
            false => (format!("; a priority for {name} does not"), Vec::new()),
        };
        let sentence = format!(
            "{name} waits for {other} (futex): a lock that it holds, or a signal from it. Less work of {holder} before that shortens the \
             wait{more}"
        );
        (sentence, typed)
    }

    fn inheritance(&self, holder: &str) -> (String, Vec<String>) {
        let (name, holder) = (name(&self.one.thread), legible(holder));
        let sentence = format!(
            "{name} waits for {holder}, which is kept from its CPU by {} meanwhile. A mutex with priority inheritance lends {holder} \
             the priority of {name}, if it is a mutex that they share",
            self.culprits()
        );
        (sentence, vec![INHERITANCE.to_owned()])
    }

    /// The names alone: for whom they were ahead is told already.
    fn culprits(&self) -> String {
        let names = self.one.against.iter().filter_map(|cause| cause.name.as_deref());
        first_two(&names.map(|name| legible(name).into_owned()).collect::<Vec<_>>())
    }

    fn sleep_until(&self, found: LengthSleeps) -> (String, Vec<String>) {
        let [step, without] = [found.step, found.without_delay].map(Latency::from_span);
        let more =
            found.step.minus(found.without_delay).as_secs_f64() / found.without_delay.as_secs_f64().max(1e-9);
        let sentence = format!(
            "{} sleeps for a length instead of until a time, so each delay moves all later iterations: {step} per iteration instead of \
             {without} ({} slower). Sleep until the next time instead",
            name(&self.one.thread),
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
        let name = name(&self.one.thread);
        let more = Span::from_nanos(runtime.as_nanos().saturating_mul(2).min(period.as_nanos() * 9 / 10));
        let sentence = format!(
            "{name} used up its deadline runtime of {} in {}, and waited for its next period. Give it more: as long as its longest \
             iteration computes",
            length(runtime),
            length(period)
        );
        let [runtime, period] = [more, period].map(Span::as_nanos);
        let typed = match self.one.thread.tid.filter(|_| !self.has_ended()) {
            Some(tid) => vec![format!(
                "chrt --deadline --sched-runtime {runtime} --sched-period {period} --sched-deadline {period} -p 0 {tid}"
            )],
            None => self.in_c(&format!(
                "attributes.sched_runtime = {runtime};   // sched_setattr(2) in the program; period {period}"
            )),
        };
        (sentence, typed)
    }

    fn quota(&self, quota: Option<&GroupQuota>) -> (String, Vec<String>) {
        let name = name(&self.one.thread);
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
            name(&self.one.thread),
            length(slack)
        );
        let finding = slack_finding(self.one.thread.tid.unwrap_or_default(), slack, self.analysis);
        let steps = finding.remedy.map_or_else(Vec::new, |remedy| remedy.apply);
        (sentence, steps.into_iter().take(1).collect())
    }

    fn give_way(&self, culprit: &str, tid: Option<u32>) -> (String, Vec<String>) {
        let (name, culprit) = (name(&self.one.thread), legible(culprit));
        let id = tid.map_or_else(String::new, |tid| format!(" [{tid}]"));
        let in_it = if self.has_ended() { format!(": set it in {culprit} itself") } else { String::new() };
        let sentence = format!(
            "{culprit}{id}, a thread of the same program, keeps {name} from its CPU. With a higher nice value {culprit} gives way to it, \
             and takes longer{in_it}"
        );
        let typed = match tid.filter(|_| !self.has_ended()) {
            Some(tid) => vec![format!("renice -n 19 -p {tid}   # {culprit}")],
            None => self.in_c("setpriority(PRIO_PROCESS, 0, 19);"),
        };
        (sentence, typed)
    }
}

/// The thread, so that nobody takes its name for the program's.
fn name(thread: &AdvisedThread) -> String {
    let tid = thread.tid.map_or_else(String::new, |tid| format!(" [{tid}]"));
    format!("{THREAD} {}{tid}", legible(&thread.name))
}

/// The group's limit, four times as high: by whoever set it where that is known, by its file otherwise.
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

    fn said(cure: Cure, typed: &str, program: WatchedProgram) -> (String, String) {
        said_of(&advice(cure), typed, program)
    }

    fn said_of(one: &ThreadAdvice, typed: &str, program: WatchedProgram) -> (String, String) {
        let arguments = typed.split(' ').map(str::to_owned).collect();
        let header = Header { command: Command::Watch, arguments, ..Header::for_conditions(Vec::new()) };
        let mut analysis = Analysis::new(header);
        analysis.program = Some(Box::new(program));
        let Written { sentence, typed } = written(one, &analysis, 80);
        (sentence, anstream::adapter::strip_str(&typed).to_string())
    }

    fn real_time(typed: &str, program: WatchedProgram) -> (String, String) {
        said(Cure::RealTime { priority: Priority::USUAL, refused_in: None }, typed, program)
    }

    #[test]
    fn a_class_is_for_one_thread_by_its_id_or_in_its_code() {
        let running = WatchedProgram { threads: 3, ..WatchedProgram::default() };
        let (sentence, typed) = real_time("watch control", running.clone());
        assert!(typed.contains("chrt --reset-on-fork --fifo -p 80 4712"), "{typed}");
        assert!(
            sentence.contains("howlate tune program control --thread control --knobs fifo"),
            "{sentence}"
        );
        let started = WatchedProgram { started: true, ..running };
        let (sentence, typed) = real_time("watch -- ./loop 8", started.clone());
        assert!(
            typed.contains("pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK"),
            "{typed}"
        );
        assert!(
            !typed.contains("4712") && !sentence.contains("howlate tune"),
            "that thread has ended: {typed}"
        );
        let python = WatchedProgram { language: Some(ProgramLanguage::Python), ..started.clone() };
        assert!(real_time("watch -- python3 loop.py", python).1.contains("SCHED_RESET_ON_FORK"));
        let alone = WatchedProgram { threads: 1, ..started };
        let (_, typed) = real_time("watch -- ./loop 8", alone.clone());
        assert_eq!(typed.trim(), "chrt --reset-on-fork --fifo 80 ./loop 8");
        let mut one = advice(Cure::RealTime { priority: Priority::USUAL, refused_in: None });
        one.thread.policy = Policy::Fifo { priority: Priority::USUAL };
        let (_, typed) = said_of(&one, "watch -- ./loop 8", alone);
        assert!(typed.contains("pthread_setschedparam"), "it would set its own again: {typed}");
    }

    /// Whoever sets it in both makes the late one later.
    #[test]
    fn of_two_threads_of_one_name_it_is_told_which() {
        let mut one = advice(Cure::RealTime { priority: Priority::USUAL, refused_in: None });
        one.against = vec![WhyCause {
            kind: CauseKind::Thread,
            name: Some("control".into()),
            part: None,
            real_time: false,
            own: true,
            priority: None,
            call: String::new(),
            through: String::new(),
            pid: None,
            late_ns: 1,
            share: 0.9,
            wakeups: 10,
            max: Span::from_millis(1),
            remedy: None,
        }];
        let started = WatchedProgram { threads: 4, started: true, ..WatchedProgram::default() };
        let (sentence, _) = said_of(&one, "watch -- ./siblings", started);
        assert!(sentence.contains("keeps the other control from delaying it"), "{sentence}");
        assert!(sentence.contains("not in the other of its name"), "{sentence}");
    }

    #[test]
    fn who_sets_its_own_priorities_is_asked_to() {
        let program = WatchedProgram { started: true, threads: 5, ..WatchedProgram::default() };
        let (sentence, typed) = real_time("watch -- jackd -d dummy", program);
        assert!(sentence.contains("jackd -R") && typed.is_empty(), "{sentence}{typed}");
    }

    #[test]
    fn a_quota_is_raised_by_whoever_set_it() {
        let raised = |group: &str, file: &str| {
            let (quota, period) = (Span::from_millis(20), Span::from_millis(100));
            raised(&GroupQuota { group: group.into(), file: file.into(), quota, period }).unwrap()
        };
        let one = "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us";
        assert_eq!(raised("/a", one), format!("echo 80000 | sudo tee {one}"));
        let two = "/sys/fs/cgroup/a/cpu.max";
        assert_eq!(raised("/a", two), format!("echo '80000 100000' | sudo tee {two}"));
        assert_eq!(
            raised("/system.slice/api.service", two),
            "systemctl set-property --runtime api.service CPUQuota=80%"
        );
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(raised(&format!("/docker/{id}"), one), "docker update --cpus 0.80 0123456789ab");
        assert!(raised("/kubepods/burstable/pod1/x", two).contains("resources.limits.cpu"));
    }

    #[test]
    fn where_it_is_refused_its_group_is_given_time_first() {
        let typed = |file: Option<&str>| {
            let group = GroupWithoutRealtime { group: "/app".into(), file: file.map(str::to_owned) };
            let cure = Cure::RealTime { priority: Priority::USUAL, refused_in: Some(group) };
            let (sentence, typed) =
                said(cure, "watch 4711", WatchedProgram { threads: 3, ..WatchedProgram::default() });
            assert!(sentence.contains("/app") && !typed.contains("renice"), "{sentence}{typed}");
            typed
        };
        assert_eq!(typed(None), "", "no file gives it any");
        let given = typed(Some("/sys/fs/cgroup/cpu/app/cpu.rt_runtime_us"));
        assert!(
            given.contains("echo 450000 | sudo tee /sys/fs/cgroup/cpu/app/cpu.rt_runtime_us && chrt"),
            "{given}"
        );
        assert!(given.contains("--reset-on-fork --fifo -p 80 "), "{given}");
    }

    /// Its id is nobody's, or another's by now.
    #[test]
    fn a_thread_that_has_ended_is_not_named_by_its_id() {
        let of = |ended: Vec<u32>| {
            let cure = Cure::RealTime { priority: Priority::USUAL, refused_in: None };
            said(cure, "watch 4711", WatchedProgram { threads: 3, ended, ..WatchedProgram::default() })
        };
        let (_, typed) = of(Vec::new());
        let id =
            typed.split_whitespace().find_map(|word| word.parse::<u32>().ok().filter(|id| *id > 99)).unwrap();
        let (sentence, typed) = of(vec![id]);
        assert!(!typed.contains("chrt") && typed.contains("pthread_setschedparam"), "{typed}");
        assert!(!sentence.contains("howlate tune"), "{sentence}");
    }

    /// Where the interpreter's own locks are, a mutex is not the program's.
    #[test]
    fn who_has_a_priority_can_lend_it_through_a_mutex() {
        let of = |policy, language| {
            let mut one = advice(Cure::ShorterLock { holder: "planner".into() });
            one.thread.policy = policy;
            said_of(&one, "watch 4711", WatchedProgram { language, ..WatchedProgram::default() })
        };
        let fifo = Policy::Fifo { priority: Priority::USUAL };
        let (sentence, typed) = of(fifo, None);
        assert!(
            sentence.contains("Less work of planner") && sentence.contains("lends planner"),
            "{sentence}"
        );
        assert!(typed.contains("PTHREAD_PRIO_INHERIT"), "{typed}");
        for (policy, language) in [(Policy::OTHER, None), (fifo, Some(ProgramLanguage::Java))] {
            let (sentence, typed) = of(policy, language);
            assert!(!sentence.contains("lends") && typed.is_empty(), "{sentence}{typed}");
        }
    }
}
