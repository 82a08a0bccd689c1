//! What a thread of somebody else's is subject to, as a setting like any other: read, written, put back.
//!
//! A number is given to other threads later, so that a thread is known by the time of its start as well.

use std::io;

use howlate_linux::attributes::Attributes;
use howlate_linux::sched;
use howlate_model::CpuSet;
use howlate_procfs::{Root, descendants, threads};
use rustix::time::{ClockId, clock_gettime};

/// Something that a thread is subject to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Policy, priority, nice value and slice.
    Scheduling,
    /// Timer slack, in nanoseconds.
    TimerSlack,
    /// Where it may run.
    Cpus,
}

impl Subject {
    const ALL: [Self; 3] = [Self::Scheduling, Self::TimerSlack, Self::Cpus];

    const fn words(self) -> &'static str {
        match self {
            Self::Scheduling => "scheduling",
            Self::TimerSlack => "timer slack",
            Self::Cpus => "CPUs",
        }
    }
}

/// One thing that one thread is subject to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfThread {
    subject: Subject,
    tid: u32,
    process: u32,
    /// In ticks since the machine started.
    begun: u64,
}

/// What it is called in place of a path: `timer slack of thread 4712 of process 4711, begun at tick 883721`.
///
/// # Errors
///
/// When there is no such thread.
pub fn setting_of_thread(subject: Subject, tid: u32, process: u32) -> io::Result<String> {
    Ok(OfThread { subject, tid, process, begun: begun(tid)? }.name())
}

/// Whether the thread of a name that [`setting_of_thread`] gave has not ended.
pub fn is_there(name: &str) -> bool {
    OfThread::named(name).is_some_and(|thread| thread.check().is_ok())
}

/// What a thread is subject to now, as a text that may be written back.
///
/// # Errors
///
/// When there is no such thread, or the kernel does not tell.
pub fn read_of_thread(subject: Subject, tid: u32) -> io::Result<String> {
    match subject {
        Subject::Scheduling => Attributes::of_thread(tid).map(|now| now.to_string()),
        Subject::TimerSlack => std::fs::read_to_string(slack_file(tid)).map(|now| now.trim().to_owned()),
        Subject::Cpus => sched::affinity_of(tid).map(|now| now.to_string()),
    }
}

impl OfThread {
    /// What a name means; `None` where it is none of a thread.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let subject = Subject::ALL.into_iter().find(|one| name.starts_with(one.words()))?;
        let rest = name.strip_prefix(subject.words())?.strip_prefix(" of thread ")?;
        let (tid, rest) = rest.split_once(" of process ")?;
        let (process, begun) = rest.split_once(", begun at tick ")?;
        let (tid, process, begun) = (tid.parse().ok()?, process.parse().ok()?, begun.parse().ok()?);
        Some(Self { subject, tid, process, begun })
    }

    fn name(self) -> String {
        let Self { subject, tid, process, begun } = self;
        format!("{} of thread {tid} of process {process}, begun at tick {begun}", subject.words())
    }

    pub(crate) fn read(self) -> io::Result<String> {
        self.check()?;
        read_of_thread(self.subject, self.tid).map_err(|error| self.if_it_is_there(error))
    }

    pub(crate) fn write(self, value: &str) -> io::Result<()> {
        self.check()?;
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, format!("`{value}` is no list of CPUs"));
        let written = match self.subject {
            Subject::Scheduling => value.parse().and_then(|wanted: Attributes| wanted.set(self.tid)),
            Subject::TimerSlack => std::fs::write(slack_file(self.tid), value),
            Subject::Cpus => value
                .parse()
                .map_err(|_| wrong())
                .and_then(|cpus: CpuSet| sched::bind_thread(self.tid, &cpus)),
        };
        written.map_err(|error| self.if_it_is_there(error))
    }

    /// Another thread may have its number by now.
    fn check(self) -> io::Result<()> {
        if begun(self.tid)? == self.begun { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// What goes wrong because the thread has ended meanwhile is that.
    fn if_it_is_there(self, error: io::Error) -> io::Error {
        self.check().err().unwrap_or(error)
    }

    /// The same of threads of its process, and of those that it started, which have begun since then and hold `inherited`.
    pub(crate) fn heirs(self, since: u64, inherited: &str) -> Vec<String> {
        let root = Root::live();
        let processes = [vec![self.process], descendants(&root, self.process)].concat();
        let all = processes.into_iter().flat_map(|process| {
            let tids = threads(&root, process).into_iter();
            tids.map(move |tid| (tid, process))
        });
        let heir = |(tid, process): (u32, u32)| {
            let begun = begun(tid).ok().filter(|begun| *begun >= since && tid != self.tid)?;
            let now = read_of_thread(self.subject, tid).ok()?;
            (now == inherited).then(|| Self { tid, process, begun, ..self }.name())
        };
        all.filter_map(heir).collect()
    }

    /// What threads inherit from one whose timer slack is watched over only: a real-time thread has none to hand on.
    pub(crate) fn hands_on(self) -> Option<&'static str> {
        (self.subject == Subject::TimerSlack).then_some("0")
    }
}

