//! Running the scheduler's programs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use howlate_linux::child::spawn_bound;
use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::FleetError;

/// What a program may say; the rest is not read.
const MOST_SAID: u64 = 1 << 20;
/// How long messages may take after results.
const MESSAGES: Duration = Duration::from_secs(1);
/// The same of a program that failed, whose reason is among them; a busy machine hands them on late.
const REASONS: Duration = Duration::from_secs(10);
/// How soon an interruption is seen.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A program to run, to its end or for so long.
pub(crate) struct Run<'a> {
    pub(crate) program: &'static str,
    pub(crate) words: &'a [String],
    /// What it finds on its standard input.
    pub(crate) input: Option<File>,
    pub(crate) patience: Duration,
    /// Set when it is not to be waited for any longer; `None` where it must not be left half done.
    pub(crate) interrupted: Option<&'a AtomicBool>,
}

/// What a program said, and how it ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    /// Its exit status; `None` when a signal ended it.
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) error: String,
}

impl Output {
    pub(crate) const fn is_success(&self) -> bool {
        matches!(self.status, Some(0))
    }

    /// The last line of what went wrong.
    pub(crate) fn reason(&self) -> String {
        last_line(&self.error).or_else(|| last_line(&self.out)).unwrap_or_else(|| match self.status {
            Some(status) => format!("it ended with status {status}"),
            None => "it was killed".to_owned(),
        })
    }
}

/// The last line that says something, not too long.
pub(crate) fn last_line(text: &str) -> Option<String> {
    const MOST: usize = 300;
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(MOST).collect())
}

/// What is wrong, of the messages of a howlate that failed: its error, or what was said last.
pub(crate) fn complaint(log: &str) -> Option<String> {
    let error = log.lines().rev().find_map(|line| line.strip_prefix("error: "));
    last_line(error.unwrap_or(log))
}

/// A text as a file that a program can have on its standard input.
pub(crate) fn as_file(text: &str) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

impl Run<'_> {
    /// What it says.
    pub(crate) fn output(self) -> Result<Output, FleetError> {
        self.heard(|mut out| text(&mut out)).map(|(said, out)| Output { out, ..said })
    }

    /// Hands what it writes to `take`, which reads to the end; what it says otherwise.
    pub(crate) fn heard<T: Send + Default + 'static>(
        self,
        take: impl FnOnce(Box<dyn Read>) -> T + Send + 'static,
    ) -> Result<(Output, T), FleetError> {
        let (program, waiting) = (self.program, Waiting::begin(self.patience, self.interrupted));
        let mut child = self.started()?;
        let out = beside(child.stdout.take(), |out| take(Box::new(out)));
        let messages = Messages::drain(child.stderr.take());
        let Some(taken) = waiting.until(|step| out.recv_timeout(step).ok()) else {
            kill(&mut child);
            return Ok((Output { error: waiting.over(), ..Output::default() }, T::default()));
        };
        let are_all = messages.end_within(MESSAGES);
        // It may have closed its output and go on.
        let Some(ended) = waiting.until(|step| ended(&mut child, step).transpose()) else {
            kill(&mut child);
            return Ok((Output { error: waiting.over(), ..Output::default() }, T::default()));
        };
        let status = ended.map_err(|source| no_program(program, source))?;
        if !are_all && status != Some(0) {
            let reasons = Waiting::begin(REASONS, waiting.interrupted);
            reasons.until(|step| messages.end_within(step).then_some(()));
        }
        Ok((Output { status, out: String::new(), error: messages.text() }, taken))
    }

    /// In a group of its own: Ctrl-C is for this program, which knows what to leave. If this program is killed, so is that one.
    fn started(self) -> Result<Child, FleetError> {
        let mut command = Command::new(self.program);
        command.args(self.words).stdin(self.input.map_or_else(Stdio::null, Stdio::from));
        let child = spawn_bound(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        child.map_err(|source| no_program(self.program, source))
    }
}

/// Waiting for a program: so long, and no longer than until an interruption.
struct Waiting<'a> {
    until: MonotonicTime,
    patience: Duration,
    interrupted: Option<&'a AtomicBool>,
}

