//! Provokes lateness, with its times by the stamps of the delaying and of the delayed programs.

use std::io;

use howlate_linux::{clock, sched};
use howlate_model::Span;
use rustix::process::{Pid, Signal, kill_process};

use super::lock::waits_for_a_lock;
use super::stamped::{RunningProgram, Time, gaps, latenesses, stretches};
use crate::truth::control_group::ControlGroup;
use crate::truth::sleeper::SleeperProgram;

/// Provoked delays of one thread.
#[derive(Debug)]
pub struct InjectedDelay {
    pub tid: u32,
    /// When it was ready and did not run, by its own stamps: from when it was due, or had last run.
    pub stamped: Vec<Time>,
    /// When it did not run for this cause.
    pub times: Vec<Time>,
    pub culprit: InjectedCulprit,
}

/// The cause of the delay.
#[derive(Debug)]
pub enum InjectedCulprit {
    /// This thread; and its control group, if it has one of its own.
    Thread { pid: u32, group: Option<String> },
    /// The quota of this group.
    Quota(String),
    /// The thread did not wait for a CPU.
    Nobody,
}

impl InjectedDelay {
    /// IDs of the delayed and of the delaying thread.
    pub fn threads(&self) -> Vec<u32> {
        let other = if let InjectedCulprit::Thread { pid, .. } = self.culprit { Some(pid) } else { None };
        [self.tid].into_iter().chain(other).collect()
    }
}

/// The delayed and the delaying programs.
pub struct InjectionPrograms {
    pub sleeper: SleeperProgram,
    pub burner: std::path::PathBuf,
}

/// One way to provoke lateness.
pub struct Scene {
    pub name: &'static str,
    pub play: fn(&InjectionPrograms, u64) -> io::Result<InjectedDelay>,
}

pub const SCENES: [Scene; 8] = [
    Scene { name: "a sleeper, by a real-time thread", play: hog_of_a_sleeper },
    Scene { name: "a thread that never sleeps, by a real-time thread", play: hog_of_a_burner },
    Scene { name: "a thread that may run anywhere, by a real-time thread", play: followed },
    Scene { name: "a thread whose group has a quota", play: quota },
    Scene { name: "a thread beside a control group of more weight", play: neighbour },
    Scene { name: "a sleeper that is stopped", play: stopped },
    Scene { name: "a sleeper that sleeps as long as it asked to", play: asleep },
    Scene { name: "a thread that waits for a lock, whose holder waits for a disk", play: waits_for_a_lock },
];

const PERIOD_US: u64 = 2_000;
/// For how long a hog takes a CPU, longer than `LATE_ABOVE`, and rests, µs.
const HOG: (u64, u64) = (12_000, 28_000);
/// Least share of a delay that has to be due to the cause.
const MOSTLY: f64 = 0.8;

fn is_mostly(part: i64, whole: i64) -> bool {
    part as f64 >= whole as f64 * MOSTLY
}

impl InjectionPrograms {
    /// Shell command of the sleeper, bound to one CPU.
    fn sleeps(&self, period_us: u64, seconds: u64, cpu: u32) -> String {
        let times = seconds * 1_000_000 / period_us;
        format!("exec taskset -c {cpu} {}", self.sleeper.command(period_us, times, &[]))
    }

    /// Shell command of the burner.
    fn burns(&self, seconds: u64, (busy_us, rest_us): (u64, u64), options: &str) -> String {
        format!("exec {} {seconds} {busy_us} {rest_us} {options}", self.burner.display())
    }

    /// A real-time thread that takes a CPU again and again.
    fn hog(&self, seconds: u64, cpu: u32) -> io::Result<RunningProgram> {
        RunningProgram::start(&self.burns(seconds, HOG, &format!("fifo=70 cpu={cpu}")))
    }
}

/// The last CPU: the first ones have most of the machine's own work.
fn cpu() -> io::Result<u32> {
    sched::bindable_cpus()?.iter().last().ok_or_else(|| io::Error::other("no CPU may be used"))
}

/// Those of `times` in which mostly the other program ran.
fn mostly_during(other: RunningProgram, times: &[Time]) -> io::Result<Vec<Time>> {
    let hog_times = stretches(&other.output()?);
    let was_taken = |time: &Time| {
        is_mostly(hog_times.iter().map(|stretch| stretch.time.overlap(*time)).sum(), time.length())
    };
    Ok(times.iter().copied().filter(was_taken).collect())
}

/// When a burner did not run.
fn gap_times(burner: RunningProgram) -> io::Result<Vec<Time>> {
    Ok(gaps(&stretches(&burner.output()?)).into_iter().map(|(time, _)| time).collect())
}

fn hog_of_a_sleeper(programs: &InjectionPrograms, seconds: u64) -> io::Result<InjectedDelay> {
    let cpu = cpu()?;
    let sleeper = RunningProgram::start(&programs.sleeps(PERIOD_US, seconds, cpu))?;
    let hog = programs.hog(seconds, cpu)?;
    let (tid, culprit) = (sleeper.pid(), InjectedCulprit::Thread { pid: hog.pid(), group: None });
    let stamped = latenesses(&sleeper.output()?);
    Ok(InjectedDelay { tid, times: mostly_during(hog, &stamped)?, stamped, culprit })
}

