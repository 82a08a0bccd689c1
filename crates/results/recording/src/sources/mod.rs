//! Merges several recordings while reading them.
//!
//! Only headers are read in advance (`candidate.rs`), so that there may be thousands; each recording is read
//! completely before its lines are used (`complete_lines.rs`).

mod candidate;
mod complete_lines;
mod machine_names;
mod merged;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;

use howlate_model::{
    CONDITIONS_MOST, Caveat, Command, Condition, EndReason, FORMAT, Header, Line, MonotonicTime, Node,
    RecordingEnd, SourceRecording, System,
};

use self::candidate::SourceCandidate;
use self::complete_lines::{CompleteRecording, RecordingEnding};
use self::machine_names::{MachineNames, key};
pub use self::merged::MergedFile;
use crate::merge::{LineMerger, side_by_side};

/// Conditions in the header; more follow as lines, to limit the line length.
const IN_HEADER: usize = 8_192;

/// Why recordings cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// None can be read.
    #[error("none of {} recordings can be read: {first}", of)]
    Unreadable {
        /// Number of recordings.
        of: usize,
        /// Error of the first.
        first: String,
    },
    /// Too many conditions.
    #[error("they have {found} conditions together; one recording has {CONDITIONS_MOST} at most")]
    TooManyConditions {
        /// Number of conditions.
        found: usize,
    },
}

impl SourceError {
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => {
                "give recordings that were made with `--out`; `howlate show FILE` says what is wrong with one"
            }
            Self::TooManyConditions { .. } => {
                "merge fewer at a time: some of the machines, or some of the conditions"
            }
        }
    }
}

/// The merged recording: a header, then lines.
#[derive(Debug)]
pub struct Sources {
    header: Header,
    merge: LineMerger,
    names: MachineNames,
    waiting: VecDeque<SourceCandidate>,
    /// Ids of recordings that were used.
    counted: HashSet<String>,
    /// Lines to return next.
    next: VecDeque<Line>,
    /// Time offsets by boot.
    boot_offsets: HashMap<String, i64>,
    /// The recording being read.
    current: Option<(SourceCandidate, CompleteRecording)>,
    /// Whether the current lines are of a recording already used.
    skips: bool,
    how: EndReason,
    until: MonotonicTime,
    is_over: bool,
}

impl Sources {
    /// Reads the headers of `paths`. The merged recording gets this `id` and `arguments`.
    ///
    /// # Errors
    ///
    /// When none can be read, or there are too many conditions.
    pub fn open(paths: &[PathBuf], id: String, arguments: Vec<String>) -> Result<Self, SourceError> {
        let (candidates, left_out) = candidates(paths);
        let Some(first) = candidates.iter().min_by(|a, b| a.started.cmp(&b.started)) else {
            let first = left_out.first().map(|(_, reason)| reason.clone()).unwrap_or_default();
            return Err(SourceError::Unreadable { of: paths.len(), first });
        };
        let names = MachineNames::from_keys(candidates.iter().flat_map(SourceCandidate::keys));
        let conditions = all_conditions(&candidates, &names);
        if conditions.len() > CONDITIONS_MOST {
            return Err(SourceError::TooManyConditions { found: conditions.len() });
        }
        let listed = conditions[..conditions.len().min(IN_HEADER)].to_vec();
        let unreadable = |first| SourceError::Unreadable { of: paths.len(), first };
        let common = common(first.header().map_err(unreadable)?, &names);
        let header = Header { id: Some(id), arguments, conditions: listed, ..common };
        let more =
            conditions.iter().skip(IN_HEADER).map(|condition| Line::Condition(Box::new(condition.clone())));
        let caveats =
            left_out.into_iter().map(|(path, reason)| Line::Caveat(Caveat::SourceLeftOut { path, reason }));
        Ok(Self {
            next: more.chain(caveats).collect(),
            until: header.at,
            header,
            merge: LineMerger::into_conditions(conditions),
            names,
            waiting: candidates.into(),
            counted: HashSet::new(),
            boot_offsets: HashMap::new(),
            current: None,
            skips: false,
            how: EndReason::Done,
            is_over: false,
        })
    }

    /// Header of the merged recording.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Starts the next recording; `false` if there is none.
    fn begin(&mut self) -> bool {
        let Some(candidate) = self.waiting.pop_front() else { return false };
        let path = candidate.name();
        if self.counted.contains(&candidate.id) {
            self.next.push_back(Line::Caveat(Caveat::SourceTwice { path }));
            return true;
        }
        match CompleteRecording::read(candidate.path()) {
            Ok((header, whole)) => self.take(candidate, header, whole),
            Err(reason) => {
                self.next.push_back(Line::Caveat(Caveat::SourceLeftOut { path, reason }));
                // Another copy may be complete.
                candidate.without_first().into_iter().for_each(|other| self.waiting.push_front(other));
            }
        }
        true
    }

    fn take(&mut self, candidate: SourceCandidate, header: Header, whole: CompleteRecording) {
        let twins = candidate.twins().map(|path| Line::Caveat(Caveat::SourceTwice { path }));
        self.next.extend(twins);
        self.ends(&candidate, whole.ending());
        let conditions = candidate.conditions(&self.names);
        let moved_by = self.moved_by(&candidate);
        if self.merge.begin(&conditions, moved_by).is_err() {
            let reason = "it changed while it was read".to_owned();
            self.next.push_back(Line::Caveat(Caveat::SourceLeftOut { path: candidate.name(), reason }));
            return;
        }
        self.counted.insert(candidate.id.clone());
        self.skips = false;
        if !candidate.is_merged() {
            let source = candidate.source(header, &self.names, moved_by);
            self.next.push_back(Line::Source(Box::new(source)));
        }
        self.current = Some((candidate, whole));
    }

