//! One subject: watched, its advice followed in interleaved turns, and judged.

use std::io;
use std::path::Path;
use std::sync::Arc;

use howlate_guard::{AppliedSettings, Guard, SettingRequest};
use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, Span};

use super::super::control_group::ControlGroup;
use super::cell::{Cell, Started};
use super::counsel::{Counsel, Cure, Way, counsels};
use super::programs::Programs;
use super::screen::items;
use super::subjects::{Place, Subject, Watched};
use super::threads::{Thread, add, named, parent, threads, translated};
use super::verdict::{Pair, Verdict, is_open, judged, ratio};
use super::witnessed::{Turn, Witness};
use super::written::Written;

/// Pairs that are added where those that were asked for disagree.
const MORE_PAIRS: usize = 2;
/// How long a program counts in a turn.
const COUNTS: f64 = 2.0;
/// How long howlate looks at one that runs, and a program counts that it starts.
const LOOKS: f64 = 4.0;
/// What howlate takes to load its tracer and to end, on a busy machine.
const AROUND: Span = Span::from_secs(90);
/// Longer than a turn takes that is not starved; servers take a while to begin.
const BOUND: Span = Span::from_secs(10);
const BOUND_OF_SERVERS: Span = Span::from_secs(25);
/// What the watchdog takes to end a cell, at most.
const SLACK: Span = Span::from_secs(5);
/// A program has its threads by then, and does not count yet.
const SETTLED: Span = Span::from_millis(600);
/// After so long a command that looks at something has said what is wrong with it.
const BEGINS: Span = Span::from_secs(6);
/// And has put back by then what it changed.
const ENDS: Span = Span::from_secs(15);
const EVERY: Span = Span::from_millis(100);
/// What a server takes to begin.
const PATIENCE: Span = Span::from_secs(20);
/// What howlate ends with where its command line is wrong, or nothing could be done.
const USAGE: i32 = 2;

/// What advice is tried with.
pub struct Trying<'a> {
    pub programs: &'a Programs,
    pub guard: &'a Guard,
    pub pairs: usize,
}

/// A piece of advice and what came of it.
pub struct Followed {
    pub counsel: Counsel,
    pub verdict: Verdict,
    /// The pairs' figures, in words.
    pub figures: String,
}

/// What howlate said of a running or a started program.
struct Counselled {
    screen: String,
    /// The threads that it had while howlate looked.
    threads: Vec<Thread>,
    /// Commands that were typed while it still ran, and what they said where they failed.
    typed: Vec<(String, Option<String>)>,
}

/// How a turn is started.
#[derive(Default)]
struct Manner<'a> {
    /// Instead of the program's own line.
    line: Option<String>,
    fix: Option<Cure>,
    /// The thread for which that is.
    thread: Option<&'a str>,
    /// The number that its code has.
    value: Option<&'a str>,
    /// Typed while it runs, with the threads whose numbers it has.
    during: Option<(&'a [String], &'a [Thread])>,
}