fn hog_of_a_burner(programs: &InjectionPrograms, seconds: u64) -> io::Result<InjectedDelay> {
    let cpu = cpu()?;
    let burner = RunningProgram::start(&programs.burns(seconds, (0, 0), &format!("cpu={cpu}")))?;
    let hog = programs.hog(seconds, cpu)?;
    let (tid, culprit) = (burner.pid(), InjectedCulprit::Thread { pid: hog.pid(), group: None });
    let stamped = gap_times(burner)?;
    Ok(InjectedDelay { tid, times: mostly_during(hog, &stamped)?, stamped, culprit })
}

/// The hog takes the CPU on which the thread is: another one is idle, until the thread is moved to it.
fn followed(programs: &InjectionPrograms, seconds: u64) -> io::Result<InjectedDelay> {
    let burner = RunningProgram::start(&programs.burns(seconds, (0, 0), ""))?;
    let (tid, options) = (burner.pid(), format!("fifo=70 after={}", burner.pid()));
    let hog = RunningProgram::start(&programs.burns(seconds, HOG, &options))?;
    let culprit = InjectedCulprit::Thread { pid: hog.pid(), group: None };
    let stamped = gap_times(burner)?;
    Ok(InjectedDelay { tid, times: mostly_during(hog, &stamped)?, stamped, culprit })
}

fn quota(programs: &InjectionPrograms, seconds: u64) -> io::Result<InjectedDelay> {
    let places = [("/sys/fs/cgroup", "cpu.max"), ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us")];
    let (group, file) = ControlGroup::create("quota", &places)?;
    match file {
        "cpu.max" => group.set(file, "10000 40000")?,
        _ => group.set("cpu.cfs_period_us", "40000").and_then(|()| group.set(file, "10000"))?,
    }
    let options = format!("cpu={} stat={}", cpu()?, group.file("cpu.stat").display());
    let line = format!("{}; {}", group.enter(), programs.burns(seconds, (0, 0), &options));
    let burner = RunningProgram::start(&line)?;
    let tid = burner.pid();
    let gaps = gaps(&stretches(&burner.output()?));
    let throttled_gaps = gaps.iter().filter(|(time, throttled)| is_mostly(*throttled, time.length()));
    Ok(InjectedDelay {
        tid,
        times: throttled_gaps.map(|(time, _)| *time).collect(),
        stamped: gaps.into_iter().map(|(time, _)| time).collect(),
        culprit: InjectedCulprit::Quota(group.path()),
    })
}

fn neighbour(programs: &InjectionPrograms, seconds: u64) -> io::Result<InjectedDelay> {
    let places = [("/sys/fs/cgroup", "cpu.weight"), ("/sys/fs/cgroup/cpu", "cpu.shares")];
    let ((light, file), (heavy, _)) =
        (ControlGroup::create("light", &places)?, ControlGroup::create("heavy", &places)?);
    light.set(file, if file == "cpu.weight" { "10" } else { "102" })?;
    heavy.set(file, if file == "cpu.weight" { "100" } else { "1024" })?;
    let burns = programs.burns(seconds, (0, 0), &format!("cpu={}", cpu()?));
    let late = RunningProgram::start(&format!("{}; {burns}", light.enter()))?;
    let other = RunningProgram::start(&format!("{}; {burns}", heavy.enter()))?;
    let (tid, culprit) =
        (late.pid(), InjectedCulprit::Thread { pid: other.pid(), group: Some(heavy.path()) });
    let stamped = gap_times(late)?;
    Ok(InjectedDelay { tid, times: mostly_during(other, &stamped)?, stamped, culprit })
}

fn stopped(programs: &InjectionPrograms, seconds: u64) -> io::Result<InjectedDelay> {
    let sleeper = RunningProgram::start(&programs.sleeps(PERIOD_US, seconds, cpu()?))?;
    let tid = sleeper.pid();
    let process = i32::try_from(tid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    let mut stops = Vec::new();
    for _ in 0..seconds * 10 {
        clock::sleep_for(Span::from_millis(60))?;
        let from = clock::now().as_nanos();
        kill_process(process, Signal::STOP)?;
        clock::sleep_for(Span::from_millis(20))?;
        stops.push(Time { from, until: clock::now().as_nanos() });
        kill_process(process, Signal::CONT)?;
    }
    let stopped = |time: &Time| stops.iter().map(|stop| stop.overlap(*time)).sum::<i64>();
    let late = latenesses(&sleeper.output()?);
    let times = late.iter().copied().filter(|time| is_mostly(stopped(time), time.length())).collect();
    // A thread that is stopped is not ready.
    let stamped = late.into_iter().filter(|time| stopped(time) == 0).collect();
    Ok(InjectedDelay { tid, times, stamped, culprit: InjectedCulprit::Nobody })
}

fn asleep(programs: &InjectionPrograms, seconds: u64) -> io::Result<InjectedDelay> {
    const PERIOD: u64 = 25_000;
    let sleeper = RunningProgram::start(&programs.sleeps(PERIOD, seconds, cpu()?))?;
    let tid = sleeper.pid();
    let until_late = |late: &Time| Time { from: late.from - PERIOD as i64 * 1_000, until: late.from };
    let stamped = latenesses(&sleeper.output()?);
    let times = stamped.iter().map(until_late).collect();
    Ok(InjectedDelay { tid, times, stamped, culprit: InjectedCulprit::Nobody })
}
