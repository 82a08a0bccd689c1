//! What is read of a recording before its lines: header, machines, completeness.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use howlate_model::{Command, Condition, FORMAT, Header, Line, MonotonicTime, Node, SourceRecording, System};
use howlate_safe_path::foreign;
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::machine_names::{MachineKey, MachineNames, key};
use crate::bounded::{LONGEST_LINE, LineRead, read_line_within};
use crate::read_error::ReadError;
use crate::reader::{Reader, parse_line, text_of};

/// First bytes of a line that names the source of the next lines.
const SOURCE: &[u8] = b"{\"source\"";
/// First bytes of the end line, and bytes at the end of a file that contain it.
const END: &[u8] = b"{\"end\"";
const LAST: i64 = 512;

/// A recording to be merged.
#[derive(Clone, Debug)]
pub(super) struct SourceCandidate {
    /// Paths of its copies, the most complete first.
    paths: Vec<PathBuf>,
    pub(super) id: String,
    pub(super) started: String,
    at: MonotonicTime,
    node: Node,
    key: MachineKey,
    /// Machines of a merged recording by their names in its conditions.
    parts: HashMap<String, MachineKey>,
    is_merged: bool,
    conditions: Vec<Condition>,
}

impl SourceCandidate {
    /// Reads the header, and of a merged recording its sources.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let is_file = std::fs::metadata(path).map(|meta| meta.is_file());
        if !is_file.map_err(|error| format!("cannot read it: {error}"))? {
            return Err("it is no file".to_owned());
        }
        let Beginning { id, command, started, at, node, system, conditions, .. } = beginning(path)?;
        let is_merged = command == Command::Merge;
        let parts = if is_merged { parts(path)? } else { HashMap::new() };
        let own = || key(&node, &system);
        Ok(Self {
            id: id.unwrap_or_default(),
            started,
            at,
            key: if parts.len() == 1 { parts.values().next().cloned().unwrap_or_else(own) } else { own() },
            node,
            parts,
            is_merged,
            conditions,
            paths: vec![path.to_owned()],
        })
    }

    /// The same recording again. A copy that was cut off comes after one that was not.
    pub(super) fn joins(&mut self, other: Self) {
        let (mine, theirs) = (self.clone(), other);
        let (first, second) =
            if extent(theirs.path()) > extent(mine.path()) { (theirs, mine) } else { (mine, theirs) };
        *self = Self { paths: [first.paths, second.paths].concat(), ..first };
    }

    /// Another copy of it, if there is one.
    pub(super) fn without_first(mut self) -> Option<Self> {
        self.paths.remove(0);
        (!self.paths.is_empty()).then_some(self)
    }

    pub(super) fn path(&self) -> &Path {
        self.paths.first().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Its first line, whole.
    pub(super) fn header(&self) -> Result<Header, String> {
        open(self.path()).map(Reader::into_header).map_err(|error| error.to_string())
    }

    /// The file's name in what is said of it.
    pub(super) fn name(&self) -> String {
        self.path().display().to_string()
    }

    /// Where other copies of it are.
    pub(super) fn twins(&self) -> impl Iterator<Item = String> + '_ {
        self.paths.iter().skip(1).map(|path| path.display().to_string())
    }

    pub(super) const fn is_merged(&self) -> bool {
        self.is_merged
    }

    /// Machines of its conditions.
    pub(super) fn keys(&self) -> impl Iterator<Item = &MachineKey> {
        let own = self.parts.is_empty().then_some(&self.key);
        own.into_iter().chain(self.parts.values())
    }

    /// Machine of a condition with this node name.
    pub(super) fn key_of(&self, name: Option<&str>) -> &MachineKey {
        name.and_then(|name| self.parts.get(name)).unwrap_or(&self.key)
    }

    /// Its conditions with the names of the merged recording.
    pub(super) fn conditions(&self, names: &MachineNames) -> Vec<Condition> {
        let named = |condition: &Condition| Condition {
            node: names.in_conditions(self.key_of(condition.node.as_deref())),
            ..condition.clone()
        };
        self.conditions.iter().map(named).collect()
    }

    /// Boot id, if known.
    pub(super) fn boot(&self) -> Option<&str> {
        self.node.boot.as_deref()
    }

    /// Nanoseconds to add to its times. 0 for the same boot as the merged recording; otherwise by the wall clocks,
    /// as accurate as they are.
    pub(super) fn moved_by(&self, merged: &Header) -> i64 {
        /// Clocks further apart were never set.
        const MOST: u64 = 10 * 365 * 86_400;
        if self.node.boot.is_some() && self.node.boot == merged.node.boot {
            return 0;
        }
        let second = |text: &str| text.parse::<Timestamp>().ok().map(Timestamp::as_second);
        let apart = second(&self.started)
            .zip(second(&merged.started))
            .map_or(0, |(mine, first)| mine.saturating_sub(first));
        let apart = if apart.unsigned_abs() > MOST { 0 } else { apart.saturating_mul(1_000_000_000) };
        merged.at.as_nanos().saturating_add(apart).saturating_sub(self.at.as_nanos())
    }

    /// The line that introduces its lines.
    pub(super) fn source(&self, header: Header, names: &MachineNames, moved_by: i64) -> SourceRecording {
        let Header { command, system, findings, settings, instrument, .. } = header;
        SourceRecording {
            id: self.id.clone(),
            called: names.name(&self.key).to_owned(),
            node: self.node.clone(),
            command,
            started: self.started.clone(),
            at: MonotonicTime::from_nanos(self.at.as_nanos().saturating_add(moved_by)),
            moved_by_ns: moved_by,
            system,
            findings,
            settings,
            instrument,
        }
    }
}

