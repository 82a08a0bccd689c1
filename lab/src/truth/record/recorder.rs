//! Runs `howlate record`.

use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::bench::json;

use super::stamped::Time;

/// Names of the check's programs and threads.
pub const NAMES: [&str; 3] = ["sleeper", "burner", "waits-for-lock"];

/// The process of the recorder, killed on drop.
pub struct RecordRun {
    program: PathBuf,
    child: Child,
    stderr: BufReader<ChildStderr>,
    folder: tempfile::TempDir,
}

/// A late wait that was recorded.
#[derive(Clone, Debug)]
pub struct ReportedWait {
    pub tid: u32,
    pub waited: Time,
    /// The largest cause, as in JSON.
    pub cause: Value,
    /// Another CPU that was idle meanwhile, and how long, ns.
    pub idle: Option<(u32, i64)>,
}

impl RecordRun {
    /// Returns when it records everything; `place` is its socket, if not the default one.
    pub fn start(program: &Path, late_above_ns: i64, place: Option<&Path>) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(program);
        // Incidents of other threads could exceed the limits, so only these are recorded.
        command.args([
            "record",
            "--process",
            &NAMES.join(","),
            "--timelines",
            "0/h",
            "--late-above",
            &format!("{late_above_ns}ns"),
            "--out",
        ]);
        command.envs(place.map(|place| ("HOWLATE_RECORDER", place)));
        command.arg(folder.path().join("kept")).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut recorder =
            Self { program: program.to_owned(), child, stderr: BufReader::new(stderr), folder };
        let mut stderr = String::new();
        while !stderr.contains("howlate show") {
            if recorder.stderr.read_line(&mut stderr)? == 0 {
                return Err(io::Error::other(format!("record: {stderr}")));
            }
        }
        Ok(recorder)
    }

    /// Ends the recorder; returns the recorded waits.
    pub fn end(mut self) -> io::Result<Vec<ReportedWait>> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        // It prints a summary at its end, and must not block on a full pipe.
        io::copy(&mut self.stderr, &mut io::sink())?;
        self.child.wait()?;
        let folder = self.folder.path().join("kept");
        let shown = json(Command::new(&self.program).args(["show", "--json", "--details"]).arg(folder))?;
        let incidents = shown["incidents"].as_array().into_iter().flatten();
        Ok(incidents.filter_map(reported_wait).collect())
    }
}

impl Drop for RecordRun {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn reported_wait(incident: &Value) -> Option<ReportedWait> {
    let (until, length) = (incident["at_ns"].as_i64()?, incident["latency_ns"].as_i64()?);
    let tid = u32::try_from(incident["thread"]["tid"].as_u64()?).ok()?;
    let cause = incident["causes"][0].clone();
    let idle = &incident["idle_cpu"];
    let idle = idle["cpu"].as_u64().and_then(|cpu| Some((u32::try_from(cpu).ok()?, idle["ns"].as_i64()?)));
    Some(ReportedWait { tid, waited: Time { from: until - length, until }, cause, idle })
}
