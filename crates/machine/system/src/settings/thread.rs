//! Settings that a thread applies to itself, mostly without privileges.

use crate::settings::change::ThreadSetting;
use crate::settings::permanent::PermanentText;
use crate::settings::privileges::Privileges;
use crate::settings::tunable::{Probe, Tunable};
use howlate_model::{
    FIFO_CODE, FIFO_OF_THREAD, FIFO_OF_THREAD_CODE, SettingScope, Span, TIMER_SLACK_CODE, TunedKnobs, Wait,
};
use howlate_procfs::{Kernel, Root, Stat, Status};

/// How much later than requested the kernel may end the sleep of a normal thread.
///
/// Source: `PR_SET_TIMERSLACK(2const)`.
pub(crate) const TIMER_SLACK: Tunable = Tunable {
    name: "timer_slack",
    scope: SettingScope::Thread,
    what: "the least timer slack, so that sleeps are not grouped",
    cost: "wake-ups are no longer grouped: a little power",
    probe: probe_timer_slack,
    permanent: &[
        PermanentText::ProgramLine("systemd", "TimerSlackNSec=1ns"),
        PermanentText::ThreadLine("now", "echo 1 | sudo tee /proc/TID/timerslack_ns"),
        PermanentText::Code(&TIMER_SLACK_CODE.c),
        PermanentText::Code(&TIMER_SLACK_CODE.rust),
        PermanentText::Code(&TIMER_SLACK_CODE.python),
        PermanentText::ProgramCode(&TIMER_SLACK_CODE.shell),
    ],
};

/// The timer slack of this process, in nanoseconds.
pub(crate) const TIMER_SLACK_FILE: &str = "/proc/self/timerslack_ns";

fn probe_timer_slack(root: &Root) -> Probe {
    let least = Span::from_nanos(1);
    match root.read(TIMER_SLACK_FILE) {
        Ok(now) if now == "1" => Probe::AsWanted(least.to_string()),
        Ok(now) => {
            let now = now.parse().map_or(now, |nanos| Span::from_nanos(nanos).to_string());
            Probe::thread(now, least.to_string(), ThreadSetting::Slack(least))
        }
        // Where the file is hidden, `prctl` still sets it.
        Err(_) => Probe::thread("as inherited", least.to_string(), ThreadSetting::Slack(least)),
    }
}

/// The nice value: how much of a shared CPU a normal thread gets, and how soon.
///
/// Source: `sched(7)`; measured by howlate's authors beside two busy threads: p99 2472 µs before, 29 µs after.
pub(crate) const NICE: Tunable = Tunable {
    name: "nice",
    scope: SettingScope::Thread,
    what: "the highest priority among normal threads (nice -20)",
    cost: "other normal threads on the CPU wait while this one computes",
    probe: |_| Probe::thread("0", "-20", ThreadSetting::nice()),
    permanent: &[
        PermanentText::ProgramLine("systemd", "Nice=-20"),
        PermanentText::ProgramLine("C", "setpriority(PRIO_PROCESS, 0, -20);   /* in each thread */"),
        PermanentText::ProgramLine(
            "Rust",
            "rustix::process::setpriority_process(None, -20)?;   // in each thread",
        ),
        PermanentText::ProgramLine("Python", "os.setpriority(os.PRIO_PROCESS, 0, -20)"),
        PermanentText::ProgramLine("shell", "nice -n -20 ./my-program"),
        PermanentText::ThreadLine("now", "renice -n -20 -p TID"),
        PermanentText::ThreadLine("C", "setpriority(PRIO_PROCESS, 0, -20);   /* in that thread */"),
        PermanentText::ThreadLine(
            "Rust",
            "rustix::process::setpriority_process(None, -20)?;   // in that thread",
        ),
        PermanentText::ThreadLine("Python", "os.setpriority(os.PRIO_PROCESS, 0, -20)   # in that thread"),
    ],
};

