//! What is known of one condition.

use std::borrow::Cow;

use howlate_model::{
    Block, CauseBlock, Caveat, Command, Condition, Distribution, EffectiveSettings, HasProperties, Header,
    IrregularMessages, Latency, Policy, Property, PropertyValue, SeriesPoint, Span, TurnFailure,
    TurnFinished, TurnStarted, Usage, WatchedBlock, Work, WorstWakeup,
};

use crate::block_numbers::{BlockNumbers, Blocks};
use crate::bound::{Bound, Maxima};
use crate::cause::{Traces, Why};
use crate::distinct_caveats::KnownCaveats;
use crate::periodicity::LateMarks;
use crate::planned_wakeups::planned;
use crate::sequential::{Found, Tracked};
use crate::turn_numbers::{TurnNumber, TurnNumbers};
use crate::watch::Rhythm;
use crate::{LoadEffect, Summary, Timeline, percentile};

/// What is known of one condition.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The condition under which all of it was measured.
    pub condition: Condition,
    /// The settings that were in force at the most recent turn; `None` before the first.
    pub in_force: Option<EffectiveSettings>,
    /// The same of the one that notifies; `None` where there is none.
    pub sender_in_force: Option<EffectiveSettings>,
    /// What a program said of its language and its way to sleep; `None` for threads of howlate.
    pub runtime: Option<String>,
    /// What its threads used, all turns together.
    pub usage: Usage,
    /// What the load did meanwhile; `None` in recordings that do not say.
    pub load_effect: Option<LoadEffect>,
    /// Wake-ups that came first in the turns and are not counted, all turns together; `None` in recordings that
    /// do not say.
    pub warm_up: Option<u64>,
    /// Whether a turn was cut short.
    pub unfinished: bool,
    /// Why its wake-ups were late; `None` where no turn was traced.
    pub traces: Option<Box<Traces>>,
    /// Which of them count as late, where the run was asked to say so.
    late_above: Option<Span>,
    /// What the run was to go on until, where that is about single conditions.
    until: Option<Tracked>,
    /// The rhythm of a watched thread; `None` for others.
    pub rhythm: Option<Box<Rhythm>>,
    /// All wake-ups together.
    total: Block,
    caveats: Vec<Caveat>,
    known: KnownCaveats,
    rounds: Vec<Vec<SeriesPoint>>,
    /// Numbers of the wake-ups that happened, block by block.
    blocks: Blocks,
    /// The same with missed periods counted; `None` while none was, so that both are the same.
    planned_blocks: Option<Blocks>,
    turns: TurnNumbers,
    maxima: Maxima,
    timeline: Timeline,
    late_marks: LateMarks,
}

/// Among how many conditions the chance of a wrong decision is shared. How many threads a watched program will have is not known:
/// each that comes has less of it, 1/2, 1/6, 1/12, …, which add up to one.
fn shares(header: &Header) -> usize {
    let so_far = header.conditions.len();
    if header.command == Command::Watch { so_far.saturating_mul(so_far + 1) } else { so_far }
}

impl Outcome {
    /// One of those of a recording.
    pub(crate) fn new(condition: Condition, header: &Header) -> Self {
        Self {
            condition,
            in_force: None,
            sender_in_force: None,
            runtime: None,
            usage: Usage::default(),
            load_effect: None,
            warm_up: None,
            unfinished: false,
            traces: None,
            late_above: header.late_above,
            until: header.until.and_then(|until| Tracked::begin(until, shares(header))),
            rhythm: None,
            total: Block::default(),
            caveats: Vec::new(),
            known: KnownCaveats::default(),
            rounds: Vec::new(),
            blocks: Blocks::default(),
            planned_blocks: None,
            turns: TurnNumbers::default(),
            maxima: Maxima::default(),
            timeline: Timeline::default(),
            late_marks: LateMarks::with_room(header.conditions.len()),
        }
    }

    pub(crate) fn started(&mut self, started: &TurnStarted) {
        self.in_force = Some(started.in_force.clone());
        self.sender_in_force.clone_from(&started.sender_in_force);
        self.runtime.clone_from(&started.runtime);
        started.caveats.iter().for_each(|caveat| self.known.push_new(&mut self.caveats, caveat));
        self.warm_up = started.warm_up.map(|more| self.warm_up.unwrap_or(0) + more).or(self.warm_up);
        self.rounds.push(Vec::new());
        self.timeline.started(started);
    }

