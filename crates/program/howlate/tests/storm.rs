//! A storm of kills: any process is killed at any time, and the machine is restored.
//!
//! 60 kills as a test; `cargo xtask storm --kills 1000` for more. The seed determines what is started and killed, and how; the effect also
//! depends on timing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{
    MarkedProcesses, OwnSettings, SETTING_NAME, handle_ignored_signals, pause, skip, tune_shortly, wait_until,
};
use fastrand::Rng;
use howlate_recording::Reader;
use rustix::process::{Pid, Signal, kill_process};

/// A second setting of every machine.
const SWAPPINESS: &str = "/proc/sys/vm/swappiness";

/// Plans: one for each kind of measurement, and loads that leave something outside of their processes.
const PLANS: [&str; 6] = [
    "[[cyclic]]\nperiod = \"1ms\"\nthreads = 2\npolicy = [\"other\", \"fifo:10\"]\nduration = \"1h\"\n",
    "[[cyclic]]\nperiod = \"1ms\"\nthreads = 1\nload = [\"cpu\", \"pipe\"]\nduration = \"1h\"\nrounds = 50\n",
    "[[sleep]]\nfor = \"1ms\"\ncall = [\"clock_nanosleep\", \"python\", \"shell\"]\nsamples = 100\nrounds = 50\n",
    "[[notify]]\nmechanism = [\"futex\", \"pipe\"]\nafter = \"1ms\"\nsamples = 1000\nrounds = 50\n",
    "[[sleep]]\nfor = \"1ms\"\nload = [\"memory\", \"disk\"]\nduration = \"1h\"\nrounds = 50\n",
    "dma-latency = \"0us\"\n[[cyclic]]\nperiod = \"2ms\"\nthreads = 1\nduration = \"100ms\"\n",
];

/// Other commands, which must leave neither processes nor files. `OUT` is the recording. The first one changes settings turn by turn after
/// it has compared the machine with itself.
fn commands() -> [Vec<&'static str>; 5] {
    let all_the_time = ["--beside-tuners", "--budget", "1h", "-q", "--out", "OUT"];
    [
        tune_shortly("stat_interval,swappiness", &all_the_time),
        vec!["cyclic", "--why", "--threads", "2", "--duration", "1h", "-q", "--out", "OUT"],
        vec!["cyclictest", "-t", "2", "-i", "1000", "-q", "-h", "100"],
        vec!["selfcheck"],
        vec!["load", "cpu,pipe"],
    ]
}

/// A private machine: settings, `/run`, shared memory and temporary files.
struct StormWorld {
    own: OwnSettings,
    folder: PathBuf,
    /// Identifies all processes of the storm.
    mark: MarkedProcesses,
}

/// Statistics of the storm, to show that it hit something.
#[derive(Default, Debug)]
struct StormStatistics {
    /// Runs killed while their settings were in force.
    in_force: usize,
    /// Kills that left no process to restore settings.
    left_behind: usize,
    /// Recordings with content.
    recordings: usize,
}

impl StormWorld {
    fn new() -> Option<Self> {
        let own = OwnSettings::new()?;
        let folder = own.file().parent().unwrap().to_owned();
        ["tmp", "shm"].iter().for_each(|name| fs::create_dir(folder.join(name)).unwrap());
        fs::write(folder.join("swappiness"), "60\n").unwrap();
        let mark = MarkedProcesses::by("HOWLATE_STORM", folder.to_str().unwrap());
        Some(Self { own, folder, mark })
    }

    /// The program in the namespace, in a process group of its own, as a shell starts it.
    fn howlate(&self, arguments: &[&str]) -> Command {
        let folder = self.folder.display();
        let mounts = format!(
            "mount --bind {folder}/swappiness {SWAPPINESS} && mount --bind {folder}/shm /dev/shm || exit 99;"
        );
        let mut command = self.own.howlate_after(&mounts, arguments);
        // Its output is not read while it runs.
        command.env("TMPDIR", self.folder.join("tmp")).env(self.mark.variable, &self.mark.value);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts one of the plans or of the other commands; returns also its description.
    fn start(&self, which: usize, out: &Path) -> (Child, String) {
        if let Some(plan) = PLANS.get(which) {
            return (self.start_plan(plan, out), (*plan).to_owned());
        }
        let command = &commands()[which - PLANS.len()];
        let arguments: Vec<&str> =
            command.iter().map(|word| if *word == "OUT" { out.to_str().unwrap() } else { word }).collect();
        (self.howlate(&arguments).spawn().unwrap(), command.join(" "))
    }

    fn start_plan(&self, plan: &str, out: &Path) -> Child {
        let path = self.folder.join("plan.toml");
        // Settings precede the first table of a plan.
        let (top, tables) = plan.split_at(plan.find("[[").unwrap());
        let system = format!("{top}[system]\n{SETTING_NAME} = 7\nvm.swappiness = 33\n{tables}");
        fs::write(&path, system).unwrap();
        self.howlate(&["run", path.to_str().unwrap(), "-q", "--out", out.to_str().unwrap()]).spawn().unwrap()
    }

    fn settings(&self) -> (String, String) {
        let swappiness = fs::read_to_string(self.folder.join("swappiness")).unwrap();
        (self.own.value(), swappiness.trim().to_owned())
    }

    fn is_as_before(&self) -> bool {
        self.settings() == ("1".to_owned(), "60".to_owned())
    }

    /// The next start of the program, which cleans up.
    fn next_start(&self) {
        let status = self.howlate(&["sleep", "--for", "1ms", "--samples", "1", "-q"]).status().unwrap();
        assert!(matches!(status.code(), Some(0 | 3)), "the next start ended with {status}");
    }

    /// Files left in its private folders.
    fn leftovers(&self) -> Vec<PathBuf> {
        let of =
            |name: &str| fs::read_dir(self.folder.join(name)).unwrap().map(|entry| entry.unwrap().path());
        of("tmp").chain(of("shm")).collect()
    }
}

/// Signals that end a run in order, and SIGKILL.
const SIGNALS: [Signal; 4] = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP];