/// The calls of `prctl(2)` are for the thread itself; this file is for others.
///
/// Source: `proc_pid_timerslack_ns(5)`; the number may be a thread's.
fn slack_file(tid: u32) -> String {
    format!("/proc/{tid}/timerslack_ns")
}

/// When a thread began, in ticks since the machine started. Source: `proc_pid_stat(5)`, field 22.
fn begun(tid: u32) -> io::Result<u64> {
    /// Places after the name, which stands in brackets.
    const PLACE: usize = 19;
    let stat = std::fs::read_to_string(format!("/proc/{tid}/stat"))?;
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let found = rest.split_whitespace().nth(PLACE).and_then(|word| word.parse().ok());
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Now, in ticks since the machine started: 100 in a second, on every machine that `/proc` tells of.
pub(crate) fn ticks_now() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let nanos = now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs();
    nanos / 10_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
    }

    #[test]
    fn a_name_says_all() {
        for subject in Subject::ALL {
            let name = setting_of_thread(subject, own(), std::process::id()).unwrap();
            let known = OfThread::named(&name).unwrap();
            assert_eq!((known.subject, known.tid, known.name()), (subject, own(), name));
        }
        for other in ["/sys/a", "timer slack", "timer slack of thread x of process 1, begun at tick 1"] {
            assert_eq!(OfThread::named(other), None, "{other}");
        }
    }

    #[test]
    fn another_thread_of_the_same_number_is_another_thread() {
        let name = setting_of_thread(Subject::Cpus, own(), std::process::id()).unwrap();
        let mine = OfThread::named(&name).unwrap();
        let cpus = mine.read().unwrap();
        assert!(mine.write(&cpus).is_ok());
        let before = OfThread { begun: mine.begun + 1, ..mine };
        assert_eq!(before.read().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(before.write(&cpus).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_thread_that_began_meanwhile_and_holds_the_same_is_an_heir() {
        let since = ticks_now();
        let (tells, tid) = std::sync::mpsc::channel();
        let (ends, until) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tells.send(own()).unwrap();
            let _ = until.recv();
        });
        let tid: u32 = tid.recv().unwrap();
        let name = setting_of_thread(Subject::Cpus, own(), std::process::id()).unwrap();
        let mine = OfThread::named(&name).unwrap();
        let heirs = |since, value: &str| mine.heirs(since, value);
        let is_it = |name: &String| OfThread::named(name).unwrap().tid == tid;
        let cpus = mine.read().unwrap();
        assert!(heirs(since, &cpus).iter().any(is_it));
        assert!(!heirs(ticks_now() + 100, &cpus).iter().any(is_it), "it was there before");
        assert!(!heirs(since, "77").iter().any(is_it), "it holds something else");
        drop(ends);
        thread.join().unwrap();
    }
}
