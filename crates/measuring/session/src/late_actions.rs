//! What is done when a thread was late: a command, a signal, or the end. Nothing waits for it.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;

use howlate_linux::child::spawn_under;
use howlate_linux::{clock, sched};
use howlate_model::{Caveat, LateWakeup, MonotonicTime, Policy, Span};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Longer commands are killed.
const LONGEST: Span = Span::from_secs(10);
/// How often it is looked at while it is waited for.
const LOOK_EVERY: Span = Span::from_millis(10);

/// What is done when a thread was late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LateAction {
    /// A shell command, with what was late as JSON on standard input.
    Command(String),
    Signal(Pid, Signal),
    Stop,
}

impl FromStr for LateAction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "stop" {
            return Ok(Self::Stop);
        }
        let Some(rest) = text.strip_prefix("signal:") else { return Ok(Self::Command(text.to_owned())) };
        let (pid, name) = rest.split_once(':').unwrap_or((rest, "USR1"));
        let wrong = || {
            format!(
                "`{text}` is not a signal to a process; write `signal:PID:USR1`, or USR2, HUP, INT, TERM, STOP"
            )
        };
        let pid = pid.parse().ok().and_then(Pid::from_raw).ok_or_else(wrong)?;
        let signal = match name.strip_prefix("SIG").unwrap_or(name) {
            "USR1" => Signal::USR1,
            "USR2" => Signal::USR2,
            "HUP" => Signal::HUP,
            "INT" => Signal::INT,
            "TERM" => Signal::TERM,
            "STOP" => Signal::STOP,
            _ => return Err(wrong()),
        };
        Ok(Self::Signal(pid, signal))
    }
}

/// What was late, as JSON; called only for commands.
type LateJson<'a> = dyn Fn() -> serde_json::Result<Vec<u8>> + 'a;

/// Runs actions: the commands of one late wake-up at a time.
#[derive(Debug, Default)]
pub struct ActionRunner {
    /// That of commands; `None`: as inherited.
    policy: Option<Policy>,
    /// Each with its start.
    running: Vec<(Child, MonotonicTime)>,
    /// Commands not started, because those before were still running or starting failed.
    pub left_out: u64,
}

impl ActionRunner {
    /// Runs commands under `policy`: the calling program may change its own.
    pub const fn new(policy: Option<Policy>) -> Self {
        Self { policy, running: Vec::new(), left_out: 0 }
    }

    /// Does all that is to be done; commands get `late`, as JSON. `true`: end the recording.
    pub fn take(&mut self, all: &[LateAction], late: &LateJson<'_>, now: MonotonicTime) -> bool {
        self.look(now);
        let (is_free, mut ends) = (self.running.is_empty(), false);
        for action in all {
            match action {
                LateAction::Command(command) if is_free => self.start(command, late, now),
                LateAction::Command(_) => self.left_out += 1,
                // A process that has ended needs no signal.
                LateAction::Signal(pid, signal) => {
                    let _ = kill_process(*pid, *signal);
                }
                LateAction::Stop => ends = true,
            }
        }
        ends
    }

    /// Kills commands that run too long.
    pub fn look(&mut self, now: MonotonicTime) {
        self.running.retain_mut(|(child, start)| {
            let is_running = child.try_wait().is_ok_and(|status| status.is_none());
            let is_too_long = now.since(*start) >= LONGEST;
            if is_running && is_too_long {
                end(child);
            }
            is_running && !is_too_long
        });
    }

    /// Waits for the commands that run, until they have run for too long.
    pub fn finish(&mut self) {
        while !self.running.is_empty() {
            drop(clock::sleep_for(LOOK_EVERY));
            self.look(clock::now());
        }
    }

    fn start(&mut self, command: &str, late: &LateJson<'_>, now: MonotonicTime) {
        let started = input(late).and_then(|input| {
            let mut shell = Command::new("/bin/sh");
            spawn_under(shell.arg("-c").arg(command).stdin(input), self.policy)
        });
        match started {
            Ok(child) => self.running.push((child, now)),
            Err(_) => self.left_out += 1,
        }
    }
}

/// What is done about the late wake-ups of a run. Nothing that it starts is waited for.
#[derive(Debug)]
pub struct LateActions {
    above: Span,
    actions: Vec<LateAction>,
    runner: ActionRunner,
    has_stopped: bool,
}

impl LateActions {
    /// About wake-ups later than `above`. Commands run under the policy that this thread has now.
    pub fn new(above: Span, actions: Vec<LateAction>) -> Self {
        let runner = ActionRunner::new(sched::policy(sched::THIS_THREAD).ok());
        Self { above, actions, runner, has_stopped: false }
    }

    /// Wake-ups that are later are late.
    pub const fn above(&self) -> Span {
        self.above
    }

    /// Acts on a late wake-up; `true`: the run ends. Only the first that ends it is acted on.
    pub fn take(&mut self, late: &LateWakeup, now: MonotonicTime) -> bool {
        self.has_stopped =
            self.has_stopped || self.runner.take(&self.actions, &|| serde_json::to_vec(late), now);
        self.has_stopped
    }

    /// Called several times a second.
    pub fn look(&mut self, now: MonotonicTime) {
        self.runner.look(now);
    }

    /// A caveat about commands that were not run.
    pub fn left_out(&self) -> Option<Caveat> {
        let count = self.runner.left_out;
        (count > 0).then_some(Caveat::CommandsLeftOut { count })
    }

    /// The run is over: waits for the commands of the wake-up that ended it.
    pub fn finish(&mut self) {
        if self.has_stopped {
            self.runner.finish();
        }
    }
}