impl Trying<'_> {
    /// What howlate says of a subject, and what came of each piece of it.
    pub fn subject(&self, subject: &Subject) -> io::Result<Vec<Followed>> {
        self.programs.provide(subject)?;
        let counselled = self.watch(subject)?;
        if std::env::var_os("HOWLATE_ADVICE_SCREENS").is_some() {
            eprintln!("{}", counselled.screen);
        }
        let all = items(&counselled.screen);
        let counsels = all.iter().flat_map(|item| counsels(item, &subject.command()));
        let mut ways: Vec<Way> = Vec::new();
        let mut followed = Vec::new();
        for counsel in counsels {
            if ways.contains(&counsel.way) && counsel.way != Way::Code {
                continue;
            }
            ways.push(counsel.way.clone());
            let (verdict, figures) = self.follow(subject, &counsel, &counselled)?;
            followed.push(Followed { counsel, verdict, figures });
        }
        Ok(followed)
    }

    fn follow(
        &self,
        subject: &Subject,
        counsel: &Counsel,
        counselled: &Counselled,
    ) -> io::Result<(Verdict, String)> {
        let (verdict, mut figures) = self.tried(subject, counsel, counselled)?;
        let culprit = raised(subject, counsel, &counselled.threads);
        let verdict = match (culprit, verdict) {
            // It harms some day, whatever it did today.
            (Some(culprit), Verdict::Nothing) => {
                Verdict::Harmed(format!("it raises {culprit}, which is what delays"))
            }
            (Some(culprit), verdict) => {
                figures.push_str(&format!("; it raises {culprit}, which delays others of its program"));
                verdict
            }
            (None, verdict) => verdict,
        };
        Ok((verdict, figures))
    }

    fn tried(
        &self,
        subject: &Subject,
        counsel: &Counsel,
        counselled: &Counselled,
    ) -> io::Result<(Verdict, String)> {
        let without_figures = |verdict| Ok((verdict, String::new()));
        let shell = subject.shell_line();
        let manner = |line: String| Manner { line: Some(line), ..Manner::default() };
        match &counsel.way {
            Way::Again(line) => self.pairs(subject, || manner(line.clone())),
            Way::Before(line) => self.pairs(subject, || manner(format!("{line}\nexec {shell}"))),
            Way::During(line) => {
                if let Some((_, Some(failed))) = counselled.typed.iter().find(|(typed, _)| typed == line) {
                    return without_figures(Verdict::CouldNotBeTyped(failed.clone()));
                }
                let lines: Vec<String> = counsel.after.iter().chain([line]).cloned().collect();
                self.pairs(subject, || Manner {
                    during: Some((&lines, &counselled.threads)),
                    ..Manner::default()
                })
            }
            Way::Code => {
                match counsel.cure.filter(|cure| subject.cures.contains(cure) && subject.takes(*cure)) {
                    Some(cure) => self.pairs(subject, || Manner {
                        fix: Some(cure),
                        thread: counsel.thread.as_deref(),
                        value: counsel.value.as_deref(),
                        ..Manner::default()
                    }),
                    None => without_figures(Verdict::NotChanged),
                }
            }
            Way::Restart => without_figures(Verdict::Restart),
            Way::ForGood(_) => without_figures(Verdict::ForGood),
            Way::Elsewhere => without_figures(Verdict::Elsewhere),
            Way::Incomplete(_) => without_figures(Verdict::CouldNotBeTyped(
                "it has a word that stands for something".to_owned(),
            )),
            Way::Looks(line) => without_figures(self.look(subject, line, counselled)?),
            Way::Words => without_figures(Verdict::Unknown("nothing in it can be followed".to_owned())),
        }
    }

    /// With and without, by turns, the first of each pair at random.
    fn pairs<'a>(&self, subject: &Subject, with: impl Fn() -> Manner<'a>) -> io::Result<(Verdict, String)> {
        let mut pairs = Vec::new();
        let mut most = self.pairs;
        let of = with().thread;
        while pairs.len() < most {
            let is_first = fastrand::bool();
            let first = self.turn(subject, if is_first { with() } else { Manner::default() }, of)?;
            let second = self.turn(subject, if is_first { Manner::default() } else { with() }, of)?;
            let (without, with) = if is_first { (second, first) } else { (first, second) };
            let (failed, is_over) = (with.complaint.clone(), with.ended.is_some());
            pairs.push(Pair { without, with });
            if !failed.is_empty() {
                return Ok((Verdict::CouldNotBeTyped(failed), String::new()));
            }
            // Once more would only cost the machine.
            if is_over {
                break;
            }
            if pairs.len() == self.pairs && is_open(&pairs) {
                most += MORE_PAIRS;
            }
        }
        Ok((judged(&pairs), figures(&pairs, subject)))
    }

    /// One run, in which the lateness `of` that thread counts, where several are alike.
    fn turn(&self, subject: &Subject, manner: Manner<'_>, of: Option<&str>) -> io::Result<Turn> {
        let bound = if subject.needs().is_some() { BOUND_OF_SERVERS } else { BOUND };
        let cell = self.cell(subject, bound)?;
        let _rivals = rivals(&cell, subject)?;
        let line = manner.line.unwrap_or_else(|| format!("exec {}", subject.shell_line()));
        let mut environment = environment(COUNTS);
        environment.extend(manner.fix.map(|cure| ("WITNESS_FIX", cure.fix().to_owned())));
        environment.extend(manner.thread.map(|name| ("WITNESS_THREAD", name.to_owned())));
        environment.extend(of.map(|name| ("WITNESS_OF", name.to_owned())));
        environment.extend(manner.value.map(|value| ("WITNESS_VALUE", value.to_owned())));
        let mut program = cell.start(&as_whom(subject, &line), true, &environment)?;
        cell.watchdog().count_anew();
        let (mut refusal, mut put_back) = (String::new(), Vec::new());
        if let Some((commands, then)) = manner.during {
            drop(clock::sleep_for(SETTLED));
            drop(oldest(&cell, subject, &program));
            for command in commands {
                let command = translated(command, then, &all_threads(&cell, subject, &program));
                match self.of_machine(&command) {
                    Some(applied) => put_back.push(applied?),
                    None => refusal = type_it(&cell, subject, &command)?.unwrap_or_default(),
                }
            }
        }
        let status = cell.wait(&mut program, bound.plus(SLACK))?;
        drop(put_back);
        let output = program.out();
        let witness = Witness::read(&output, subject.figure);
        let failed = status.is_some_and(|status| status != 0);
        if witness.is_none() && cell.ended().is_none() && failed && refusal.is_empty() {
            refusal = complaint(&program.err());
        }
        Ok(Turn { witness, beat_us: cell.watchdog().latest_us(), ended: cell.ended(), complaint: refusal })
    }

    /// A setting of the whole machine goes through the guardian, who puts it back.
    fn of_machine(&self, command: &str) -> Option<io::Result<AppliedSettings>> {
        let written = Written::of(command).filter(Written::is_of_machine)?;
        let setting = SettingRequest::parse(&written.path, &written.value).map_err(io::Error::other);
        Some(setting.and_then(|setting| {
            let applied = self.guard.apply(&[setting]);
            match applied.settings.is_empty() {
                true => Err(io::Error::other(format!("{}: {:?}", written.path, applied.caveats))),
                false => Ok(applied),
            }
        }))
    }

    fn cell(&self, subject: &Subject, bound: Span) -> io::Result<Cell> {
        let inner = inner_group(subject.place)?.map(Arc::new);
        Cell::open(self.programs.folder(), inner, bound, &CpuSet::from_iter([cpu()]))
    }

    /// Watches a subject as a person does, and types at once what changes the running program.
    fn watch(&self, subject: &Subject) -> io::Result<Counselled> {
        let cell = self.cell(subject, AROUND)?;
        let _rivals = rivals(&cell, subject)?;
        match subject.watched {
            Watched::Started => {
                let line = format!("exec howlate watch --no-save -- {}", subject.shell_line());
                let mut watching = cell.start(&as_whom(subject, &line), true, &environment(LOOKS))?;
                cell.wait(&mut watching, AROUND)?;
                Ok(Counselled { screen: screen(&cell, &watching)?, threads: Vec::new(), typed: Vec::new() })
            }
            Watched::ByPid | Watched::ByName(_) | Watched::Follow(_) => self.running(&cell, subject),
        }
    }

    fn running(&self, cell: &Cell, subject: &Subject) -> io::Result<Counselled> {
        let line = format!("exec {}", subject.shell_line());
        let program = cell.start(&as_whom(subject, &line), true, &environment(AROUND.as_secs_f64()))?;
        drop(clock::sleep_for(SETTLED));
        let pid = oldest(cell, subject, &program)?;
        let target = match subject.watched {
            Watched::ByName(name) => format!("'{name}'"),
            Watched::Follow(_) => format!("--follow {pid}"),
            Watched::ByPid | Watched::Started => pid.to_string(),
        };
        let line = format!("exec howlate watch --no-save --duration {LOOKS}s {target}");
        let mut watching = cell.start(&as_whom(subject, &line), false, &[])?;
        let mut seen = Vec::new();
        while cell.wait(&mut watching, EVERY)?.is_none() && cell.ended().is_none() {
            add(&mut seen, all_threads(cell, subject, &program));
        }
        let screen = screen(cell, &watching)?;
        let mut typed = Vec::new();
        for counsel in items(&screen).iter().flat_map(|item| counsels(item, &subject.command())) {
            if let Way::During(line) = counsel.way {
                let failed = match self.of_machine(&line) {
                    Some(applied) => applied.err().map(|error| error.to_string()),
                    None => type_it(cell, subject, &line)?,
                };
                typed.push((line, failed));
            }
        }
        Ok(Counselled { screen, threads: seen, typed })
    }

    /// Types a command that looks at something, while the program runs where that is how it was watched.
    fn look(&self, subject: &Subject, line: &str, counselled: &Counselled) -> io::Result<Verdict> {
        let is_running = subject.watched != Watched::Started;
        if is_running && line.contains(" -- ") {
            return Ok(Verdict::Harmed("it starts the program a second time".to_owned()));
        }
        let cell = self.cell(subject, AROUND)?;
        let _rivals = rivals(&cell, subject)?;
        let start = format!("exec {}", subject.shell_line());
        let environment = environment(AROUND.as_secs_f64());
        let program =
            if is_running { Some(cell.start(&as_whom(subject, &start), true, &environment)?) } else { None };
        drop(clock::sleep_for(SETTLED));
        let now = program.as_ref().map(|program| all_threads(&cell, subject, program)).unwrap_or_default();
        let line = translated(line, &counselled.threads, &now);
        let line = as_whom(subject, &format!("exec {line}"));
        let mut looking = cell.start(&line, !is_running, &environment)?;
        let status = cell.wait(&mut looking, BEGINS)?;
        if status.is_none() && cell.ended().is_none() {
            // It puts back what it has changed.
            looking.interrupt();
            cell.wait(&mut looking, ENDS)?;
        }
        Ok(match status {
            Some(USAGE | 126 | 127) => Verdict::CouldNotBeTyped(complaint(&looking.err())),
            _ => Verdict::Looked,
        })
    }
}

