//! `howlate selfcheck`: tests the tracer with injected delays.

use std::sync::atomic::Ordering;

use howlate_model::SelfCheck;
use howlate_plan::deduplicate;
use howlate_render::{self_check, self_check_json, time_left};
use howlate_selfcheck::inject::CauseClass;
use howlate_selfcheck::{SelfCheckRequest, check};

use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup::{clean_up, on_interrupt};
use crate::terminal::{self, InPlace, stderr_is_terminal};
use howlate_cli::SelfcheckArgs;

pub(crate) fn run(args: &SelfcheckArgs) -> Result<ExitStatus, Error> {
    let interrupted = on_interrupt()?;
    for caveat in clean_up() {
        terminal::eprint_wrapped(&format!("{}\n", howlate_render::caveat(&caveat)));
    }
    let classes = if args.classes.is_empty() { CauseClass::ALL.to_vec() } else { deduplicate(&args.classes) };
    let mut display = (!args.printing.quiet && stderr_is_terminal()).then(InPlace::default);
    let request = SelfCheckRequest {
        classes: &classes,
        lasts: args.duration,
        tracer: args.tracer,
        interrupted: &interrupted,
    };
    let result = check(&request, |number, class| {
        let remaining = args.duration.times((classes.len() - number) as u64);
        if let Some(display) = &mut display {
            display.show(&format!("{class}, {} of {} · {}", number + 1, classes.len(), time_left(remaining)));
        }
    })?;
    display.iter_mut().for_each(InPlace::clear);
    let json = args.printing.json;
    let text = if json { self_check_json(&result)? } else { self_check(&result, terminal::width()) };
    terminal::print_or_json(&text, json)?;
    Ok(status(&result, interrupted.load(Ordering::Relaxed)))
}

/// A missed injection always fails the check; success needs a finding and a check that was not interrupted.
fn status(check: &SelfCheck, was_interrupted: bool) -> ExitStatus {
    match (check.is_missed(), check.is_any_found() && !was_interrupted) {
        (true, _) => ExitStatus::Exceeded,
        (false, true) => ExitStatus::Done,
        (false, false) => ExitStatus::NotTrustworthy,
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{CheckScore, CheckedClass};

    use super::*;

    /// A check with hits and found injections per class; `None` for a class that was not made.
    fn checked(hits_and_found: &[Option<(u64, u64)>]) -> SelfCheck {
        let class = |counts: &Option<(u64, u64)>| match *counts {
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
        assert_eq!(status_of(&[Some((100, 100)), None]), ExitStatus::Done);
        assert_eq!(status_of(&[Some((100, 100)), Some((100, 94))]), ExitStatus::Exceeded);
        assert_eq!(status_of(&[Some((100, 0)), None]), ExitStatus::Exceeded);
        assert_eq!(status_of(&[None, Some((3, 0))]), ExitStatus::NotTrustworthy);
        assert_eq!(status_of(&[]), ExitStatus::NotTrustworthy);
        let complete = checked(&[Some((100, 100))]);
        assert_eq!(
            (status(&complete, false), status(&complete, true)),
            (ExitStatus::Done, ExitStatus::NotTrustworthy)
        );
    }
}
