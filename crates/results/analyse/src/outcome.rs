//! The result of one condition.

use std::borrow::Cow;

use howlate_model::{
    Activation, Block, CauseBlock, Caveat, Command, Condition, Distribution, EffectiveSettings, Finding,
    HasProperties, Header, IrregularMessages, Latency, LimitScope, Policy, Property, PropertyValue,
    SeriesPoint, Span, TurnFailure, TurnFinished, TurnStarted, Usage, WatchedBlock, Work, WorstWakeup,
};

use crate::block_numbers::{BlockNumbers, ConditionBlocks};
use crate::bound::{Bound, Maxima};
use crate::cause::{Traces, Why};
use crate::distinct_caveats::CaveatIndex;
use crate::periodicity::LateMarks;
use crate::sequential::{Progress, Tracker};
use crate::turn_numbers::{TurnNumber, TurnNumbers};
use crate::watch::{Rhythm, SlowestIterations};
use crate::{LoadEffect, Summary, Timeline, percentile};

/// Everything measured under one condition.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub condition: Condition,
    /// The settings in force at the most recent turn; `None` before the first.
    pub in_force: Option<EffectiveSettings>,
    /// The settings in force of the thread that notifies; `None` if there is none.
    pub sender_in_force: Option<EffectiveSettings>,
    /// Language runtime and sleep call, as the program reported them; `None` for threads of howlate.
    pub runtime: Option<String>,
    /// Resource usage of its threads, all turns together.
    pub usage: Usage,
    /// Effect of the load meanwhile; `None` in recordings that do not say.
    pub load_effect: Option<LoadEffect>,
    /// Warm-up wake-ups at the start of turns, which do not count, all turns together; `None` in recordings that do not say.
    pub warm_up: Option<u64>,
    /// Whether a turn was cut short.
    pub unfinished: bool,
    /// Causes of its latencies; `None` if no turn was traced.
    pub traces: Option<Box<Traces>>,
    /// From which latency on wake-ups count as late, if the run had such an option.
    late_above: Option<Span>,
    /// Progress towards the condition that the run goes on until, if it is about single conditions.
    until: Option<Tracker>,
    /// The rhythm of a watched thread; `None` for others.
    pub rhythm: Option<Box<Rhythm>>,
    /// Sum of all blocks.
    total: Block,
    caveats: Vec<Caveat>,
    caveat_index: CaveatIndex,
    rounds: Vec<Vec<SeriesPoint>>,
    /// Statistics of the wake-ups that happened, block by block.
    blocks: ConditionBlocks,
    /// Statistics with missed periods counted; `None` while none was missed, as both are equal then.
    planned_blocks: Option<ConditionBlocks>,
    turns: TurnNumbers,
    maxima: Maxima,
    timeline: Timeline,
    late_marks: LateMarks,
}

/// Number of conditions that the probability of a wrong decision is divided among. How many threads a watched program will have is
/// unknown: each new one gets less of it, 1/2, 1/6, 1/12, …, which add up to one.
fn error_shares(header: &Header) -> usize {
    let so_far = header.conditions.len();
    if header.command == Command::Watch { so_far.saturating_mul(so_far + 1) } else { so_far }
}

/// Latencies that happened, and those that missed periods would have had.
pub(crate) fn planned<'a>(
    latency: &'a Distribution,
    swallowed: Option<&Distribution>,
) -> Cow<'a, Distribution> {
    let Some(swallowed) = swallowed else { return Cow::Borrowed(latency) };
    let mut all = latency.clone();
    all.merge(swallowed);
    Cow::Owned(all)
}

