//! The BPF tracer on kernels that lack an event, and on this kernel.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use howlate_linux::sched;
use howlate_model::{CpuLoss, CpuSet, MonotonicTime, RequestNumber, ServerSocket, WakeSource};
use howlate_testing::skip;

use super::*;

/// The programs and gaps of a kernel without these events.
fn without(events: &[&str]) -> Result<(Vec<&'static str>, MissingEvents), TracerRefusal> {
    usable_programs(|program| Ok(!events.contains(&program.event)))
}

#[test]
fn a_missing_event_costs_only_its_part() {
    let (all, missing_events) = without(&[]).unwrap();
    assert_eq!((all.len(), missing_events.all()), (PROGRAMS.len(), &[][..]));
    let (programs, missing_events) = without(&["softirq_exit", "hrtimer_start_expired"]).unwrap();
    assert_eq!(missing_events.all(), [MissingEvent { event: "softirq_exit", costs: TracerGap::Softirqs }]);
    let unloaded = ["deferred", "softirq_begins", "softirq_ends", "has_passed"];
    assert!(unloaded.iter().all(|name| !programs.contains(name)), "{programs:?}");
    assert_eq!(programs.len() + unloaded.len(), PROGRAMS.len());
}

#[test]
fn switches_are_required() {
    let refused = without(&["softirq_entry", "sched_switch"]).unwrap_err();
    assert_eq!(refused, TracerRefusal::EventMissing { name: "sched_switch".into() });
}

#[test]
fn lives_that_are_not_seen_are_not_claimed() {
    let Ok(mut tracer) = Bpf::open(&[std::process::id()], &["task_rename"]) else {
        return skip("bpf cannot be had");
    };
    assert_eq!(tracer.with_children(), Ok(false));
    assert!(tracer.lives().is_none());
}

/// Another thread sleeps, whose wake-ups are no longer reported.
#[test]
fn a_wake_up_that_was_not_seen_is_counted() {
    let mut tracer = match Bpf::open(&[std::process::id()], &[]) {
        Ok(tracer) => tracer,
        Err(refusal) => return skip(&refusal.to_string()),
    };
    tracer.start().unwrap();
    let sleep = || (0..20).for_each(|_| clock::sleep_for(Span::from_millis(1)).unwrap());
    sleep();
    let before = tracer.missed();
    let index = tracer.attached.iter().position(|(name, _)| *name == "waking").unwrap();
    let (name, link) = tracer.attached.remove(index);
    tracepoint(&mut tracer.kernel, name).unwrap().detach(link).unwrap();
    sleep();
    // The last one counts when the thread sleeps again, if its switch raised no event, as in some virtual machines.
    assert!(tracer.missed() >= before + 19, "{} and {before}", tracer.missed());
    tracer.stop();
}

/// Timers expire while programs are attached and detached one after the other.
#[test]
fn wake_ups_by_timers_are_recognised_at_the_start_and_the_end() {
    let mut tracer = match Bpf::open(&[std::process::id()], &[]) {
        Ok(tracer) => tracer,
        Err(refusal) => return skip(&refusal.to_string()),
    };
    let over = Arc::new(AtomicBool::new(false));
    let (tid_sender, tid) = channel();
    let until = Arc::clone(&over);
    let sleeper = std::thread::spawn(move || {
        tid_sender.send(howlate_linux::thread::id()).unwrap();
        while !until.load(Ordering::Relaxed) {
            drop(clock::sleep_for(Span::from_micros(100)));
        }
    });
    let tid = tid.recv().unwrap();
    let mut by = [0, 0];
    for _ in 0..5 {
        tracer.start().unwrap();
        clock::sleep_for(Span::from_millis(20)).unwrap();
        tracer.stop();
        tracer.read(&mut |sleep| {
            if sleep.tid == tid {
                by[usize::from(matches!(sleep.woken_by, WakeSource::Other(_)))] += 1;
            }
        });
    }
    over.store(true, Ordering::Relaxed);
    sleeper.join().unwrap();
    assert!(by[0] > 0 && by[1] == 0, "by its timer and by others: {by:?}");
}

/// A server of this process, and a client of it.
#[test]
fn a_request_lasts_from_the_arrival_of_its_data_to_the_answer() {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    let mut bpf = match Bpf::open(&[std::process::id()], &[]).and_then(|mut bpf| {
        bpf.with_requests()?;
        Ok(bpf)
    }) {
        Ok(bpf) => bpf,
        Err(refusal) => return skip(&refusal.to_string()),
    };
    bpf.start().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        for number in 0..10u8 {
            stream.write_all(&[number]).unwrap();
            stream.read_exact(&mut [0]).unwrap();
        }
    });
    let (mut stream, _) = listener.accept().unwrap();
    let mut byte = [0];
    while stream.read_exact(&mut byte).is_ok() {
        stream.write_all(&byte).unwrap();
    }
    client.join().unwrap();
    let before = howlate_linux::clock::now();
    bpf.read(&mut |_| {});
    let requests = bpf.requests();
    bpf.stop();
    let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
    let is_of_server = |request: &&Request| request.socket == ServerSocket::Port(port);
    let answered: Vec<&Request> = requests.iter().filter(is_of_server).collect();
    assert_eq!(answered.len(), 10, "{requests:?}");
    for request in answered {
        let arrived = request.arrived.unwrap();
        assert!(arrived < request.taken && request.taken < request.answered && request.answered < before);
        assert_eq!((request.tid, request.reader, request.number), (tid, tid, RequestNumber::One));
    }
}

