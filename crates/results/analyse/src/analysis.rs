//! Sums up a recording's lines by condition.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use howlate_model::{
    Boot, BootEnd, CONDITIONS_MOST, Caveat, Condition, Header, Line, Margin, MonotonicTime, RecordingEnd,
    TimelineFile, WatchedProgram,
};

use crate::distinct_caveats::CaveatIndex;
use crate::periodicity::{Recurrence, recurrences};
use crate::{LoadEffect, MergedMachine, Outcome, member};

/// Most timelines listed.
const MOST_TIMELINES: usize = 1_000;

/// Where the recording of a result is, for what is typed next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SavedAs {
    /// In the history, as the last run: `howlate show` finds it by itself.
    #[default]
    LastRun,
    /// In a file.
    File(PathBuf),
    /// Nowhere: only the same command can show more.
    Nowhere,
}

/// Everything known of a recording.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Its first line.
    pub header: Header,
    /// Caveats that belong to no single condition.
    pub caveats: Vec<Caveat>,
    /// How it ended; `None` while it goes on, or if it was killed.
    pub end: Option<RecordingEnd>,
    /// Whether the measurement still goes on, and this is the result so far.
    pub is_running: bool,
    /// What is known of a watched program itself.
    pub program: Option<Box<WatchedProgram>>,
    /// Times that the user marked while watching, in order.
    pub marks: Vec<MonotonicTime>,
    /// Files beside the recording with the activity of all CPUs for a while, in order.
    pub timelines: Vec<TimelineFile>,
    /// The guests it was measured in, in the order in which they were booted.
    pub boots: Vec<Boot>,
    /// How the guests ended.
    pub boots_ended: Vec<BootEnd>,
    /// The machines of a merged recording, by name; empty for a recording of one machine.
    pub members: BTreeMap<String, MergedMachine>,
    /// Differences between machines within this margin do not count; `None` unless requested.
    pub margin: Option<Margin>,
    /// Where its recording is.
    pub saved_as: SavedAs,
    outcomes: Vec<Outcome>,
    caveat_index: CaveatIndex,
    /// Computed once: the live screen asks several times.
    recurrences: OnceLock<Vec<Recurrence>>,
}

impl Analysis {
    /// Begins with a recording's first line.
    pub fn new(header: Header) -> Self {
        let outcome = |condition: &Condition| Outcome::new(condition.clone(), &header);
        let outcomes = header.conditions.iter().map(outcome).collect();
        Self {
            header,
            caveats: Vec::new(),
            end: None,
            is_running: false,
            program: None,
            marks: Vec::new(),
            timelines: Vec::new(),
            boots: Vec::new(),
            boots_ended: Vec::new(),
            members: BTreeMap::new(),
            margin: None,
            saved_as: SavedAs::default(),
            outcomes,
            caveat_index: CaveatIndex::default(),
            recurrences: OnceLock::new(),
        }
    }

    /// Takes in one line.
    pub fn add(&mut self, line: &Line) {
        self.recurrences.take();
        match line {
            // Incidents of `howlate record` belong to no condition: see `incidents`.
            Line::Header(_) | Line::Resumed(_) | Line::Incident(_) | Line::Minute(_) | Line::Snap(_) => {}
            Line::Mark(mark) => self.marks.push(mark.at),
            Line::Timeline(timeline) => self.add_timeline(timeline),
            Line::Caveat(caveat) => self.caveat_index.push_new(&mut self.caveats, caveat),
            Line::Source(source) => member::add(&mut self.members, source),
            Line::Boot(boot) => self.boots.push((**boot).clone()),
            Line::BootEnded(ended) => self.boots_ended.push(ended.clone()),
            Line::End(end) => self.end = Some(end.clone()),
            Line::Condition(condition) => self.add_condition(condition),
            Line::Started(started) => self.update(started.condition, |outcome| outcome.start(started)),
            Line::Block(block) => self.update(block.condition, |outcome| outcome.add_block(block)),
            Line::Load(load) => {
                let effect = LoadEffect::from_block(load);
                load.conditions
                    .iter()
                    .for_each(|condition| self.update(*condition, |outcome| outcome.add_load(&effect)));
            }
            Line::Program(program) => self.program = Some(program.clone()),
            Line::Watched(watched) => self.update(watched.condition, |outcome| outcome.add_watched(watched)),
            Line::Why(why) => self.update(why.condition, |outcome| outcome.add_why(why)),
            Line::Finished(finished) => self.update(finished.condition, |outcome| outcome.finish(finished)),
        }
    }

    /// Adds a timeline file, in place of the one that it replaces.
    fn add_timeline(&mut self, timeline: &TimelineFile) {
        self.timelines.retain(|earlier| Some(&earlier.file) != timeline.replaces.as_ref());
        if self.timelines.len() < MOST_TIMELINES {
            self.timelines.push(timeline.clone());
        }
    }

    /// Adds a condition that was not known at the start.
    fn add_condition(&mut self, condition: &Condition) {
        if self.outcomes.len() >= CONDITIONS_MOST {
            return;
        }
        self.header.conditions.push(condition.clone());
        self.outcomes.push(Outcome::new(condition.clone(), &self.header));
    }

    /// Updates the outcome of a condition. Only a damaged recording names one that the header lacks.
    fn update(&mut self, condition: u32, change: impl FnOnce(&mut Outcome)) {
        if let Some(outcome) = self.outcomes.get_mut(condition as usize) {
            change(outcome);
        }
    }

