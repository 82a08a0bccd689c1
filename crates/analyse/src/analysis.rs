//! A recording's lines, summed up per condition.

use howlate_model::{
    Block, Boot, BootEnded, Caveat, Condition, Distribution, End, Finished, Header, InForce, Irregular,
    Latency, Line, SeriesPoint, Span, Started, Usage, Worst,
};

use crate::{Interval, LoadEffect, Summary, Timeline};

/// Block medians and 99th percentiles kept per condition. When there are more, every second
/// one is forgotten, so that memory stays constant however long the run.
const BLOCKS_KEPT: usize = 512;

/// A block with fewer wake-ups has no 99th percentile worth the name.
const LEAST_FOR_P99: u64 = 100;

/// Everything known of a recording.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Its first line.
    pub header: Header,
    /// What to know that belongs to no single condition.
    pub caveats: Vec<Caveat>,
    /// How it ended; `None` while it goes on, or when it was killed.
    pub end: Option<End>,
    /// The guests it was measured in, in the order in which they were booted.
    pub boots: Vec<Boot>,
    /// How they ended.
    pub boots_ended: Vec<BootEnded>,
    outcomes: Vec<Outcome>,
}

impl Analysis {
    /// Begins with a recording's first line.
    pub fn new(header: Header) -> Self {
        let outcomes = header.conditions.iter().cloned().map(Outcome::new).collect();
        Self { header, caveats: Vec::new(), end: None, boots: Vec::new(), boots_ended: Vec::new(), outcomes }
    }

    /// Takes in one line.
    pub fn add(&mut self, line: &Line) {
        match line {
            Line::Header(_) | Line::Resumed(_) => {}
            Line::Caveat(caveat) => push_new(&mut self.caveats, caveat),
            Line::Boot(boot) => self.boots.push((**boot).clone()),
            Line::BootEnded(ended) => self.boots_ended.push(ended.clone()),
            Line::End(end) => self.end = Some(end.clone()),
            Line::Started(started) => self.with(started.condition, |outcome| outcome.started(started)),
            Line::Block(block) => self.with(block.condition, |outcome| outcome.block(block)),
            Line::Load(load) => {
                let effect = LoadEffect::of(load);
                load.conditions.iter().for_each(|one| self.with(*one, |outcome| outcome.load(&effect)));
            }
            Line::Finished(finished) => self.with(finished.condition, |outcome| outcome.finished(finished)),
        }
    }

    /// A line may name a condition that the header lacks only in a damaged recording.
    fn with(&mut self, condition: u32, change: impl FnOnce(&mut Outcome)) {
        if let Some(outcome) = self.outcomes.get_mut(condition as usize) {
            change(outcome);
        }
    }

    /// The part that is about conditions that `keep` accepts.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&Condition) -> bool) -> Self {
        let outcomes = self.outcomes.iter().filter(|outcome| keep(&outcome.condition)).cloned().collect();
        let (header, caveats, end) = (self.header.clone(), self.caveats.clone(), self.end.clone());
        Self {
            header,
            caveats,
            end,
            boots: self.boots.clone(),
            boots_ended: self.boots_ended.clone(),
            outcomes,
        }
    }

    /// What is known of each condition, in the header's order.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }
}

fn push_new(caveats: &mut Vec<Caveat>, caveat: &Caveat) {
    if !caveats.contains(caveat) {
        caveats.push(caveat.clone());
    }
}

/// What is known of one condition.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The condition.
    pub condition: Condition,
    /// The settings that were in force at the latest turn; `None` before the first.
    pub in_force: Option<InForce>,
    /// The same of the one that notifies; `None` where there is none.
    pub sender_in_force: Option<InForce>,
    /// What a program said of its language and its way to sleep; `None` for threads of howlate.
    pub runtime: Option<String>,
    /// What its threads used, all turns together.
    pub usage: Usage,
    /// What the load did meanwhile; `None` in recordings that do not say.
    pub load_effect: Option<LoadEffect>,
    /// Whether a turn was cut short.
    pub unfinished: bool,
    /// All wake-ups together.
    total: Block,
    caveats: Vec<Caveat>,
    rounds: Vec<Vec<SeriesPoint>>,
    blocks: BlockNumbers,
    timeline: Timeline,
}

impl Outcome {
    fn new(condition: Condition) -> Self {
        Self {
            condition,
            in_force: None,
            sender_in_force: None,
            runtime: None,
            usage: Usage::default(),
            load_effect: None,
            unfinished: false,
            total: Block::default(),
            caveats: Vec::new(),
            rounds: Vec::new(),
            blocks: BlockNumbers::default(),
            timeline: Timeline::default(),
        }
    }

    fn started(&mut self, started: &Started) {
        self.in_force = Some(started.in_force.clone());
        self.sender_in_force.clone_from(&started.sender_in_force);
        self.runtime.clone_from(&started.runtime);
        started.caveats.iter().for_each(|caveat| push_new(&mut self.caveats, caveat));
        self.rounds.push(Vec::new());
        self.timeline.started(started);
    }

