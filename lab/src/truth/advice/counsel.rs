//! What a piece of advice recommends, and how the check follows it.

use super::screen::AdviceItem;
use super::written::stays;

/// A kind of change that makes a program less late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramFix {
    RealTime,
    Nice,
    Inherit,
    SwitchInterval,
    OtherThread,
    OtherProcess,
    Slack,
    LockMemory,
    UntilATime,
    Quota,
    Runtime,
    /// A program that is to be real-time by its own option.
    OwnSwitch,
    LessWork,
}

/// Phrases by which a fix is recognised in a text, the most specific first.
const PHRASES: [(ProgramFix, &[&str]); 13] = [
    (ProgramFix::OwnSwitch, &["jackd -R", "jackd --realtime"]),
    (ProgramFix::Inherit, &["PRIO_INHERIT", "priority inheritance", "priority-inherit", "inherits priority"]),
    (ProgramFix::SwitchInterval, &["setswitchinterval"]),
    (ProgramFix::LessWork, &["Less work", "less work", "hold the lock shorter"]),
    (ProgramFix::OtherProcess, &["process of its own", "another process", "ProcessPool", "multiprocessing"]),
    (
        ProgramFix::OtherThread,
        &["to_thread", "another thread", "thread of its own", "worker thread", "worker_threads", "executor"],
    ),
    (ProgramFix::Slack, &["TIMERSLACK", "timerslack", "timer_slack"]),
    (ProgramFix::LockMemory, &["mlockall"]),
    (ProgramFix::UntilATime, &["TIMER_ABSTIME", "until a time", "sleep_until", "until the next time"]),
    (ProgramFix::Quota, &["cfs_quota", "cpu.max", "CPUQuota", "quota"]),
    (ProgramFix::Runtime, &["sched_runtime", "--sched-runtime", "deadline runtime", "more runtime"]),
    (
        ProgramFix::RealTime,
        &[
            "chrt",
            "fifo",
            "SCHED_FIFO",
            "sched_setscheduler",
            "setschedparam",
            "CPUSchedulingPolicy",
            "eal-time priority",
            "eal-time class",
        ],
    ),
    (ProgramFix::Nice, &["nice"]),
];

impl ProgramFix {
    /// The fix that a text recommends.
    pub fn of(text: &str) -> Option<Self> {
        PHRASES
            .iter()
            .find(|(_, phrases)| phrases.iter().any(|phrase| text.contains(phrase)))
            .map(|(cure, _)| *cure)
    }

    /// The value of `WITNESS_FIX` by which test programs apply the fix.
    pub const fn fix(self) -> &'static str {
        match self {
            Self::RealTime => "rt",
            Self::Nice => "nice",
            Self::Inherit => "inherit",
            Self::SwitchInterval => "switch-interval",
            Self::OtherThread => "other-thread",
            Self::OtherProcess => "other-process",
            Self::Slack => "slack",
            Self::LockMemory => "lock-memory",
            Self::UntilATime => "until",
            Self::Quota => "quota",
            Self::Runtime => "runtime",
            Self::OwnSwitch => "own-switch",
            Self::LessWork => "less-work",
        }
    }
}

/// How it is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdviceAction {
    /// The program is started by this line instead.
    Again(String),
    /// It is typed while the program runs.
    During(String),
    /// It is typed into the shell that starts the program afterwards.
    Before(String),
    /// The program is changed.
    Code,
    /// The next start of the machine does it.
    Restart,
    /// A host or the author of something else does it.
    Elsewhere,
    /// It changes what the next start of the machine finds.
    ForGood(String),
    /// It measures, or looks at something, and changes nothing that is left.
    Looks(String),
    /// A command that has a word for which the reader has to find something: a person cannot copy it.
    Incomplete(String),
    /// None of these: nothing that can be followed was recognized.
    Words,
}

/// One thing to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counsel {
    pub way: AdviceAction,
    /// What of the same item is typed before it.
    pub after: Vec<String>,
    pub cure: Option<ProgramFix>,
    /// The one thread that it is for, where it names one.
    pub thread: Option<String>,
    /// The number that its code has: a priority, or seconds.
    pub value: Option<String>,
    /// Whether it was said that it may help, or was not tried.
    pub careful: bool,
}

