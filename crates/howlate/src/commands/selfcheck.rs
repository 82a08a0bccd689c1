//! `howlate selfcheck`

mod injection;
mod quota;

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_inject::Class;
use howlate_linux::sched;
use howlate_model::{CpuSet, Span};
use howlate_plan::without_repeats;
use howlate_render::{CheckedClass, SelfCheck, time_left};
use howlate_trace::{Choice, Tier, open_as_asked};

use crate::cli::Selfcheck;
use crate::environment::{clear_up, on_interrupt};
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal::{self, InPlace, is_watched};
use injection::Making;

pub(crate) fn run(asked: &Selfcheck) -> Result<Status, Error> {
    let interrupted = on_interrupt()?;
    for caveat in clear_up() {
        terminal::tell(&format!("{}\n", howlate_render::caveat(&caveat)));
    }
    let classes =
        if asked.classes.is_empty() { Class::ALL.to_vec() } else { without_repeats(&asked.classes) };
    let (mut check, tier) = begin(asked.tracer)?;
    let mut place = (!asked.printing.quiet && is_watched()).then(InPlace::default);
    for (number, class) in classes.iter().enumerate() {
        let left = asked.duration.times((classes.len() - number) as u64);
        if let Some(place) = &mut place {
            place.show(&format!("{class}, {} of {} · {}", number + 1, classes.len(), time_left(left)));
        }
        check.classes.push(one(*class, asked, (check.cpu, tier), &interrupted));
    }
    place.iter_mut().for_each(InPlace::clear);
    let json = asked.printing.json;
    let text = if json { check.json()? } else { check.text(terminal::width()) };
    terminal::print_or_json(&text, json)?;
    Ok(status(&check, interrupted.load(Ordering::Relaxed)))
}

/// The tracer that there will be, and the CPU. One that is asked for by name and cannot be had ends it here.
fn begin(tracer: Choice) -> Result<(SelfCheck, Option<Tier>), Error> {
    let opened = open_as_asked(tracer, &[std::process::id()])?;
    let tier = opened.tracer.as_ref().map(|tracer| tracer.tier());
    let refused = opened.refused.iter().map(|(tier, reason)| format!("{tier}: {reason}"));
    // The kernel's own work prefers the first one.
    let cpu = sched::affinity().unwrap_or_else(|_| CpuSet::from_iter([0])).iter().max().unwrap_or(0);
    Ok((SelfCheck::new(tier.map(|tier| tier.name().to_owned()), refused.collect(), cpu), tier))
}

/// Makes one class, unless there is a reason not to.
fn one(
    class: Class,
    asked: &Selfcheck,
    (cpu, tier): (u32, Option<Tier>),
    interrupted: &AtomicBool,
) -> CheckedClass {
    let not_made = |reason: String| CheckedClass::not_made(class.name(), reason);
    if interrupted.load(Ordering::Relaxed) {
        return not_made("it was ended before this was begun".to_owned());
    }
    let Some(tier) = tier else { return not_made("there is no tracer to check".to_owned()) };
    if !names(tier, class) {
        return not_made(format!("tracer {tier} does not tell this; `--tracer bpf` does, as root"));
    }
    let making = Making { class, cpu, lasts: asked.duration, tracer: asked.tracer, interrupted };
    match making.make() {
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

/// What is missed counts whatever else is; only a whole check, which nobody ended early, shows that nothing is.
fn status(check: &SelfCheck, is_cut: bool) -> Status {
    match (check.is_missed(), check.is_any_found() && !is_cut) {
        (true, _) => Status::Exceeded,
        (false, true) => Status::Done,
        (false, false) => Status::NotTrustworthy,
    }
}

/// How long the kernel is given to settle after its code was patched.
const SETTLING: Span = Span::from_millis(20);

#[cfg(test)]
mod tests {
    use howlate_analyse::cause::Score;

    use super::*;

    fn status_of(hits_and_found: &[Option<(u64, u64)>]) -> Status {
        let mut check = SelfCheck::new(Some("bpf".into()), Vec::new(), 0);
        check.classes = hits_and_found
            .iter()
            .map(|made| match made {
                Some((hits, found)) => CheckedClass::from_score(
                    "thread",
                    Score { hits: *hits, found: *found, ..Score::default() },
                ),
                None => CheckedClass::not_made("thread", "there is one CPU".into()),
            })
            .collect();
        status(&check, false)
    }

    #[test]
    fn wrong_blame_is_1_and_nothing_to_judge_is_3() {
        assert_eq!(status_of(&[Some((100, 100)), None]), Status::Done);
        assert_eq!(status_of(&[Some((100, 100)), Some((100, 94))]), Status::Exceeded);
        assert_eq!(status_of(&[Some((100, 0)), None]), Status::Exceeded);
        assert_eq!(status_of(&[None, Some((3, 0))]), Status::NotTrustworthy);
        assert_eq!(status_of(&[]), Status::NotTrustworthy);
        let mut cut = SelfCheck::new(Some("bpf".into()), Vec::new(), 0);
        cut.classes
            .push(CheckedClass::from_score("thread", Score { hits: 100, found: 100, ..Score::default() }));
        assert_eq!((status(&cut, false), status(&cut, true)), (Status::Done, Status::NotTrustworthy));
    }
}
