//! Several recordings, read as the lines of one.
//!
//! What is known of each before its lines are read is little (`candidate.rs`), so that there may be thousands; then one
//! after the other is read, and handed on only when it is known to be whole (`complete_lines.rs`).

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

use self::candidate::Candidate;
use self::complete_lines::{Ending, Whole};
use self::machine_names::{Called, key};
pub use self::merged::Merged;
use crate::merge::{Merge, side_by_side};

/// As many conditions are in the header; others follow it, so that no line is too long to be read.
const IN_HEADER: usize = 8_192;

/// Why several recordings cannot be read as one.
#[derive(Debug, thiserror::Error)]
pub enum NoSource {
    /// None of them can be read.
    #[error("none of {} recordings can be read: {first}", of)]
    Unreadable {
        /// How many there are.
        of: usize,
        /// What is wrong with the first.
        first: String,
    },
    /// They have more conditions than one recording may.
    #[error("they have {found} conditions together; one recording has {CONDITIONS_MOST} at most")]
    TooManyConditions {
        /// How many conditions they have together.
        found: usize,
    },
}

impl NoSource {
    /// What to do.
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

/// Several recordings that are read as one: its header, then its lines.
#[derive(Debug)]
pub struct Sources {
    header: Header,
    merge: Merge,
    called: Called,
    waiting: VecDeque<Candidate>,
    /// Recordings whose lines were handed on, by id.
    counted: HashSet<String>,
    /// Lines to be handed on next.
    next: VecDeque<Line>,
    /// What moves the times of each boot.
    of_boots: HashMap<String, i64>,
    /// The one that is read at present.
    current: Option<(Candidate, Whole)>,
    /// Whether its lines were counted already, as part of another one.
    skips: bool,
    how: EndReason,
    until: MonotonicTime,
    is_over: bool,
}

impl Sources {
    /// Looks at the first line of each of `paths`. The merged recording gets this `id`, and is said to be made by a
    /// command line of these `arguments`.
    ///
    /// # Errors
    ///
    /// When none can be read, or they have too many conditions.
    pub fn open(paths: &[PathBuf], id: String, arguments: Vec<String>) -> Result<Self, NoSource> {
        let (candidates, left_out) = candidates(paths);
        let Some(first) = candidates.iter().min_by(|one, other| one.started.cmp(&other.started)) else {
            let first = left_out.first().map(|(_, reason)| reason.clone()).unwrap_or_default();
            return Err(NoSource::Unreadable { of: paths.len(), first });
        };
        let called = Called::from_keys(candidates.iter().flat_map(Candidate::keys));
        let conditions = together(&candidates, &called);
        if conditions.len() > CONDITIONS_MOST {
            return Err(NoSource::TooManyConditions { found: conditions.len() });
        }
        let listed = conditions[..conditions.len().min(IN_HEADER)].to_vec();
        let unreadable = |first| NoSource::Unreadable { of: paths.len(), first };
        let common = common(first.header().map_err(unreadable)?, &called);
        let header = Header { id: Some(id), arguments, conditions: listed, ..common };
        let more = conditions.iter().skip(IN_HEADER).map(|one| Line::Condition(Box::new(one.clone())));
        let caveats =
            left_out.into_iter().map(|(path, reason)| Line::Caveat(Caveat::SourceLeftOut { path, reason }));
        Ok(Self {
            next: more.chain(caveats).collect(),
            until: header.at,
            header,
            merge: Merge::into_conditions(conditions),
            called,
            waiting: candidates.into(),
            counted: HashSet::new(),
            of_boots: HashMap::new(),
            current: None,
            skips: false,
            how: EndReason::Done,
            is_over: false,
        })
    }

    /// The first line of the merged recording.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Begins with the next recording; `false` when there is none.
    fn begin(&mut self) -> bool {
        let Some(candidate) = self.waiting.pop_front() else { return false };
        let path = candidate.name();
        if self.counted.contains(&candidate.id) {
            self.next.push_back(Line::Caveat(Caveat::SourceTwice { path }));
            return true;
        }
        match Whole::read(candidate.path()) {
            Ok((header, whole)) => self.take(candidate, header, whole),
            Err(reason) => {
                self.next.push_back(Line::Caveat(Caveat::SourceLeftOut { path, reason }));
                // What is damaged here may have come whole another time.
                candidate.without_first().into_iter().for_each(|other| self.waiting.push_front(other));
            }
        }
        true
    }

