//! `howlate selfcheck`

use std::sync::atomic::Ordering;

use howlate_model::SelfCheck;
use howlate_plan::deduplicate;
use howlate_render::{self_check, self_check_json, time_left};
use howlate_selfcheck::inject::Class;
use howlate_selfcheck::{Request, check};

use crate::error::Error;
use crate::exit_status::Status;
use crate::startup::{clear_up, on_interrupt};
use crate::terminal::{self, InPlace, is_watched};
use howlate_cli::SelfcheckArgs;

pub(crate) fn run(asked: &SelfcheckArgs) -> Result<Status, Error> {
    let interrupted = on_interrupt()?;
    for caveat in clear_up() {
        terminal::tell(&format!("{}\n", howlate_render::caveat(&caveat)));
    }
    let classes = if asked.classes.is_empty() { Class::ALL.to_vec() } else { deduplicate(&asked.classes) };
    let mut place = (!asked.printing.quiet && is_watched()).then(InPlace::default);
    let request =
        Request { classes: &classes, lasts: asked.duration, tracer: asked.tracer, interrupted: &interrupted };
    let checked = check(&request, |number, class| {
        let left = asked.duration.times((classes.len() - number) as u64);
        if let Some(place) = &mut place {
            place.show(&format!("{class}, {} of {} · {}", number + 1, classes.len(), time_left(left)));
        }
    })?;
    place.iter_mut().for_each(InPlace::clear);
    let json = asked.printing.json;
    let text = if json { self_check_json(&checked)? } else { self_check(&checked, terminal::width()) };
    terminal::print_or_json(&text, json)?;
    Ok(status(&checked, interrupted.load(Ordering::Relaxed)))
}

/// What is missed counts whatever else is; only a whole check, which nobody ended early, shows that nothing is.
fn status(check: &SelfCheck, is_cut: bool) -> Status {
    match (check.is_missed(), check.is_any_found() && !is_cut) {
        (true, _) => Status::Exceeded,
        (false, true) => Status::Done,
        (false, false) => Status::NotTrustworthy,
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{CheckScore, CheckedClass};

    use super::*;

    /// A check with these hits and how many were found, per class; `None` was not made.
    fn checked(hits_and_found: &[Option<(u64, u64)>]) -> SelfCheck {
        let class = |made: &Option<(u64, u64)>| match *made {
            Some((hits, found)) => {
                CheckedClass::from_score("thread", CheckScore { hits, found, ..CheckScore::default() })
            }
            None => CheckedClass::not_made("thread", "there is one CPU".into()),
        };
        let classes = hits_and_found.iter().map(class).collect();
        SelfCheck {
            tracer: Some("bpf".into()),
            refused: Vec::new(),
            goes_without: Vec::new(),
            cpu: 0,
            classes,
        }
    }

    #[test]
    fn wrong_blame_is_1_and_nothing_to_judge_is_3() {
        let status_of = |classes: &[_]| status(&checked(classes), false);
        assert_eq!(status_of(&[Some((100, 100)), None]), Status::Done);
        assert_eq!(status_of(&[Some((100, 100)), Some((100, 94))]), Status::Exceeded);
        assert_eq!(status_of(&[Some((100, 0)), None]), Status::Exceeded);
        assert_eq!(status_of(&[None, Some((3, 0))]), Status::NotTrustworthy);
        assert_eq!(status_of(&[]), Status::NotTrustworthy);
        let whole = checked(&[Some((100, 100))]);
        assert_eq!((status(&whole, false), status(&whole, true)), (Status::Done, Status::NotTrustworthy));
    }
}
