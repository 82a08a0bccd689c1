//! Steps in the lateness of sleeps as they become longer, and the effect of controls on each: `howlate sleep --steps`.

mod cause;
mod controls;
mod fit;
mod idle_entries;
mod sweep;

use howlate_model::{Caveat, Latency, Span};
use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::median;
use crate::{Analysis, Interval, Outcome};
pub(crate) use cause::host_halt_poll;
pub use cause::{CauseClaim, StepCause};
use cause::{StepEvidence, explain};
pub use controls::{ControlResult, Remainder};
use controls::{control_result, estimate};
use fit::{ColumnRange, cut_interval, rises};
pub(crate) use fit::{NOISE, cuts};
pub use idle_entries::IdleStateEntries;
use idle_entries::idle_state_entries;
pub use sweep::StepControl;
use sweep::{Sweep, sweeps};

/// A step is at least this share of the lateness before it,
const LEAST_SHARE: f64 = 0.1;
/// and at least this many nanoseconds: less is no reason to sleep for another length.
const LEAST_RISE: f64 = 1_000.0;

/// The lateness of one sweep over lengths, as levels with steps between them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Staircase {
    /// The shortest sleep's condition, by index in the recording's header.
    pub condition: u32,
    /// The lengths that were slept for.
    #[serde(rename = "lengths_ns")]
    pub lengths: Vec<Span>,
    /// Rounds in which every length had a turn.
    pub rounds: usize,
    /// How often noise alone shows a step, in such a sweep.
    pub false_alarms: f64,
    /// Lengths that are alike, the shortest first.
    pub levels: Vec<LengthLevel>,
    /// Between each level and the next.
    #[serde(skip)]
    pub steps: Vec<LengthStep>,
    /// What was measured beside it.
    pub controls: Vec<StepControl>,
    /// Why `/dev/cpu_dma_latency` was not held, where it was to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dma_latency_refused: Option<String>,
}

/// Lengths whose sleeps are equally late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LengthLevel {
    /// The shortest.
    #[serde(rename = "from_ns")]
    pub from: Span,
    /// The longest.
    #[serde(rename = "until_ns")]
    pub until: Span,
    /// How late they return: the median of the medians of turns.
    #[serde(rename = "late_ns")]
    pub late: Latency,
}

/// From some length on, sleeps return later, or earlier.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LengthStep {
    /// The first length after it.
    #[serde(rename = "at_ns")]
    pub at: Span,
    /// How late sleeps before it return.
    #[serde(rename = "from_ns")]
    pub from: Latency,
    /// How late sleeps after it return.
    #[serde(rename = "to_ns")]
    pub to: Latency,
    /// The longest length that is before it, and the shortest that is after it, with 95 % confidence.
    #[serde(rename = "between_ns")]
    pub between: [Span; 2],
    /// By how much, round by round.
    #[serde(rename = "rise_ns")]
    pub rise: Latency,
    /// Its 95 % interval.
    #[serde(rename = "rise_interval_ns")]
    pub interval: Interval,
    /// Why.
    pub cause: StepCause,
    /// What that rests on.
    pub claim: CauseClaim,
    /// The control that made it vanish; null where none did.
    pub control: Option<StepControl>,
    /// What each control leaves of it.
    pub controls: Vec<ControlResult>,
    /// Idle states that the CPU entered, as cpuidle counts them; absent where it does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entered: Vec<IdleStateEntries>,
}

/// The sweeps of a recording, each with its steps.
pub fn staircases(analysis: &Analysis) -> Vec<Staircase> {
    sweeps(analysis).iter().map(|sweep| staircase(sweep, analysis)).collect()
}

/// Whether there is a sweep over enough lengths to tell steps from noise.
pub(crate) fn is_swept(analysis: &Analysis) -> bool {
    !sweeps(analysis).is_empty()
}

