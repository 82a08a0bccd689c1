//! `cargo xtask truth advice`: programs that are late for a known reason are watched, howlate's advice is followed literally, and the
//! programs' own time stamps show whether it helps, does nothing or harms.

mod cell;
mod counsel;
mod programs;
mod run;
mod screen;
mod subjects;
mod threads;
mod verdict;
mod watchdog;
mod witnessed;
mod written;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use howlate_guard::Guard;

use counsel::AdviceAction;
use programs::SubjectPrograms;
use run::{AdviceTrials, TriedAdvice};
use subjects::{SUBJECTS, Subject};
use verdict::AdviceVerdict;

use crate::bench::built;

/// Pairs of runs with and without each piece of advice.
const PAIRS: usize = 3;
/// Lowest acceptable percentage of tried advice that helps.
const MOST_HELP: usize = 80;

/// The command line.
struct AdviceOptions<'a> {
    /// Parts of program names; empty: all programs.
    names: Vec<&'a str>,
    pairs: usize,
}

/// Numbers of pieces of advice by verdict.
#[derive(Default)]
struct AdviceCounts {
    helped: usize,
    nothing: usize,
    /// Of those, how many were advised without a "may help".
    claimed: usize,
    harmed: usize,
    not_typed: usize,
    untried: usize,
    unknown: usize,
    silent: usize,
    skipped: usize,
    /// Rows of the Markdown table.
    table: Vec<String>,
}

