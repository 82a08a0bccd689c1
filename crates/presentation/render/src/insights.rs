//! Explanations as sentences. A cause is stated only if a control experiment shows it; otherwise the numbers are called consistent
//! with it, and the control that would tell is named.

use howlate_analyse::{
    Analysis, AwakeControl, CallSlack, Insight, LatenessStep, Outcome, PriorityEffect, Punctuality, Ratio,
    StepOrigin, Tick, TimerSlack, insights,
};
use howlate_model::{Latency, Property};

use crate::condition::{among, named_by, phrases};
use crate::detail::{Brevity, and_more};
use crate::numbers::{count, length};
use crate::property::varying;
use crate::prose::wrapped;
use crate::ratio::times_as_much;
use crate::recurrence;
use crate::steps;
use crate::style::{HEADING, paint};

/// Sentences on what the numbers of a recording mean.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let steps = steps::sentences(analysis).into_iter().chain(recurrence::sentences(analysis));
    steps.chain(insights(analysis).iter().map(|found| insight(found, analysis))).collect()
}

/// The sentences as a paragraph; empty without any.
pub(crate) fn what_this_means(analysis: &Analysis, brevity: Brevity, width: usize) -> String {
    meaning(analysis, &sentences(analysis), brevity, width)
}

/// Sentences in the shortest form.
const FEW: usize = 3;

/// Sentences below a heading.
pub(crate) fn meaning(analysis: &Analysis, sentences: &[String], brevity: Brevity, width: usize) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let shown = brevity.of(sentences.len(), FEW);
    let lines = sentences.iter().take(shown).map(|sentence| format!("  {}\n", wrapped(sentence, width, 2)));
    let (lines, more) = (lines.collect::<String>(), and_more(analysis, sentences.len() - shown, 2, width));
    format!("{}\n{lines}{more}\n", paint(HEADING, "What this means"))
}

/// The explanation with its conditions, if there are others.
pub(crate) fn insight(insight: &Insight, analysis: &Analysis) -> String {
    let text = explanation(insight, analysis);
    match among(analysis, conditions(insight)) {
        // These two name their conditions themselves.
        Some(names) if !matches!(insight, Insight::Turns(_) | Insight::Priority(_)) => {
            format!("{text} Applies to: {names}.")
        }
        _ => text,
    }
}

/// Indices of conditions in the recording's header.
fn conditions(insight: &Insight) -> &[u32] {
    match insight {
        Insight::Turns(Punctuality { conditions, .. })
        | Insight::Priority(PriorityEffect { conditions, .. })
        | Insight::TimerSlack(TimerSlack { conditions, .. })
        | Insight::CallSlack(CallSlack { conditions, .. })
        | Insight::Tick(Tick { conditions, .. })
        | Insight::Step(LatenessStep { conditions, .. }) => conditions,
    }
}

/// The explanation, and what to do.
pub(crate) fn explanation(insight: &Insight, analysis: &Analysis) -> String {
    match insight {
        Insight::Turns(turns) => of_turns(turns, analysis),
        Insight::Priority(priority) => of_priority(priority, analysis),
        Insight::TimerSlack(slack) => timer_slack(slack),
        Insight::CallSlack(slack) => call_slack(slack),
        Insight::Tick(tick) => ticks(tick),
        Insight::Step(step) => a_step(step),
    }
}

/// `A 1 ms loop (other): 99 % of iterations start within 137 µs; 0.1 % start more than 4.69 ms late.`
fn of_turns(turns: &Punctuality, analysis: &Analysis) -> String {
    let outcome = turns.conditions.first().and_then(|index| outcome(analysis, *index));
    let circumstances = outcome.map_or_else(String::new, |outcome| circumstances(outcome, analysis));
    let (period, late) = (length(turns.period), iterations(turns));
    format!("A {period} loop{circumstances}: {late} {}", period_late(turns))
}

/// `99 % of iterations start within 137 µs; 0.1 % start more than 4.69 ms late.`
pub(crate) fn iterations(turns: &Punctuality) -> String {
    let worst = turns.p999.map_or_else(String::new, |p999| format!("; 0.1 % start more than {p999} late"));
    format!("99 % of iterations start within {}{worst}.", turns.p99)
}

/// `3 of 6 000 were at least one full period late.`
pub(crate) fn period_late(turns: &Punctuality) -> String {
    let planned = count(turns.planned);
    match turns.period_late {
        0 => format!("None of {planned} was a full period late."),
        1 => format!("1 of {planned} was at least one full period late."),
        late => format!("{} of {planned} were at least one full period late.", count(late)),
    }
}