/// Part of a header that is needed before the lines are read; findings are most of a small recording.
#[derive(Deserialize)]
struct FirstLine {
    header: Beginning,
}

#[derive(Deserialize)]
struct Beginning {
    format: u32,
    #[serde(default)]
    id: Option<String>,
    command: Command,
    started: String,
    #[serde(rename = "at_ns")]
    at: MonotonicTime,
    #[serde(default)]
    node: Node,
    system: System,
    conditions: Vec<Condition>,
}

/// Opens a regular file as a recording; nothing that could block.
pub(super) fn open(path: &Path) -> Result<Reader, ReadError> {
    let opened = foreign::open_file(path).map_err(|source| ReadError::Io { path: path.to_owned(), source });
    opened.and_then(|file| Reader::read(file, path))
}

/// Reads the header with an id. The whole line is parsed if the short form fails, which also reports errors.
fn beginning(path: &Path) -> Result<Beginning, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let mut lines = BufReader::with_capacity(1 << 14, foreign::open_file(path).map_err(failed)?);
    let mut line = Vec::new();
    read_line_within(&mut lines, LONGEST_LINE, &mut line).map_err(failed)?;
    match text_of(&line).and_then(serde_json::from_str) {
        Ok(FirstLine { header }) if header.format <= FORMAT && header.id.is_some() => return Ok(header),
        _ => {}
    }
    let reader = open(path).map_err(|error| error.to_string())?;
    let otherwise = id_of(reader.header());
    let Header { format, id, command, started, at, node, system, conditions, .. } = reader.into_header();
    let id = id.or(Some(otherwise));
    Ok(Beginning { format, id, command, started, at, node, system, conditions })
}

/// Id of an older recording without one: a hash of its header.
fn id_of(header: &Header) -> String {
    let digest = Sha256::digest(serde_json::to_vec(header).unwrap_or_default());
    digest.iter().take(16).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Machines of a merged recording by their names.
fn parts(path: &Path) -> Result<HashMap<String, MachineKey>, String> {
    let failed = |error: std::io::Error| format!("cannot read it: {error}");
    let mut lines = BufReader::with_capacity(1 << 16, foreign::open_file(path).map_err(failed)?);
    let (mut parts, mut line) = (HashMap::new(), Vec::new());
    while read_line_within(&mut lines, LONGEST_LINE, &mut line).map_err(failed)? == LineRead::Line {
        if line.starts_with(SOURCE)
            && let Ok(Line::Source(source)) = parse_line(&line)
        {
            parts.insert(source.called.clone(), key(&source.node, &source.system));
        }
        line.clear();
    }
    Ok(parts)
}

/// Completeness of a copy: whether it has an end line, and its length.
fn extent(path: &Path) -> (bool, u64) {
    let read = || {
        let mut file = foreign::open_file(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::End(LAST.min(i64::try_from(length).unwrap_or(LAST)).saturating_neg()))?;
        let mut last = Vec::new();
        file.read_to_end(&mut last)?;
        Ok::<_, std::io::Error>((last.windows(END.len()).any(|bytes| bytes == END), length))
    };
    read().unwrap_or_default()
}