/// `cargo xtask truth advice [NAME …] [--pairs N]`: status 1 where advice harmed, could not be typed, or too seldom helped.
pub fn run(arguments: &[&str]) -> ExitCode {
    let Some(options) = AdviceOptions::read(arguments) else {
        eprintln!("error: write `cargo xtask truth advice [PART OF A PROGRAM'S NAME …] [--pairs N]`");
        return ExitCode::from(2);
    };
    match built().and_then(|program| options.all(&program)) {
        Ok(counts) => counts.report(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

impl<'a> AdviceOptions<'a> {
    fn read(arguments: &[&'a str]) -> Option<Self> {
        let mut options = Self { names: Vec::new(), pairs: PAIRS };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--pairs" => options.pairs = arguments.next()?.parse().ok().filter(|pairs| *pairs > 0)?,
                option if option.starts_with('-') => return None,
                name => options.names.push(name),
            }
        }
        let is_known = |name: &&str| SUBJECTS.iter().any(|subject| subject.name.contains(*name));
        options.names.iter().all(is_known).then_some(options)
    }

    fn all(&self, program: &Path) -> io::Result<AdviceCounts> {
        let programs = SubjectPrograms::new(program)?;
        let guard = Guard::default();
        let trials = AdviceTrials { programs: &programs, guard: &guard, pairs: self.pairs };
        let mut counts = AdviceCounts::default();
        let is_selected = |subject: &&Subject| {
            self.names.is_empty() || self.names.iter().any(|name| subject.name.contains(name))
        };
        for subject in SUBJECTS.iter().filter(is_selected) {
            match trials.subject(subject) {
                Ok(tried_advice) => counts.add(subject, &tried_advice),
                Err(error) => counts.skip(subject, &error),
            }
        }
        for caveat in guard.end() {
            eprintln!("not put back: {caveat:?}");
        }
        Ok(counts)
    }
}

impl AdviceCounts {
    fn skip(&mut self, subject: &Subject, error: &io::Error) {
        self.skipped += 1;
        println!("{}: skipped: {error}", subject.name);
        self.table.push(format!("| {} | – | skipped: {error} |", subject.name));
    }

    fn add(&mut self, subject: &Subject, all: &[TriedAdvice]) {
        let cures: Vec<String> = subject.cures.iter().map(|cure| format!("{cure:?}")).collect();
        let cures = if cures.is_empty() { "nothing".to_owned() } else { cures.join(", ") };
        println!("{} (helps: {cures})", subject.name);
        if all.is_empty() {
            self.silent += usize::from(!subject.cures.is_empty());
            println!("  none      no advice");
            self.table.push(format!("| {} | none | |", subject.name));
        }
        for tried_advice in all {
            self.count(tried_advice);
            let of_cure = match tried_advice.counsel.cure {
                Some(cure) if subject.cures.contains(&cure) => "",
                Some(_) | None => " (not what is known to help)",
            };
            let action_text = action_text(
                &tried_advice.counsel.way,
                tried_advice.counsel.cure.map_or("", counsel::ProgramFix::fix),
            );
            println!("  {:<9} {action_text}{of_cure}", tried_advice.verdict.word());
            let word = tried_advice.verdict.word().to_lowercase();
            self.table.push(format!("| {} | `{action_text}` | {word} |", subject.name));
            let details = [tried_advice.verdict.why(), &tried_advice.figures];
            details.iter().filter(|text| !text.is_empty()).for_each(|text| println!("            {text}"));
        }
    }

    fn count(&mut self, tried_advice: &TriedAdvice) {
        match tried_advice.verdict {
            AdviceVerdict::Helped => self.helped += 1,
            AdviceVerdict::Nothing => {
                self.nothing += 1;
                self.claimed += usize::from(!tried_advice.counsel.careful);
            }
            AdviceVerdict::Harmed(_) => self.harmed += 1,
            AdviceVerdict::CouldNotBeTyped(_) => self.not_typed += 1,
            AdviceVerdict::NotChanged
            | AdviceVerdict::Restart
            | AdviceVerdict::ForGood
            | AdviceVerdict::Elsewhere
            | AdviceVerdict::Looked => self.untried += 1,
            AdviceVerdict::Unknown(_) => self.unknown += 1,
        }
    }

    /// Advice that was tried in pairs.
    fn tried(&self) -> usize {
        self.helped + self.nothing + self.harmed
    }

    fn hold(&self) -> bool {
        self.harmed == 0
            && self.not_typed == 0
            && self.claimed == 0
            && self.helped * 100 >= MOST_HELP * self.tried()
    }

    fn report(&self) -> ExitCode {
        let tried = self.tried();
        println!("\n| program | advice | verdict |\n|---|---|---|");
        self.table.iter().for_each(|line| println!("{line}"));
        println!(
            "\ntried {tried}: helped {}, nothing {} ({} of them claimed to), harmed {}; could not be typed {}; \
             code, restarts and what only looks {}; unknown {}",
            self.helped, self.nothing, self.claimed, self.harmed, self.not_typed, self.untried, self.unknown
        );
        println!("no advice though something helps: {}; programs skipped: {}", self.silent, self.skipped);
        println!(
            "limits: none harmed, all can be typed, {MOST_HELP} of 100 help, the rest is said to be untried"
        );
        if self.hold() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn action_text(way: &AdviceAction, cure: &str) -> String {
    match way {
        AdviceAction::Again(line)
        | AdviceAction::During(line)
        | AdviceAction::Before(line)
        | AdviceAction::Looks(line)
        | AdviceAction::ForGood(line)
        | AdviceAction::Incomplete(line) => line.clone(),
        AdviceAction::Code => format!("code: {cure}"),
        AdviceAction::Restart => "a restart".to_owned(),
        AdviceAction::Elsewhere => "somewhere else".to_owned(),
        AdviceAction::Words => "arguments".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use howlate_testing::skip;

    use super::*;
    use crate::truth::tests::program;

    #[test]
    fn limits_are_kept_by_all_of_them() {
        let counts = |helped, nothing, claimed, harmed, not_typed| {
            AdviceCounts { helped, nothing, claimed, harmed, not_typed, ..AdviceCounts::default() }.hold()
        };
        assert!(counts(0, 0, 0, 0, 0), "no advice is no wrong advice");
        assert!(counts(8, 2, 0, 0, 0));
        assert!(!counts(7, 2, 0, 0, 0), "too seldom");
        assert!(!counts(8, 2, 1, 0, 0), "it was claimed");
        assert!(!counts(99, 0, 0, 1, 0), "harm");
        assert!(!counts(99, 0, 0, 0, 1), "not typed");
    }

    #[test]
    fn words_name_programs() {
        assert_eq!(AdviceOptions::read(&["loop", "--pairs", "5"]).map(|options| options.pairs), Some(5));
        assert!(AdviceOptions::read(&["no such program"]).is_none());
        assert!(AdviceOptions::read(&["--pairs", "0"]).is_none());
    }

    /// The verdict depends on the machine, but there must be one.
    #[test]
    fn one_program_is_watched_and_its_advice_followed() {
        let Some(program) = program() else { return };
        let programs = match SubjectPrograms::new(&program) {
            Ok(programs) => programs,
            Err(error) => return skip(&format!("no programs can be made: {error}")),
        };
        let guard = Guard::default();
        let trials = AdviceTrials { programs: &programs, guard: &guard, pairs: 1 };
        match trials.subject(&SUBJECTS[0]) {
            Ok(all) => all.iter().for_each(|tried_advice| {
                let (word, why) = (tried_advice.verdict.word(), tried_advice.verdict.why());
                assert!(!matches!(tried_advice.verdict, AdviceVerdict::Unknown(_)), "{word}: {why}");
            }),
            Err(error) => skip(&format!("it could not be watched: {error}")),
        }
    }
}
