//! Watches a test program, follows howlate's advice in interleaved runs, and judges it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use howlate_guard::{AppliedSettings, Guard, SettingRequest};
use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, Span};

use super::super::control_group::ControlGroup;
use super::cell::{Cell, CellProcess};
use super::counsel::{AdviceAction, Counsel, ProgramFix, counsels};
use super::programs::SubjectPrograms;
use super::screen::items;
use super::subjects::{Subject, Surroundings, Watched};
use super::threads::{SeenThread, add, parent, threads, threads_in, translate};
use super::verdict::{AdviceVerdict, RunPair, is_open, judge, ratio};
use super::witnessed::{CellRun, ProgramStamps};
use super::written::FileWrite;

/// Pairs that are added if the first ones disagree.
const MORE_PAIRS: usize = 2;
/// Time that a program measures in a run, s.
const MEASURED: f64 = 2.0;
/// Duration of `howlate watch`, s.
const WATCHED: f64 = 4.0;
/// Limit for howlate, including loading its tracer and ending on a busy machine.
const WATCH_LIMIT: Span = Span::from_secs(90);
/// Limit of a run, longer than one takes that is not starved; servers take a while to start.
const BOUND: Span = Span::from_secs(10);
const BOUND_OF_SERVERS: Span = Span::from_secs(25);
/// Most that the watchdog takes to end a cell.
const SLACK: Span = Span::from_secs(5);
/// By then a program has started its threads, and does not measure yet.
const SETTLED: Span = Span::from_millis(600);
/// By then a command has failed if its arguments are wrong.
const BEGINS: Span = Span::from_secs(6);
/// Time for a command to restore its changes after SIGINT.
const ENDS: Span = Span::from_secs(15);
const EVERY: Span = Span::from_millis(100);
/// Most that a server takes to start.
const PATIENCE: Span = Span::from_secs(20);
/// howlate's exit status if its command line is wrong, or nothing could be done.
const USAGE: i32 = 2;

pub struct AdviceTrials<'a> {
    pub programs: &'a SubjectPrograms,
    pub guard: &'a Guard,
    pub pairs: usize,
}

/// A piece of advice and its verdict.
pub struct TriedAdvice {
    pub counsel: Counsel,
    pub verdict: AdviceVerdict,
    /// The pairs' numbers as text.
    pub figures: String,
}

/// howlate's output about a program.
struct WatchReport {
    screen: String,
    /// The program's threads meanwhile.
    threads: Vec<SeenThread>,
    /// Commands that were run while the program still ran, and their error messages.
    attempts: Vec<(String, Option<String>)>,
}

/// Changes to a run of the program; none by default.
#[derive(Default)]
struct RunVariant<'a> {
    /// Shell command instead of the program's own.
    line: Option<String>,
    fix: Option<ProgramFix>,
    /// The thread that the fix is for.
    thread: Option<&'a str>,
    /// The number in the advised code.
    value: Option<&'a str>,
    /// Commands to run meanwhile, and the threads whose IDs they contain.
    during: Option<(&'a [String], &'a [SeenThread])>,
}

