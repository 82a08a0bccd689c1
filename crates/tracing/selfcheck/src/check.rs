//! One class after the other.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::sched;
use howlate_model::{CheckedClass, CpuSet, SelfCheck, Span};
use howlate_trace::{Choice, Tier, TracerMissing, open_as_asked};

use crate::inject::Class;
use crate::run_class::Making;

/// What is to be checked.
pub struct Request<'a> {
    /// Causes, in the order in which they are made.
    pub classes: &'a [Class],
    /// How long each is made.
    pub lasts: Span,
    /// Which tracer is checked.
    pub tracer: Choice,
    /// When set, no more is begun.
    pub interrupted: &'a AtomicBool,
}

/// Makes every class, unless there is a reason not to; tells before each its place among them.
///
/// # Errors
///
/// When a tracer is asked for by name and cannot be had. Without any, no class is made, and all say so.
pub fn check(asked: &Request<'_>, mut begin: impl FnMut(usize, Class)) -> Result<SelfCheck, TracerMissing> {
    let opened = open_as_asked(asked.tracer, &[std::process::id()])?;
    let tier = opened.tracer.as_ref().map(|tracer| tracer.tier());
    let refused = opened.refused.iter().map(|(tier, reason)| format!("{tier}: {reason}")).collect();
    let gaps = opened.tracer.iter().flat_map(|tracer| tracer.gaps());
    let goes_without = gaps.map(|gap| format!("{}: {}", gap.event, gap.costs)).collect();
    drop(opened);
    // The kernel's own work prefers the first one.
    let cpu = sched::affinity().unwrap_or_else(|_| CpuSet::from_iter([0])).iter().max().unwrap_or(0);
    let classes = asked.classes.iter().enumerate().map(|(place, class)| {
        begin(place, *class);
        one(*class, asked, cpu, tier)
    });
    let classes = classes.collect();
    Ok(SelfCheck { tracer: tier.map(|tier| tier.name().to_owned()), refused, goes_without, cpu, classes })
}

/// Makes one class, unless there is a reason not to.
fn one(class: Class, asked: &Request<'_>, cpu: u32, tier: Option<Tier>) -> CheckedClass {
    let not_made = |reason: String| CheckedClass::not_made(class.name(), reason);
    if asked.interrupted.load(Ordering::Relaxed) {
        return not_made("it was ended before this was begun".to_owned());
    }
    let Some(tier) = tier else { return not_made("there is no tracer to check".to_owned()) };
    if !names(tier, class) {
        return not_made(format!("tracer {tier} does not tell this; `--tracer bpf` does, as root"));
    }
    let (lasts, tracer, interrupted) = (asked.lasts, asked.tracer, asked.interrupted);
    match (Making { class, cpu, lasts, tracer, interrupted }).make() {
        Ok(score) => CheckedClass::from_score(class.name(), score),
        Err(reason) => not_made(reason),
    }
}

/// Whether `tier` can charge this to anybody at all: no event tells of quotas, and of switches only the slack is known.
fn names(tier: Tier, class: Class) -> bool {
    match tier {
        Tier::Bpf => true,
        Tier::Tracefs => class != Class::Throttled,
        Tier::Switches => class == Class::TimerSlack,
    }
}