/// What an item asks for; `program`: the words by which the program is started.
pub fn counsels(item: &AdviceItem, program: &[String]) -> Vec<Counsel> {
    let careful = item.is_careful();
    let thread = thread(&item.sentence);
    let mut all: Vec<Counsel> = Vec::new();
    for line in &item.commands {
        let commands = all.iter().filter_map(|counsel| match &counsel.way {
            AdviceAction::During(line) => Some(line.clone()),
            _ => None,
        });
        let after = commands.collect();
        let thread = thread.clone();
        all.push(Counsel {
            way: way(line, program),
            after,
            cure: ProgramFix::of(line),
            thread,
            value: None,
            careful,
        });
    }
    let is_followed = all.iter().any(|counsel| !matches!(counsel.way, AdviceAction::Looks(_)));
    let way = of_sentence(&item.sentence);
    if all.is_empty() || !is_followed && way != AdviceAction::Words {
        let cure = ProgramFix::of(&item.sentence);
        let value = value(&item.sentence);
        all.insert(0, Counsel { way, after: Vec::new(), cure, thread, value, careful });
    }
    all
}

/// The name in "thread NAME `[4711]`" or "thread NAME alone".
fn thread(sentence: &str) -> Option<String> {
    let rest = sentence.split_once("thread ")?.1;
    let ends = [" [", " alone"].iter().filter_map(|end| rest.find(end)).min()?;
    // Names have fifteen letters at most.
    Some(rest[..ends].to_owned()).filter(|name| name.len() <= 15)
}

/// What stands before the number of a priority, or of seconds, in code.
const VALUES: [&str; 3] = ["sched_priority = ", "sched_param(", "setswitchinterval("];

fn value(code: &str) -> Option<String> {
    let rest = VALUES.iter().find_map(|before| code.split_once(before)).map(|(_, rest)| rest)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
    Some(rest[..end].to_owned()).filter(|value| !value.is_empty())
}

fn of_sentence(sentence: &str) -> AdviceAction {
    let says = |marks: &[&str]| marks.iter().any(|word| sentence.contains(word));
    if says(&["and restart", "restart the machine", "takes a restart", "command line"]) {
        AdviceAction::Restart
    } else if says(&["virsh", "on the host", "the host "]) {
        AdviceAction::Elsewhere
    } else if ProgramFix::of(sentence).is_some() {
        AdviceAction::Code
    } else {
        AdviceAction::Words
    }
}

/// Words that stand for something.
const STAND_FOR: [&str; 8] = ["PROGRAM", "PID", "TID", "NAME", "…", "<pid>", "<tid>", "THREAD"];

fn way(line: &str, program: &[String]) -> AdviceAction {
    let command = without_comment(line).trim();
    let marks: Vec<&str> = command.split_whitespace().filter(|word| *word != "sudo").collect();
    // Another program's own option, with the words that it has there.
    if marks.first() == Some(&"jackd") {
        return AdviceAction::Code;
    }
    if marks.iter().any(|word| STAND_FOR.contains(word)) {
        return AdviceAction::Incomplete(line.to_owned());
    }
    match marks.first() {
        Some(&"howlate") => AdviceAction::Looks(line.to_owned()),
        Some(&("virsh" | "docker" | "podman" | "kubectl")) => AdviceAction::Elsewhere,
        _ if stays(command) => AdviceAction::ForGood(line.to_owned()),
        _ if program.first().is_some_and(|first| names(command, first)) => {
            AdviceAction::Again(line.to_owned())
        }
        _ if command.contains("$$") || command.starts_with("exec ") => AdviceAction::Before(line.to_owned()),
        _ => AdviceAction::During(line.to_owned()),
    }
}

/// Whether a command starts the program that is started by that word.
fn names(command: &str, first: &str) -> bool {
    let quoted = [format!("'{first}'"), format!("\"{first}\"")];
    quoted.iter().any(|counsel| command.contains(counsel.as_str()))
        || command.split_whitespace().any(|word| word == first)
}

