//! What usually blocks an event loop, over all of its long iterations, and what would help.

use howlate_model::{EventLoopBlock, Span, StallReason, StallTotal};

use crate::cause_words::percent;
use crate::numbers::count;

/// Share of time above which a reason dominates.
const MOST: f64 = 0.5;
/// Minimum share for a statement about the loop in general.
const OFTEN: f64 = 1.0 / 3.0;

/// What the loop is written in, as far as it can be recognised: this decides on the advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramKind {
    Python,
    Node,
    Other,
    /// Third-party software that its users do not change, but may configure.
    Finished,
}

/// Programs that their users do not change.
const FINISHED: [&str; 27] = [
    "postgres",
    "postmaster",
    "redis-server",
    "valkey-server",
    "nginx",
    "apache2",
    "httpd",
    "mysqld",
    "mariadbd",
    "mongod",
    "memcached",
    "haproxy",
    "envoy",
    "traefik",
    "caddy",
    "dockerd",
    "containerd",
    "systemd",
    "dbus-daemon",
    "sshd",
    "jackd",
    "pipewire",
    "pulseaudio",
    "Xorg",
    "gnome-shell",
    "mosquitto",
    "etcd",
];

impl ProgramKind {
    pub(super) fn of(thread: &str, functions: &[&str]) -> Self {
        let first = thread.split_ascii_whitespace().next().unwrap_or_default();
        let is_named = |parts: &[&str]| {
            functions.iter().any(|function| parts.iter().any(|part| function.contains(part)))
        };
        match first {
            _ if FINISHED.contains(&first.trim_end_matches(':')) => Self::Finished,
            // Node calls its main thread `node` or, in later versions, `MainThread`.
            "node" | "MainThread" => Self::Node,
            _ if first.starts_with("python") || is_named(&[".py)", "(libpython", "(python3"]) => Self::Python,
            _ if is_named(&["(node)", ".js:"]) => Self::Node,
            _ => Self::Other,
        }
    }

    /// The call as the program's author knows it.
    fn call(self, call: &str) -> String {
        match (call, self) {
            ("clock_nanosleep" | "nanosleep", Self::Python) => "`time.sleep`".to_owned(),
            ("clock_nanosleep" | "nanosleep", _) => format!("a sleep (`{call}`)"),
            ("futex", Self::Python) => "a wait for another thread (a lock, or Python's own)".to_owned(),
            ("futex", _) => "a wait for another thread (a lock)".to_owned(),
            _ => format!("`{call}`"),
        }
    }

    /// What it was doing; follows `it was`.
    pub(super) fn doing(self, reason: StallReason, call: Option<&str>) -> String {
        match (reason, call) {
            (StallReason::Ran, _) => "running".to_owned(),
            (StallReason::Blocked, Some(call)) => format!("blocked in {}", self.call(call)),
            (StallReason::Blocked, None) => "blocked".to_owned(),
            (StallReason::WaitedForCpu, _) => "waiting for the CPU".to_owned(),
            (StallReason::Quota, _) => "without CPU, as its control group had used up its quota".to_owned(),
        }
    }
}

/// The typical reason of long iterations.
pub(super) struct TypicalStall {
    pub(super) reason: StallReason,
    pub(super) call: Option<String>,
    /// Long iterations dominated by this reason, of how many; `None` in old recordings.
    pub(super) iterations: Option<(u64, u64)>,
    /// Median time it took in each of those.
    pub(super) median: Option<Span>,
    /// Its share of the time of all long iterations.
    pub(super) share: f64,
}

