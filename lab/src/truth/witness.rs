//! The witness: the kernel's own trace of what ran on each CPU, recorded in a separate instance of tracefs and parsed without
//! howlate's code.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const TRACING: &str = "/sys/kernel/tracing";
/// Events for what ran on each CPU.
pub const OF_CPUS: &[&str] = &[
    "sched/sched_switch",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq_vectors/local_timer_entry",
    "irq_vectors/local_timer_exit",
    "sched/sched_waking",
];
/// Events for when each thread became runnable, and ran.
pub const OF_THREADS: &[&str] = &["sched/sched_switch", "sched/sched_wakeup", "sched/sched_wakeup_new"];
/// Buffer per CPU, KiB: about 20 s of a busy CPU.
const BUFFER: &str = "32768";

/// A recording instance of tracefs, removed on drop. Its name must not begin like those of howlate, which removes instances that a
/// killed howlate has left.
pub struct Instance(PathBuf);

/// What ran on a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    Thread {
        name: String,
        pid: u32,
    },
    Interrupt(String),
    Softirq(String),
    /// Not the thread of the last switch: on some virtual machines the switch from the idle thread has no event.
    Unknown,
}

/// A period in which one holder had a CPU, µs of `CLOCK_MONOTONIC`.
#[derive(Clone, Debug)]
pub struct Stretch {
    pub from: i64,
    pub until: i64,
    pub holder: Holder,
}

/// The parsed trace.
#[derive(Debug, Default)]
pub struct Witness {
    /// The stretches of each CPU, in order. Two with the same holder follow each other if it was interrupted for less than 1 µs.
    pub cpus: HashMap<u32, Vec<Stretch>>,
    /// Times of each CPU's events, µs, in order.
    pub events: HashMap<u32, Vec<i64>>,
    /// All names of each thread: a new one has its parent's name at first.
    names: HashMap<u32, HashSet<String>>,
}

impl Witness {
    /// Whether the thread ever had this name.
    pub fn is_called(&self, pid: u32, name: &str) -> bool {
        self.names.get(&pid).is_some_and(|names| names.contains(name))
    }

    /// Whether the thread has had several names.
    pub fn was_renamed(&self, pid: u32) -> bool {
        self.names.get(&pid).is_some_and(|names| names.len() > 1)
    }
}

impl Instance {
    /// Whether this user may create an instance here.
    #[cfg(test)]
    pub fn can_be_had() -> bool {
        Self::create("witness-probe", OF_CPUS).is_ok()
    }

    pub fn create(name: &str, events: &[&str]) -> io::Result<Self> {
        let folder = Path::new(TRACING).join("instances").join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let instance = Self(folder);
        instance.set("trace_clock", "mono")?;
        instance.set("buffer_size_kb", BUFFER)?;
        for event in events {
            instance.set(&format!("events/{event}/enable"), "1")?;
        }
        Ok(instance)
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        let path = self.0.join(file);
        fs::write(&path, value).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
    }

    /// Stops recording, and parses the trace.
    pub fn read(self) -> io::Result<Witness> {
        self.text().map(|text| stretches(&text))
    }

    /// Stops recording, and returns the trace as text.
    pub fn text(self) -> io::Result<String> {
        self.set("tracing_on", "0")?;
        let text = fs::read(self.0.join("trace"))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // If it cannot be removed, it stays until the next boot.
        drop(fs::remove_dir(&self.0));
    }
}

/// State of a CPU while its events are parsed.
#[derive(Default)]
struct TracedCpu {
    thread: Option<Holder>,
    timer: bool,
    handler: Option<String>,
    softirq: Option<String>,
    since: i64,
    /// Whether another holder had it since the last stretch, for less than 1 µs.
    left: bool,
    all: Vec<Stretch>,
    events: Vec<i64>,
}

impl TracedCpu {
    /// The innermost: an interrupt, else a softirq, else the thread.
    fn holder(&self) -> Option<Holder> {
        if self.timer {
            return Some(Holder::Interrupt("local_timer".to_owned()));
        }
        let handler = self.handler.clone().map(Holder::Interrupt);
        handler.or_else(|| self.softirq.clone().map(Holder::Softirq)).or_else(|| self.thread.clone())
    }

    fn until(&mut self, now: i64) {
        if let Some(holder) = self.holder().filter(|_| now > self.since) {
            let goes_on = |last: &&mut Stretch| last.until == self.since && last.holder == holder;
            match self.all.last_mut().filter(goes_on).filter(|_| !self.left) {
                Some(last) => last.until = now,
                None => self.all.push(Stretch { from: self.since, until: now, holder }),
            }
            self.left = false;
        }
        self.since = now;
    }
}

fn stretches(text: &str) -> Witness {
    let mut cpus: HashMap<u32, TracedCpu> = HashMap::new();
    let mut names: HashMap<u32, HashSet<String>> = HashMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some(TraceLine { cpu: number, name, pid, micros, event, fields }) = parse_line(line) else {
            continue;
        };
        let cpu = cpus.entry(number).or_default();
        cpu.events.push(micros);
        names.entry(pid).or_default().insert(name.to_owned());
        if !matches!(cpu.thread, Some(Holder::Thread { pid: running, .. }) if running == pid) {
            (cpu.thread, cpu.left) = (cpu.thread.as_ref().map(|_| Holder::Unknown), true);
        }
        cpu.until(micros);
        if cpu.thread == Some(Holder::Unknown) {
            cpu.thread = Some(Holder::Thread { name: name.to_owned(), pid });
        }
        match event {
            "sched_switch" => {
                let (before, after) = (thread(fields, "prev"), thread(fields, "next"));
                for (name, pid) in before.into_iter().chain(after.clone()) {
                    names.entry(pid).or_default().insert(name);
                }
                cpu.thread = after.map(|(name, pid)| Holder::Thread { name, pid });
            }
            "local_timer_entry" => cpu.timer = true,
            "local_timer_exit" => cpu.timer = false,
            "irq_handler_entry" => cpu.handler = fields.split_once("name=").map(|(_, name)| name.to_owned()),
            "irq_handler_exit" => cpu.handler = None,
            "softirq_entry" => cpu.softirq = between(fields, "action=", "]").map(str::to_owned),
            "softirq_exit" => cpu.softirq = None,
            _ => continue,
        }
        cpu.left = true;
    }
    let (mut stretches, mut events) = (HashMap::new(), HashMap::new());
    for (number, cpu) in cpus {
        stretches.insert(number, cpu.all);
        events.insert(number, cpu.events);
    }
    Witness { cpus: stretches, events, names }
}