    pub(crate) fn block(&mut self, block: &Block) {
        let planned = planned(&block.latency, block.swallowed.as_ref());
        if block.swallowed.is_some() {
            self.planned_blocks.get_or_insert_with(|| self.blocks.clone());
        }
        if let Some(blocks) = &mut self.planned_blocks {
            blocks.add(block, &planned);
        }
        self.blocks.add(block, &block.latency);
        self.turns.add(block.round, &planned);
        self.maxima.add(block);
        self.timeline.block(block);
        self.late_marks.block(block);
        if let (Some(round), false) = (self.rounds.last_mut(), block.series.is_empty()) {
            round.extend_from_slice(&block.series);
        }
        // Until the turn is over.
        self.total.open();
        let series = std::mem::take(&mut self.total.series);
        self.total.merge(block);
        self.total.series = series;
        if let Some(mut until) = self.until.take() {
            let wakeups = self.count() + self.total.swallowed.as_ref().map_or(0, Distribution::count);
            until.block(block, wakeups, || self.planned_blocks());
            self.until = Some(until);
        }
    }

    /// What is known of that which the run was to go on until; `None` where that is not about single conditions.
    pub fn until(&self) -> Option<Found> {
        Some(self.until.as_ref()?.found())
    }

    /// The same, so that it can be joined with that of others.
    pub(crate) const fn tracked(&self) -> Option<&Tracked> {
        self.until.as_ref()
    }

    pub(crate) fn load(&mut self, effect: &LoadEffect) {
        match &mut self.load_effect {
            Some(known) => known.add(effect),
            None => self.load_effect = Some(effect.clone()),
        }
    }

    pub(crate) fn why(&mut self, why: &CauseBlock) {
        self.late_marks.why(why);
        self.traces.get_or_insert_with(|| Box::new(Traces::from_tracer(&why.tracer))).add(why);
    }

    pub(crate) fn watched(&mut self, watched: &WatchedBlock) {
        self.rhythm.get_or_insert_default().add(watched);
    }

    pub(crate) fn finished(&mut self, finished: &TurnFinished) {
        self.timeline.finished(finished);
        self.turns.finished();
        self.total.pack();
        self.planned_blocks.iter_mut().chain([&mut self.blocks]).for_each(Blocks::pack);
        if let Some(usage) = &finished.usage {
            self.usage.add(usage);
        }
        self.unfinished |= finished.unfinished;
        if let Some(reason) = &finished.error {
            let caveat = Caveat::Unfinished { got: self.count(), reason: reason.clone() };
            self.known.push_new(&mut self.caveats, &caveat);
        }
    }

    /// Wake-ups that were measured, without the missed periods.
    pub fn count(&self) -> u64 {
        self.total.latency.count()
    }

    /// Periods in which the thread did not wake, over all turns.
    pub const fn missed_periods(&self) -> u64 {
        self.total.missed_periods
    }

    /// Latencies of all turns in one distribution.
    pub const fn latency(&self) -> &Distribution {
        &self.total.latency
    }