impl AdviceTrials<'_> {
    /// howlate's advice for a subject, with verdicts.
    pub fn subject(&self, subject: &Subject) -> io::Result<Vec<TriedAdvice>> {
        self.programs.provide(subject)?;
        let report = self.watch(subject)?;
        if std::env::var_os("HOWLATE_ADVICE_SCREENS").is_some() {
            eprintln!("{}", report.screen);
        }
        let all = items(&report.screen);
        let counsels = all.iter().flat_map(|item| counsels(item, &subject.command()));
        let mut ways: Vec<AdviceAction> = Vec::new();
        let mut followed = Vec::new();
        for counsel in counsels {
            if ways.contains(&counsel.way) && counsel.way != AdviceAction::Code {
                continue;
            }
            ways.push(counsel.way.clone());
            let (verdict, figures) = self.follow(subject, &counsel, &report)?;
            followed.push(TriedAdvice { counsel, verdict, figures });
        }
        Ok(followed)
    }

    fn follow(
        &self,
        subject: &Subject,
        counsel: &Counsel,
        report: &WatchReport,
    ) -> io::Result<(AdviceVerdict, String)> {
        let (verdict, mut figures) = self.try_counsel(subject, counsel, report)?;
        let culprit = raised_culprit(subject, counsel, &report.threads);
        let verdict = match (culprit, verdict) {
            // It delays other threads sooner or later, even if not in these runs.
            (Some(culprit), AdviceVerdict::Nothing) => {
                AdviceVerdict::Harmed(format!("it raises {culprit}, which is what delays"))
            }
            (Some(culprit), verdict) => {
                figures.push_str(&format!("; it raises {culprit}, which delays others of its program"));
                verdict
            }
            (None, verdict) => verdict,
        };
        Ok((verdict, figures))
    }

    fn try_counsel(
        &self,
        subject: &Subject,
        counsel: &Counsel,
        report: &WatchReport,
    ) -> io::Result<(AdviceVerdict, String)> {
        let without_figures = |verdict| Ok((verdict, String::new()));
        let shell = subject.shell_line();
        let variant = |line: String| RunVariant { line: Some(line), ..RunVariant::default() };
        match &counsel.way {
            AdviceAction::Again(line) => self.pairs(subject, || variant(line.clone())),
            AdviceAction::Before(line) => self.pairs(subject, || variant(format!("{line}\nexec {shell}"))),
            AdviceAction::During(line) => {
                if let Some((_, Some(failed))) = report.attempts.iter().find(|(command, _)| command == line) {
                    return without_figures(AdviceVerdict::CouldNotBeTyped(failed.clone()));
                }
                let lines: Vec<String> = counsel.after.iter().chain([line]).cloned().collect();
                self.pairs(subject, || RunVariant {
                    during: Some((&lines, &report.threads)),
                    ..RunVariant::default()
                })
            }
            AdviceAction::Code => {
                match counsel.cure.filter(|cure| subject.cures.contains(cure) && subject.takes(*cure)) {
                    Some(cure) => self.pairs(subject, || RunVariant {
                        fix: Some(cure),
                        thread: counsel.thread.as_deref(),
                        value: counsel.value.as_deref(),
                        ..RunVariant::default()
                    }),
                    None => without_figures(AdviceVerdict::NotChanged),
                }
            }
            AdviceAction::Restart => without_figures(AdviceVerdict::Restart),
            AdviceAction::ForGood(_) => without_figures(AdviceVerdict::ForGood),
            AdviceAction::Elsewhere => without_figures(AdviceVerdict::Elsewhere),
            AdviceAction::Incomplete(_) => without_figures(AdviceVerdict::CouldNotBeTyped(
                "it has a word that stands for something".to_owned(),
            )),
            AdviceAction::Looks(line) => without_figures(self.look(subject, line, report)?),
            AdviceAction::Words => {
                without_figures(AdviceVerdict::Unknown("nothing in it can be followed".to_owned()))
            }
        }
    }

    /// Runs with and without the advice alternate, in random order within a pair.
    fn pairs<'a>(
        &self,
        subject: &Subject,
        with: impl Fn() -> RunVariant<'a>,
    ) -> io::Result<(AdviceVerdict, String)> {
        let mut pairs = Vec::new();
        let mut most = self.pairs;
        let measured_thread = with().thread;
        while pairs.len() < most {
            let is_first = fastrand::bool();
            let first =
                self.run(subject, if is_first { with() } else { RunVariant::default() }, measured_thread)?;
            let second =
                self.run(subject, if is_first { RunVariant::default() } else { with() }, measured_thread)?;
            let (without, with) = if is_first { (second, first) } else { (first, second) };
            let (failed, is_over) = (with.complaint.clone(), with.ended.is_some());
            pairs.push(RunPair { without, with });
            if !failed.is_empty() {
                return Ok((AdviceVerdict::CouldNotBeTyped(failed), String::new()));
            }
            // The cell took the machine and was ended: not again.
            if is_over {
                break;
            }
            if pairs.len() == self.pairs && is_open(&pairs) {
                most += MORE_PAIRS;
            }
        }
        Ok((judge(&pairs), figures(&pairs, subject)))
    }

    /// One run; `measured_thread`: the one whose lateness counts, if the program has several of a kind.
    fn run(
        &self,
        subject: &Subject,
        variant: RunVariant<'_>,
        measured_thread: Option<&str>,
    ) -> io::Result<CellRun> {
        let bound = if subject.needs().is_some() { BOUND_OF_SERVERS } else { BOUND };
        let cell = self.cell(subject, bound)?;
        let _rivals = rivals(&cell, subject)?;
        let line = variant.line.unwrap_or_else(|| format!("exec {}", subject.shell_line()));
        let mut environment = environment(MEASURED);
        environment.extend(variant.fix.map(|cure| ("WITNESS_FIX", cure.fix().to_owned())));
        environment.extend(variant.thread.map(|name| ("WITNESS_THREAD", name.to_owned())));
        environment.extend(measured_thread.map(|name| ("WITNESS_OF", name.to_owned())));
        environment.extend(variant.value.map(|value| ("WITNESS_VALUE", value.to_owned())));
        let mut program = cell.start(&in_surroundings(subject, &line), true, &environment)?;
        cell.watchdog().reset();
        let (mut refusal, mut put_back) = (String::new(), Vec::new());
        if let Some((commands, then)) = variant.during {
            drop(clock::sleep_for(SETTLED));
            drop(oldest(&cell, subject, &program));
            for command in commands {
                let command = translate(command, then, &all_threads(&cell, subject, &program));
                match self.apply_to_machine(&command) {
                    Some(applied) => put_back.push(applied?),
                    None => refusal = run_command(&cell, subject, &command)?.unwrap_or_default(),
                }
            }
        }
        let status = cell.wait(&mut program, bound.plus(SLACK))?;
        drop(put_back);
        let output = program.out();
        let witness = ProgramStamps::read(&output, subject.figure);
        let failed = status.is_some_and(|status| status != 0);
        if witness.is_none() && cell.ended().is_none() && failed && refusal.is_empty() {
            refusal = error_message(&program.err());
        }
        Ok(CellRun { witness, beat_us: cell.watchdog().latest_us(), ended: cell.ended(), complaint: refusal })
    }

    /// Settings of the whole machine are changed by the guard, which restores them. `None` for other commands.
    fn apply_to_machine(&self, command: &str) -> Option<io::Result<AppliedSettings>> {
        let written = FileWrite::of(command).filter(FileWrite::is_of_machine)?;
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

    /// Watches a subject as a user would, and runs commands for the running program at once.
    fn watch(&self, subject: &Subject) -> io::Result<WatchReport> {
        let cell = self.cell(subject, WATCH_LIMIT)?;
        let _rivals = rivals(&cell, subject)?;
        match subject.watched {
            Watched::Started => {
                let line = format!("exec howlate watch --no-save -- {}", subject.shell_line());
                let mut watching =
                    cell.start(&in_surroundings(subject, &line), true, &environment(WATCHED))?;
                cell.wait(&mut watching, WATCH_LIMIT)?;
                Ok(WatchReport {
                    screen: screen(&cell, &watching)?,
                    threads: Vec::new(),
                    attempts: Vec::new(),
                })
            }
            Watched::ByPid | Watched::ByName(_) | Watched::Follow(_) => self.watch_running(&cell, subject),
        }
    }

    fn watch_running(&self, cell: &Cell, subject: &Subject) -> io::Result<WatchReport> {
        let line = format!("exec {}", subject.shell_line());
        let program =
            cell.start(&in_surroundings(subject, &line), true, &environment(WATCH_LIMIT.as_secs_f64()))?;
        drop(clock::sleep_for(SETTLED));
        let pid = oldest(cell, subject, &program)?;
        let target = match subject.watched {
            Watched::ByName(name) => format!("'{name}'"),
            Watched::Follow(_) => format!("--follow {pid}"),
            Watched::ByPid | Watched::Started => pid.to_string(),
        };
        let line = format!("exec howlate watch --no-save --duration {WATCHED}s {target}");
        let mut watching = cell.start(&in_surroundings(subject, &line), false, &[])?;
        let mut seen = Vec::new();
        while cell.wait(&mut watching, EVERY)?.is_none() && cell.ended().is_none() {
            add(&mut seen, all_threads(cell, subject, &program));
        }
        let screen = screen(cell, &watching)?;
        let mut attempts = Vec::new();
        for counsel in items(&screen).iter().flat_map(|item| counsels(item, &subject.command())) {
            if let AdviceAction::During(line) = counsel.way {
                let failed = match self.apply_to_machine(&line) {
                    Some(applied) => applied.err().map(|error| error.to_string()),
                    None => run_command(cell, subject, &line)?,
                };
                attempts.push((line, failed));
            }
        }
        Ok(WatchReport { screen, threads: seen, attempts })
    }

    /// Runs a command that only looks at something; beside the program, unless the command starts it.
    fn look(&self, subject: &Subject, line: &str, report: &WatchReport) -> io::Result<AdviceVerdict> {
        let is_running = subject.watched != Watched::Started;
        if is_running && line.contains(" -- ") {
            return Ok(AdviceVerdict::Harmed("it starts the program a second time".to_owned()));
        }
        let cell = self.cell(subject, WATCH_LIMIT)?;
        let _rivals = rivals(&cell, subject)?;
        let start = format!("exec {}", subject.shell_line());
        let environment = environment(WATCH_LIMIT.as_secs_f64());
        let program = if is_running {
            Some(cell.start(&in_surroundings(subject, &start), true, &environment)?)
        } else {
            None
        };
        drop(clock::sleep_for(SETTLED));
        let now = program.as_ref().map(|program| all_threads(&cell, subject, program)).unwrap_or_default();
        let line = translate(line, &report.threads, &now);
        let line = in_surroundings(subject, &format!("exec {line}"));
        let mut looking = cell.start(&line, !is_running, &environment)?;
        let status = cell.wait(&mut looking, BEGINS)?;
        if status.is_none() && cell.ended().is_none() {
            // On SIGINT it restores what it has changed.
            looking.interrupt();
            cell.wait(&mut looking, ENDS)?;
        }
        Ok(match status {
            Some(USAGE | 126 | 127) => AdviceVerdict::CouldNotBeTyped(error_message(&looking.err())),
            _ => AdviceVerdict::Looked,
        })
    }
}