    /// The part of the analysis about the conditions that `keep` accepts.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&Condition) -> bool) -> Self {
        let outcomes = self.outcomes.iter().filter(|outcome| keep(&outcome.condition)).cloned().collect();
        let (header, caveats, end) = (self.header.clone(), self.caveats.clone(), self.end.clone());
        Self {
            header,
            caveats,
            end,
            is_running: self.is_running,
            program: self.program.clone(),
            marks: self.marks.clone(),
            timelines: self.timelines.clone(),
            boots: self.boots.clone(),
            boots_ended: self.boots_ended.clone(),
            members: self.members.clone(),
            margin: self.margin,
            saved_as: self.saved_as.clone(),
            outcomes,
            caveat_index: self.caveat_index.clone(),
            recurrences: OnceLock::new(),
        }
    }

    /// The outcome of each condition, in the header's order.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Outcomes with the index of their condition in the recording's header, of which `self` may be a part in the same order.
    pub(crate) fn indexed(&self) -> impl Iterator<Item = (u32, &Outcome)> {
        let conditions = &self.header.conditions;
        let mut next = 0;
        let mut index = move |outcome: &Outcome| {
            let (before, from_here) = conditions.split_at(next.min(conditions.len()));
            let is_it = |condition: &Condition| *condition == outcome.condition;
            let ahead = from_here.iter().position(is_it).map(|ahead| before.len() + ahead);
            let found = ahead.or_else(|| before.iter().position(is_it))?;
            next = found + 1;
            u32::try_from(found).ok()
        };
        self.outcomes.iter().filter_map(move |outcome| Some((index(outcome)?, outcome)))
    }

    /// Periodic lateness in each condition, the most certain first.
    pub fn recurrences(&self) -> &[Recurrence] {
        self.recurrences.get_or_init(|| recurrences(self.indexed(), &self.header.system))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{
        Block, EffectiveSettings, Latency, MonotonicTime, Policy, SeriesPoint, Sleeper, Span, TurnStarted,
        Wait, Wakeup, WakeupGrid, Work,
    };

    fn analysis(work: Work) -> Analysis {
        let condition = Condition::new(work, "6.1.0");
        Analysis::new(Header {
            howlate: "0.1.0".into(),
            command: "cyclic".into(),
            ..Header::for_conditions(vec![condition])
        })
    }

    const CYCLIC: Work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };

    fn block(late: &[i64]) -> Line {
        let mut block = Block::default();
        for late in late {
            let expected = MonotonicTime::from_nanos(0);
            let ran = MonotonicTime::from_nanos(*late);
            block.record(Wakeup { expected, ran }, CYCLIC.period().map(WakeupGrid::endless));
        }
        Line::Block(Box::new(block))
    }

    #[test]
    fn a_stall_is_in_both_views() {
        let mut analysis = analysis(CYCLIC);
        analysis.add(&block(&[5_000; 2_500]));
        analysis.add(&block(&[500_000_000]));
        let outcome = &analysis.outcomes()[0];
        assert_eq!((outcome.count(), outcome.missed_periods()), (2_501, 500));
        let (raw, corrected) = (outcome.summary().unwrap(), outcome.corrected_summary().unwrap());
        assert!(raw.p99 < 5_050);
        assert!(corrected.p99 > 400_000_000);
        assert!(outcome.has_missed() && outcome.percentile(0.99).unwrap().as_nanos() > 400_000_000);
        assert_eq!(outcome.planned().count(), 2_501 + 500);
        assert_eq!((raw.max, corrected.max), (500_000_000, 500_000_000));
        assert_eq!(outcome.worst()[0].latency.as_nanos(), 500_000_000);
    }

    #[test]
    fn memory_stays_constant_and_intervals_stay_true() {
        let mut analysis = analysis(CYCLIC);
        for second in 0..20_000 {
            analysis.add(&block(&[1_000 + second % 7]));
        }
        let outcome = &analysis.outcomes()[0];
        let interval = outcome.planned_blocks().p50_interval().unwrap();
        assert!(interval.low.as_nanos() >= 999 && interval.high.as_nanos() <= 1_010, "{interval:?}");
    }

    #[test]
    fn intervals_between_wake_ups_do_not_cross_turns() {
        let work =
            Work::Sleep { mechanism: Sleeper::Wait(Wait::Nanosleep), target_ns: Span::from_nanos(100) };
        let mut analysis = analysis(work);
        let turn = |points: &[(i64, i64)]| {
            let series =
                points.iter().map(|(at, late)| SeriesPoint(*at, Latency::from_nanos(*late))).collect();
            Line::Block(Box::new(Block { series, ..Block::default() }))
        };
        let in_force = EffectiveSettings {
            tid: 1,
            policy: Policy::OTHER,
            slack: Span::from_micros(50),
            cpus: "0".parse().unwrap(),
            memory_locked: true,
            dma_latency_us: None,
            slice: None,
        };
        let (condition, at_ns, caveats) = (0, MonotonicTime::default(), vec![]);
        for round in 0..2 {
            let in_force = in_force.clone();
            analysis.add(&Line::Started(TurnStarted {
                condition,
                round,
                at: at_ns,
                in_force,
                sender_in_force: None,
                runtime: None,
                warm_up: None,
                caveats: caveats.clone(),
            }));
            analysis.add(&turn(&[(100, 7), (210, 5), (320, 9)]));
        }
        let outcome = &analysis.outcomes()[0];
        assert_eq!(outcome.sleep_lengths().collect::<Vec<_>>(), [107, 105, 109, 107, 105, 109]);
        assert_eq!(outcome.intervals().collect::<Vec<_>>(), [108, 114, 108, 114]);
    }
}