    fn block(&mut self, block: &Block) {
        self.blocks.add(block.round, &block.latency);
        self.timeline.block(block);
        if let (Some(round), false) = (self.rounds.last_mut(), block.series.is_empty()) {
            round.extend_from_slice(&block.series);
        }
        let series = std::mem::take(&mut self.total.series);
        self.total.merge(block);
        self.total.series = series;
    }

    fn load(&mut self, effect: &LoadEffect) {
        match &mut self.load_effect {
            Some(known) => known.add(effect),
            None => self.load_effect = Some(effect.clone()),
        }
    }

    fn finished(&mut self, finished: &Finished) {
        self.timeline.finished(finished);
        if let Some(usage) = &finished.usage {
            self.usage.add(usage);
        }
        self.unfinished |= finished.unfinished;
        if let Some(reason) = &finished.error {
            let caveat = Caveat::Unfinished { got: self.count(), reason: reason.clone() };
            push_new(&mut self.caveats, &caveat);
        }
    }

    /// Wake-ups counted.
    pub fn count(&self) -> u64 {
        self.total.latency.count()
    }

    /// Periods missed.
    pub const fn missed_periods(&self) -> u64 {
        self.total.missed_periods
    }

    /// All latencies.
    pub const fn latency(&self) -> &Distribution {
        &self.total.latency
    }

    /// All latencies and those that the missed periods would have had; periodic work only.
    pub fn corrected(&self) -> Option<Distribution> {
        self.condition.work.period()?;
        let mut all = self.total.latency.clone();
        if let Some(swallowed) = &self.total.swallowed {
            all.merge(swallowed);
        }
        Some(all)
    }

    /// The numbers of all latencies; `None` when there is none.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.total.latency)
    }

    /// The numbers corrected for coordinated omission; periodic work only.
    pub fn corrected_summary(&self) -> Option<Summary> {
        match &self.total.swallowed {
            None => self.condition.work.period().and(self.summary()),
            Some(_) => Summary::of(&self.corrected()?),
        }
    }

    /// The numbers of the calls that notify; `None` where there is none.
    pub fn send_summary(&self) -> Option<Summary> {
        self.total.send.as_ref().and_then(Summary::of)
    }

    /// Notifications that did not arrive once and in order.
    pub const fn irregular(&self) -> Irregular {
        self.total.irregular
    }

    /// The median of each block that is kept, with its round.
    pub fn round_medians(&self) -> &[(u32, Latency)] {
        &self.blocks.rounds
    }

    /// The latest wake-ups, the latest first.
    pub fn worst(&self) -> &[Worst] {
        &self.total.worst
    }

    /// 95 % interval of the median, from the medians of blocks.
    pub fn p50_interval(&self) -> Option<Interval> {
        Interval::of_median(&mut self.blocks.p50.clone())
    }

    /// 95 % interval of the 99th percentile, from those of blocks.
    pub fn p99_interval(&self) -> Option<Interval> {
        Interval::of_median(&mut self.blocks.p99.clone())
    }

    /// Its latencies along the run.
    pub const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Wake-ups that were measured but lost.
    pub const fn lost(&self) -> u64 {
        self.total.lost
    }

    /// Wake-ups kept in order, one list per turn: when each was expected since its turn's
    /// first block, and how late it was. For sleeps only.
    pub fn series(&self) -> &[Vec<SeriesPoint>] {
        &self.rounds
    }

    /// How long each sleep really took, in order: what was asked for plus its latency.
    pub fn took(&self) -> impl Iterator<Item = i64> + '_ {
        let length = i64::try_from(self.condition.work.length().as_nanos()).unwrap_or(i64::MAX);
        self.rounds.iter().flatten().map(move |point| length.saturating_add(point.1.as_nanos()))
    }

    /// The time from one wake-up to the next, in order, within each turn.
    pub fn intervals(&self) -> impl Iterator<Item = i64> + '_ {
        let ran = |point: &SeriesPoint| point.0 + point.1.as_nanos();
        self.rounds
            .iter()
            .flat_map(move |round| round.windows(2).map(move |pair| ran(&pair[1]) - ran(&pair[0])))
    }

    /// Everything a reader must know to judge this result.
    pub fn caveats(&self) -> Vec<Caveat> {
        let mut caveats = self.caveats.clone();
        let early = self.total.latency.early();
        if early > 0 {
            caveats.push(Caveat::EarlyWakeups { count: early });
        }
        if self.total.lost > 0 {
            caveats.push(Caveat::SamplesLost { count: self.total.lost });
        }
        let Irregular { messages_lost: lost, messages_duplicated, messages_reordered } = self.irregular();
        if !self.irregular().is_none() {
            caveats.push(Caveat::MessagesIrregular {
                lost,
                duplicated: messages_duplicated,
                reordered: messages_reordered,
            });
        }
        let ineffective = self.load_effect.iter().flat_map(LoadEffect::idle_parts);
        caveats.extend(ineffective.map(|part| Caveat::LoadIneffective { load: part.part.clone() }));
        let faults = (self.usage.minor_faults, self.usage.major_faults);
        // Of a program they are those of its start too, and of the programs that it started.
        if faults != (0, 0) && self.condition.work.runtime().is_none() {
            caveats.push(Caveat::PageFaults { minor: faults.0, major: faults.1 });
        }
        if self.unfinished && !caveats.iter().any(|one| matches!(one, Caveat::Unfinished { .. })) {
            let reason = "it was cut at its time limit".to_owned();
            caveats.push(Caveat::Unfinished { got: self.count(), reason });
        }
        caveats
    }

    /// Time from the first block to the last.
    pub const fn covered(&self) -> Span {
        self.usage.elapsed_ns
    }
}