fn staircase(sweep: &Sweep<'_>, analysis: &Analysis) -> Staircase {
    let (lengths, rows) = (sweep.lengths(), sweep.medians.values().cloned().collect::<Vec<_>>());
    let levels = levels(&rows, lengths.len(), analysis.header.seed);
    let late = |(from, until): ColumnRange| {
        let rows: Vec<f64> = rows.iter().filter_map(|row| median(&row[from..until])).collect();
        latency(median(&rows).unwrap_or_default())
    };
    let level = |&(from, until): &ColumnRange| LengthLevel {
        from: lengths[from],
        until: lengths[until - 1],
        late: late((from, until)),
    };
    let found: Vec<LengthLevel> = levels.iter().map(level).collect();
    let step = |pair: &[ColumnRange]| {
        step(sweep, &rows, [pair[0], pair[1]], [late(pair[0]), late(pair[1])], analysis)
    };
    Staircase {
        condition: index_of(sweep.base[0], analysis),
        rounds: rows.len(),
        false_alarms: NOISE,
        steps: levels.windows(2).filter_map(step).collect(),
        levels: found,
        controls: sweep.controls.keys().copied().collect(),
        dma_latency_refused: refusal_of_dma_latency(analysis)
            .filter(|_| !sweep.controls.contains_key(&StepControl::DmaLatency)),
        lengths,
    }
}

/// The levels that differ by enough to matter.
fn levels(rows: &[Vec<f64>], columns: usize, seed: u64) -> Vec<ColumnRange> {
    let mut cuts = cuts(rows, seed);
    loop {
        let edges: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([columns]).collect();
        let levels: Vec<ColumnRange> = edges.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let smallest = levels
            .windows(2)
            .enumerate()
            .filter_map(|(number, pair)| Some((number, size(rows, pair[0], pair[1])?)))
            .min_by(|left, right| left.1.total_cmp(&right.1));
        match smallest {
            Some((number, size)) if size < 1.0 => cuts.remove(number),
            _ => return levels,
        };
    }
}

/// The size of a step in units of the least that matters; 0 if it is not significant.
fn size(rows: &[Vec<f64>], below: ColumnRange, above: ColumnRange) -> Option<f64> {
    let rises = rises(rows, below, above);
    let (_, interval) = estimate(&rises)?;
    if interval.low.as_nanos() <= 0 && interval.high.as_nanos() >= 0 {
        return Some(0.0);
    }
    let rise = median(&rises)?.abs();
    let level: Vec<f64> = rows.iter().filter_map(|row| median(&row[below.0..below.1])).collect();
    Some(rise / LEAST_RISE.max(LEAST_SHARE * median(&level)?))
}

fn step(
    sweep: &Sweep<'_>,
    rows: &[Vec<f64>],
    [below, above]: [ColumnRange; 2],
    [from, to]: [Latency; 2],
    analysis: &Analysis,
) -> Option<LengthStep> {
    let lengths = sweep.lengths();
    let (rise, interval) = estimate(&rises(rows, below, above))?;
    let (first, last) = cut_interval(rows, (below.0, above.1), analysis.header.seed)?;
    let between = [lengths[first.min(above.0) - 1], lengths[last.max(above.0)]];
    let controls: Vec<ControlResult> = sweep
        .controls
        .iter()
        .filter_map(|(control, medians)| control_result(*control, &sweep.medians, medians, [below, above]))
        .collect();
    let system = &analysis.header.system;
    let base = |(from, until): ColumnRange| -> &[&Outcome] { &sweep.base[from..until] };
    let slack = sweep.base[0].in_force.as_ref().map_or(Span::ZERO, |settings| settings.slack);
    let cpu = sweep.base[0].condition.cpu;
    let (cause, claim, control) = explain(&StepEvidence { between, slack, controls: &controls, cpu, system });
    let entries = idle_state_entries(base(below), base(above), system);
    let at = lengths[above.0];
    Some(LengthStep {
        at,
        from,
        to,
        between,
        rise,
        interval,
        cause,
        claim,
        control,
        controls,
        entered: entries,
    })
}

fn index_of(outcome: &Outcome, analysis: &Analysis) -> u32 {
    let conditions = analysis.header.conditions.iter();
    let place = conditions.into_iter().position(|condition| *condition == outcome.condition);
    u32::try_from(place.unwrap_or_default()).unwrap_or(u32::MAX)
}

/// Why the limit on idle states could not be set.
fn refusal_of_dma_latency(analysis: &Analysis) -> Option<String> {
    analysis.caveats.iter().find_map(|caveat| match caveat {
        Caveat::ControlNotTried { setting, reason } if setting == DMA_LATENCY => {
            // The kernel's message, without its number.
            reason.to_string().split(" (os error").next().map(str::to_owned)
        }
        _ => None,
    })
}

/// The file that limits the exit latency of idle states.
pub const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

#[allow(clippy::cast_possible_truncation, reason = "rounded first")]
const fn latency(nanos: f64) -> Latency {
    Latency::from_nanos(nanos.round() as i64)
}