impl Drop for ActionRunner {
    /// No command outlives the program.
    fn drop(&mut self) {
        for (child, _) in &mut self.running {
            if !matches!(child.try_wait(), Ok(Some(_))) {
                end(child);
            }
        }
    }
}

/// What was late in a memory file: writing does not block, even if the command never reads it.
fn input(late: &LateJson<'_>) -> io::Result<Stdio> {
    let mut file = File::from(memfd_create("late", MemfdFlags::CLOEXEC)?);
    file.write_all(&late()?)?;
    file.write_all(b"\n")?;
    file.rewind()?;
    Ok(file.into())
}

fn end(child: &mut Child) {
    // A group that has just ended needs no signal.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    drop(child.wait());
}

#[cfg(test)]
mod tests {
    use howlate_model::{Incident, IncidentKind, LateThread, Nice};

    use super::*;

    fn incident() -> Incident {
        let thread = LateThread {
            command: None,
            name: "worker".into(),
            process: "server".into(),
            pid: 7,
            tid: 8,
            uid: 0,
            group: None,
            policy: None,
        };
        Incident {
            at: "then".into(),
            at_ns: MonotonicTime::default(),
            latency: Span::from_millis(7),
            thread,
            kind: IncidentKind::Woken,
            cpu: 0,
            parts: vec![],
            causes: vec![],
            idle_cpu: None,
            late_above: None,
            timeline: None,
            turn: None,
            server: None,
        }
    }

    fn json(incident: &Incident) -> impl Fn() -> serde_json::Result<Vec<u8>> {
        || serde_json::to_vec(incident)
    }

    fn at(second: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(second * 1_000_000_000)
    }

    fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
        let is_met = (0..1_000).any(|_| {
            drop(howlate_linux::clock::sleep_for(Span::from_millis(10)));
            condition()
        });
        assert!(is_met, "{what}");
    }

    #[test]
    fn a_command_gets_the_incident() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("got");
        let command = LateAction::Command(format!("cat > {0}.new && mv {0}.new {0}", file.display()));
        let mut actions = ActionRunner::default();
        assert!(!actions.take(&[command], &json(&incident()), at(0)));
        wait_until("it was run", || file.exists());
        let received = std::fs::read_to_string(file).unwrap();
        assert_eq!(serde_json::from_str::<Incident>(&received).unwrap(), incident());
        assert!(
            received.ends_with("}\n") && received.lines().count() == 1,
            "a line, so that files can be added to"
        );
    }

    /// The recorder raises its own priority to end, and lowers it in quiet times.
    #[test]
    fn a_command_has_the_priority_that_the_recorder_was_started_with() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("nice");
        let command = LateAction::Command(format!("nice > {0}.new && mv {0}.new {0}", file.display()));
        let policy = Policy::Other { nice: Nice::new(7) };
        let mut actions = ActionRunner::new(Some(policy));
        actions.take(&[command], &json(&incident()), at(0));
        wait_until("it was run", || file.exists());
        assert_eq!(std::fs::read_to_string(file).unwrap(), "7\n");
    }

    #[test]
    fn a_long_incident_waits_for_nobody_who_does_not_read_it() {
        let mut long = incident();
        long.thread.group = Some("g".repeat(1 << 20));
        let mut actions = ActionRunner::default();
        actions.take(&[LateAction::Command("sleep 1000".into())], &json(&long), at(0));
        assert_eq!((actions.running.len(), actions.left_out), (1, 0));
    }

    #[test]
    fn one_that_hangs_is_not_waited_for_and_is_ended() {
        let mut actions = ActionRunner::default();
        let hangs = [LateAction::Command("sleep 1000 & wait".into())];
        actions.take(&hangs, &json(&incident()), at(0));
        let group = Pid::from_child(&actions.running[0].0);
        actions.take(&hangs, &json(&incident()), at(5));
        assert_eq!(actions.left_out, 1, "the first one still runs");
        actions.look(at(11));
        assert!(actions.running.is_empty());
        wait_until("what it started is ended as well", || {
            rustix::process::test_kill_process_group(group).is_err()
        });
        actions.take(&[LateAction::Command("exit 3".into())], &json(&incident()), at(12));
        assert_eq!(actions.left_out, 1);
    }

    #[test]
    fn every_command_is_run_for_each_incident() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["first", "second"].map(|name| folder.path().join(name));
        let commands = files
            .each_ref()
            .map(|file| LateAction::Command(format!("cat > {0}; sleep 1000", file.display())));
        let mut actions = ActionRunner::default();
        actions.take(&commands, &json(&incident()), at(0));
        wait_until("both were run", || files.iter().all(|file| file.exists()));
        actions.take(&commands, &json(&incident()), at(5));
        assert_eq!((actions.running.len(), actions.left_out), (2, 2), "the first ones still run");
        actions.look(at(11));
        assert!(actions.running.is_empty());
    }

    #[test]
    fn what_is_to_be_done_is_typed() {
        let signal = |text: &str| text.parse::<LateAction>();
        let pid = Pid::from_raw(71).unwrap();
        assert_eq!(signal("signal:71:USR2"), Ok(LateAction::Signal(pid, Signal::USR2)));
        assert_eq!(signal("signal:71"), Ok(LateAction::Signal(pid, Signal::USR1)));
        assert!(signal("signal:0:USR1").is_err() && signal("signal:71:KILLALL").is_err());
        assert_eq!(signal("stop"), Ok(LateAction::Stop));
        assert_eq!(signal("logger late"), Ok(LateAction::Command("logger late".into())));
        assert!(ActionRunner::default().take(&[LateAction::Stop], &json(&incident()), at(0)));
    }
}