impl Subject {
    /// What a shell runs.
    fn shell_line(&self) -> String {
        let quoted = |word: &String| match word.contains(' ') {
            true => format!("'{word}'"),
            false => word.clone(),
        };
        self.command().iter().map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// Whether its source has that cure.
    pub fn takes(&self, cure: Cure) -> bool {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/truth/advice/programs");
        let source = std::fs::read_to_string(folder.join(self.source())).unwrap_or_default();
        ['"', '\''].iter().any(|quote| source.contains(&format!("{quote}{}{quote}", cure.fix())))
    }
}

/// A thread that is given more, and delays others of the program.
fn raised(subject: &Subject, counsel: &Counsel, all: &[Thread]) -> Option<String> {
    let raises = matches!(counsel.cure, Some(Cure::RealTime));
    match &counsel.way {
        Way::Again(_) | Way::Before(_) if raises => {
            subject.culprits.first().map(|thread| (*thread).to_owned())
        }
        Way::During(line) if raises && is_of_all(line) => {
            subject.culprits.first().map(|thread| (*thread).to_owned())
        }
        Way::During(line) if raises => {
            let culprit = |thread: &&Thread| subject.culprits.contains(&thread.name.as_str());
            named(line, all).into_iter().find(culprit).map(|thread| thread.name.clone())
        }
        _ => None,
    }
}

/// `chrt --all-tasks`, and its short form.
fn is_of_all(line: &str) -> bool {
    let command = line.split("  #").next().unwrap_or(line);
    command.split_whitespace().any(|word| word == "--all-tasks" || word.starts_with("-a"))
}

fn figures(pairs: &[Pair], subject: &Subject) -> String {
    let figure = subject.figure.name();
    let thread = |turn: &Turn| match turn.witness {
        Some(witness) => format!("{:.0}/{:.0}", witness.late_us, witness.done),
        None => "-".to_owned(),
    };
    let all: Vec<String> =
        pairs.iter().map(|pair| format!("{} → {}", thread(&pair.without), thread(&pair.with))).collect();
    let beat = |of: fn(&Pair) -> f64| pairs.iter().map(of).fold(0.0, f64::max) / 1_000.0;
    format!(
        "{figure} µs/results {}; × {:.2}; bystander {:.0} → {:.0} ms",
        all.join(", "),
        ratio(pairs),
        beat(|pair| pair.without.beat_us),
        beat(|pair| pair.with.beat_us)
    )
}

/// The CPU of all cells: the others are for everybody else.
fn cpu() -> u32 {
    sched::bindable_cpus().ok().and_then(|cpus| cpus.iter().max()).unwrap_or(0)
}

fn environment(seconds: f64) -> Vec<(&'static str, String)> {
    vec![("WITNESS_CPU", cpu().to_string()), ("WITNESS_SECONDS", seconds.to_string())]
}

fn rivals(cell: &Cell, subject: &Subject) -> io::Result<Vec<Started>> {
    let mut all = Vec::new();
    for words in subject.beside {
        all.push(cell.start(&format!("exec ./hog {words}"), false, &environment(0.0))?);
    }
    Ok(all)
}

/// As whom a line is typed.
fn as_whom(subject: &Subject, line: &str) -> String {
    match subject.place {
        Place::Nobody => {
            let script = line.replace('\'', "'\\''");
            format!(
                "HOME=/nonexistent exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c '{script}'"
            )
        }
        Place::Nohup if line.starts_with("exec ./") => line.replacen("exec", "exec nohup", 1),
        _ => line.to_owned(),
    }
}

/// The process that is watched, the oldest where there are several; servers take a while.
fn oldest(cell: &Cell, subject: &Subject, program: &Started) -> io::Result<u32> {
    let Some(name) = subject.watched.name() else { return Ok(program.id()) };
    let until = clock::now().plus(PATIENCE);
    while clock::now() < until && cell.ended().is_none() {
        // What makes a server's files has its name as well.
        let is_it = |pid: &u32| *pid == program.id() || parent(*pid) == Some(program.id());
        if let Some(pid) = cell.processes(name).into_iter().find(is_it) {
            drop(clock::sleep_for(SETTLED));
            return Ok(pid);
        }
        drop(clock::sleep_for(EVERY));
    }
    Err(io::Error::other(format!("no process of the name {name} came: {}", complaint(&program.err()))))
}

/// Those of all its processes that are watched.
fn all_threads(cell: &Cell, subject: &Subject, program: &Started) -> Vec<Thread> {
    match subject.watched.name() {
        Some(name) => cell.processes(name).into_iter().flat_map(threads).collect(),
        None => threads(program.id()),
    }
}

/// Types a command; what it said where it failed.
fn type_it(cell: &Cell, subject: &Subject, command: &str) -> io::Result<Option<String>> {
    let mut typing = cell.start(&as_whom(subject, command), false, &[])?;
    let status = cell.wait(&mut typing, BEGINS)?;
    Ok(match status {
        Some(0) => None,
        _ if cell.ended().is_some() => None,
        Some(status) => Some(format!("status {status}: {}", complaint(&typing.err()))),
        None => Some("it did not end".to_owned()),
    })
}

/// What howlate has printed, its complaints where that is all.
fn screen(cell: &Cell, watching: &Started) -> io::Result<String> {
    let screen = watching.out();
    if let Some(why) = cell.ended() {
        return Err(io::Error::other(format!("while it was watched: {why}")));
    }
    if screen.trim().is_empty() {
        return Err(io::Error::other(format!("watch said: {}", watching.err().trim())));
    }
    Ok(screen)
}

/// Its error, or what it said last.
fn complaint(text: &str) -> String {
    let error = text.lines().find(|line| line.starts_with("error: "));
    error.map_or_else(|| last_words(text), str::to_owned)
}

fn last_words(text: &str) -> String {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing was said").trim().to_owned()
}

/// The group of such a place.
fn inner_group(place: Place) -> io::Result<Option<ControlGroup>> {
    let places = [("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"), ("/sys/fs/cgroup", "cpu.max")];
    match place {
        Place::Quota => {
            let (group, file) = ControlGroup::create("quota", &places)?;
            match file {
                "cpu.max" => group.set(file, "4000 100000")?,
                _ => group.set(file, "4000")?,
            }
            Ok(Some(group))
        }
        Place::NoRealTime => {
            let (group, _) = ControlGroup::create("share", &[("/sys/fs/cgroup/cpu", "cpu.rt_runtime_us")])?;
            Ok(Some(group))
        }
        _ => Ok(None),
    }
}