    /// Time offsets by boot.
    fn moved_by(&mut self, candidate: &SourceCandidate) -> i64 {
        let move_it = || candidate.moved_by(&self.header);
        match candidate.boot() {
            Some(boot) => *self.boot_offsets.entry(boot.to_owned()).or_insert_with(move_it),
            None => move_it(),
        }
    }

    /// Adds caveats about an incomplete recording.
    fn ends(&mut self, candidate: &SourceCandidate, ending: RecordingEnding) {
        let path = candidate.name();
        let (how, caveat) = match ending {
            RecordingEnding::InOrder(how) => (how, None),
            RecordingEnding::CutOff => (EndReason::Interrupted, Some(Caveat::RecordingCutOff { path })),
            RecordingEnding::Missing => (EndReason::Interrupted, Some(Caveat::NoEnd { path })),
        };
        if self.how == EndReason::Done || how == EndReason::StoppedAbove {
            self.how = how;
        }
        self.next.extend(caveat.map(Line::Caveat));
    }

    /// Handles a line of the current recording.
    fn line(&mut self, line: Line) {
        match line {
            Line::Source(source) => self.part(*source),
            Line::End(_) | Line::Header(_) => {}
            // Also in skipped parts: later lines are numbered with it.
            Line::Condition(mut condition) => {
                condition.node = self.current_name(condition.node.take());
                self.next.extend(self.merge.lines(Line::Condition(condition)));
            }
            _ if self.skips => {}
            line => self.next.extend(self.merge.lines(line)),
        }
        if let Some(Line::Block(block)) = self.next.back() {
            self.until = self.until.max(block.until);
        }
    }

    /// A source of a merged recording begins.
    fn part(&mut self, source: SourceRecording) {
        self.skips = !self.counted.insert(source.id.clone());
        if self.skips {
            let path = self.current.as_ref().map(|(candidate, _)| candidate.name()).unwrap_or_default();
            let path = format!("{path} ({}, {})", source.called, source.started);
            self.next.push_back(Line::Caveat(Caveat::SourceTwice { path }));
            return;
        }
        let called = self.names.name(&key(&source.node, &source.system)).to_owned();
        self.next.push_back(self.merge.line(Line::Source(Box::new(SourceRecording { called, ..source }))));
    }

    /// New node name of a condition of the current recording.
    fn current_name(&self, before: Option<String>) -> Option<String> {
        let (candidate, _) = self.current.as_ref()?;
        self.names.in_conditions(candidate.key_of(before.as_deref()))
    }

    fn end(&mut self) -> Option<Line> {
        let is_first = !std::mem::replace(&mut self.is_over, true);
        is_first.then_some(Line::End(RecordingEnd { at: self.until, how: self.how }))
    }
}

impl Iterator for Sources {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.next.pop_front() {
                return Some(line);
            }
            match self.current.as_mut().map(|(_, whole)| whole.next()) {
                Some(Some(line)) => self.line(line),
                Some(None) => self.current = None,
                None if self.begin() => {}
                None => return self.end(),
            }
        }
    }
}

/// Header of the merged recording without conditions; about machines only what is common to all.
fn common(first: Header, names: &MachineNames) -> Header {
    let first = Header { format: FORMAT, command: Command::Merge, ..first };
    if names.is_one() {
        return first;
    }
    let (findings, settings) = (Vec::new(), Vec::new());
    // The goals of single recordings do not apply to all.
    Header { node: Node::default(), system: System::default(), findings, settings, until: None, ..first }
}

/// Readable recordings without duplicates, and errors of the others.
fn candidates(paths: &[PathBuf]) -> (Vec<SourceCandidate>, Vec<(String, String)>) {
    let (mut candidates, mut left_out) = (Vec::<SourceCandidate>::new(), Vec::new());
    let mut places: HashMap<String, usize> = HashMap::new();
    for path in paths {
        match SourceCandidate::read(path) {
            Err(reason) => left_out.push((path.display().to_string(), reason)),
            Ok(candidate) => match places.get(&candidate.id) {
                Some(place) => candidates[*place].joins(candidate),
                None => {
                    places.insert(candidate.id.clone(), candidates.len());
                    candidates.push(candidate);
                }
            },
        }
    }
    (candidates, left_out)
}

/// Conditions of all, each as often as in the recording that has it most often.
fn all_conditions(candidates: &[SourceCandidate], names: &MachineNames) -> Vec<Condition> {
    let each: Vec<Vec<Condition>> = candidates.iter().map(|candidate| candidate.conditions(names)).collect();
    let mut seen: HashMap<&Condition, Times> = HashMap::new();
    for (recording, conditions) in each.iter().enumerate() {
        conditions.iter().for_each(|condition| seen.entry(condition).or_default().add(recording));
    }
    let mut is_wanted = |condition: &Condition| seen.get_mut(condition).is_some_and(Times::takes_one);
    side_by_side(&each).into_iter().filter(|condition| is_wanted(condition)).collect()
}

/// How often a condition is in recordings that are looked at one after the other.
#[derive(Default)]
struct Times {
    most: usize,
    recording: usize,
    here: usize,
}

impl Times {
    fn add(&mut self, recording: usize) {
        self.here = if self.recording == recording { self.here.saturating_add(1) } else { 1 };
        self.recording = recording;
        self.most = self.most.max(self.here);
    }

    /// Whether one more is wanted, which then is there.
    fn takes_one(&mut self) -> bool {
        let is_wanted = self.most > 0;
        self.most = self.most.saturating_sub(1);
        is_wanted
    }
}
