//! What a program's threads are subject to before anything is tried on them.

use howlate_guard::{ThreadSettingKind, read_thread_setting};
use howlate_knobs::{Change, ThreadSetting, Whose};
use howlate_linux::sched;
use howlate_model::{CpuSet, Nice, Policy, Span};
use howlate_procfs::Root;
use howlate_render::Fate;

/// What keeps real-time threads from taking a CPU away.
const THROTTLING: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// What the first of a program's threads is subject to.
pub(crate) struct Facts {
    pub(crate) policy: Policy,
    /// Its timer slack, or why that is not told.
    slack: Result<Span, String>,
    cpus: CpuSet,
    /// How many threads there are.
    pub(crate) threads: usize,
    /// The ids of those that were chosen by name, where not the whole program is measured; empty where they end with this run.
    chosen: Option<Vec<u32>>,
    /// Whether the kernel keeps real-time threads from taking a CPU away.
    throttled: bool,
}

impl Facts {
    /// Of the thread `tid`, one of so many.
    pub(crate) fn of_thread(tid: u32, threads: usize) -> Self {
        let slack = read_thread_setting(ThreadSettingKind::TimerSlack, tid).map_err(|error| {
            format!("/proc/{tid}/timerslack_ns: {error}; other processes need root, or CAP_SYS_NICE")
        });
        let slack = slack.map(|nanos| Span::from_nanos(nanos.parse().unwrap_or_default()));
        let policy = match sched::policy(tid) {
            Ok(Policy::Other { nice }) => {
                Policy::Other { nice: nice.filter(|nice| *nice != Nice::default()) }
            }
            found => found.unwrap_or(Policy::OTHER),
        };
        let cpus = sched::affinity_of(tid).unwrap_or_default();
        let throttled = !Root::live().read(THROTTLING).is_ok_and(|micros| micros == "-1");
        Self { policy, slack, cpus, threads, chosen: None, throttled }
    }

    /// Of threads that were chosen among others of their program.
    pub(crate) fn of_chosen(self, ids: Vec<u32>) -> Self {
        Self { chosen: Some(ids), ..self }
    }

    /// Whom a setting is tried on.
    pub(crate) fn whose(&self) -> Whose<'_> {
        self.chosen.as_deref().map_or(Whose::Program, Whose::Threads)
    }

    /// Of a program that is to be started: it inherits what this process has, whose timer slack it may always set.
    pub(crate) fn of_what_is_started() -> Self {
        Self::of_thread(std::process::id(), 1)
    }

    /// The value that a setting has now, where that is not what this process has.
    pub(crate) fn from(&self, setting: &ThreadSetting) -> Option<String> {
        match setting {
            ThreadSetting::Slack(_) => self.slack.as_ref().ok().map(ToString::to_string),
            ThreadSetting::Cpu(_) => Some(self.cpus.to_string()),
            ThreadSetting::Wait(_) | ThreadSetting::AlreadySo => Some("as the program has it".to_owned()),
            _ => None,
        }
    }

    /// Why a setting is not tried from outside; `None` where it may be.
    pub(crate) fn fate(&self, change: &Change) -> Option<Fate> {
        let Change::Thread(setting) = change else { return None };
        match setting {
            ThreadSetting::Wait(_) => Some(Fate::NotTried("it is in the program's own code".to_owned())),
            ThreadSetting::AlreadySo => {
                Some(Fate::NotTried("only the program can ask for it, not somebody outside".to_owned()))
            }
            ThreadSetting::Policy(policy) if policy.is_realtime() && !self.throttled => {
                Some(Fate::NotTried(format!(
                    "{THROTTLING} is -1: a thread of the program that never sleeps would have its CPU to itself"
                )))
            }
            ThreadSetting::Slack(wanted) => match &self.slack {
                Err(reason) => Some(Fate::NotPermitted(reason.clone())),
                Ok(now) => (now == wanted).then_some(Fate::InForce),
            },
            ThreadSetting::Cpu(_) if self.threads > 1 => Some(Fate::NotTried(format!(
                "its {} threads would share one CPU; `--thread` chooses one",
                self.threads
            ))),
            ThreadSetting::Cpu(_) if self.cpus.len() < 2 => Some(Fate::InForce),
            _ => None,
        }
    }
}