impl Subject {
    /// The command line, quoted for a shell.
    fn shell_line(&self) -> String {
        let quoted = |word: &String| match word.contains(' ') {
            true => format!("'{word}'"),
            false => word.clone(),
        };
        self.command().iter().map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// Whether the program implements this fix.
    pub fn takes(&self, cure: ProgramFix) -> bool {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/truth/advice/programs");
        let source = std::fs::read_to_string(folder.join(self.source())).unwrap_or_default();
        ['"', '\''].iter().any(|quote| source.contains(&format!("{quote}{}{quote}", cure.fix())))
    }
}

/// A thread whose priority the advice raises, and which delays other threads of the program.
fn raised_culprit(subject: &Subject, counsel: &Counsel, all: &[SeenThread]) -> Option<String> {
    let raises = matches!(counsel.cure, Some(ProgramFix::RealTime));
    match &counsel.way {
        AdviceAction::Again(_) | AdviceAction::Before(_) if raises => {
            subject.culprits.first().map(|thread| (*thread).to_owned())
        }
        AdviceAction::During(line) if raises && is_for_all_threads(line) => {
            subject.culprits.first().map(|thread| (*thread).to_owned())
        }
        AdviceAction::During(line) if raises => {
            let culprit = |thread: &&SeenThread| subject.culprits.contains(&thread.name.as_str());
            threads_in(line, all).into_iter().find(culprit).map(|thread| thread.name.clone())
        }
        _ => None,
    }
}

/// Whether a `chrt` command is for all threads.
fn is_for_all_threads(line: &str) -> bool {
    let command = line.split("  #").next().unwrap_or(line);
    command.split_whitespace().any(|word| word == "--all-tasks" || word.starts_with("-a"))
}

fn figures(pairs: &[RunPair], subject: &Subject) -> String {
    let figure = subject.figure.name();
    let thread = |turn: &CellRun| match turn.witness {
        Some(witness) => format!("{:.0}/{:.0}", witness.late_us, witness.done),
        None => "-".to_owned(),
    };
    let all: Vec<String> =
        pairs.iter().map(|pair| format!("{} → {}", thread(&pair.without), thread(&pair.with))).collect();
    let beat = |of: fn(&RunPair) -> f64| pairs.iter().map(of).fold(0.0, f64::max) / 1_000.0;
    format!(
        "{figure} µs/results {}; × {:.2}; bystander {:.0} → {:.0} ms",
        all.join(", "),
        ratio(pairs),
        beat(|pair| pair.without.beat_us),
        beat(|pair| pair.with.beat_us)
    )
}

/// The CPU of all cells: the last one, so that the others stay free.
fn cpu() -> u32 {
    sched::bindable_cpus().ok().and_then(|cpus| cpus.iter().max()).unwrap_or(0)
}

fn environment(seconds: f64) -> Vec<(&'static str, String)> {
    vec![("WITNESS_CPU", cpu().to_string()), ("WITNESS_SECONDS", seconds.to_string())]
}

fn rivals(cell: &Cell, subject: &Subject) -> io::Result<Vec<CellProcess>> {
    let mut processes = Vec::new();
    for arguments in subject.beside {
        processes.push(cell.start(&format!("exec ./hog {arguments}"), false, &environment(0.0))?);
    }
    Ok(processes)
}

/// The shell command in the subject's surroundings: as another user, under nohup, or unchanged.
fn in_surroundings(subject: &Subject, line: &str) -> String {
    match subject.place {
        Surroundings::Nobody => {
            let script = line.replace('\'', "'\\''");
            format!(
                "HOME=/nonexistent exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c '{script}'"
            )
        }
        Surroundings::Nohup if line.starts_with("exec ./") => line.replacen("exec", "exec nohup", 1),
        _ => line.to_owned(),
    }
}

/// The process to watch: the oldest with the name; waits for it, as servers take a while to start.
fn oldest(cell: &Cell, subject: &Subject, program: &CellProcess) -> io::Result<u32> {
    let Some(name) = subject.watched.name() else { return Ok(program.id()) };
    let until = clock::now().plus(PATIENCE);
    while clock::now() < until && cell.ended().is_none() {
        // The program that initialises a server's files may have its name too.
        let is_server = |pid: &u32| *pid == program.id() || parent(*pid) == Some(program.id());
        if let Some(pid) = cell.processes(name).into_iter().find(is_server) {
            drop(clock::sleep_for(SETTLED));
            return Ok(pid);
        }
        drop(clock::sleep_for(EVERY));
    }
    Err(io::Error::other(format!("no process of the name {name} came: {}", error_message(&program.err()))))
}

/// The threads of all watched processes.
fn all_threads(cell: &Cell, subject: &Subject, program: &CellProcess) -> Vec<SeenThread> {
    match subject.watched.name() {
        Some(name) => cell.processes(name).into_iter().flat_map(threads).collect(),
        None => threads(program.id()),
    }
}

/// Runs a command; returns its error message if it failed.
fn run_command(cell: &Cell, subject: &Subject, command: &str) -> io::Result<Option<String>> {
    let mut process = cell.start(&in_surroundings(subject, command), false, &[])?;
    let status = cell.wait(&mut process, BEGINS)?;
    Ok(match status {
        Some(0) => None,
        _ if cell.ended().is_some() => None,
        Some(status) => Some(format!("status {status}: {}", error_message(&process.err()))),
        None => Some("it did not end".to_owned()),
    })
}

/// howlate's output; its error messages as the error if there is none.
fn screen(cell: &Cell, watching: &CellProcess) -> io::Result<String> {
    let screen = watching.out();
    if let Some(why) = cell.ended() {
        return Err(io::Error::other(format!("while it was watched: {why}")));
    }
    if screen.trim().is_empty() {
        return Err(io::Error::other(format!("watch said: {}", watching.err().trim())));
    }
    Ok(screen)
}

/// The line that begins with `error: `, or the last one.
fn error_message(text: &str) -> String {
    let error = text.lines().find(|line| line.starts_with("error: "));
    error.map_or_else(|| last_line(text), str::to_owned)
}

fn last_line(text: &str) -> String {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing was said").trim().to_owned()
}

/// The second control group of these surroundings.
fn inner_group(place: Surroundings) -> io::Result<Option<ControlGroup>> {
    let places = [("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"), ("/sys/fs/cgroup", "cpu.max")];
    match place {
        Surroundings::Quota => {
            let (group, file) = ControlGroup::create("quota", &places)?;
            match file {
                "cpu.max" => group.set(file, "4000 100000")?,
                _ => group.set(file, "4000")?,
            }
            Ok(Some(group))
        }
        Surroundings::NoRealTime => {
            let (group, _) = ControlGroup::create("share", &[("/sys/fs/cgroup/cpu", "cpu.rt_runtime_us")])?;
            Ok(Some(group))
        }
        _ => Ok(None),
    }
}