impl<'a> Waiting<'a> {
    fn begin(patience: Duration, interrupted: Option<&'a AtomicBool>) -> Self {
        let nanos = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        Self { until: clock::now().plus(Span::from_nanos(nanos)), patience, interrupted }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.is_some_and(|interrupted| interrupted.load(Ordering::Relaxed))
    }

    /// What `look` finds within a step; `None` when it has taken too long.
    fn until<T>(&self, mut look: impl FnMut(Duration) -> Option<T>) -> Option<T> {
        loop {
            if let Some(found) = look(LOOK_EVERY) {
                return Some(found);
            }
            if self.is_interrupted() || clock::now() >= self.until {
                return None;
            }
        }
    }

    /// Why it is over.
    fn over(&self) -> String {
        match self.is_interrupted() {
            true => INTERRUPTED.to_owned(),
            false => format!("no answer within {} s", self.patience.as_secs()),
        }
    }
}

/// Why nothing is known of a node that was not waited for.
pub(crate) const INTERRUPTED: &str = "interrupted before it answered";

/// Ends it with whatever it has started, such as the command through which `ssh` reaches its server.
fn kill(child: &mut Child) {
    // One that is gone already is what is wanted.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    drop(child.wait());
}

/// Its exit status, within a step; the inner `None` when a signal ended it.
fn ended(child: &mut Child, step: Duration) -> io::Result<Option<Option<i32>>> {
    let found = child.try_wait()?.map(|status| status.code());
    if found.is_none() {
        thread::park_timeout(step);
    }
    Ok(found)
}

/// Reads in a thread, which outlives whoever does not wait for it.
fn beside<R: Send + 'static, T: Send + 'static>(
    from: Option<R>,
    read: impl FnOnce(R) -> T + Send + 'static,
) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    if let Some(from) = from {
        thread::spawn(move || sender.send(read(from)));
    }
    receiver
}

