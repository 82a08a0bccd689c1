//! `SIGTERM` in each stage of each command that takes long: it is obeyed there and then, what was measured is kept, and nothing
//! is left running, changed or lying about. Each command that the program lists has a row here, or ends by itself.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::common::{
    Marked, OwnSettings, Process, commands, howlate, pause, send, shown, skip, take_what_is_ignored,
    wait_until,
};
use howlate_linux::clock;
use howlate_model::Span;
use rustix::process::Signal;
use tempfile::TempDir;

/// What takes longer than this waits for the end of its stage, which takes an hour, or reads all of a large file. Programs that
/// are tested are not optimised, and share the machine: the signal itself is obeyed in a fraction of it.
const HANGS: Span = Span::from_secs(20);

/// How it is seen that a stage has been reached.
#[derive(Clone, Copy, Debug)]
enum Begun {
    /// The program runs; whether it listens for signals yet is left open.
    Started,
    /// Its recording holds this.
    Records(&'static str),
    /// A program that it has started runs, whose command line has this word and is not its own: what it forks has that until then.
    Runs(&'static str),
    /// It has this many threads.
    Threads(usize),
    /// The setting of the machine is in force.
    Changes,
    /// It has printed this.
    Prints(&'static str),
    /// It has opened its input, which says nothing.
    Waits,
    /// It has read this many bytes.
    Reads(u64),
}

use Begun::{Changes, Prints, Reads, Records, Runs, Started, Threads, Waits};

/// What is typed, and what is waited for before the signal. `OUT` is where results go, `PIPE` an input that says nothing, `LARGE`
/// one that takes long, `PLAN` a plan that changes a setting, `PROCESS` the id of a program that goes on.
type Stage = (&'static str, Begun);

const MEASURING: [Stage; 19] = [
    ("-q --out OUT", Started),
    ("-q --out OUT", Records("\"block\"")),
    ("cyclic -q --duration 1h --out OUT", Started),
    ("cyclic -q --period 1h --duration 10h --threads 1 --out OUT", Records("\"started\"")),
    ("cyclic -q --duration 1h --threads 1 --load cpu:20% --out OUT", Records("\"block\"")),
    ("cyclic -q --duration 300ms --rounds 1000 --threads 1 --why --out OUT", Records("\"why\"")),
    ("cyclic -q --threads 1 --until 'max<1h: 1 per hour' --out OUT", Records("\"block\"")),
    ("sleep -q --for 1h --samples 9 --out OUT", Records("\"started\"")),
    ("sleep -q --for 1ms --duration 1h --out OUT", Records("\"block\"")),
    ("sleep -q --for 1h --call shell --samples 9 --out OUT", Runs("3600.000000000")),
    ("notify -q --by futex --after 1h --samples 9 --out OUT", Records("\"started\"")),
    ("notify -q --by pipe --after 1ms --duration 1h --out OUT", Records("\"block\"")),
    ("compare --with-itself --duration 1h -- --threads 1", Threads(2)),
    ("why --out OUT", Records("\"why\"")),
    ("cyclictest -q -t 2 -i 1000", Threads(3)),
    ("gaps --cpus 0 --duration 1h", Threads(2)),
    ("oslat --cpu-list 0 --duration 1h", Prints("Pre-heat")),
    ("hwlatdetect --threshold=10000000 --duration=1h", Threads(2)),
    ("cyclicdeadline -i 10000 -D 1h", Prints("T: 0")),
];

const CHANGING: [Stage; 6] = [
    ("run -q PLAN --out OUT", Changes),
    ("run -q PLAN --out OUT", Records("\"block\"")),
    (TUNES, Records("\"block\"")),
    (TUNES, Changes),
    (TUNES_PROGRAM, Records("\"block\"")),
    ("load -q cpu:20% pipe:20%", Runs("__load")),
];

const TUNES: &str = "tune sleep -q --for 1ms --samples 2 --knobs stat_interval --goal p50 --beside-tuners --budget 1h --out OUT";
const TUNES_PROGRAM: &str = "tune program -q PROCESS --knobs timer_slack --goal p50 --turn 40ms --beside-tuners --budget 1h --out OUT";

const WATCHING: [Stage; 10] = [
    ("watch -q --out OUT -- sleep 4000", Started),
    ("watch -q PROCESS --out OUT", Records("\"block\"")),
    ("watch -q --out OUT -- sleep 4000", Runs("4000")),
    ("top --json --interval 1h", Started),
    ("top --json --interval 200ms", Prints("\n")),
    ("top --tracer proc --json --interval 200ms PROCESS", Prints("\n")),
    ("record --out OUT", Prints("Recording")),
    ("selfcheck -q --duration 1h", Runs("__culprit")),
    ("serve --listen 127.0.0.1:0 --process PROCESS", Prints("page")),
    ("serve --listen 127.0.0.1:0 LARGE", Reads(HALF)),
];

const READING: [Stage; 8] = [
    ("show PIPE", Waits),
    ("show LARGE", Reads(HALF)),
    ("why LARGE", Reads(HALF)),
    ("report PIPE -o OUT", Waits),
    ("report LARGE -o OUT", Reads(HALF)),
    ("compare PIPE LARGE", Waits),
    ("compare LARGE LARGE", Reads(HALF)),
    ("merge LARGE LARGE --out OUT", Reads(HALF)),
];

const ELSEWHERE: [Stage; 2] = [
    ("fleet run PLAN -q --on ssh:n1", Runs("4000")),
    ("guest -q --accel tcg --kernel debian:standard --out OUT -- cyclic --duration 1h", Runs("-kernel")),
];

/// What ends by itself: it waits for nobody, and reads no more than the machine's own files.
const BRIEF: [&str; 5] = ["completions", "doctor", "man", "plan-length", "snap"];

/// What takes something that not every machine has: tracers, kernels from a mirror, or the right to a deadline; and how it ends
/// without.
const MAY_BE_REFUSED: [(&str, i32); 4] =
    [("cyclicdeadline", 1), ("guest", 2), ("record", 2), ("selfcheck", 2)];

/// Bytes of the large input.
const ALL: u64 = 24 << 20;
const HALF: u64 = ALL / 2;

/// A machine of its own as far as this user may have one, and what the program is given there.
struct World {
    folder: TempDir,
    own: Option<OwnSettings>,
    /// What all that it starts is known by.
    mark: Marked,
    sleeper: Option<Sleeper>,
}

/// A program that goes on, whatever happens to those who look at it.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        let words = ["sleep", "--for", "1ms", "--duration", "1h", "--quiet", "--no-save"];
        let sleeper = howlate(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("a thread that sleeps", || threads(sleeper.id()).len() > 1);
        Self(sleeper)
    }

    /// How much later than asked timers may wake each of its threads.
    fn slacks(&self) -> BTreeSet<String> {
        let slack = |tid: u32| fs::read_to_string(format!("/proc/{tid}/timerslack_ns")).unwrap();
        threads(self.0.id()).into_iter().map(slack).collect()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn threads(pid: u32) -> Vec<u32> {
    howlate_procfs::threads(&howlate_procfs::Root::live(), pid)
}

/// A recording whose measurement goes on for as many bytes as asked.
fn large(path: &Path) {
    let one = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/recordings/v1/cyclic.jsonl");
    let text = fs::read_to_string(one).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let blocks: String = rest.split_inclusive('\n').filter(|line| line.starts_with("{\"block\"")).collect();
    let mut file = std::io::BufWriter::new(File::create(path).unwrap());
    writeln!(file, "{header}").unwrap();
    for _ in 0..=ALL / blocks.len() as u64 {
        file.write_all(blocks.as_bytes()).unwrap();
    }
}

const PLAN: &str = "[system]\nvm.stat_interval = 7\n[[cyclic]]\nthreads = 1\nduration = \"1h\"\n";

impl World {
    fn new(words: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("tmp")).unwrap();
        fs::write(at("plan.toml"), PLAN).unwrap();
        // Nothing is reached through it, and it never answers.
        fs::write(at("ssh"), "#!/bin/sh\nexec sleep 4000\n").unwrap();
        fs::set_permissions(at("ssh"), PermissionsExt::from_mode(0o755)).unwrap();
        if words.contains("LARGE") {
            large(&at("large.jsonl"));
        }
        if words.contains("PIPE") {
            assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        }
        let mark = Marked::by("HOWLATE_STAGE", folder.path().to_str().unwrap());
        let sleeper = words.contains("PROCESS").then(Sleeper::start);
        Self { own: OwnSettings::new(), folder, mark, sleeper }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self, words: &str) -> Child {
        let in_place = |word: String| match word.as_str() {
            "OUT" => "out".to_owned(),
            "PIPE" => "pipe".to_owned(),
            "LARGE" => "large.jsonl".to_owned(),
            "PLAN" => "plan.toml".to_owned(),
            "PROCESS" => self.sleeper.as_ref().unwrap().0.id().to_string(),
            _ => word,
        };
        let words: Vec<String> = shlex::split(words).unwrap().into_iter().map(in_place).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.own.as_ref().map_or_else(|| howlate(&words), |own| own.howlate(&words));
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        command.current_dir(self.folder.path()).env("PATH", path).env("TMPDIR", self.at("tmp"));
        command.env("XDG_DATA_HOME", self.at("data")).env(self.mark.variable, &self.mark.value);
        let said = File::create(self.at("said")).unwrap();
        command.stdin(Stdio::null()).stdout(said.try_clone().unwrap()).stderr(said).spawn().unwrap()
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.at("said")).unwrap()).into_owned()
    }

    /// Whether the stage has been reached; the other end of the pipe is kept open then.
    fn has_begun(&self, pid: u32, begun: Begun, pipe: &mut Option<File>) -> bool {
        let proc = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        match begun {
            Started => proc("comm").trim() == "howlate",
            Records(text) => fs::read_to_string(self.at("out")).is_ok_and(|holds| holds.contains(text)),
            // What prepares its world has its words as well.
            Runs(word) => {
                let all = self.mark.processes();
                let own = all.iter().find(|one| one.pid == pid).map(|one| one.words.as_slice());
                let runs = |one: &Process| {
                    Some(one.words.as_slice()) != own && one.words.iter().any(|is| is == word)
                };
                proc("comm").trim() == "howlate" && all.iter().any(runs)
            }
            Threads(number) => proc("comm").trim() == "howlate" && threads(pid).len() >= number,
            Changes => self.own.as_ref().is_some_and(|own| own.value() != "1"),
            Prints(text) => self.said().contains(text),
            Waits => {
                let writing = File::options().write(true).custom_flags(NONBLOCK).open(self.at("pipe"));
                *pipe = writing.ok();
                pipe.is_some()
            }
            Reads(bytes) => read_by(&proc("io")) >= bytes && proc("comm").trim() == "howlate",
        }
    }
}

const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// `rchar` of `proc_pid_io(5)`.
fn read_by(io: &str) -> u64 {
    let bytes = io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok());
    bytes.unwrap_or(0)
}

/// Brings it there, sends the signal, and looks at what is left.
fn end_in((words, begun): Stage) {
    let world = World::new(words);
    if matches!(begun, Changes) && world.own.is_none() {
        return skip(&format!("`{words}`: a setting of its own takes root"));
    }
    let before = world.sleeper.as_ref().map(Sleeper::slacks);
    let (mut child, mut pipe) = (world.start(words), None);
    let mut by_itself = None;
    wait_until(&format!("`howlate {words}` where it {begun:?}"), || {
        by_itself = child.try_wait().unwrap();
        by_itself.is_some() || world.has_begun(child.id(), begun, &mut pipe)
    });
    if let Some(status) = by_itself {
        return assert_refused(words, status, &world.said());
    }
    send(child.id(), Signal::TERM);
    let status = end_of(&mut child, words, begun);
    let said = || format!("`howlate {words}` where it {begun:?}: {status}\n{}", world.said());
    // What has not begun to measure, and what only reads, may be ended by the signal itself.
    let may_die = matches!(begun, Started | Waits | Reads(_));
    let is_obeyed = matches!(status.code(), Some(0 | 3));
    assert!(is_obeyed || (may_die && status.signal() == Some(Signal::TERM.as_raw())), "{}", said());
    wait_until("an end of all that it had started", || world.mark.processes().is_empty());
    if matches!(begun, Records(_) | Changes) {
        // Watching has no end of its own, and is done whenever it is told so.
        let how = if words.starts_with("watch") { "done" } else { "interrupted" };
        assert_eq!(shown(&world.at("out"))["ended"], how, "{}", said());
    }
    assert!(world.own.as_ref().is_none_or(|own| own.value() == "1"), "a setting is left. {}", said());
    assert_eq!(world.sleeper.as_ref().map(Sleeper::slacks), before, "{}", said());
    let left: Vec<PathBuf> =
        fs::read_dir(world.at("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty() || may_die, "{left:?} is left. {}", said());
}

/// That it ended before it could be told to is no fault where it says what it would take.
fn assert_refused(words: &str, status: ExitStatus, said: &str) {
    let command = words.split(' ').next().unwrap();
    assert!(
        MAY_BE_REFUSED.iter().any(|(refused, with)| *refused == command && status.code() == Some(*with)),
        "`howlate {words}` ended by itself: {status}\n{said}"
    );
    skip(&format!("`howlate {words}`: {said}"));
}

fn end_of(child: &mut Child, words: &str, begun: Begun) -> ExitStatus {
    let told = clock::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if clock::now().since(told) > HANGS {
            drop(child.kill());
            panic!("`howlate {words}` where it {begun:?} does not end");
        }
        pause(10);
    }
}

fn end_in_each(stages: &[Stage]) {
    take_what_is_ignored();
    stages.iter().for_each(|stage| end_in(*stage));
}

#[test]
fn what_measures() {
    end_in_each(&MEASURING);
}

#[test]
fn what_changes_settings_or_loads_the_machine() {
    end_in_each(&CHANGING);
}

#[test]
fn what_watches() {
    end_in_each(&WATCHING);
}

/// Beside busy threads it takes long to begin: whoever does not want to wait for that has nothing made for it.
#[test]
fn who_is_asked_to_end_before_it_records_has_made_nothing() {
    take_what_is_ignored();
    // It may have begun by the time the signal comes.
    let was_loading = (0..5).any(|_| {
        let world = World::new("record");
        let mut child = world.start("record --out OUT");
        let mut by_itself = None;
        wait_until("programs for the kernel", || {
            by_itself = child.try_wait().unwrap();
            by_itself.is_some() || holds_programs(child.id())
        });
        if let Some(status) = by_itself {
            assert_refused("record", status, &world.said());
            return true;
        }
        send(child.id(), Signal::TERM);
        let status = end_of(&mut child, "record --out OUT", Started);
        let (is_made, said) = (world.at("out").exists(), world.said());
        let is_dead = status.signal() == Some(Signal::TERM.as_raw());
        assert!(is_dead || status.code() == Some(0), "{status}\n{said}");
        assert!(is_made != is_dead && is_made == said.contains("Recording"), "{status}\n{said}");
        is_dead
    });
    assert!(was_loading);
}

/// Whether it has given the kernel a program.
fn holds_programs(pid: u32) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|file| file.ends_with("anon_inode:bpf-prog"))
}

#[test]
fn what_reads_results() {
    end_in_each(&READING);
}

#[test]
fn what_goes_on_elsewhere() {
    end_in_each(&ELSEWHERE);
}

#[test]
fn every_command_has_a_row() {
    let rows = [&MEASURING[..], &CHANGING, &WATCHING, &READING, &ELSEWHERE].concat();
    let mut have: BTreeSet<&str> = rows.iter().filter_map(|(words, _)| words.split(' ').next()).collect();
    // That without a command.
    assert!(have.remove("-q"));
    assert!(BRIEF.iter().all(|brief| have.insert(brief)), "a command that ends by itself has no stages");
    let listed = commands();
    assert_eq!(have, listed.iter().map(String::as_str).collect());
}