/// Real-time priority: ahead of every normal thread, without timer slack.
///
/// Source: `sched(7)`; measured by howlate's authors beside two busy threads: p99 2472 µs before, 20 µs after.
pub(crate) const FIFO: Tunable = Tunable {
    name: "fifo",
    scope: SettingScope::Thread,
    what: "real-time priority (SCHED_FIFO, 80)",
    cost: "a thread that never sleeps takes its CPU away from everything else: limit its work, or set RLIMIT_RTTIME",
    probe: |_| Probe::thread("other", "fifo:80", ThreadSetting::fifo()),
    permanent: &[
        PermanentText::ProgramLine("systemd", "CPUSchedulingPolicy=fifo and CPUSchedulingPriority=80"),
        PermanentText::ProgramCode(&FIFO_CODE.c),
        PermanentText::ProgramCode(&FIFO_CODE.rust),
        PermanentText::ProgramCode(&FIFO_CODE.python),
        PermanentText::ProgramCode(&FIFO_CODE.shell),
        PermanentText::ThreadLine("now", FIFO_OF_THREAD),
        PermanentText::ThreadCode(&FIFO_OF_THREAD_CODE.c),
        PermanentText::ThreadCode(&FIFO_OF_THREAD_CODE.rust),
        PermanentText::ThreadCode(&FIFO_OF_THREAD_CODE.python),
    ],
};

/// The time slice of a normal thread: with a shorter one it is scheduled sooner, and runs for less time at once.
///
/// Source: Linux commit 857b158dc5e8, since 6.12; `sched_setattr(2)`, `sched_runtime`. Beside two busy threads p99
/// went from 2472 to 25 µs, with little work at each wake-up; in other measurements nothing changed.
pub(crate) const SLICE: Tunable = Tunable {
    name: "slice",
    scope: SettingScope::Thread,
    what: "the shortest time slice of the fair scheduler",
    cost: "work that takes longer than a slice is interrupted more often",
    probe: probe_slice,
    permanent: &[
        PermanentText::ProgramLine(
            "C",
            "struct sched_attr a = { .size = 48, .sched_runtime = 100000 }; syscall(SYS_sched_setattr, 0, &a, 0);   /* in each thread */",
        ),
        PermanentText::ProgramLine(
            "shell",
            "chrt --other --sched-runtime 100000 0 ./my-program   # util-linux 2.41",
        ),
        PermanentText::ThreadLine("now", "chrt --other --sched-runtime 100000 -p 0 TID   # util-linux 2.41"),
        PermanentText::ThreadLine(
            "C",
            "struct sched_attr a = { .size = 48, .sched_runtime = 100000 }; syscall(SYS_sched_setattr, 0, &a, 0);   /* in that thread */",
        ),
    ],
};

/// The shortest slice that the kernel accepts. Source: kernel/sched/syscalls.c, `__setparam_fair`.
const SHORTEST_SLICE: Span = Span::from_micros(100);

fn probe_slice(root: &Root) -> Probe {
    match Kernel::read(root).at_least(6, 12) {
        Some(false) => Probe::Absent("threads have slices of their own since Linux 6.12".to_owned()),
        _ => {
            let shortest = format!("{} µs", SHORTEST_SLICE.as_nanos() / 1_000);
            Probe::thread("the kernel's", shortest, ThreadSetting::Slice(SHORTEST_SLICE))
        }
    }
}

/// Binds the thread to the CPU that was least busy since boot.
///
/// Source: `sched_setaffinity(2)`, `proc_stat(5)`.
pub(crate) const AFFINITY: Tunable = Tunable {
    name: "affinity",
    scope: SettingScope::Thread,
    what: "bound to the quietest CPU",
    cost: "the scheduler cannot move the thread away when that CPU is busy",
    probe: probe_affinity,
    permanent: &[
        PermanentText::ProgramLine("systemd", "CPUAffinity=@CPU"),
        PermanentText::ThreadLine("now", "taskset -c -p @CPU TID"),
        PermanentText::Line(
            "C",
            "cpu_set_t s; CPU_ZERO(&s); CPU_SET(@CPU, &s); pthread_setaffinity_np(pthread_self(), sizeof s, &s);",
        ),
        PermanentText::Line("Python", "os.sched_setaffinity(0, {@CPU})"),
        PermanentText::ProgramLine("shell", "taskset -c @CPU ./my-program"),
    ],
};