/// The policy of a loop and the properties that vary in the recording, except those of single threads.
fn circumstances(outcome: &Outcome, analysis: &Analysis) -> String {
    let all: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let elsewhere = [Property::Policy, Property::Cpu, Property::Thread, Property::Length, Property::Kind];
    let differ = varying(&all).into_iter().filter(|property| !elsewhere.contains(property));
    let properties: Vec<Property> = std::iter::once(Property::Policy).chain(differ).collect();
    let phrases = phrases(outcome, &properties);
    if phrases.is_empty() { String::new() } else { format!(" ({})", phrases.join(", ")) }
}

fn of_priority(gain: &PriorityEffect, analysis: &Analysis) -> String {
    let ratio = Ratio::Settled { low: gain.ratio_low, high: gain.ratio_high, pairs: gain.pairs };
    let outcome = gain.conditions.first().and_then(|index| outcome(analysis, *index));
    let where_seen = outcome.map_or_else(String::new, |outcome| named_by(outcome, &[Property::Load]));
    let where_seen = if where_seen.is_empty() { where_seen } else { format!(" ({where_seen})") };
    format!(
        "Real-time priority ({}) lowers the p99 of a turn from {} to {}{where_seen}{}",
        gain.policy,
        gain.ordinary,
        gain.realtime,
        times_as_much(ratio, "")
    )
}

/// The outcome of a condition by its index in the header; `None` where the analysis is only a part of the recording.
fn outcome(analysis: &Analysis, index: u32) -> Option<&Outcome> {
    let condition = analysis.header.conditions.get(index as usize)?;
    analysis.outcomes().iter().find(|outcome| outcome.condition == *condition)
}

fn timer_slack(TimerSlack { slack, median, without, traced, .. }: &TimerSlack) -> String {
    let option = slack;
    let slack = length(*slack);
    let observation = match (without, traced) {
        (Some(control), _) => {
            let added = Latency::from_nanos(median.as_nanos() - control.median.as_nanos());
            format!("{slack} of timer slack add {added} to the median.")
        }
        (None, Some(traced)) => {
            format!("{} of the median are timer slack (traced).", length(*traced))
        }
        (None, None) => format!(
            "The usual lateness is consistent with timer slack: the kernel may delay the timers of a normal thread by up \
             to {slack}. To check, run with `--slack 1ns,{option}`."
        ),
    };
    format!("{observation} `prctl(PR_SET_TIMERSLACK, 1)` removes it, without privileges.")
}

fn call_slack(CallSlack { call, length: requested, slack, median, without, .. }: &CallSlack) -> String {
    let observation = match without {
        Some(control) => format!("half of them are more than {median} late, without it {}", control.median),
        None => format!("the median of {median} is consistent with that"),
    };
    format!(
        "`{call}` adds slack of its own, 0.1 % of the timeout (0.5 % for nice threads): {} to {}, regardless of the timer slack; {observation}.",
        length(*slack),
        length(*requested)
    )
}

fn ticks(Tick { tick, is_read, .. }: &Tick) -> String {
    let tick = length(*tick);
    if *is_read {
        return format!(
            "Short sleeps end on the kernel's tick, every {tick}: high-resolution timers are off; see `howlate doctor`."
        );
    }
    format!(
        "Short sleeps are about one tick ({tick}) late, which is consistent with missing high-resolution timers; \
         whether these are active could not be read."
    )
}

fn a_step(step: &LatenessStep) -> String {
    let LatenessStep { below, above, median_below, median_above, .. } = step;
    let origins: Vec<String> = step.origins.iter().map(origin).collect();
    let fits = if origins.is_empty() {
        String::new()
    } else {
        format!(" The step fits this: {}", origins.join(" "))
    };
    format!(
        "Lateness jumps with the length of the sleep: at {} the median is {median_below}, at {} {median_above}. {}",
        length(*below),
        length(*above),
        match step.awake {
            Some(awake) if awake.step_is_gone => {
                format!(
                    "With every CPU kept awake, {}: the step is the cost of leaving the idle state.{fits}",
                    awake_medians(awake)
                )
            }
            Some(awake) => format!(
                "With every CPU kept awake, {}: the step does not come from an idle state.",
                awake_medians(awake)
            ),
            None => format!("`--load idle,awake` shows whether it comes from leaving the idle state.{fits}"),
        }
    )
}

fn awake_medians(AwakeControl { median_below, median_above, .. }: AwakeControl) -> String {
    format!("they are {median_below} and {median_above} late")
}

fn origin(origin: &StepOrigin) -> String {
    match origin {
        StepOrigin::IdleState { name, residency, exit_latency } => format!(
            "idle state {name} is entered from {} on (target residency) and takes up to {} to leave; \
             `--dma-latency 0us` keeps the CPU out of it.",
            length(*residency),
            length(*exit_latency)
        ),
        StepOrigin::HaltPoll { limit } => format!(
            "KVM on the host polls for {} by default (halt_poll_ns) before it deschedules an idle vCPU; longer sleeps pay for rescheduling it.",
            length(*limit)
        ),
    }
}