impl TypicalStall {
    /// The reason that dominates most iterations, if it has a significant share of the time; otherwise the one with most time. A single long iteration may be an outlier.
    pub(super) fn of(event_loop: &EventLoopBlock) -> Option<Self> {
        let reasons =
            if event_loop.reasons.is_empty() { summed(event_loop) } else { event_loop.reasons.clone() };
        let whole = reasons.iter().map(|reason| reason.total.as_secs_f64()).sum::<f64>();
        let share = |reason: &StallTotal| if whole > 0.0 { reason.total.as_secs_f64() / whole } else { 0.0 };
        let is_typical =
            |reason: &&StallTotal| reason.iterations * 2 > event_loop.long && share(reason) >= OFTEN;
        let first = reasons.iter().find(is_typical).or_else(|| reasons.first())?;
        Some(Self {
            reason: first.reason,
            call: first.call.clone(),
            iterations: (!event_loop.reasons.is_empty()).then_some((first.iterations, event_loop.long)),
            median: first.each.median().map(|time| Span::from_nanos(time.as_nanos().max(0).unsigned_abs())),
            share: share(first),
        })
    }

    /// Whether removing it would be worth it.
    fn is_most(&self) -> bool {
        let is_typical = self.iterations.is_some_and(|(some, all)| some * 2 > all);
        self.share > MOST || (is_typical && self.share >= OFTEN)
    }

    /// `In 18 of the 24 it was blocked in `time.sleep`, typically for 80.1 ms.` `None` for a single iteration, which has its own sentence.
    pub(super) fn sentence(&self, language: ProgramKind) -> Option<String> {
        let doing = language.doing(self.reason, self.call.as_deref());
        let (some, all) = self.iterations.filter(|(_, all)| *all > 1)?;
        let long =
            self.median.map_or_else(String::new, |median| format!(", typically for {}", span_text(median)));
        Some(match some as f64 >= OFTEN * all as f64 {
            true => format!("In {} of the {} it was {doing}{long}.", count(some), count(all)),
            false => format!("Over all {}, it was {doing} {} of the time.", count(all), percent(self.share)),
        })
    }

    /// ` (18 of 24 long iterations, typically 80.1 ms)`
    fn extent(&self) -> String {
        let iterations =
            self.iterations.map(|(some, all)| format!("{} of {} long iterations", count(some), count(all)));
        let median = self.median.map(|median| format!("typically {}", span_text(median)));
        let parts: Vec<String> = iterations.into_iter().chain(median).collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    }

    /// Advice for the program; `None` where nothing in the program would help. `function` is where it spent most of the time.
    pub(super) fn to_do(
        &self,
        thread: &str,
        language: ProgramKind,
        function: Option<&str>,
    ) -> Option<String> {
        if !self.is_most() {
            return None;
        }
        let what = match self.reason {
            StallReason::WaitedForCpu | StallReason::Quota => return None,
            StallReason::Blocked => match self.call.as_deref() {
                Some(call) => format!("is blocked in {}", language.call(call)),
                None => "is blocked".to_owned(),
            },
            StallReason::Ran => "computes".to_owned(),
        };
        let advice = match self.reason {
            StallReason::Blocked => advice_on_blocking(thread, language, self.call.as_deref())?,
            _ => advice_on_work(thread, language, function)?,
        };
        Some(format!("{thread}'s event loop {what}{}. {advice}", self.extent()))
    }
}

fn advice_on_blocking(thread: &str, language: ProgramKind, call: Option<&str>) -> Option<&'static str> {
    let writes = |call: &str| ["fdatasync", "fsync", "write", "pwrite64"].contains(&call);
    let reads = |call: &str| ["read", "pread64", "openat", "sendfile"].contains(&call);
    let is_lock = call == Some("futex");
    Some(match language {
        ProgramKind::Finished if thread.starts_with("redis-server") && call.is_some_and(writes) => {
            "`appendfsync everysec` with `no-appendfsync-on-rewrite yes` leaves the disk to another thread of Redis."
        }
        ProgramKind::Finished if thread.starts_with("nginx") && call.is_some_and(reads) => {
            "`aio threads;` has nginx read files in other threads."
        }
        ProgramKind::Finished => return None,
        ProgramKind::Python if is_lock => {
            "Move work that holds the lock for long to a process of its own; wait for a thread's lock with `await asyncio.to_thread(f, …)`."
        }
        ProgramKind::Python => "Run blocking calls in `await asyncio.to_thread(f, …)`.",
        ProgramKind::Node if is_lock => {
            "`Atomics.wait` and synchronous child processes belong in a worker (`node:worker_threads`)."
        }
        ProgramKind::Node => {
            "Use the asynchronous form (`fs.promises.readFile` for `fs.readFileSync`), or a worker (`node:worker_threads`)."
        }
        ProgramKind::Other if is_lock => "Hold that lock for less time, or take it in another thread.",
        ProgramKind::Other => "Such a call belongs in another thread, or needs a form that does not block.",
    })
}