/// `  name-12 [001] d..2.  123.456789: event: fields`
pub struct TraceLine<'a> {
    pub cpu: u32,
    /// Name of the running thread.
    pub name: &'a str,
    pub pid: u32,
    pub micros: i64,
    pub event: &'a str,
    pub fields: &'a str,
}

/// A name may contain any characters, but `] ` only follows the CPU number.
pub fn parse_line(line: &str) -> Option<TraceLine<'_>> {
    let (open, _) = line.match_indices('[').find(|(at, _)| line.get(at + 4..at + 6) == Some("] "))?;
    let cpu = line.get(open + 1..open + 4)?.parse().ok()?;
    let (name, pid) = line[..open].trim().rsplit_once('-')?;
    let mut fields = line.get(open + 6..)?.trim_start().splitn(2, ' ').skip(1);
    let (time, rest) = fields.next()?.trim_start().split_once(": ")?;
    let (seconds, micros) = time.split_once('.')?;
    let micros = seconds.parse::<i64>().ok()? * 1_000_000 + micros.parse::<i64>().ok()?;
    let (event, fields) = rest.split_once(": ")?;
    Some(TraceLine { cpu, name, pid: pid.parse().ok()?, micros, event, fields })
}

/// Name and ID of the previous (`prev`) or next (`next`) thread of a switch.
pub fn thread(fields: &str, which: &str) -> Option<(String, u32)> {
    let name = between(fields, &format!("{which}_comm="), &format!(" {which}_pid="))?.to_owned();
    let pid = between(fields, &format!(" {which}_pid="), " ")?.parse().ok()?;
    Some((name, pid))
}

pub fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the event of the switch from 9 to 17.
    const UNSEEN_SWITCH: &str = "\
              sh-12      [000] d..2.  1.000010: sched_switch: prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=a next_pid=9 next_prio=120
               b-17      [000] d.h..  1.000030: local_timer_entry: vector=236
               b-17      [000] d.h..  1.000034: local_timer_exit: vector=236
               b-17      [000] d..2.  1.000040: sched_switch: prev_comm=b prev_pid=17 prev_prio=120 prev_state=S ==> next_comm=a next_pid=9 next_prio=120
";

    #[test]
    fn who_is_not_who_was_switched_to_was_not_seen_to_come() {
        let all = &stretches(UNSEEN_SWITCH).cpus[&0];
        let holders: Vec<_> =
            all.iter().map(|stretch| (stretch.until - stretch.from, stretch.holder.clone())).collect();
        let timer = Holder::Interrupt("local_timer".to_owned());
        let expected =
            [(20, Holder::Unknown), (4, timer), (6, Holder::Thread { name: "b".to_owned(), pid: 17 })];
        assert_eq!(holders, expected);
    }

    const TEXT: &str = "\
# tracer: nop
              sh-17445   [001] d..2.  3639.773581: sched_switch: prev_comm=sh prev_pid=17445 prev_prio=120 prev_state=D ==> next_comm=opt 2urcg9mc717 next_pid=17453 next_prio=120
 opt 2urcg9mc717-17453   [001] d.h..  3639.776041: local_timer_entry: vector=236
 opt 2urcg9mc717-17453   [001] dNh..  3639.776054: local_timer_exit: vector=236
 opt 2urcg9mc717-17453   [001] .Ns..  3639.776054: softirq_entry: vec=9 [action=RCU]
 opt 2urcg9mc717-17453   [001] .Ns..  3639.776060: softirq_exit: vec=9 [action=RCU]
 opt 2urcg9mc717-17453   [001] d.h..  3639.776061: irq_handler_entry: irq=36 name=virtio1-req.0
 opt 2urcg9mc717-17453   [001] d.h..  3639.776063: irq_handler_exit: irq=36 ret=handled
 opt 2urcg9mc717-17453   [001] d..2.  3639.776064: sched_switch: prev_comm=opt 2urcg9mc717 prev_pid=17453 prev_prio=120 prev_state=R ==> next_comm=[x] y next_pid=17452 next_prio=120
";

    #[test]
    fn the_holder_of_the_cpu_is_known_from_one_event_to_the_next() {
        let all = &stretches(TEXT).cpus[&1];
        let opt = Holder::Thread { name: "opt 2urcg9mc717".to_owned(), pid: 17453 };
        let expected = [
            (581, 3_041, opt.clone()),
            (3_041, 3_054, Holder::Interrupt("local_timer".to_owned())),
            (3_054, 3_060, Holder::Softirq("RCU".to_owned())),
            (3_060, 3_061, opt.clone()),
            (3_061, 3_063, Holder::Interrupt("virtio1-req.0".to_owned())),
            (3_063, 3_064, opt),
        ];
        let base = 3_639_773_000;
        let found: Vec<_> = all
            .iter()
            .map(|stretch| (stretch.from - base, stretch.until - base, stretch.holder.clone()))
            .collect();
        assert_eq!(found, expected);
    }
}
