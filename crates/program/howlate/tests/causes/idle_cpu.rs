//! Another CPU that is idle while a thread waits: named only where the thread may run on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{Builder, JoinHandle};

use howlate_linux::{clock, sched, thread as linux_thread};
use howlate_model::{CpuSet, Policy, Priority, Span};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{json, skip};
use crate::record::{RecorderProcess, incidents_of, place};

const LATE: &str = "500us";
const BUSY: Span = Span::from_millis(12);
const BETWEEN: Span = Span::from_millis(20);
const TURNS: usize = 20;
/// On a busy machine no CPU may be idle for a while.
const ATTEMPTS: usize = 10;

/// A normal thread that never sleeps, and tells on which CPU it is.
struct BusyVictim {
    tid: u32,
    cpu: Arc<AtomicU32>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BusyVictim {
    fn start(allowed: &CpuSet) -> Self {
        let (cpu, tid, is_over) =
            (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let (its_cpu, its_tid, ends, allowed) =
            (Arc::clone(&cpu), Arc::clone(&tid), Arc::clone(&is_over), allowed.clone());
        let begin = move || {
            sched::bind(&allowed).unwrap();
            its_cpu.store(here(), Ordering::Relaxed);
            its_tid.store(linux_thread::id(), Ordering::Release);
            while !ends.load(Ordering::Relaxed) {
                its_cpu.store(here(), Ordering::Relaxed);
            }
        };
        let thread = Some(Builder::new().name("victim".to_owned()).spawn(begin).unwrap());
        while tid.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        Self { tid: tid.load(Ordering::Acquire), cpu, is_over, thread }
    }

    /// A real-time thread takes its CPU from it, again and again, wherever it is.
    fn hunt(&self) {
        let cpu = Arc::clone(&self.cpu);
        let hunts = move || {
            sched::set_policy(sched::THIS_THREAD, Policy::Fifo { priority: Priority::USUAL }).unwrap();
            for _ in 0..TURNS {
                sched::bind(&CpuSet::from_iter([cpu.load(Ordering::Relaxed)])).unwrap();
                let began = clock::now();
                while clock::now().since(began) < BUSY {}
                clock::sleep_for(BETWEEN).unwrap();
            }
        };
        Builder::new().name("hog".to_owned()).spawn(hunts).unwrap().join().unwrap();
    }
}

impl Drop for BusyVictim {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.thread.take().map(JoinHandle::join));
    }
}

fn here() -> u32 {
    u32::try_from(rustix::thread::sched_getcpu()).unwrap()
}

/// The incidents of a thread that was hunted while everything of it was recorded.
fn hunted(allowed: &CpuSet) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("kept");
    let out = out.to_str().unwrap();
    let mut recorder = RecorderProcess::start(&[
        "record",
        "--process",
        "causes*",
        "--late-above",
        LATE,
        "--timelines",
        "0/h",
        "--out",
        out,
    ]);
    let victim = BusyVictim::start(allowed);
    victim.hunt();
    recorder.end(Signal::TERM);
    incidents_of(&json(&["show", out, "--json"], 0), victim.tid)
}

fn nanos(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

#[test]
fn a_cpu_that_is_idle_meanwhile_is_named_where_the_thread_may_run_there() {
    let Some((_folder, _alone)) = place() else { return };
    let all: Vec<u32> = sched::bindable_cpus().unwrap().iter().collect();
    let [first, second, ..] = all[..] else { return skip("there is one CPU") };
    let bound = hunted(&CpuSet::from_iter([first]));
    assert!(!bound.is_empty(), "it was not recorded that it waited");
    let elsewhere = bound.iter().find(|incident| !incident["idle_cpu"].is_null());
    assert_eq!(elsewhere, None, "it may not run elsewhere");
    for _ in 0..ATTEMPTS {
        let free = hunted(&CpuSet::from_iter([first, second]));
        let named = free.iter().filter(|incident| !incident["idle_cpu"].is_null());
        let named: Vec<(i64, i64, i64)> = named
            .map(|incident| {
                let idle = &incident["idle_cpu"];
                (nanos(&idle["cpu"]), nanos(&idle["ns"]), nanos(&incident["latency_ns"]))
            })
            .collect();
        for (cpu, idle, waited) in &named {
            assert!([first, second].map(i64::from).contains(cpu), "CPU {cpu}");
            assert!((100_000..=*waited).contains(idle), "{idle} of {waited} ns");
        }
        if !named.is_empty() {
            return;
        }
    }
    skip("no CPU was idle");
}