/// Functions of CPython's garbage collector.
const PYTHON_GC: [&str; 7] = [
    "gc_collect",
    "deduce_unreachable",
    "subtract_refs",
    "update_refs",
    "visit_reachable",
    "visit_decref",
    "move_unreachable",
];

fn advice_on_work(thread: &str, language: ProgramKind, function: Option<&str>) -> Option<&'static str> {
    let is_gc = function.is_some_and(|function| PYTHON_GC.iter().any(|gc| function.contains(gc)));
    Some(match language {
        ProgramKind::Finished if thread.starts_with("redis-server") => {
            "`redis-cli slowlog get` names the commands that took long."
        }
        ProgramKind::Finished => return None,
        ProgramKind::Python if is_gc => {
            "That is Python's garbage collector: `gc.freeze()` after start-up, or a higher `gc.set_threshold(…)`."
        }
        ProgramKind::Python => {
            "Work as long as this belongs in another process: `await loop.run_in_executor(ProcessPoolExecutor(), f, …)`."
        }
        ProgramKind::Node => {
            "Work as long as this belongs in a worker (`new Worker(file)` of `node:worker_threads`)."
        }
        ProgramKind::Other => "Work as long as this belongs in another thread, or in smaller pieces.",
    })
}

/// Reasons of recordings from older versions, which have only sums.
fn summed(event_loop: &EventLoopBlock) -> Vec<StallTotal> {
    let call = event_loop
        .blocked_in
        .first()
        .filter(|call| call.count * 2 > event_loop.long)
        .map(|call| call.name.clone());
    let spent = event_loop.long_spent;
    let long_reason =
        |reason, call, total| StallTotal { reason, call, iterations: 0, total, each: Default::default() };
    let mut all = vec![
        long_reason(StallReason::Ran, None, spent.running),
        long_reason(StallReason::Blocked, call, spent.blocked),
        long_reason(StallReason::WaitedForCpu, None, spent.ready),
    ];
    all.retain(|reason| !reason.total.is_zero());
    all.sort_by_key(|reason| std::cmp::Reverse(reason.total));
    all
}

pub(super) fn span_text(span: Span) -> String {
    howlate_model::Latency::from_span(span).to_string()
}

#[cfg(test)]
mod tests {
    use howlate_model::{Iteration, LoopWait, MonotonicTime};

    use super::*;

    fn ms(number: u64) -> Span {
        Span::from_millis(number)
    }

    /// Iterations that ran, were blocked in a call, and waited for the CPU: how often, and ms of each.
    fn stalled_loop(call: &str, iterations: &[(u64, [u64; 3])]) -> EventLoopBlock {
        let mut event_loop = EventLoopBlock::with_threshold(ms(10));
        for (times, [running, blocked, ready]) in iterations {
            let iteration = Iteration {
                tid: 7,
                wait: LoopWait::Epoll,
                file: Some(3),
                from: MonotonicTime::default(),
                until: MonotonicTime::default().plus(ms(running + blocked + ready)),
                blocked: ms(*blocked),
                ready: ms(*ready),
                quota: Span::ZERO,
                longest_sleep: Some((ms(*blocked), Some(call.to_owned()))),
                stack: Vec::new(),
            };
            (0..*times).for_each(|_| event_loop.add(&iteration, None));
        }
        event_loop
    }

    fn to_do(thread: &str, event_loop: &EventLoopBlock) -> Option<String> {
        TypicalStall::of(event_loop)?.to_do(thread, ProgramKind::of(thread, &[]), None)
    }

