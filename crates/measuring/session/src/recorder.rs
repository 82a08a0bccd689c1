//! Records every line of a run: in the analysis, and in the file if there is one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_analyse::Analysis;
use howlate_analyse::compare::Track;
use howlate_linux::clock;
use howlate_model::{Caveat, Condition, EndReason, Header, Line, RecordingEnd};
use howlate_recording::{CreateError, Writer, new_id};

use crate::environment::Environment;

/// The option whose argument is not recorded, and what is recorded instead.
const ON_LATE: &str = "--on-late";
const LEFT_OUT: &str = "…";

/// Receives the lines of a recording.
pub trait Intake {
    /// Starts with the header of a recording.
    fn new(header: Header) -> Self;
    /// Adds a line.
    fn add(&mut self, line: &Line);
    /// The results so far.
    fn analysis(&self) -> &Analysis;
}

impl Intake for Analysis {
    fn new(header: Header) -> Self {
        Self::new(header)
    }

    fn add(&mut self, line: &Line) {
        self.add(line);
    }

    fn analysis(&self) -> &Analysis {
        self
    }
}

impl Intake for Track {
    fn new(header: Header) -> Self {
        Self::new(header)
    }

    fn add(&mut self, line: &Line) {
        self.add(line);
    }

    fn analysis(&self) -> &Analysis {
        &self.analysis
    }
}

/// An open recording.
pub struct Recorder<T> {
    intake: T,
    writer: Option<Writer>,
    /// Path of the file, if it is kept without being requested.
    unasked: Option<PathBuf>,
}

impl<T: Intake> Recorder<T> {
    /// Starts a recording, in the file `out` if there is one. Stops waiting for the reader of a pipe when `interrupted` is
    /// set.
    pub fn begin(
        header: Header,
        out: Option<&Path>,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, CreateError> {
        let writer = out.map(|path| Writer::create_until(path, &header, interrupted)).transpose()?;
        Ok(Self { intake: T::new(header), writer, unasked: None })
    }

    /// Starts a recording in a file that was not requested: a full disk does not affect the run.
    pub fn keeping(header: Header, path: Option<&Path>, interrupted: &Arc<AtomicBool>) -> Self {
        let writer = path.and_then(|path| Writer::create_until(path, &header, interrupted).ok());
        let unasked = path.filter(|_| writer.is_some()).map(Path::to_owned);
        Self { intake: T::new(header), writer, unasked }
    }

    /// Starts a recording in `out`, or else in the kept file.
    pub fn somewhere(
        header: Header,
        out: Option<&Path>,
        kept_path: Option<&Path>,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, CreateError> {
        match out {
            Some(_) => Self::begin(header, out, interrupted),
            None => Ok(Self::keeping(header, kept_path, interrupted)),
        }
    }

    /// Continues an interrupted recording.
    pub const fn resume(intake: T, writer: Writer) -> Self {
        Self { intake, writer: Some(writer), unasked: None }
    }

    /// Records a line; a known caveat is not repeated.
    pub fn keep(&mut self, line: &Line) {
        if let Line::Caveat(caveat) = line
            && self.analysis().caveats.contains(caveat)
        {
            return;
        }
        self.intake.add(line);
        if let Some(writer) = &mut self.writer {
            writer.write(line);
        }
    }

    /// Records a caveat that belongs to no single condition.
    pub fn caveat(&mut self, caveat: Caveat) {
        self.keep(&Line::Caveat(caveat));
    }

    /// The results so far.
    pub fn analysis(&self) -> &Analysis {
        self.intake.analysis()
    }

    /// The receiver of the lines.
    pub const fn intake(&self) -> &T {
        &self.intake
    }

    /// Ends the recording; without `how`, as interrupted by an error.
    pub fn end(mut self, how: Option<EndReason>) -> T {
        let end = how.map(|how| Line::End(RecordingEnd { at: clock::now(), how }));
        if self.tells_what_is_missing() {
            end.iter().for_each(|end| self.keep(end));
        } else {
            // An end in the file would say that all is there.
            end.iter().for_each(|end| self.intake.add(end));
        }
        match (self.writer.take().and_then(Writer::close), &self.unasked) {
            (None, _) => {}
            // Nobody would know what is missing from it.
            (Some(_), Some(path)) => drop(std::fs::remove_file(path)),
            // What was lost at the very end cannot be in the file.
            (Some(caveat), None) => self.intake.add(&Line::Caveat(caveat)),
        }
        self.intake
    }
}

impl<T: Intake> Recorder<T> {
    /// Whether the recording is complete or says what is missing.
    fn tells_what_is_missing(&mut self) -> bool {
        let Some(writer) = self.writer.as_mut().filter(|_| self.unasked.is_none()) else { return true };
        let Some(missing) = writer.incomplete() else { return true };
        writer.write(&Line::Caveat(missing.clone()));
        // It would be one more if this line was lost as well. Whoever takes in the lines is told at the very end, once.
        writer.incomplete() == Some(missing)
    }
}

/// The command line without the commands of `--on-late`: they may hold secrets, and recordings are shared.
fn without_commands(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut is_command = false;
    let redact = |word: String| match word.split_once('=') {
        _ if std::mem::replace(&mut is_command, word == ON_LATE) => LEFT_OUT.to_owned(),
        Some((ON_LATE, _)) => format!("{ON_LATE}={LEFT_OUT}"),
        _ => word,
    };
    arguments.map(redact).collect()
}

/// The header of a new recording.
pub fn header(command: &str, seed: u64, environment: &Environment, conditions: Vec<Condition>) -> Header {
    Header {
        id: Some(new_id()),
        howlate: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.into(),
        arguments: without_commands(
            std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()),
        ),
        started: date_and_time(),
        at: clock::now(),
        seed,
        node: environment.node.clone(),
        system: environment.system.clone(),
        findings: environment.findings.clone(),
        settings: environment.settings.clone(),
        instrument: environment.instrument,
        ..Header::for_conditions(conditions)
    }
}

/// The current time in RFC 3339 format, in whole seconds.
pub fn date_and_time() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_holds_is_not_told() {
        let typed =
            ["record", "--on-late", "curl -H 'Bearer s3cret'", "--on-late=signal:1:USR1", "--keep", "5s"];
        let recorded = without_commands(typed.into_iter().map(str::to_owned));
        assert_eq!(recorded, ["record", "--on-late", "…", "--on-late=…", "--keep", "5s"]);
    }
}
