//! What kept an event loop from coming back, over all of its long iterations, and what brings it back sooner.

use howlate_model::{EventLoopBlock, Span, StallReason, StallTotal};

use crate::cause_words::percent;
use crate::numbers::count;

/// Time beyond which one reason is most of it.
const MOST: f64 = 0.5;
/// What is true of less than this is not said of a loop as a rule.
const OFTEN: f64 = 1.0 / 3.0;

/// Who wrote the loop, as far as it can be told: that decides what can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Node,
    Other,
    /// A program that nobody who watches it has written: it has settings at most.
    Finished,
}

/// Programs that people run, and do not change.
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

impl Language {
    pub(super) fn of(thread: &str, functions: &[&str]) -> Self {
        let first = thread.split_ascii_whitespace().next().unwrap_or_default();
        let is_named =
            |parts: &[&str]| functions.iter().any(|one| parts.iter().any(|part| one.contains(part)));
        match first {
            _ if FINISHED.contains(&first.trim_end_matches(':')) => Self::Finished,
            // Node calls its main thread `node` or, in later versions, `MainThread`.
            "node" | "MainThread" => Self::Node,
            _ if first.starts_with("python") || is_named(&[".py)", "(libpython", "(python3"]) => Self::Python,
            _ if is_named(&["(node)", ".js:"]) => Self::Node,
            _ => Self::Other,
        }
    }

    /// A call as the program's author knows it.
    fn call(self, call: &str) -> String {
        match (call, self) {
            ("clock_nanosleep" | "nanosleep", Self::Python) => "`time.sleep`".to_owned(),
            ("clock_nanosleep" | "nanosleep", _) => format!("a sleep (`{call}`)"),
            ("futex", Self::Python) => "a wait for another thread (a lock, or Python's own)".to_owned(),
            ("futex", _) => "a wait for another thread (a lock)".to_owned(),
            _ => format!("`{call}`"),
        }
    }

    /// What it was doing, as what follows `it was`.
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

/// What kept a loop as a rule.
pub(super) struct Usual {
    pub(super) reason: StallReason,
    pub(super) call: Option<String>,
    /// Long iterations of which it took most, of how many; `None` in recordings that do not say.
    pub(super) iterations: Option<(u64, u64)>,
    /// How long it took in each of those as a rule.
    pub(super) median: Option<Span>,
    /// Its share of the time of all long iterations.
    pub(super) share: f64,
}

impl Usual {
    /// What took most of the time; or what most iterations are about, where it took a good part of it: the one that took
    /// longest may be another's fault.
    pub(super) fn of(of: &EventLoopBlock) -> Option<Self> {
        let known = if of.reasons.is_empty() { summed(of) } else { of.reasons.clone() };
        let whole = known.iter().map(|one| one.total.as_secs_f64()).sum::<f64>();
        let share = |one: &StallTotal| if whole > 0.0 { one.total.as_secs_f64() / whole } else { 0.0 };
        let is_the_rule = |one: &&StallTotal| one.iterations * 2 > of.long && share(one) >= OFTEN;
        let first = known.iter().find(is_the_rule).or_else(|| known.first())?;
        Some(Self {
            reason: first.reason,
            call: first.call.clone(),
            iterations: (!of.reasons.is_empty()).then_some((first.iterations, of.long)),
            median: first.each.median().map(|one| Span::from_nanos(one.as_nanos().max(0).unsigned_abs())),
            share: share(first),
        })
    }

    /// Whether it is so much that removing it is worth it.
    fn is_most(&self) -> bool {
        let is_the_rule = self.iterations.is_some_and(|(some, all)| some * 2 > all);
        self.share > MOST || (is_the_rule && self.share >= OFTEN)
    }

    /// `In 18 of the 24 it was blocked in `time.sleep`, for 80.1 ms as a rule.` Nothing of one iteration, which is told by itself.
    pub(super) fn sentence(&self, language: Language) -> Option<String> {
        let doing = language.doing(self.reason, self.call.as_deref());
        let (some, all) = self.iterations.filter(|(_, all)| *all > 1)?;
        let long =
            self.median.map_or_else(String::new, |median| format!(", for {} as a rule", words(median)));
        Some(match some as f64 >= OFTEN * all as f64 {
            true => format!("In {} of the {} it was {doing}{long}.", count(some), count(all)),
            false => format!("Of the time of all {}, it was {doing} in {}.", count(all), percent(self.share)),
        })
    }

