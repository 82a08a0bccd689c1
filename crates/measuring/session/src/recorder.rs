//! Where every line of a run goes: into the analysis, and into the file if there is one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_analyse::Analysis;
use howlate_analyse::compare::Track;
use howlate_linux::clock;
use howlate_model::{Caveat, Condition, EndReason, Header, Line, RecordingEnd};
use howlate_recording::{CreateError, Writer, new_id};

use crate::environment::Environment;

/// The option whose words are not told, and what stands for them.
const ON_LATE: &str = "--on-late";
const LEFT_OUT: &str = "…";

/// What takes in the lines of a recording as they come.
pub trait Intake {
    /// Begins with a recording's first line.
    fn new(header: Header) -> Self;
    /// Takes in one line.
    fn add(&mut self, line: &Line);
    /// What is known so far.
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

/// A recording under way.
pub struct Recorder<T> {
    intake: T,
    writer: Option<Writer>,
    /// The file, where nobody asked for it.
    unasked: Option<PathBuf>,
}

impl<T: Intake> Recorder<T> {
    /// Begins a recording, in the file `out` if one was asked for; gives up waiting for the reader of a pipe
    /// when `interrupted` is set.
    pub fn begin(
        header: Header,
        out: Option<&Path>,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, CreateError> {
        let writer = out.map(|path| Writer::create_until(path, &header, interrupted)).transpose()?;
        Ok(Self { intake: T::new(header), writer, unasked: None })
    }

    /// The same in a file that nobody asked for: a disk that is full takes nothing away from the run.
    pub fn keeping(header: Header, path: Option<&Path>, interrupted: &Arc<AtomicBool>) -> Self {
        let writer = path.and_then(|path| Writer::create_until(path, &header, interrupted).ok());
        let unasked = path.filter(|_| writer.is_some()).map(Path::to_owned);
        Self { intake: T::new(header), writer, unasked }
    }

    /// A recording in the file `out`, or else in the one that is kept.
    pub fn somewhere(
        header: Header,
        out: Option<&Path>,
        kept: Option<&Path>,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, CreateError> {
        match out {
            Some(_) => Self::begin(header, out, interrupted),
            None => Ok(Self::keeping(header, kept, interrupted)),
        }
    }

    /// Goes on with a recording that was interrupted.
    pub const fn resume(intake: T, writer: Writer) -> Self {
        Self { intake, writer: Some(writer), unasked: None }
    }

    /// Keeps a line; a caveat that is known already is not said again.
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

    /// Keeps a caveat that belongs to no single condition.
    pub fn caveat(&mut self, caveat: Caveat) {
        self.keep(&Line::Caveat(caveat));
    }

    /// What is known so far.
    pub fn analysis(&self) -> &Analysis {
        self.intake.analysis()
    }

    /// What takes in the lines.
    pub const fn intake(&self) -> &T {
        &self.intake
    }

    /// No more will come; without `how`, it did not end in order.
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
    /// Whether the recording has all lines, or could be told which are missing.
    fn tells_what_is_missing(&mut self) -> bool {
        let Some(writer) = self.writer.as_mut().filter(|_| self.unasked.is_none()) else { return true };
        let Some(missing) = writer.incomplete() else { return true };
        writer.write(&Line::Caveat(missing.clone()));
        // It would be one more if this line was lost as well. Whoever takes in the lines is told at the very end, once.
        writer.incomplete() == Some(missing)
    }
}

/// The words that were typed, without the commands of `--on-late`: what they hold may be secret, and recordings are given away.
fn told(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut is_command = false;
    let tell = |word: String| match word.split_once('=') {
        _ if std::mem::replace(&mut is_command, word == ON_LATE) => LEFT_OUT.to_owned(),
        Some((ON_LATE, _)) => format!("{ON_LATE}={LEFT_OUT}"),
        _ => word,
    };
    words.map(tell).collect()
}

/// The first line of a recording that begins now.
pub fn header(command: &str, seed: u64, environment: &Environment, conditions: Vec<Condition>) -> Header {
    Header {
        id: Some(new_id()),
        howlate: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.into(),
        arguments: told(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())),
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

/// Now, RFC 3339, to the second.
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
        let told = told(typed.into_iter().map(str::to_owned));
        assert_eq!(told, ["record", "--on-late", "…", "--on-late=…", "--keep", "5s"]);
    }
}