fn without_comment(line: &str) -> &str {
    line.split("  #").next().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sentence: &str, commands: &[&str]) -> Vec<Counsel> {
        let item = AdviceItem {
            sentence: sentence.to_owned(),
            commands: commands.iter().map(|command| (*command).to_owned()).collect(),
        };
        counsels(&item, &["./my loop".to_owned(), "1000".to_owned()])
    }

    #[test]
    fn what_starts_the_program_is_told_from_what_changes_it() {
        let way = |line: &str| of("", &[line])[0].way.clone();
        let again = "chrt --fifo 80 './my loop' 1000";
        assert_eq!(way(again), AdviceAction::Again(again.to_owned()));
        let during = "sudo chrt --fifo -p 80 4711   # its thread control";
        assert_eq!(way(during), AdviceAction::During(during.to_owned()));
        let before = "echo 1 > /proc/$$/timerslack_ns   # this shell and what it starts";
        assert_eq!(way(before), AdviceAction::Before(before.to_owned()));
        assert!(matches!(way("chrt --fifo -p 80 TID"), AdviceAction::Incomplete(_)));
        assert!(matches!(way("nice -n -5 PROGRAM …"), AdviceAction::Incomplete(_)));
        assert!(matches!(way("howlate tune --knobs fifo -- ./my loop"), AdviceAction::Looks(_)));
    }

    #[test]
    fn a_sentence_is_followed_where_no_line_below_it_is() {
        let tune = "howlate tune --knobs timer_slack -- ./svc";
        let both = of("Make the mutex PTHREAD_PRIO_INHERIT. Not tried here.", &[tune]);
        assert_eq!((both[0].way.clone(), both[0].cure), (AdviceAction::Code, Some(ProgramFix::Inherit)));
        assert_eq!(both[1].way, AdviceAction::Looks(tune.to_owned()));
        assert_eq!(of("add `preempt=full` and restart", &[])[0].way, AdviceAction::Restart);
        assert_eq!(of("Be patient.", &[])[0].way, AdviceAction::Words);
        assert_eq!(of("", &["chrt --fifo -p 80 1"]).len(), 1, "the line is the advice");
        let two = of("", &["echo 5 > /sys/fs/cgroup/cpu/a/cpu.rt_runtime_us", "chrt --fifo -p 80 1"]);
        assert_eq!(two[1].after, ["echo 5 > /sys/fs/cgroup/cpu/a/cpu.rt_runtime_us"], "one after the other");
    }

    #[test]
    fn one_thread_is_named() {
        let named = |sentence: &str| of(sentence, &[])[0].thread.clone();
        assert_eq!(
            named("Real-time priority for thread axis 7 alone, not for all").as_deref(),
            Some("axis 7")
        );
        assert_eq!(named("for thread control [4711] alone").as_deref(), Some("control"));
        assert_eq!(named("have another thread make that call"), None);
        let own = of("start it with `-R` (`jackd -R …`)", &["jackd -R …"]);
        assert_eq!((own[0].way.clone(), own[0].cure), (AdviceAction::Code, Some(ProgramFix::OwnSwitch)));
    }

    #[test]
    fn code_is_followed_with_its_own_number() {
        let value = |sentence: &str| of(sentence, &[])[0].value.clone();
        assert_eq!(value("lock. sys.setswitchinterval(0.0005)").as_deref(), Some("0.0005"));
        let c = "set it there. struct sched_param p = { .sched_priority = 91 }; pthread_setschedparam(…);";
        assert_eq!(value(c).as_deref(), Some("91"));
        assert_eq!(
            value("os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(51))").as_deref(),
            Some("51")
        );
        assert_eq!(value("have another thread make that call"), None);
    }

    #[test]
    fn cures_are_known_by_their_words() {
        let cures = [
            ("sys.setswitchinterval(0.0001)", ProgramFix::SwitchInterval),
            ("pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT)", ProgramFix::Inherit),
            ("asyncio.to_thread", ProgramFix::OtherThread),
            ("echo 50000 > /sys/fs/cgroup/a/cpu.cfs_quota_us", ProgramFix::Quota),
            ("renice -n -5 -p 7", ProgramFix::Nice),
            ("chrt --fifo -p 80 7", ProgramFix::RealTime),
        ];
        for (text, cure) in cures {
            assert_eq!(ProgramFix::of(text), Some(cure), "{text}");
        }
    }
}