    /// ` (18 of 24 long iterations, 80.1 ms as a rule)`
    fn extent(&self) -> String {
        let iterations =
            self.iterations.map(|(some, all)| format!("{} of {} long iterations", count(some), count(all)));
        let median = self.median.map(|median| format!("{} as a rule", words(median)));
        let parts: Vec<String> = iterations.into_iter().chain(median).collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    }

    /// What to do about it, of the program with these functions; `None` where nothing in the program would help.
    pub(super) fn to_do(&self, thread: &str, language: Language, function: Option<&str>) -> Option<String> {
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
        let cure = match self.reason {
            StallReason::Blocked => cure_of_blocking(thread, language, self.call.as_deref())?,
            _ => cure_of_work(thread, language, function)?,
        };
        Some(format!("{thread}'s event loop {what}{}. {cure}", self.extent()))
    }
}

fn cure_of_blocking(thread: &str, language: Language, call: Option<&str>) -> Option<&'static str> {
    let writes = |call: &str| ["fdatasync", "fsync", "write", "pwrite64"].contains(&call);
    let reads = |call: &str| ["read", "pread64", "openat", "sendfile"].contains(&call);
    let is_lock = call == Some("futex");
    Some(match language {
        Language::Finished if thread.starts_with("redis-server") && call.is_some_and(writes) => {
            "`appendfsync everysec` with `no-appendfsync-on-rewrite yes` leaves the disk to another thread of Redis."
        }
        Language::Finished if thread.starts_with("nginx") && call.is_some_and(reads) => {
            "`aio threads;` has nginx read files in other threads."
        }
        Language::Finished => return None,
        Language::Python if is_lock => {
            "What another thread holds for long belongs into a process of its own; with the lock of a thread, `await asyncio.to_thread(f, …)` waits elsewhere."
        }
        Language::Python => "Call what blocks with `await asyncio.to_thread(f, …)`.",
        Language::Node if is_lock => {
            "`Atomics.wait` and synchronous child processes belong in a worker (`node:worker_threads`)."
        }
        Language::Node => {
            "Use the asynchronous form (`fs.promises.readFile` for `fs.readFileSync`), or a worker (`node:worker_threads`)."
        }
        Language::Other if is_lock => "Hold that lock for less time, or take it in another thread.",
        Language::Other => "Such a call belongs in another thread, or needs a form that does not block.",
    })
}

/// Where Python's garbage collector is.
const PYTHON_GC: [&str; 7] = [
    "gc_collect",
    "deduce_unreachable",
    "subtract_refs",
    "update_refs",
    "visit_reachable",
    "visit_decref",
    "move_unreachable",
];

fn cure_of_work(thread: &str, language: Language, function: Option<&str>) -> Option<&'static str> {
    let is_gc = function.is_some_and(|one| PYTHON_GC.iter().any(|known| one.contains(known)));
    Some(match language {
        Language::Finished if thread.starts_with("redis-server") => {
            "`redis-cli slowlog get` names the commands that took long."
        }
        Language::Finished => return None,
        Language::Python if is_gc => {
            "That is Python's garbage collector: `gc.freeze()` after start-up, or a higher `gc.set_threshold(…)`."
        }
        Language::Python => {
            "Work as long as this belongs in another process: `await loop.run_in_executor(ProcessPoolExecutor(), f, …)`."
        }
        Language::Node => {
            "Work as long as this belongs in a worker (`new Worker(file)` of `node:worker_threads`)."
        }
        Language::Other => "Work as long as this belongs in another thread, or in smaller pieces.",
    })
}

/// What recordings of earlier versions say: the sums alone.
fn summed(of: &EventLoopBlock) -> Vec<StallTotal> {
    let call = of.blocked_in.first().filter(|one| one.count * 2 > of.long).map(|one| one.name.clone());
    let spent = of.long_spent;
    let one =
        |reason, call, total| StallTotal { reason, call, iterations: 0, total, each: Default::default() };
    let mut all = vec![
        one(StallReason::Ran, None, spent.running),
        one(StallReason::Blocked, call, spent.blocked),
        one(StallReason::WaitedForCpu, None, spent.ready),
    ];
    all.retain(|one| !one.total.is_zero());
    all.sort_by_key(|one| std::cmp::Reverse(one.total));
    all
}

pub(super) fn words(span: Span) -> String {
    howlate_model::Latency::from_span(span).to_string()
}

#[cfg(test)]
mod tests {
    use howlate_model::{Iteration, LoopWait, MonotonicTime};

    use super::*;

    fn ms(number: u64) -> Span {
        Span::from_millis(number)
    }