/// Numbers of single blocks, for intervals.
#[derive(Clone, Debug)]
struct BlockNumbers {
    p50: Vec<Latency>,
    p99: Vec<Latency>,
    /// Medians with their rounds.
    rounds: Vec<(u32, Latency)>,
    seen: u64,
    /// Every how many blocks one is kept.
    stride: u64,
}

impl Default for BlockNumbers {
    fn default() -> Self {
        Self { p50: Vec::new(), p99: Vec::new(), rounds: Vec::new(), seen: 0, stride: 1 }
    }
}

impl BlockNumbers {
    fn add(&mut self, round: u32, latency: &Distribution) {
        let keep = self.seen.is_multiple_of(self.stride);
        self.seen += 1;
        if !keep {
            return;
        }
        self.p50.extend(latency.quantile(0.5));
        self.rounds.extend(latency.quantile(0.5).map(|median| (round, median)));
        if latency.count() >= LEAST_FOR_P99 {
            self.p99.extend(latency.quantile(0.99));
        }
        if self.p50.len() > BLOCKS_KEPT {
            self.stride *= 2;
            forget_every_second(&mut self.p50);
            forget_every_second(&mut self.p99);
            forget_every_second(&mut self.rounds);
        }
    }
}

fn forget_every_second<T>(values: &mut Vec<T>) {
    let mut keep = false;
    values.retain(|_| {
        keep = !keep;
        keep
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Instrument, MonotonicTime, Policy, Sleeper, System, Wait, Wakeup, Work};

    fn analysis(work: Work) -> Analysis {
        let condition = Condition {
            work,
            policy: Policy::OTHER,
            slack_ns: None,
            cpu: None,
            thread: 0,
            load: howlate_model::Load::IDLE,
            kernel: "6.1.0".into(),
            on_host: None,
        };
        Analysis::new(Header {
            format: 1,
            howlate: "0.1.0".into(),
            command: "cyclic".into(),
            arguments: vec![],
            started: String::new(),
            at_ns: MonotonicTime::default(),
            clock: "CLOCK_MONOTONIC".into(),
            seed: 0,
            system: System::default(),
            findings: vec![],
            settings: vec![],
            instrument: Instrument::default(),
            conditions: vec![condition],
        })
    }

    const CYCLIC: Work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };

    fn block(late: &[i64]) -> Line {
        let mut block = Block::default();
        for late in late {
            let expected = MonotonicTime::from_nanos(0);
            let ran = MonotonicTime::from_nanos(*late);
            block.record(Wakeup { expected, ran }, CYCLIC.period());
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
        assert_eq!(outcome.corrected().unwrap().count(), 2_501 + 500);
        assert_eq!((raw.max, corrected.max), (500_000_000, 500_000_000));
        assert_eq!(outcome.worst()[0].latency_ns.as_nanos(), 500_000_000);
    }

    #[test]
    fn memory_stays_constant_and_intervals_stay_true() {
        let mut analysis = analysis(CYCLIC);
        for second in 0..20_000 {
            analysis.add(&block(&[1_000 + second % 7]));
        }
        let outcome = &analysis.outcomes()[0];
        assert!(outcome.blocks.p50.len() <= BLOCKS_KEPT);
        let interval = outcome.p50_interval().unwrap();
        assert!(interval.low.as_nanos() >= 1_000 && interval.high.as_nanos() <= 1_010);
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
        let in_force = InForce {
            tid: 1,
            policy: Policy::OTHER,
            slack_ns: Span::from_micros(50),
            cpus: "0".parse().unwrap(),
            memory_locked: true,
            dma_latency_us: None,
        };
        let (condition, at_ns, caveats) = (0, MonotonicTime::default(), vec![]);
        for round in 0..2 {
            let in_force = in_force.clone();
            analysis.add(&Line::Started(Started {
                condition,
                round,
                at_ns,
                in_force,
                sender_in_force: None,
                runtime: None,
                caveats: caveats.clone(),
            }));
            analysis.add(&turn(&[(100, 7), (210, 5), (320, 9)]));
        }
        let outcome = &analysis.outcomes()[0];
        assert_eq!(outcome.took().collect::<Vec<_>>(), [107, 105, 109, 107, 105, 109]);
        assert_eq!(outcome.intervals().collect::<Vec<_>>(), [108, 114, 108, 114]);
    }
}