/// A thread that spins on a CPU, until it is told to sleep; a process that takes that CPU from it; and this thread on another one.
struct TakenCpu {
    spinner: JoinHandle<Option<(MonotonicTime, MonotonicTime)>>,
    tid: u32,
    latest: Arc<AtomicI64>,
    over: Arc<AtomicBool>,
    taker: Taker,
}

/// Is ended in any case: it would keep its CPU for good.
struct Taker(Child);

impl Drop for Taker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl TakenCpu {
    /// `None` where there is only one CPU, or real-time priority is refused.
    fn new() -> Option<Self> {
        let all = sched::bindable_cpus().ok()?;
        let (first, second) = (all.iter().next()?, all.iter().nth(1)?);
        sched::bind(&CpuSet::from_iter([second])).unwrap();
        let (latest, over) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
        let (tid_sender, tid) = channel();
        let (seen, until) = (Arc::clone(&latest), Arc::clone(&over));
        let spinner = std::thread::spawn(move || {
            sched::bind(&CpuSet::from_iter([first])).unwrap();
            tid_sender.send(howlate_linux::thread::id()).unwrap();
            // Few losses of a run are recorded, so that threads of the kernel must not take its CPU.
            let is_allowed = sched::set_policy(sched::THIS_THREAD, "fifo:40".parse().unwrap()).is_ok();
            clock::sleep_for(Span::from_millis(1)).unwrap();
            let longest = is_allowed.then(|| spin(&seen, &until)).flatten();
            (0..2).for_each(|_| clock::sleep_for(Span::from_millis(1)).unwrap());
            longest
        });
        let mut shell = Command::new("sh");
        shell.args(["-c", "read line; while :; do :; done"]).stdin(Stdio::piped());
        let taker = Taker(shell.spawn().unwrap());
        sched::bind_thread(taker.0.id(), &CpuSet::from_iter([first])).unwrap();
        if sched::set_policy(taker.0.id(), "fifo:50".parse().unwrap()).is_err() {
            over.store(true, Ordering::Relaxed);
            return None;
        }
        Some(Self { spinner, tid: tid.recv().unwrap(), latest, over, taker })
    }

    fn is_running(&self) -> bool {
        let before = self.latest.load(Ordering::Relaxed);
        drop(clock::sleep_for(Span::from_millis(20)));
        self.latest.load(Ordering::Relaxed) != before
    }

    fn wait_until_running(&self, is_running: bool) {
        assert!((0..500).any(|_| self.is_running() == is_running), "running: {is_running}");
    }

    fn take(&mut self) {
        self.taker.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        self.wait_until_running(false);
    }

    fn give_back(&mut self) {
        self.taker.0.kill().unwrap();
        self.taker.0.wait().unwrap();
        self.wait_until_running(true);
    }

    /// From when until when the spinner was without its CPU, by its own clock.
    fn end(self) -> (MonotonicTime, MonotonicTime) {
        self.over.store(true, Ordering::Relaxed);
        self.spinner.join().unwrap().unwrap()
    }
}

/// Reads the clock until it is over; returns the two readings that were furthest apart.
fn spin(latest: &AtomicI64, over: &AtomicBool) -> Option<(MonotonicTime, MonotonicTime)> {
    let (mut last, mut longest) = (clock::now(), None);
    let length = |(from, until): (MonotonicTime, MonotonicTime)| until.since(from);
    while !over.load(Ordering::Relaxed) {
        let now = clock::now();
        if longest.is_none_or(|longest| now.since(last) > length(longest)) {
            longest = Some((last, now));
        }
        latest.store(now.as_nanos(), Ordering::Relaxed);
        last = now;
    }
    longest
}

/// Some virtual machines raise no event for some switches.
#[test]
fn a_thread_whose_switch_was_not_seen_was_not_at_work_meanwhile() {
    for loses_unseen in [true, false] {
        let mut tracer = match Bpf::open(&[std::process::id()], &[]) {
            Ok(tracer) => tracer,
            Err(refusal) => return skip(&refusal.to_string()),
        };
        tracer.start().unwrap();
        let Some(mut cpu) = TakenCpu::new() else { return skip("needs two CPUs and real-time priority") };
        let tid = cpu.tid;
        cpu.wait_until_running(true);
        if loses_unseen {
            without_switches(&mut tracer, || cpu.take());
            cpu.give_back();
        } else {
            cpu.take();
            without_switches(&mut tracer, || cpu.give_back());
        }
        let (from, until) = cpu.end();
        let mut losses = Vec::new();
        tracer.read(&mut |sleep| losses.extend(sleep.lost.into_iter().filter(|_| sleep.tid == tid)));
        tracer.stop();
        let within = |loss: &CpuLoss| loss.until.min(until).since(loss.from.max(from)).as_nanos();
        let seen: u64 = losses.iter().map(within).sum();
        // Other tests take its CPU at other times.
        let of_it = losses.iter().filter(|loss| within(loss) > 0);
        let outside = of_it.map(|loss| loss.until.since(loss.from).as_nanos() - within(loss));
        let whole = until.since(from).as_nanos();
        let text = format!("{loses_unseen}: {from:?} to {until:?}: {losses:?}");
        assert!(seen >= whole / 10 * 9, "{seen} of {whole}, {text}");
        assert!(outside.max() <= Some(whole / 10), "{text}");
    }
}

fn without_switches(tracer: &mut Bpf, mut done: impl FnMut()) {
    let index = tracer.attached.iter().position(|(name, _)| *name == "switches").unwrap();
    let (name, link) = tracer.attached.remove(index);
    tracepoint(&mut tracer.kernel, name).unwrap().detach(link).unwrap();
    done();
    let link = tracepoint(&mut tracer.kernel, name).unwrap().attach().unwrap();
    tracer.attached.insert(index, (name, link));
}