    /// Iterations that ran, were blocked in a call, and waited for the CPU, so many ms each, so often.
    fn event_loop(call: &str, iterations: &[(u64, [u64; 3])]) -> EventLoopBlock {
        let mut all = EventLoopBlock::with_threshold(ms(10));
        for (times, [running, blocked, ready]) in iterations {
            let one = Iteration {
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
            (0..*times).for_each(|_| all.add(&one, None));
        }
        all
    }

    fn to_do(thread: &str, of: &EventLoopBlock) -> Option<String> {
        Usual::of(of)?.to_do(thread, Language::of(thread, &[]), None)
    }

    #[test]
    fn the_usual_stall_is_told_and_not_the_longest() {
        // 18 of 24 slept; the others ran, and one of them took more time than all others together.
        let of = event_loop("clock_nanosleep", &[(18, [1, 80, 4]), (5, [60, 0, 5]), (1, [1_800, 0, 215])]);
        let usual = Usual::of(&of).unwrap();
        assert_eq!(
            usual.sentence(Language::Python).unwrap(),
            "In 18 of the 24 it was blocked in `time.sleep`, for 80.0 ms as a rule."
        );
        assert_eq!(
            to_do("python3", &of).unwrap(),
            "python3's event loop is blocked in `time.sleep` (18 of 24 long iterations, 80.0 ms as a rule). \
             Call what blocks with `await asyncio.to_thread(f, …)`."
        );
    }

    #[test]
    fn a_call_that_took_a_hundredth_is_no_call_for_another_thread() {
        let of = event_loop("fdatasync", &[(8, [0, 1, 60])]);
        assert_eq!((to_do("postgres", &of), to_do("service", &of)), (None, None));
        let usual = Usual::of(&of).unwrap();
        assert!(usual.sentence(Language::Other).unwrap().contains("waiting for the CPU"));
        // Half of the time or less, and of less than half of them, is no rule.
        let of = event_loop("read", &[(4, [0, 30, 0]), (5, [0, 0, 25])]);
        assert_eq!(to_do("service", &of), None);
    }

    #[test]
    fn who_cannot_change_the_program_is_told_its_setting_or_nothing() {
        let synced = event_loop("fdatasync", &[(8, [1, 60, 1])]);
        assert_eq!(to_do("postgres", &synced), None);
        assert!(to_do("redis-server", &synced).unwrap().contains("appendfsync everysec"));
        let worked = event_loop("read", &[(8, [60, 1, 1])]);
        assert_eq!(to_do("nginx", &worked), None);
        assert!(to_do("service", &worked).unwrap().contains("another thread"));
    }

    #[test]
    fn what_to_do_fits_the_language() {
        let (blocked, worked) =
            (event_loop("read", &[(8, [1, 60, 1])]), event_loop("read", &[(8, [60, 1, 1])]));
        for (thread, of, said) in [
            ("python3", &blocked, "asyncio.to_thread"),
            ("python3", &worked, "ProcessPoolExecutor"),
            ("node", &blocked, "fs.promises"),
            ("MainThread", &worked, "node:worker_threads"),
            ("service", &blocked, "another thread"),
        ] {
            assert!(to_do(thread, of).unwrap().contains(said), "{thread}");
        }
        let usual = Usual::of(&worked).unwrap();
        let of_gc = usual.to_do("python3", Language::Python, Some("gc_collect_main (python3.12)")).unwrap();
        assert!(of_gc.contains("gc.freeze()"), "{of_gc}");
        assert_eq!(Language::of("uvloop", &["handler (/srv/app.py)"]), Language::Python);
    }

    #[test]
    fn a_quota_is_said_and_is_no_fault_of_the_loop() {
        let mut of = event_loop("read", &[(3, [1, 0, 90])]);
        for one in &mut of.reasons {
            if one.reason == StallReason::WaitedForCpu {
                one.reason = StallReason::Quota;
            }
        }
        assert_eq!(to_do("python3", &of), None);
        assert_eq!(
            Usual::of(&of).unwrap().sentence(Language::Python).unwrap(),
            "In 3 of the 3 it was without CPU, as its control group had used up its quota, for 90.0 ms as a rule."
        );
    }

    #[test]
    fn a_recording_that_has_the_sums_alone_is_understood() {
        let of = EventLoopBlock { reasons: Vec::new(), ..event_loop("read", &[(8, [1, 60, 1])]) };
        let told = to_do("service", &of).unwrap();
        assert!(told.starts_with("service's event loop is blocked in `read`. "), "{told}");
    }
}
