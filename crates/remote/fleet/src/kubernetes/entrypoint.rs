//! What runs in a pod, whose image has nothing but this program.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::log_encoding;
use super::termination_message::PodReport;
use crate::NodeTask;
use crate::process::complaint;
use crate::state::CANCELLED;

/// The first word of a container that measures. After it: where the report is written, a folder that is its own, and the
/// arguments of `howlate run`.
pub(super) const MEASURES: &str = "__pod";
/// The first word of one that waits until it is ended.
pub(super) const RESTS: &str = "__pod-rests";

/// Does the work of a container, if this is one of a fleet: its arguments say so. `program` is this one, which is started again
/// to measure; `out` is the log.
pub fn serve_in_pod(program: &str, out: &mut dyn Write) -> Option<io::Result<()>> {
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [MEASURES, report, folder, arguments @ ..] => {
            Some(measure(program, arguments, Path::new(folder), Path::new(report), out))
        }
        [RESTS] => Some(rest()),
        _ => None,
    }
}

/// Measures, and leaves the recording in the log and the report where Kubernetes looks for it.
fn measure(
    program: &str,
    arguments: &[&str],
    folder: &Path,
    report: &Path,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (recording, log) = (folder.join(NodeTask::Plan.left()), folder.join("log"));
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let log_file = File::create(&log)?;
    let mut command = Command::new(program);
    command.args(arguments).arg("--out").arg(&recording).stdin(Stdio::null());
    let mut child = command.stdout(log_file.try_clone()?).stderr(log_file).spawn()?;
    let is_cancelled = Arc::new(AtomicBool::new(false));
    hand_on(&child, Arc::clone(&is_cancelled), move || signals.forever().next().is_some());
    let ended = child.wait()?;
    let status = if is_cancelled.load(Ordering::Relaxed) { CANCELLED } else { status(ended) };
    let message = complaint(&String::from_utf8_lossy(&fs::read(&log)?));
    let recording = match File::open(&recording) {
        Ok(recording) => Some(log_encoding::write(recording, out)?),
        Err(_) => None,
    };
    fs::write(report, serde_json::to_string(&PodReport { status, recording, message })?)
}

/// Forwards termination signals to the measurement, and waits until it has written its results.
fn hand_on(child: &Child, is_cancelled: Arc<AtomicBool>, mut comes: impl FnMut() -> bool + Send + 'static) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    thread::spawn(move || {
        while comes() {
            is_cancelled.store(true, Ordering::Relaxed);
            let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
        }
    });
}

/// The status as shells have it: 128 and the number of the signal that ended it.
fn status(ended: ExitStatus) -> u8 {
    let status = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
    status.and_then(|status| u8::try_from(status).ok()).unwrap_or(u8::MAX)
}

/// A pod of a DaemonSet that ends is started again.
fn rest() -> io::Result<()> {
    Signals::new([SIGTERM, SIGINT])?.forever().next();
    Ok(())
}
