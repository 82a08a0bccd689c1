//! Checks the classes one after the other.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::sched;
use howlate_model::{CheckedClass, CpuSet, SelfCheck, Span};
use howlate_trace::{Choice, Tier, TracerMissing, open_chosen};

use crate::inject::CauseClass;
use crate::run_class::ClassRun;

/// Options of a self-check.
pub struct SelfCheckRequest<'a> {
    /// In the order in which they are injected.
    pub classes: &'a [CauseClass],
    /// Duration of each class.
    pub lasts: Span,
    pub tracer: Choice,
    /// When set, no further class is started.
    pub interrupted: &'a AtomicBool,
}

/// Checks every class, and calls `begin` with its index before each.
///
/// # Errors
///
/// When a tracer was chosen and is not available. Without any tracer, the result of every class says so.
pub fn check(
    request: &SelfCheckRequest<'_>,
    mut begin: impl FnMut(usize, CauseClass),
) -> Result<SelfCheck, TracerMissing> {
    let opened = open_chosen(request.tracer, &[std::process::id()])?;
    let tier = opened.tracer.as_ref().map(|tracer| tracer.tier());
    let refused = opened.refused.iter().map(|(tier, reason)| format!("{tier}: {reason}")).collect();
    let missing = opened.tracer.iter().flat_map(|tracer| tracer.missing_events());
    let missing_events = missing.map(|missing| format!("{}: {}", missing.event, missing.costs)).collect();
    drop(opened);
    // The last CPU: the kernel's own work prefers the first one.
    let cpu = sched::affinity().unwrap_or_else(|_| CpuSet::from_iter([0])).iter().max().unwrap_or(0);
    let classes = request.classes.iter().enumerate().map(|(index, class)| {
        begin(index, *class);
        check_class(*class, request, cpu, tier)
    });
    let classes = classes.collect();
    Ok(SelfCheck {
        tracer: tier.map(|tier| tier.name().to_owned()),
        refused,
        goes_without: missing_events,
        cpu,
        classes,
    })
}

/// Checks one class, or returns why not.
fn check_class(
    class: CauseClass,
    request: &SelfCheckRequest<'_>,
    cpu: u32,
    tier: Option<Tier>,
) -> CheckedClass {
    let not_made = |reason: String| CheckedClass::not_made(class.name(), reason);
    if request.interrupted.load(Ordering::Relaxed) {
        return not_made("it was ended before this was begun".to_owned());
    }
    let Some(tier) = tier else { return not_made("there is no tracer to check".to_owned()) };
    if !reports(tier, class) {
        return not_made(format!("tracer {tier} does not tell this; `--tracer bpf` does, as root"));
    }
    let (lasts, tracer, interrupted) = (request.lasts, request.tracer, request.interrupted);
    match (ClassRun { class, cpu, lasts, tracer, interrupted }).run() {
        Ok(score) => CheckedClass::from_score(class.name(), score),
        Err(reason) => not_made(reason),
    }
}

/// Whether `tier` can report this cause at all: tracefs has no event of quotas, and the switches tier knows only the timer slack.
fn reports(tier: Tier, class: CauseClass) -> bool {
    match tier {
        Tier::Bpf => true,
        Tier::Tracefs => class != CauseClass::Throttled,
        Tier::Switches => class == CauseClass::TimerSlack,
    }
}