    fn take(&mut self, candidate: Candidate, header: Header, whole: Whole) {
        let twins = candidate.twins().map(|path| Line::Caveat(Caveat::SourceTwice { path }));
        self.next.extend(twins);
        self.ends(&candidate, whole.ending());
        let conditions = candidate.conditions(&self.called);
        let moved_by = self.moved_by(&candidate);
        if self.merge.begin(&conditions, moved_by).is_err() {
            let reason = "it changed while it was read".to_owned();
            self.next.push_back(Line::Caveat(Caveat::SourceLeftOut { path: candidate.name(), reason }));
            return;
        }
        self.counted.insert(candidate.id.clone());
        self.skips = false;
        if !candidate.is_merged() {
            let source = candidate.source(header, &self.called, moved_by);
            self.next.push_back(Line::Source(Box::new(source)));
        }
        self.current = Some((candidate, whole));
    }

    /// What moves the times of a recording to the merged clock: the same for all of one boot, which have one clock.
    fn moved_by(&mut self, candidate: &Candidate) -> i64 {
        let move_it = || candidate.moved_by(&self.header);
        match candidate.boot() {
            Some(boot) => *self.of_boots.entry(boot.to_owned()).or_insert_with(move_it),
            None => move_it(),
        }
    }

    /// Says what is not whole about a recording.
    fn ends(&mut self, candidate: &Candidate, ending: Ending) {
        let path = candidate.name();
        let (how, caveat) = match ending {
            Ending::InOrder(how) => (how, None),
            Ending::CutOff => (EndReason::Interrupted, Some(Caveat::RecordingCutOff { path })),
            Ending::Missing => (EndReason::Interrupted, Some(Caveat::NoEnd { path })),
        };
        if self.how == EndReason::Done || how == EndReason::StoppedAbove {
            self.how = how;
        }
        self.next.extend(caveat.map(Line::Caveat));
    }

    /// A line of the current recording.
    fn line(&mut self, line: Line) {
        match line {
            Line::Source(source) => self.part(*source),
            Line::End(_) | Line::Header(_) => {}
            // Also of a part that is skipped: what comes after it is numbered with it.
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

    /// One of the recordings that a merged one was made of begins.
    fn part(&mut self, source: SourceRecording) {
        self.skips = !self.counted.insert(source.id.clone());
        if self.skips {
            let path = self.current.as_ref().map(|(candidate, _)| candidate.name()).unwrap_or_default();
            let path = format!("{path} ({}, {})", source.called, source.started);
            self.next.push_back(Line::Caveat(Caveat::SourceTwice { path }));
            return;
        }
        let called = self.called.name(&key(&source.node, &source.system)).to_owned();
        self.next.push_back(self.merge.line(Line::Source(Box::new(SourceRecording { called, ..source }))));
    }

    /// What the machine of a condition of the current recording is called now.
    fn current_name(&self, before: Option<String>) -> Option<String> {
        let (candidate, _) = self.current.as_ref()?;
        self.called.in_conditions(candidate.key_of(before.as_deref()))
    }

    /// The last line.
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

/// What the merged recording's first line says, but for its conditions: of the machine only what is true of all.
fn common(first: Header, called: &Called) -> Header {
    let first = Header { format: FORMAT, command: Command::Merge, ..first };
    if called.is_one() {
        return first;
    }
    let (findings, settings) = (Vec::new(), Vec::new());
    // What one of them went on until is not known of all together.
    Header { node: Node::default(), system: System::default(), findings, settings, until: None, ..first }
}

/// Those that begin as recordings do, each once, and what is wrong with the others.
fn candidates(paths: &[PathBuf]) -> (Vec<Candidate>, Vec<(String, String)>) {
    let (mut candidates, mut left_out) = (Vec::<Candidate>::new(), Vec::new());
    let mut places: HashMap<String, usize> = HashMap::new();
    for path in paths {
        match Candidate::read(path) {
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

/// The conditions of all, each as often as the recording has it that has it most often.
fn together(candidates: &[Candidate], called: &Called) -> Vec<Condition> {
    let each: Vec<Vec<Condition>> = candidates.iter().map(|one| one.conditions(called)).collect();
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
