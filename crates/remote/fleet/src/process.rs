//! Runs programs of the scheduler.

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

/// Output of a program beyond this is not kept.
const MOST_OUTPUT: u64 = 1 << 20;
/// Time for standard error to end after standard output.
const STDERR_GRACE: Duration = Duration::from_secs(1);
/// Time for standard error of a program that failed, because it contains the reason; a busy machine delays it.
const FAILED_STDERR_GRACE: Duration = Duration::from_secs(10);
/// Polling interval for interruptions.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A program to run, with a time limit.
pub(crate) struct CommandRun<'a> {
    pub(crate) program: &'static str,
    pub(crate) arguments: &'a [String],
    /// Standard input.
    pub(crate) input: Option<File>,
    pub(crate) patience: Duration,
    /// Set to stop waiting for it; `None` where it must run to its end.
    pub(crate) interrupted: Option<&'a AtomicBool>,
}

/// Output and exit status of a program.
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

    /// The last line of the error message.
    pub(crate) fn reason(&self) -> String {
        last_line(&self.error).or_else(|| last_line(&self.out)).unwrap_or_else(|| match self.status {
            Some(status) => format!("it ended with status {status}"),
            None => "it was killed".to_owned(),
        })
    }
}

/// The last line that is not empty, shortened.
pub(crate) fn last_line(text: &str) -> Option<String> {
    const MOST: usize = 300;
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(MOST).collect())
}

/// The reason in the messages of a howlate that failed: its error, or the last line.
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

impl CommandRun<'_> {
    pub(crate) fn output(self) -> Result<Output, FleetError> {
        self.run_with_reader(|mut out| text(&mut out)).map(|(output, out)| Output { out, ..output })
    }

    /// Passes standard output to `take`, which reads to the end; the returned output has standard error.
    pub(crate) fn run_with_reader<T: Send + Default + 'static>(
        self,
        take: impl FnOnce(Box<dyn Read>) -> T + Send + 'static,
    ) -> Result<(Output, T), FleetError> {
        let (program, timeout) = (self.program, Timeout::begin(self.patience, self.interrupted));
        let mut child = self.start()?;
        let out = read_in_thread(child.stdout.take(), |out| take(Box::new(out)));
        let stderr = Stderr::drain(child.stderr.take());
        let Some(result) = timeout.until(|step| out.recv_timeout(step).ok()) else {
            kill(&mut child);
            return Ok((Output { error: timeout.reason(), ..Output::default() }, T::default()));
        };
        let is_complete = stderr.end_within(STDERR_GRACE);
        // It may have closed its standard output and still run.
        let Some(ended) = timeout.until(|step| exit_status(&mut child, step).transpose()) else {
            kill(&mut child);
            return Ok((Output { error: timeout.reason(), ..Output::default() }, T::default()));
        };
        let status = ended.map_err(|source| no_program(program, source))?;
        if !is_complete && status != Some(0) {
            let grace = Timeout::begin(FAILED_STDERR_GRACE, timeout.interrupted);
            grace.until(|step| stderr.end_within(step).then_some(()));
        }
        Ok((Output { status, out: String::new(), error: stderr.text() }, result))
    }

    /// Starts it in its own process group: Ctrl-C is for this program. If this program is killed, so is the child.
    fn start(self) -> Result<Child, FleetError> {
        let mut command = Command::new(self.program);
        command.args(self.arguments).stdin(self.input.map_or_else(Stdio::null, Stdio::from));
        let child = spawn_bound(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        child.map_err(|source| no_program(self.program, source))
    }
}

/// Waits for a program until a time limit or an interruption.
struct Timeout<'a> {
    until: MonotonicTime,
    patience: Duration,
    interrupted: Option<&'a AtomicBool>,
}

impl<'a> Timeout<'a> {
    fn begin(patience: Duration, interrupted: Option<&'a AtomicBool>) -> Self {
        let nanos = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        Self { until: clock::now().plus(Span::from_nanos(nanos)), patience, interrupted }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.is_some_and(|interrupted| interrupted.load(Ordering::Relaxed))
    }

    /// The result of `poll`, which waits for a step; `None` after the time limit.
    fn until<T>(&self, mut poll: impl FnMut(Duration) -> Option<T>) -> Option<T> {
        loop {
            if let Some(result) = poll(LOOK_EVERY) {
                return Some(result);
            }
            if self.is_interrupted() || clock::now() >= self.until {
                return None;
            }
        }
    }

    /// Why waiting ended.
    fn reason(&self) -> String {
        match self.is_interrupted() {
            true => INTERRUPTED.to_owned(),
            false => format!("no answer within {} s", self.patience.as_secs()),
        }
    }
}