impl Outcome {
    /// The outcome of a condition without measurements yet.
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
            until: header.until.and_then(|until| Tracker::begin(until, error_shares(header))),
            rhythm: None,
            total: Block::default(),
            caveats: Vec::new(),
            caveat_index: CaveatIndex::default(),
            rounds: Vec::new(),
            blocks: ConditionBlocks::default(),
            planned_blocks: None,
            turns: TurnNumbers::default(),
            maxima: Maxima::default(),
            timeline: Timeline::default(),
            late_marks: LateMarks::with_room(header.conditions.len()),
        }
    }

    pub(crate) fn start(&mut self, started: &TurnStarted) {
        self.in_force = Some(started.in_force.clone());
        self.sender_in_force.clone_from(&started.sender_in_force);
        self.runtime.clone_from(&started.runtime);
        started.caveats.iter().for_each(|caveat| self.caveat_index.push_new(&mut self.caveats, caveat));
        self.warm_up = started.warm_up.map(|more| self.warm_up.unwrap_or(0) + more).or(self.warm_up);
        self.rounds.push(Vec::new());
        self.timeline.start_turn(started);
    }

    pub(crate) fn add_block(&mut self, block: &Block) {
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
        self.timeline.add_block(block);
        self.late_marks.add_block(block);
        if let (Some(round), false) = (self.rounds.last_mut(), block.series.is_empty()) {
            round.extend_from_slice(&block.series);
        }
        // The packed sum is opened until the turn is over.
        self.total.open();
        let series = std::mem::take(&mut self.total.series);
        self.total.merge(block);
        self.total.series = series;
        if let Some(mut until) = self.until.take() {
            let wakeups = self.count() + self.total.swallowed.as_ref().map_or(0, Distribution::count);
            until.add_block(block, wakeups, || self.planned_blocks());
            self.until = Some(until);
        }
    }

    /// Progress towards the condition that the run goes on until; `None` if that is not about single conditions.
    pub fn until(&self) -> Option<Progress> {
        Some(self.until.as_ref()?.progress())
    }

    /// The tracker of that progress, to be combined with those of other conditions.
    pub(crate) const fn tracker(&self) -> Option<&Tracker> {
        self.until.as_ref()
    }

    pub(crate) fn add_load(&mut self, effect: &LoadEffect) {
        match &mut self.load_effect {
            Some(sum) => sum.add(effect),
            None => self.load_effect = Some(effect.clone()),
        }
    }

    pub(crate) fn add_why(&mut self, why: &CauseBlock) {
        self.late_marks.add_why(why);
        self.traces.get_or_insert_with(|| Box::new(Traces::from_tracer(&why.tracer))).add(why);
    }

    pub(crate) fn add_watched(&mut self, watched: &WatchedBlock) {
        self.rhythm.get_or_insert_default().add(watched);
    }

    pub(crate) fn finish(&mut self, finished: &TurnFinished) {
        self.timeline.finish(finished);
        self.turns.finish();
        self.total.pack();
        self.planned_blocks.iter_mut().chain([&mut self.blocks]).for_each(ConditionBlocks::pack);
        if let Some(usage) = &finished.usage {
            self.usage.add(usage);
        }
        self.unfinished |= finished.unfinished;
        if let Some(reason) = &finished.error {
            let caveat = Caveat::Unfinished { got: self.count(), reason: reason.clone() };
            self.caveat_index.push_new(&mut self.caveats, &caveat);
        }
    }

    /// Number of wake-ups measured, without missed periods.
    pub fn count(&self) -> u64 {
        self.total.latency.count()
    }

    /// Periods in which the thread did not wake, over all turns.
    pub const fn missed_periods(&self) -> u64 {
        self.total.missed_periods
    }

    /// Latencies of all turns.
    pub const fn latency(&self) -> &Distribution {
        &self.total.latency
    }

    /// Latencies of all planned wake-ups: those that happened and, for periodic work, those that missed periods would have had. The
    /// main result.
    pub fn planned(&self) -> Cow<'_, Distribution> {
        planned(&self.total.latency, self.total.swallowed.as_ref())
    }

    /// Whether the planned wake-ups are known; another program's file has only those that happened.
    pub const fn knows_planned(&self) -> bool {
        !matches!(self.condition.work, Work::Foreign { .. })
    }

    /// Whether periods were missed, so that there are more planned wake-ups than those that happened.
    pub const fn has_missed(&self) -> bool {
        self.total.swallowed.is_some()
    }

    /// Number of missed periods; `None` for another program's file, which does not say it.
    pub fn missed(&self) -> Option<u64> {
        match self.condition.work {
            Work::Foreign { .. } => None,
            Work::Watch { .. } => self.rhythm.as_deref().and_then(Rhythm::missed),
            _ => Some(self.missed_periods()),
        }
    }

    /// Summary of all planned wake-ups; `None` if there is none.
    pub fn planned_summary(&self) -> Option<Summary> {
        Summary::from_distribution(&self.planned())
    }

    /// How many of the planned wake-ups came later than `deadline`, and of how many. A bucket that contains the deadline, less than
    /// 1 % wide, counts by its middle.
    pub fn later_than(&self, deadline: Span) -> (u64, u64) {
        let all = self.planned();
        let border = deadline.as_nanos();
        let late = all.buckets().filter(|bucket| bucket.lowest.midpoint(bucket.highest) > border);
        (late.map(|bucket| bucket.count).sum(), all.count())
    }

    /// The policy that ran in place of the requested one, if that was refused.
    pub fn fallback_policy(&self) -> Option<Policy> {
        self.caveats.iter().find_map(|caveat| match caveat {
            Caveat::PolicyRefused { asked: requested, in_force, .. }
                if *requested == self.condition.policy =>
            {
                Some(*in_force)
            }
            _ => None,
        })
    }

    /// The policy that ran: the requested one, or the one in its place.
    pub fn policy_in_force(&self) -> Policy {
        self.fallback_policy().unwrap_or(self.condition.policy)
    }

    /// From which latency on wake-ups count as late, if the run had such an option.
    pub(crate) const fn late_above(&self) -> Option<Span> {
        self.late_above
    }

    /// Summary of all latencies; `None` if there is none.
    pub fn summary(&self) -> Option<Summary> {
        Summary::from_distribution(&self.total.latency)
    }

    /// The `quantile` of all planned wake-ups; `None` with too few of them for it.
    pub fn percentile(&self, quantile: f64) -> Option<Latency> {
        percentile(&self.planned(), quantile)
    }

    /// Summary of all planned wake-ups, for periodic work only.
    pub fn corrected_summary(&self) -> Option<Summary> {
        self.condition.work.period().and_then(|_| self.planned_summary())
    }

    /// Summary of the notifying calls; `None` if there are none.
    pub fn send_summary(&self) -> Option<Summary> {
        self.total.send.as_ref().and_then(Summary::from_distribution)
    }

    /// Notifications that were lost, duplicated or reordered.
    pub const fn irregular(&self) -> IrregularMessages {
        self.total.irregular
    }

    /// Messages whose receiver was still awake: their latency is that of the call, not of a wake-up. Their number is that of
    /// notifications less the receiver's voluntary switches. `None` if the receiver does not sleep at all, or nothing was notified.
    pub fn found_awake(&self) -> Option<u64> {
        self.condition.work.notifier().filter(|notifier| !notifier.burns_cpu())?;
        // Unfinished turns have no resource usage.
        if self.unfinished || self.usage.elapsed.is_zero() {
            return None;
        }
        Some(self.count().saturating_sub(self.usage.voluntary_switches))
    }

    /// Bound for larger latencies than the maximum, with 95 % confidence; `None` if nothing can be said of what comes next.
    pub fn bound(&self) -> Option<Bound> {
        self.maxima.bound(self.count(), self.latency(), self.worst(), 0.95)
    }

    /// The wake-ups with the largest latencies, the largest first.
    pub fn worst(&self) -> &[WorstWakeup] {
        &self.total.worst
    }

    /// Block statistics of the wake-ups that happened, for intervals.
    pub const fn blocks(&self) -> BlockNumbers<'_> {
        self.blocks.numbers(Cow::Borrowed(self.latency()))
    }

    /// Block statistics of all planned wake-ups, for intervals.
    pub fn planned_blocks(&self) -> BlockNumbers<'_> {
        self.planned_blocks.as_ref().unwrap_or(&self.blocks).numbers(self.planned())
    }

    /// Statistics of each turn, over all planned wake-ups.
    pub fn turns(&self) -> Vec<TurnNumber> {
        self.turns.all()
    }

    /// Why the wake-ups were late: those at least `above` late, or by the run's own option, or above the 99th percentile. `None` if
    /// nothing was traced.
    pub fn why_late(&self, above: Option<Span>) -> Option<Why> {
        Some(self.traces.as_ref()?.why(above.or(self.late_above), &self.turns()))
    }

    /// Whether it is of requests to a server, as opposed to a thread.
    pub fn is_of_requests(&self) -> bool {
        self.condition.work == Work::Watch { mechanism: Activation::Request }
    }

    /// Which limits are about it.
    pub fn limit_scope(&self) -> LimitScope {
        if self.is_of_requests() { LimitScope::Requests } else { LimitScope::Threads }
    }

    /// Those of `findings` that may help against its lateness. For requests none: the threads that answer them have outcomes of their own.
    pub fn relevant_findings<'a>(&self, findings: &'a [Finding]) -> &'a [Finding] {
        if self.is_of_requests() { &[] } else { findings }
    }

    /// What the slowest requests of a server went to; `None` of threads.
    pub fn slowest_requests(&self) -> Option<SlowestIterations> {
        SlowestIterations::of(&self.traces.as_ref().filter(|_| self.is_of_requests())?.ledger)
    }

    /// Its latencies along the run.
    pub const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Times of its wake-ups with the largest latencies.
    pub(crate) const fn late_marks(&self) -> &LateMarks {
        &self.late_marks
    }

    /// Wake-ups that were measured but lost.
    pub const fn lost(&self) -> u64 {
        self.total.lost
    }

    /// Wake-ups in order, one list per turn: when each was expected, since its turn's first block, and its latency. For sleeps only.
    pub fn series(&self) -> &[Vec<SeriesPoint>] {
        &self.rounds
    }

    /// How long each sleep took, in order: the requested length plus the latency.
    pub fn sleep_lengths(&self) -> impl Iterator<Item = i64> + '_ {
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
        // Fewer than one in a hundred do not change the percentiles that users look at.
        let awake =
            self.found_awake().filter(|awake| awake.saturating_mul(100) >= self.count() && *awake > 0);
        caveats.extend(awake.map(|messages| Caveat::FoundAwake { messages, of: self.count() }));
        let ineffective = self.load_effect.iter().flat_map(LoadEffect::idle_parts);
        caveats.extend(ineffective.map(|part| Caveat::LoadIneffective { load: part.part.clone() }));
        let faults = (self.usage.minor_faults, self.usage.major_faults);
        // A program's page faults include those of its start and of its children.
        if faults != (0, 0) && self.condition.work.runtime().is_none() {
            caveats.push(Caveat::PageFaults { minor: faults.0, major: faults.1 });
        }
        if self.unfinished && !caveats.iter().any(|caveat| matches!(caveat, Caveat::Unfinished { .. })) {
            let reason = TurnFailure::TimeLimit.into();
            caveats.push(Caveat::Unfinished { got: self.count(), reason });
        }
        caveats
    }

    /// How long it was measured: the elapsed time of its turns, or from the first block to the last if no turn was finished.
    pub fn covered(&self) -> Span {
        match (self.usage.elapsed, self.timeline.slices()) {
            (elapsed, [first, .., last]) if elapsed.is_zero() => last.until.since(first.from),
            (elapsed, [only]) if elapsed.is_zero() => only.until.since(only.from),
            (elapsed, _) => elapsed,
        }
    }
}

/// Conditions are named by the policy that ran.
impl HasProperties for Outcome {
    fn value(&self, property: Property) -> Option<PropertyValue<'_>> {
        match (property, self.fallback_policy()) {
            (Property::Policy, Some(ran)) => {
                Some(PropertyValue::Refused { asked: self.condition.policy, ran })
            }
            _ => self.condition.value(property),
        }
    }
}
