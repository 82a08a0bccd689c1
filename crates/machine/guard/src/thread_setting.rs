//! Scheduling settings of other processes' threads, under names in place of paths.
//!
//! Thread ids are reused, so a name contains the start time of the thread as well.

use std::io;

use howlate_linux::attributes::SchedAttributes;
use howlate_linux::sched;
use howlate_model::CpuSet;
use howlate_procfs::{Root, descendants, threads};
use rustix::time::{ClockId, clock_gettime};

/// A setting that a thread has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadSettingKind {
    /// Policy, priority, nice value and slice.
    Scheduling,
    /// Timer slack, in nanoseconds.
    TimerSlack,
    /// CPU affinity.
    Cpus,
}

impl ThreadSettingKind {
    const ALL: [Self; 3] = [Self::Scheduling, Self::TimerSlack, Self::Cpus];

    const fn name(self) -> &'static str {
        match self {
            Self::Scheduling => "scheduling",
            Self::TimerSlack => "timer slack",
            Self::Cpus => "CPUs",
        }
    }
}

/// One setting of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadSetting {
    kind: ThreadSettingKind,
    tid: u32,
    process: u32,
    /// Start time in ticks since boot.
    started_at: u64,
}

/// The name used in place of a path: `timer slack of thread 4712 of process 4711, begun at tick 883721`.
///
/// # Errors
///
/// When there is no such thread.
pub fn thread_setting_name(kind: ThreadSettingKind, tid: u32, process: u32) -> io::Result<String> {
    Ok(ThreadSetting { kind, tid, process, started_at: start_ticks(tid)? }.name())
}

/// Whether the thread in a name of [`thread_setting_name`] has not ended.
pub fn thread_exists(name: &str) -> bool {
    ThreadSetting::parse(name).is_some_and(|thread| thread.check().is_ok())
}

/// The current value, as a text that can be written back.
///
/// # Errors
///
/// When there is no such thread, or the kernel refuses the access.
pub fn read_thread_setting(kind: ThreadSettingKind, tid: u32) -> io::Result<String> {
    match kind {
        ThreadSettingKind::Scheduling => SchedAttributes::of_thread(tid).map(|now| now.to_string()),
        ThreadSettingKind::TimerSlack => {
            std::fs::read_to_string(slack_file(tid)).map(|now| now.trim().to_owned())
        }
        ThreadSettingKind::Cpus => sched::affinity_of(tid).map(|now| now.to_string()),
    }
}

impl ThreadSetting {
    /// `None` where the name is not of a thread.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let kind = ThreadSettingKind::ALL.into_iter().find(|kind| name.starts_with(kind.name()))?;
        let rest = name.strip_prefix(kind.name())?.strip_prefix(" of thread ")?;
        let (tid, rest) = rest.split_once(" of process ")?;
        let (process, started_at) = rest.split_once(", begun at tick ")?;
        let (tid, process, started_at) = (tid.parse().ok()?, process.parse().ok()?, started_at.parse().ok()?);
        Some(Self { kind, tid, process, started_at })
    }

    fn name(self) -> String {
        let Self { kind, tid, process, started_at } = self;
        format!("{} of thread {tid} of process {process}, begun at tick {started_at}", kind.name())
    }

    pub(crate) fn read(self) -> io::Result<String> {
        self.check()?;
        read_thread_setting(self.kind, self.tid).map_err(|error| self.not_found_or(error))
    }

    pub(crate) fn write(self, value: &str) -> io::Result<()> {
        self.check()?;
        let invalid = || io::Error::new(io::ErrorKind::InvalidInput, format!("`{value}` is no list of CPUs"));
        let result = match self.kind {
            ThreadSettingKind::Scheduling => {
                value.parse().and_then(|attributes: SchedAttributes| attributes.set(self.tid))
            }
            ThreadSettingKind::TimerSlack => std::fs::write(slack_file(self.tid), value),
            ThreadSettingKind::Cpus => value
                .parse()
                .map_err(|_| invalid())
                .and_then(|cpus: CpuSet| sched::bind_thread(self.tid, &cpus)),
        };
        result.map_err(|error| self.not_found_or(error))
    }

    /// Fails with `NotFound` if the thread has ended, even if its id is in use again.
    fn check(self) -> io::Result<()> {
        if start_ticks(self.tid)? == self.started_at { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// `NotFound` if the thread has ended, else `error`.
    fn not_found_or(self, error: io::Error) -> io::Error {
        self.check().err().unwrap_or(error)
    }

    /// Names of the same setting of threads of its process and descendants that have started since then and hold the value `inherited`.
    pub(crate) fn inheriting_threads(self, since: u64, inherited: &str) -> Vec<String> {
        let root = Root::live();
        let processes = [vec![self.process], descendants(&root, self.process)].concat();
        let all = processes.into_iter().flat_map(|process| {
            let tids = threads(&root, process).into_iter();
            tids.map(move |tid| (tid, process))
        });
        let inheriting = |(tid, process): (u32, u32)| {
            let started_at = start_ticks(tid).ok().filter(|ticks| *ticks >= since && tid != self.tid)?;
            let now = read_thread_setting(self.kind, tid).ok()?;
            (now == inherited).then(|| Self { tid, process, started_at, ..self }.name())
        };
        all.filter_map(inheriting).collect()
    }

    /// Value that threads inherit where it is not the changed one: children of a real-time thread start with timer slack 0.
    pub(crate) fn default_inherited_value(self) -> Option<&'static str> {
        (self.kind == ThreadSettingKind::TimerSlack).then_some("0")
    }
}