/// The reason for a node whose answer was not waited for.
pub(crate) const INTERRUPTED: &str = "interrupted before it answered";

/// Kills the child with its process group, such as a proxy command of `ssh`.
fn kill(child: &mut Child) {
    // It may have ended already.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    drop(child.wait());
}

/// The exit status, within a step; the inner `None` when a signal ended it.
fn exit_status(child: &mut Child, step: Duration) -> io::Result<Option<Option<i32>>> {
    let status = child.try_wait()?.map(|status| status.code());
    if status.is_none() {
        thread::park_timeout(step);
    }
    Ok(status)
}

/// Reads in a thread, which may outlive the caller.
fn read_in_thread<R: Send + 'static, T: Send + 'static>(
    from: Option<R>,
    read: impl FnOnce(R) -> T + Send + 'static,
) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    if let Some(from) = from {
        thread::spawn(move || sender.send(read(from)));
    }
    receiver
}

/// Standard error of a program. Its children may hold the pipe open for longer than it runs: what was written until then counts.
struct Stderr {
    buffer: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Stderr {
    fn drain(from: Option<impl Read + Send + 'static>) -> Self {
        let buffer = Arc::new(Mutex::new(Vec::new()));
        let end = read_in_thread(from, {
            let buffer = Arc::clone(&buffer);
            move |from| drop(each_piece(from, |piece| append(&buffer, piece)))
        });
        Self { buffer, end }
    }

    /// Whether they end so soon.
    fn end_within(&self, patience: Duration) -> bool {
        self.end.recv_timeout(patience).is_ok()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.buffer.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
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

/// Appends up to a limit; the rest is read and dropped, so that the program does not block.
fn append(buffer: &Mutex<Vec<u8>>, piece: &[u8]) {
    let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
    let room = usize::try_from(MOST_OUTPUT).unwrap_or(usize::MAX).saturating_sub(buffer.len());
    buffer.extend_from_slice(&piece[..room.min(piece.len())]);
}

fn no_program(program: &'static str, source: io::Error) -> FleetError {
    match source.kind() {
        io::ErrorKind::NotFound => FleetError::NoProgram { program },
        _ => FleetError::Refused { program, message: source.to_string() },
    }
}

/// The text up to a limit; the rest is read and dropped, so that the program does not block.
fn text(from: &mut dyn Read) -> String {
    let mut bytes = Vec::new();
    drop(from.take(MOST_OUTPUT).read_to_end(&mut bytes));
    drop(io::copy(from, &mut io::sink()));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A reader of the text after the line `mark`, because shells may print a greeting. `None` if the mark does not come soon.
pub(crate) fn after(mark: &str, from: impl Read) -> Option<impl BufRead> {
    const MOST_LINES: usize = 10_000;
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    for _ in 0..MOST_LINES {
        line.clear();
        let read = from.by_ref().take(MOST_OUTPUT).read_until(b'\n', &mut line).ok()?;
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
        let arguments = ["-c".to_owned(), script.to_owned()];
        let patience = Duration::from_secs(patience);
        CommandRun { program: "sh", arguments: &arguments, input, patience, interrupted: None }
            .output()
            .unwrap()
    }

    #[test]
    fn a_program_is_heard_and_what_it_says_is_bounded() {
        let output = sh("cat; echo no >&2; exit 3", Some(as_file("yes").unwrap()), 600);
        assert_eq!((output.status, output.out.as_str(), output.reason().as_str()), (Some(3), "yes", "no"));
        let much = sh("head -c 3000000 /dev/zero", None, 600);
        assert_eq!((much.is_success(), much.out.len()), (true, 1 << 20));
        let none = CommandRun {
            program: "no-such-program",
            arguments: &[],
            input: None,
            patience: STDERR_GRACE,
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
        let stderr = Stderr::drain(Some(from));
        into.write_all(b"why").unwrap();
        while stderr.text() != "why" {
            assert!(!stderr.end_within(Duration::from_millis(1)));
        }
        drop(into);
        assert!(stderr.end_within(Duration::from_secs(600)));
    }

    #[test]
    fn one_that_never_ends_is_not_waited_for() {
        let output = sh("exec sleep 1000", None, 0);
        assert!(
            !output.is_success() && output.reason().starts_with("no answer within "),
            "{}",
            output.reason()
        );
    }

    /// Runs a script for an hour at most, and interrupts it.
    fn interrupted(script: &str, when: impl Fn() -> bool + Sync) -> Output {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let flag = AtomicBool::new(false);
        let run = CommandRun {
            program: "sh",
            arguments: &arguments,
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
            let output = interrupted(script, || true);
            assert_eq!((output.status, output.reason().as_str()), (None, INTERRUPTED), "{script}");
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
