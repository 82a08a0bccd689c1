//! Signals, the status in shared memory, and the named pipe.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use howlate_linux::clock::sleep_for;
use howlate_model::Span;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::skip;
use crate::howlate;

/// A howlate that measures until a signal.
struct SignalledRun(Child);

impl SignalledRun {
    fn start(arguments: &[&str]) -> Self {
        let mut command = howlate(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let running = Self(child);
        running.wait_for("a first cycle", || {
            running.asked_status().contains("C:      0").then_some(false).is_none()
        });
        running
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    fn file(&self) -> PathBuf {
        PathBuf::from(format!("/dev/shm/cyclictest{}", self.0.id()))
    }

    fn status(&self) -> String {
        fs::read_to_string(self.file()).unwrap_or_default()
    }

    /// The status after another request, once the program handles them.
    fn asked_status(&self) -> String {
        if !self.file().exists() {
            return "C:      0".to_owned();
        }
        self.send(Signal::USR2);
        sleep_for(Span::from_millis(20)).unwrap();
        self.status()
    }

    #[track_caller]
    fn wait_for(&self, what: &str, mut seen: impl FnMut() -> bool) {
        for _ in 0..500 {
            if seen() {
                return;
            }
            sleep_for(Span::from_millis(20)).unwrap();
        }
        panic!("{what} never came");
    }

    /// Ends it; returns its status, standard output and standard error.
    fn end(mut self, signal: Signal) -> (Option<i32>, String, String) {
        self.send(signal);
        let (mut printed, mut message) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut message).unwrap();
        (self.0.wait().unwrap().code(), printed, message)
    }
}

#[test]
fn interrupts_end_the_run_in_order() {
    for signal in [Signal::INT, Signal::TERM] {
        let running = SignalledRun::start(&["-q"]);
        let file = running.file();
        let (status, printed, _) = running.end(signal);
        assert_eq!(status, Some(0));
        assert!(printed.contains("T: 0 ("), "{printed}");
        assert!(!file.exists());
    }
}

#[test]
fn the_status_goes_to_standard_error() {
    let mut running = SignalledRun::start(&["-q"]);
    running.send(Signal::USR1);
    let mut lines = BufReader::new(running.0.stderr.as_mut().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "#---------------------------");
    assert_eq!(lines.next().unwrap(), "# cyclictest current status:");
    assert!(lines.next().unwrap().starts_with("T: 0 ("));
    assert_eq!(lines.next().unwrap(), "#---------------------------");
    running.end(Signal::INT);
}

#[test]
fn the_status_goes_to_shared_memory() {
    let running = SignalledRun::start(&["-q", "-t", "2"]);
    let status = running.asked_status();
    assert!(
        status.starts_with("#---------------------------\n# cyclictest current status:\nT: 0 ("),
        "{status}"
    );
    assert!(status.contains("\nT: 1 ("));
    running.end(Signal::INT);
}

/// A reader such as `head` closes the pipe: the run ends, and leaves nothing behind.
#[test]
fn a_closed_pipe_ends_the_run_in_order() {
    let mut running = SignalledRun::start(&["-v"]);
    let file = running.file();
    drop(running.0.stdout.take());
    assert_eq!(running.0.wait().unwrap().code(), Some(141));
    assert!(!file.exists());
}

/// Debian's program that queries a running cyclictest.
#[test]
fn get_cyclictest_snapshot_reads_it() {
    let running = SignalledRun::start(&["-q"]);
    let pid = running.0.id().to_string();
    let Ok(list) = Command::new("get_cyclictest_snapshot").arg("-l").output() else {
        running.end(Signal::INT);
        return skip("get_cyclictest_snapshot is not installed");
    };
    assert!(String::from_utf8_lossy(&list.stdout).lines().any(|line| line == pid));
    let ask = |option: &str| Command::new("get_cyclictest_snapshot").args([option, &pid]).output().unwrap();
    assert!(ask("-s").status.success());
    let shown = String::from_utf8(ask("-p").stdout).unwrap();
    assert!(shown.contains("# cyclictest current status:\nT: 0 ("), "{shown}");
    running.end(Signal::INT);
}

#[test]
fn each_reader_of_the_pipe_gets_the_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let running = SignalledRun::start(&["-q", "-t", "2", "-F", path.to_str().unwrap()]);
    for _ in 0..2 {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with("T: ")).count(), 2, "{text}");
    }
    assert_eq!(running.end(Signal::INT).0, Some(0));
    assert!(!path.exists());
}