/// Kills some of the processes, and then the run; returns whether the guardian was among them.
fn hit(world: &StormWorld, child: &mut Child, random: &mut Rng) -> bool {
    let run = Pid::from_child(child);
    let mut victims = world.mark.processes();
    victims.retain(|process| process.pid != child.id());
    random.shuffle(&mut victims);
    victims.truncate(random.usize(0..=victims.len()));
    let guardian_too =
        victims.iter().any(|process| process.arguments.get(1).is_some_and(|role| role == "__guardian"));
    // It may have ended already.
    for process in &victims {
        let _ = Pid::from_raw(process.pid.cast_signed()).map(|pid| kill_process(pid, Signal::KILL));
    }
    let _ = kill_process(run, SIGNALS[random.usize(0..SIGNALS.len())]);
    // A run that ends in order may finish its work first, but not forever.
    if random.bool() {
        pause(random.u64(0..200));
        let _ = kill_process(run, Signal::KILL);
    }
    child.wait().unwrap();
    guardian_too
}

/// Whether all complete lines can be read.
fn is_readable(recording: &Path) -> bool {
    let has_a_line = fs::read(recording).is_ok_and(|content| content.contains(&b'\n'));
    if has_a_line {
        let mut reader = Reader::open(recording).unwrap();
        reader.by_ref().for_each(|line| drop(line.unwrap()));
    }
    has_a_line
}

fn kill(world: &StormWorld, number: u64, random: &mut Rng, met: &mut StormStatistics) {
    let out = world.folder.join(format!("{number}.jsonl"));
    let (mut child, what) = world.start(random.usize(0..PLANS.len() + commands().len()), &out);
    let longest = match random.bool() {
        true => 100,
        // Its settings change later than those of the plans.
        false if what.starts_with("tune") => 6_000,
        false => 1_500,
    };
    pause(random.u64(0..longest));
    met.in_force += usize::from(!world.is_as_before());
    let guardian_too = hit(world, &mut child, random);
    wait_until("an end of all that it had started", || world.mark.processes().is_empty());
    if guardian_too && !world.is_as_before() {
        met.left_behind += 1;
        world.next_start();
    }
    assert!(world.is_as_before(), "kill {number}, {what}: {:?} is left", world.settings());
    met.recordings += usize::from(is_readable(&out));
    drop(fs::remove_file(out));
}

fn number(name: &str, usually: u64) -> u64 {
    std::env::var_os(name).and_then(|text| OsStr::to_str(&text)?.parse().ok()).unwrap_or(usually)
}

#[test]
#[allow(clippy::print_stderr, reason = "read by whoever runs the storm")]
fn whatever_is_killed_the_machine_is_left_as_it_was() {
    let Some(world) = StormWorld::new() else { return skip("namespaces of its own need root") };
    handle_ignored_signals();
    let kills = number("HOWLATE_STORM_KILLS", 60);
    let seed = number("HOWLATE_STORM_SEED", fastrand::u64(..1 << 32));
    eprintln!("{kills} kills, seed {seed}: repeat with `cargo xtask storm --kills {kills} --seed {seed}`");
    let (mut random, mut met) = (Rng::with_seed(seed), StormStatistics::default());
    (0..kills).for_each(|number| kill(&world, number, &mut random, &mut met));
    world.next_start();
    assert_eq!(world.leftovers(), Vec::<PathBuf>::new(), "files are left after the next start");
    eprintln!("{met:?}");
    assert!(kills < 20 || (met.in_force > 0 && met.recordings > 0), "the storm met nothing: {met:?}");
}