fn probe_affinity(root: &Root) -> Probe {
    let allowed = Status::read_own(root).cpus_allowed();
    if allowed.len() < 2 {
        return Probe::Absent("this process may use only one CPU".to_owned());
    }
    let candidates = Stat::read(root).cpus().into_iter().filter(|(cpu, _)| allowed.contains(*cpu));
    match candidates.min_by_key(|(_, ticks)| ticks.busy) {
        Some((cpu, _)) => Probe::thread(allowed.to_string(), cpu.to_string(), ThreadSetting::Cpu(cpu)),
        None => Probe::Absent("/proc/stat does not say which CPU is quietest".to_owned()),
    }
}

/// A timerfd instead of a sleep: it has no timer slack.
///
/// Source: `timerfd_create(2)`.
pub(crate) const TIMERFD: Tunable = Tunable {
    name: "timerfd",
    scope: SettingScope::Thread,
    what: "timerfd instead of a sleep",
    cost: "one descriptor, and two calls for each wake-up",
    probe: |_| Probe::thread("a sleep", "timerfd", ThreadSetting::Wait(Wait::Timerfd)),
    permanent: &[
        PermanentText::Line(
            "C",
            "int t = timerfd_create(CLOCK_MONOTONIC, 0); timerfd_settime(t, TFD_TIMER_ABSTIME, &next, 0); read(t, &n, 8);",
        ),
        PermanentText::Line(
            "Python",
            "t = os.timerfd_create(time.CLOCK_MONOTONIC); os.timerfd_settime(t, initial=period, interval=period); os.read(t, 8)   # 3.13",
        ),
    ],
};

/// Locked memory: no page faults on resident pages.
///
/// Source: `mlockall(2)`.
pub(crate) const MEMORY_LOCK: Tunable = Tunable {
    name: "memory_lock",
    scope: SettingScope::Thread,
    what: "memory is locked, so that no page fault intervenes",
    cost: "memory that nothing else can use",
    probe: |root| match Privileges::read(root).missing_for_lock() {
        Some(refusal) => Probe::NotPermitted(refusal),
        None => Probe::thread("howlate's threads have it", "the same", ThreadSetting::AlreadyInForce),
    },
    permanent: &[
        PermanentText::Line("systemd", "LimitMEMLOCK=infinity, and mlockall in the program"),
        PermanentText::Line("C", "mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);"),
        PermanentText::Line("Rust", "rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;"),
        PermanentText::Line("Python", "ctypes.CDLL(None).mlockall(3)"),
    ],
};

/// No huge pages for the process: no page fault clears 2 MiB, and no pages are collapsed while it runs.
///
/// Source: `PR_SET_THP_DISABLE(2const)`. howlate's own buffers are small pages, touched beforehand.
pub(crate) const SMALL_PAGES: Tunable = Tunable {
    name: "small_pages",
    scope: SettingScope::Thread,
    what: "no huge pages for the process",
    cost: "programs that use a lot of memory run more slowly",
    probe: |_| Probe::thread("howlate's loops have it", "the same", ThreadSetting::AlreadyInForce),
    permanent: &[
        PermanentText::Line("systemd", "MemoryTHP=disable (systemd 258)"),
        PermanentText::Line("C", "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);"),
        PermanentText::Line(
            "Rust",
            "libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0);   // in an unsafe block",
        ),
        PermanentText::Line("Python", "ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)   # PR_SET_THP_DISABLE"),
    ],
};

/// Changes nothing: any difference found is chance. For checking the method.
pub(crate) const NOTHING: Tunable = Tunable {
    name: TunedKnobs::NOTHING,
    scope: SettingScope::Thread,
    what: "nothing at all, to see what chance finds",
    cost: "nothing",
    probe: |_| Probe::thread("as it is", "as it is", ThreadSetting::Nothing),
    permanent: &[],
};
