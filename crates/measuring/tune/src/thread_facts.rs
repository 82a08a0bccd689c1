//! Current settings of a program's threads.

use howlate_guard::{ThreadSettingKind, read_thread_setting};
use howlate_linux::sched;
use howlate_model::{CpuSet, Nice, Policy, Span};
use howlate_procfs::Root;
use howlate_render::TrialStatus;
use howlate_system::settings::{AppliesTo, Change, ThreadSetting};

/// Limits the CPU time of real-time threads; -1 means no limit.
const THROTTLING: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Current settings of the first measured thread, which stands for all.
pub(crate) struct ThreadFacts {
    pub(crate) policy: Policy,
    /// The timer slack, or why it cannot be read.
    slack: Result<Span, String>,
    cpus: CpuSet,
    /// Number of measured threads.
    pub(crate) threads: usize,
    /// Ids of threads chosen by name, empty if they end with this run; `None` if the whole program is measured.
    chosen: Option<Vec<u32>>,
    /// Whether the kernel limits the CPU time of real-time threads.
    throttled: bool,
}

impl ThreadFacts {
    /// Reads the settings of thread `tid`, one of `threads`.
    pub(crate) fn of_thread(tid: u32, threads: usize) -> Self {
        let slack = read_thread_setting(ThreadSettingKind::TimerSlack, tid).map_err(|error| {
            format!("/proc/{tid}/timerslack_ns: {error}; other processes need root, or CAP_SYS_NICE")
        });
        let slack = slack.map(|nanos| Span::from_nanos(nanos.parse().unwrap_or_default()));
        let policy = match sched::policy(tid) {
            Ok(Policy::Other { nice }) => {
                Policy::Other { nice: nice.filter(|nice| *nice != Nice::default()) }
            }
            policy => policy.unwrap_or(Policy::OTHER),
        };
        let cpus = sched::affinity_of(tid).unwrap_or_default();
        let throttled = !Root::live().read(THROTTLING).is_ok_and(|micros| micros == "-1");
        Self { policy, slack, cpus, threads, chosen: None, throttled }
    }

    pub(crate) fn for_chosen_threads(self, ids: Vec<u32>) -> Self {
        Self { chosen: Some(ids), ..self }
    }

    /// The threads for which a setting that helps is recommended.
    pub(crate) fn applies_to(&self) -> AppliesTo<'_> {
        self.chosen.as_deref().map_or(AppliesTo::Program, AppliesTo::Threads)
    }

    /// For a program to be started: it inherits the settings of this process.
    pub(crate) fn of_this_process() -> Self {
        Self::of_thread(std::process::id(), 1)
    }

    /// The current value of a setting, where it differs from that of this process.
    pub(crate) fn current_value(&self, setting: &ThreadSetting) -> Option<String> {
        match setting {
            ThreadSetting::Slack(_) => self.slack.as_ref().ok().map(ToString::to_string),
            ThreadSetting::Cpu(_) => Some(self.cpus.to_string()),
            ThreadSetting::Wait(_) | ThreadSetting::AlreadyInForce => {
                Some("as the program has it".to_owned())
            }
            _ => None,
        }
    }

    /// Why a setting is not tried from outside; `None` if it is.
    pub(crate) fn fate(&self, change: &Change) -> Option<TrialStatus> {
        let Change::Thread(setting) = change else { return None };
        match setting {
            ThreadSetting::Wait(_) => {
                Some(TrialStatus::NotTried("it is in the program's own code".to_owned()))
            }
            ThreadSetting::AlreadyInForce => Some(TrialStatus::NotTried(
                "only the program can ask for it, not somebody outside".to_owned(),
            )),
            ThreadSetting::Policy(policy) if policy.is_realtime() && !self.throttled => {
                Some(TrialStatus::NotTried(format!(
                    "{THROTTLING} is -1: a thread of the program that never sleeps would have its CPU to itself"
                )))
            }
            ThreadSetting::Slack(new) => match &self.slack {
                Err(reason) => Some(TrialStatus::NotPermitted(reason.clone())),
                Ok(current) => (current == new).then_some(TrialStatus::InForce),
            },
            ThreadSetting::Cpu(_) if self.threads > 1 => Some(TrialStatus::NotTried(format!(
                "its {} threads would share one CPU; `--thread` chooses one",
                self.threads
            ))),
            ThreadSetting::Cpu(_) if self.cpus.len() < 2 => Some(TrialStatus::InForce),
            _ => None,
        }
    }
}