/// What a program says beside its results. Whatever it has started may hold the pipe open for longer than it runs itself:
/// what was said until then counts.
struct Messages {
    said: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Messages {
    fn drain(from: Option<impl Read + Send + 'static>) -> Self {
        let said = Arc::new(Mutex::new(Vec::new()));
        let end = beside(from, {
            let said = Arc::clone(&said);
            move |from| drop(each_piece(from, |piece| keep(&said, piece)))
        });
        Self { said, end }
    }

    /// Whether they end so soon.
    fn end_within(&self, patience: Duration) -> bool {
        self.end.recv_timeout(patience).is_ok()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

/// Hands on what comes, as it comes.
fn each_piece(mut from: impl Read, take: impl Fn(&[u8])) -> io::Result<()> {
    let mut piece = [0; 4_096];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            length => take(&piece[..length]),
        }
    }
}

/// Up to a limit; what follows is read and dropped, so that nobody waits for it.
fn keep(said: &Mutex<Vec<u8>>, piece: &[u8]) {
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    let room = usize::try_from(MOST_SAID).unwrap_or(usize::MAX).saturating_sub(said.len());
    said.extend_from_slice(&piece[..room.min(piece.len())]);
}

fn no_program(program: &'static str, source: io::Error) -> FleetError {
    match source.kind() {
        io::ErrorKind::NotFound => FleetError::NoProgram { program },
        _ => FleetError::Refused { program, said: source.to_string() },
    }
}

/// What is said, up to a limit; what follows is read and dropped, so that nobody waits for it.
fn text(from: &mut dyn Read) -> String {
    let mut bytes = Vec::new();
    drop(from.take(MOST_SAID).read_to_end(&mut bytes));
    drop(io::copy(from, &mut io::sink()));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A reader of what follows the line `mark`: shells may greet whoever comes. `None` where it does not come soon.
pub(crate) fn after(mark: &str, from: impl Read) -> Option<impl BufRead> {
    const MOST_LINES: usize = 10_000;
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    for _ in 0..MOST_LINES {
        line.clear();
        let read = from.by_ref().take(MOST_SAID).read_until(b'\n', &mut line).ok()?;
        if read == 0 {
            return None;
        }
        if line.trim_ascii() == mark.as_bytes() {
            return Some(from);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: Option<File>, patience: u64) -> Output {
        let words = ["-c".to_owned(), script.to_owned()];
        let patience = Duration::from_secs(patience);
        Run { program: "sh", words: &words, input, patience, interrupted: None }.output().unwrap()
    }

    #[test]
    fn a_program_is_heard_and_what_it_says_is_bounded() {
        let said = sh("cat; echo no >&2; exit 3", Some(as_file("yes").unwrap()), 600);
        assert_eq!((said.status, said.out.as_str(), said.reason().as_str()), (Some(3), "yes", "no"));
        let much = sh("head -c 3000000 /dev/zero", None, 600);
        assert_eq!((much.is_success(), much.out.len()), (true, 1 << 20));
        let none = Run {
            program: "no-such-program",
            words: &[],
            input: None,
            patience: MESSAGES,
            interrupted: None,
        };
        let none = none.output();
        assert!(matches!(none, Err(FleetError::NoProgram { .. })));
    }

    #[test]
    fn the_reason_of_a_failure_is_waited_for() {
        // Whoever holds standard error open for longer than results take is not waited for, unless it failed.
        let late = "exec 3>&2 2>/dev/null; (sleep 1.5; echo late >&3) > /dev/null 3>&3 & exec 3>&-; exit";
        assert_eq!(sh(&format!("{late} 1"), None, 600).reason(), "late");
        assert_eq!(sh(&format!("{late} 0"), None, 600).error, "");
    }

    #[test]
    fn messages_count_though_somebody_holds_their_pipe_open() {
        let (from, mut into) = io::pipe().unwrap();
        let messages = Messages::drain(Some(from));
        into.write_all(b"why").unwrap();
        while messages.text() != "why" {
            assert!(!messages.end_within(Duration::from_millis(1)));
        }
        drop(into);
        assert!(messages.end_within(Duration::from_secs(600)));
    }

    #[test]
    fn one_that_never_ends_is_not_waited_for() {
        let said = sh("exec sleep 1000", None, 0);
        assert!(!said.is_success() && said.reason().starts_with("no answer within "), "{}", said.reason());
    }

    /// A program that is not waited for, whatever it does; for an hour, if nobody interrupted.
    fn interrupted(script: &str, when: impl Fn() -> bool + Sync) -> Output {
        let words = ["-c".to_owned(), script.to_owned()];
        let flag = AtomicBool::new(false);
        let run = Run {
            program: "sh",
            words: &words,
            input: None,
            patience: Duration::from_secs(3_600),
            interrupted: Some(&flag),
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                while !when() {
                    thread::park_timeout(Duration::from_millis(10));
                }
                flag.store(true, Ordering::Relaxed);
            });
            run.output().unwrap()
        })
    }

    #[test]
    fn an_interruption_ends_the_wait_for_a_silent_one_and_one_that_never_stops() {
        for script in ["exec sleep 4000", "while :; do echo yes; done", "exec >&-; exec sleep 4000"] {
            let said = interrupted(script, || true);
            assert_eq!((said.status, said.reason().as_str()), (None, INTERRUPTED), "{script}");
        }
    }

    #[test]
    fn what_it_has_started_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!("sleep 4000 & echo $! > {0}.new; mv {0}.new {0}; wait", pid.display());
        interrupted(&script, || pid.exists());
        let pid = std::fs::read_to_string(&pid).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let runs = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        for _ in 0..1_000 {
            if !runs() {
                return;
            }
            thread::park_timeout(Duration::from_millis(10));
        }
        panic!("{stat} is there still");
    }

    #[test]
    fn what_a_shell_says_before_the_mark_is_no_answer() {
        let rest = |text: &'static str| {
            let mut rest = String::new();
            after("mark", text.as_bytes())
                .map(|mut from| from.read_to_string(&mut rest).map(|_| rest.clone()).unwrap())
        };
        assert_eq!(rest("welcome\nmark\nthere\n"), Some("there\n".to_owned()));
        assert_eq!(rest("mark\n"), Some(String::new()));
        assert_eq!(rest("welcome, marker\n"), None);
    }
}