/// `prctl(2)` only affects the calling thread; this file sets the slack of others.
///
/// Source: `proc_pid_timerslack_ns(5)`; the id may be a thread's.
fn slack_file(tid: u32) -> String {
    format!("/proc/{tid}/timerslack_ns")
}

/// Start time of a thread in ticks since boot. Source: `proc_pid_stat(5)`, field 22.
fn start_ticks(tid: u32) -> io::Result<u64> {
    /// Index after the name, which is in parentheses.
    const INDEX: usize = 19;
    let stat = std::fs::read_to_string(format!("/proc/{tid}/stat"))?;
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let found = rest.split_whitespace().nth(INDEX).and_then(|word| word.parse().ok());
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Ticks since boot: 100 per second, the fixed `USER_HZ` of `/proc`.
pub(crate) fn ticks_now() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let nanos = now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs();
    nanos / 10_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_tid() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
    }

    #[test]
    fn a_name_identifies_a_setting() {
        for kind in ThreadSettingKind::ALL {
            let name = thread_setting_name(kind, own_tid(), std::process::id()).unwrap();
            let setting = ThreadSetting::parse(&name).unwrap();
            assert_eq!((setting.kind, setting.tid, setting.name()), (kind, own_tid(), name));
        }
        for invalid in ["/sys/a", "timer slack", "timer slack of thread x of process 1, begun at tick 1"] {
            assert_eq!(ThreadSetting::parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn a_reused_id_is_another_thread() {
        let name = thread_setting_name(ThreadSettingKind::Cpus, own_tid(), std::process::id()).unwrap();
        let own_cpus = ThreadSetting::parse(&name).unwrap();
        let cpus = own_cpus.read().unwrap();
        assert!(own_cpus.write(&cpus).is_ok());
        let before = ThreadSetting { started_at: own_cpus.started_at + 1, ..own_cpus };
        assert_eq!(before.read().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(before.write(&cpus).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_thread_that_started_since_and_has_the_same_value_is_inheriting() {
        let since = ticks_now();
        let (tid_sender, tid) = std::sync::mpsc::channel();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tid_sender.send(own_tid()).unwrap();
            let _ = stopped.recv();
        });
        let tid: u32 = tid.recv().unwrap();
        let name = thread_setting_name(ThreadSettingKind::Cpus, own_tid(), std::process::id()).unwrap();
        let own_cpus = ThreadSetting::parse(&name).unwrap();
        let names = |since, value: &str| own_cpus.inheriting_threads(since, value);
        let is_that_thread = |name: &String| ThreadSetting::parse(name).unwrap().tid == tid;
        let cpus = own_cpus.read().unwrap();
        assert!(names(since, &cpus).iter().any(is_that_thread));
        assert!(!names(ticks_now() + 100, &cpus).iter().any(is_that_thread), "it had started before");
        assert!(!names(since, "77").iter().any(is_that_thread), "it has another value");
        drop(stop);
        thread.join().unwrap();
    }
}