    /// The latencies of every planned wake-up: those that happened and, of periodic work, those that missed
    /// periods would have had. It is what people read first.
    pub fn planned(&self) -> Cow<'_, Distribution> {
        planned(&self.total.latency, self.total.swallowed.as_ref())
    }

    /// Whether it is known what was planned; another program's file has only what happened.
    pub const fn knows_what_was_planned(&self) -> bool {
        !matches!(self.condition.work, Work::Foreign { .. })
    }

    /// Whether periods were missed, so that the planned wake-ups are more than those that happened.
    pub const fn counts_missed(&self) -> bool {
        self.total.swallowed.is_some()
    }

    /// How many periods were missed; `None` where another program measured, which does not say it.
    pub fn known_missed(&self) -> Option<u64> {
        match self.condition.work {
            Work::Foreign { .. } => None,
            Work::Watch { .. } => self.rhythm.as_deref().and_then(Rhythm::missed),
            _ => Some(self.missed_periods()),
        }
    }

    /// The numbers of every planned wake-up; `None` when there is none.
    pub fn planned_summary(&self) -> Option<Summary> {
        Summary::from_distribution(&self.planned())
    }

    /// How many of the planned wake-ups came later than `deadline`, and of how many. What shares a bucket with the
    /// deadline, which is less than 1 % wide, counts by the bucket's middle.
    pub fn later_than(&self, deadline: Span) -> (u64, u64) {
        let all = self.planned();
        let border = deadline.as_nanos();
        let late = all.buckets().filter(|one| one.lowest.midpoint(one.highest) > border);
        (late.map(|one| one.count).sum(), all.count())
    }

    /// The policy that ran in place of the one asked for, where that was refused.
    pub fn ran_as(&self) -> Option<Policy> {
        self.caveats.iter().find_map(|caveat| match caveat {
            Caveat::PolicyRefused { asked, in_force, .. } if *asked == self.condition.policy => {
                Some(*in_force)
            }
            _ => None,
        })
    }

    /// The policy that ran: the one asked for, or what took its place.
    pub fn policy_in_force(&self) -> Policy {
        self.ran_as().unwrap_or(self.condition.policy)
    }

    /// Which wake-ups count as late, where the run was asked to say so.
    pub(crate) const fn late_above(&self) -> Option<Span> {
        self.late_above
    }

    /// The numbers of all latencies; `None` when there is none.
    pub fn summary(&self) -> Option<Summary> {
        Summary::from_distribution(&self.total.latency)
    }

    /// What a share of every planned wake-up is at most late; `None` where there are too few for that share.
    pub fn percentile(&self, quantile: f64) -> Option<Latency> {
        percentile(&self.planned(), quantile)
    }

    /// The numbers of every planned wake-up, of periodic work only.
    pub fn corrected_summary(&self) -> Option<Summary> {
        self.condition.work.period().and_then(|_| self.planned_summary())
    }

    /// The numbers of the calls that notify; `None` where there is none.
    pub fn send_summary(&self) -> Option<Summary> {
        self.total.send.as_ref().and_then(Summary::from_distribution)
    }

    /// Notifications that did not arrive once and in order.
    pub const fn irregular(&self) -> IrregularMessages {
        self.total.irregular
    }

    /// Messages whose receiver had not gone to sleep again: what the call takes, and no wake-up. As many as it slept
    /// less often than it was notified. `None` where a receiver does not sleep at all, or nothing was notified.
    pub fn found_awake(&self) -> Option<u64> {
        self.condition.work.notifier().filter(|notifier| !notifier.burns_cpu())?;
        // Turns without an end did not tell what they used.
        if self.unfinished || self.usage.elapsed.is_zero() {
            return None;
        }
        Some(self.count().saturating_sub(self.usage.voluntary_switches))
    }

    /// What the maximum is worth, with 95 % confidence; `None` where nothing can be said of what comes next.
    pub fn bound(&self) -> Option<Bound> {
        self.maxima.bound(self.count(), self.latency(), self.worst(), 0.95)
    }

    /// The worst wake-ups, the worst first.
    pub fn worst(&self) -> &[WorstWakeup] {
        &self.total.worst
    }

    /// Blocks of the wake-ups that happened, for intervals.
    pub const fn blocks(&self) -> BlockNumbers<'_> {
        self.blocks.numbers(Cow::Borrowed(self.latency()))
    }

    /// Blocks of every planned wake-up, for intervals.
    pub fn planned_blocks(&self) -> BlockNumbers<'_> {
        self.planned_blocks.as_ref().unwrap_or(&self.blocks).numbers(self.planned())
    }

    /// Numbers of each turn, over every planned wake-up.
    pub fn turns(&self) -> Vec<TurnNumber> {
        self.turns.all()
    }

    /// Why the wake-ups were late: those at least `above` late, or what the run was asked for, or those above the 99th
    /// percentile. `None` where nothing was traced.
    pub fn why_late(&self, above: Option<Span>) -> Option<Why> {
        Some(self.traces.as_ref()?.why(above.or(self.late_above), &self.turns()))
    }

    /// Its latencies along the run.
    pub const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// When the latest wake-ups were.
    pub(crate) const fn late_marks(&self) -> &LateMarks {
        &self.late_marks
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
        let IrregularMessages { messages_lost: lost, messages_duplicated, messages_reordered } =
            self.irregular();
        if !self.irregular().is_none() {
            caveats.push(Caveat::MessagesIrregular {
                lost,
                duplicated: messages_duplicated,
                reordered: messages_reordered,
            });
        }
        // Fewer do not change a percentile that people look at.
        let awake =
            self.found_awake().filter(|awake| awake.saturating_mul(100) >= self.count() && *awake > 0);
        caveats.extend(awake.map(|messages| Caveat::FoundAwake { messages, of: self.count() }));
        let ineffective = self.load_effect.iter().flat_map(LoadEffect::idle_parts);
        caveats.extend(ineffective.map(|part| Caveat::LoadIneffective { load: part.part.clone() }));
        let faults = (self.usage.minor_faults, self.usage.major_faults);
        // Of a program they are those of its start too, and of the programs that it started.
        if faults != (0, 0) && self.condition.work.runtime().is_none() {
            caveats.push(Caveat::PageFaults { minor: faults.0, major: faults.1 });
        }
        if self.unfinished && !caveats.iter().any(|one| matches!(one, Caveat::Unfinished { .. })) {
            let reason = TurnFailure::TimeLimit.into();
            caveats.push(Caveat::Unfinished { got: self.count(), reason });
        }
        caveats
    }

    /// How long it was measured: what its turns used, or, where none told its end, from the first block to the last.
    pub fn covered(&self) -> Span {
        match (self.usage.elapsed, self.timeline.slices()) {
            (elapsed, [first, .., last]) if elapsed.is_zero() => last.until.since(first.from),
            (elapsed, [only]) if elapsed.is_zero() => only.until.since(only.from),
            (elapsed, _) => elapsed,
        }
    }
}

/// What ran is what is called by its name.
impl HasProperties for Outcome {
    fn value(&self, property: Property) -> Option<PropertyValue<'_>> {
        match (property, self.ran_as()) {
            (Property::Policy, Some(ran)) => {
                Some(PropertyValue::Refused { asked: self.condition.policy, ran })
            }
            _ => self.condition.value(property),
        }
    }
}