    #[test]
    fn the_usual_stall_is_told_and_not_the_longest() {
        // 18 of 24 slept; the others ran, and one of them took more time than all others together.
        let event_loop =
            stalled_loop("clock_nanosleep", &[(18, [1, 80, 4]), (5, [60, 0, 5]), (1, [1_800, 0, 215])]);
        let stall = TypicalStall::of(&event_loop).unwrap();
        assert_eq!(
            stall.sentence(ProgramKind::Python).unwrap(),
            "In 18 of the 24 it was blocked in `time.sleep`, typically for 80.0 ms."
        );
        assert_eq!(
            to_do("python3", &event_loop).unwrap(),
            "python3's event loop is blocked in `time.sleep` (18 of 24 long iterations, typically 80.0 ms). \
             Run blocking calls in `await asyncio.to_thread(f, …)`."
        );
    }

    #[test]
    fn a_call_that_took_a_hundredth_is_no_call_for_another_thread() {
        let event_loop = stalled_loop("fdatasync", &[(8, [0, 1, 60])]);
        assert_eq!((to_do("postgres", &event_loop), to_do("service", &event_loop)), (None, None));
        let stall = TypicalStall::of(&event_loop).unwrap();
        assert!(stall.sentence(ProgramKind::Other).unwrap().contains("waiting for the CPU"));
        // Half of the time or less, and of less than half of them, is no rule.
        let event_loop = stalled_loop("read", &[(4, [0, 30, 0]), (5, [0, 0, 25])]);
        assert_eq!(to_do("service", &event_loop), None);
    }

    #[test]
    fn who_cannot_change_the_program_is_told_its_setting_or_nothing() {
        let synced = stalled_loop("fdatasync", &[(8, [1, 60, 1])]);
        assert_eq!(to_do("postgres", &synced), None);
        assert!(to_do("redis-server", &synced).unwrap().contains("appendfsync everysec"));
        let worked = stalled_loop("read", &[(8, [60, 1, 1])]);
        assert_eq!(to_do("nginx", &worked), None);
        assert!(to_do("service", &worked).unwrap().contains("another thread"));
    }

    #[test]
    fn what_to_do_fits_the_language() {
        let (blocked, worked) =
            (stalled_loop("read", &[(8, [1, 60, 1])]), stalled_loop("read", &[(8, [60, 1, 1])]));
        for (thread, event_loop, advice) in [
            ("python3", &blocked, "asyncio.to_thread"),
            ("python3", &worked, "ProcessPoolExecutor"),
            ("node", &blocked, "fs.promises"),
            ("MainThread", &worked, "node:worker_threads"),
            ("service", &blocked, "another thread"),
        ] {
            assert!(to_do(thread, event_loop).unwrap().contains(advice), "{thread}");
        }
        let stall = TypicalStall::of(&worked).unwrap();
        let advice =
            stall.to_do("python3", ProgramKind::Python, Some("gc_collect_main (python3.12)")).unwrap();
        assert!(advice.contains("gc.freeze()"), "{advice}");
        assert_eq!(ProgramKind::of("uvloop", &["handler (/srv/app.py)"]), ProgramKind::Python);
    }

    #[test]
    fn a_quota_is_said_and_is_no_fault_of_the_loop() {
        let mut event_loop = stalled_loop("read", &[(3, [1, 0, 90])]);
        for reason in &mut event_loop.reasons {
            if reason.reason == StallReason::WaitedForCpu {
                reason.reason = StallReason::Quota;
            }
        }
        assert_eq!(to_do("python3", &event_loop), None);
        assert_eq!(
            TypicalStall::of(&event_loop).unwrap().sentence(ProgramKind::Python).unwrap(),
            "In 3 of the 3 it was without CPU, as its control group had used up its quota, typically for 90.0 ms."
        );
    }

    #[test]
    fn a_recording_that_has_the_sums_alone_is_understood() {
        let event_loop = EventLoopBlock { reasons: Vec::new(), ..stalled_loop("read", &[(8, [1, 60, 1])]) };
        let advice = to_do("service", &event_loop).unwrap();
        assert!(advice.starts_with("service's event loop is blocked in `read`. "), "{advice}");
    }
}
