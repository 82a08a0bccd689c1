//! Whether advice is true: programs that are late for a known reason are watched, what howlate then advises is typed as it stands,
//! and whether that helps, does nothing or harms say the programs' own stamps.

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

use counsel::Way;
use programs::Programs;
use run::{Followed, Trying};
use subjects::{SUBJECTS, Subject};
use verdict::Verdict;

use crate::bench::built;

/// With and without each piece of advice.
const PAIRS: usize = 3;
/// What is tried helps in so many of a hundred cases.
const MOST_HELP: usize = 80;

/// What was asked for.
struct AdviceOptions<'a> {
    /// Parts of the names of programs; none: all.
    names: Vec<&'a str>,
    pairs: usize,
}

/// What came of all advice.
#[derive(Default)]
struct Counts {
    helped: usize,
    nothing: usize,
    /// Of those, which did not say that it may help.
    claimed: usize,
    harmed: usize,
    not_typed: usize,
    untried: usize,
    unknown: usize,
    silent: usize,
    skipped: usize,
    /// A table of it all, line by line.
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
        while let Some(word) = arguments.next() {
            match *word {
                "--pairs" => options.pairs = arguments.next()?.parse().ok().filter(|pairs| *pairs > 0)?,
                word if word.starts_with('-') => return None,
                name => options.names.push(name),
            }
        }
        let is_known = |name: &&str| SUBJECTS.iter().any(|subject| subject.name.contains(*name));
        options.names.iter().all(is_known).then_some(options)
    }

    fn all(&self, program: &Path) -> io::Result<Counts> {
        let programs = Programs::new(program)?;
        let guard = Guard::default();
        let trying = Trying { programs: &programs, guard: &guard, pairs: self.pairs };
        let mut counts = Counts::default();
        let is_asked = |subject: &&Subject| {
            self.names.is_empty() || self.names.iter().any(|name| subject.name.contains(name))
        };
        for subject in SUBJECTS.iter().filter(is_asked) {
            match trying.subject(subject) {
                Ok(followed) => counts.add(subject, &followed),
                Err(error) => counts.skip(subject, &error),
            }
        }
        for caveat in guard.end() {
            eprintln!("not put back: {caveat:?}");
        }
        Ok(counts)
    }
}

impl Counts {
    fn skip(&mut self, subject: &Subject, error: &io::Error) {
        self.skipped += 1;
        println!("{}: skipped: {error}", subject.name);
        self.table.push(format!("| {} | – | skipped: {error} |", subject.name));
    }

    fn add(&mut self, subject: &Subject, all: &[Followed]) {
        let cures: Vec<String> = subject.cures.iter().map(|cure| format!("{cure:?}")).collect();
        let cures = if cures.is_empty() { "nothing".to_owned() } else { cures.join(", ") };
        println!("{} (helps: {cures})", subject.name);
        if all.is_empty() {
            self.silent += usize::from(!subject.cures.is_empty());
            println!("  none      no advice");
            self.table.push(format!("| {} | none | |", subject.name));
        }
        for followed in all {
            self.count(followed);
            let of_cure = match followed.counsel.cure {
                Some(cure) if subject.cures.contains(&cure) => "",
                Some(_) | None => " (not what is known to help)",
            };
            let way_text =
                way_text(&followed.counsel.way, followed.counsel.cure.map_or("", counsel::Cure::fix));
            println!("  {:<9} {way_text}{of_cure}", followed.verdict.word());
            let word = followed.verdict.word().to_lowercase();
            self.table.push(format!("| {} | `{way_text}` | {word} |", subject.name));
            let details = [followed.verdict.why(), &followed.figures];
            details.iter().filter(|text| !text.is_empty()).for_each(|text| println!("            {text}"));
        }
    }

    fn count(&mut self, followed: &Followed) {
        match followed.verdict {
            Verdict::Helped => self.helped += 1,
            Verdict::Nothing => {
                self.nothing += 1;
                self.claimed += usize::from(!followed.counsel.careful);
            }
            Verdict::Harmed(_) => self.harmed += 1,
            Verdict::CouldNotBeTyped(_) => self.not_typed += 1,
            Verdict::NotChanged
            | Verdict::Restart
            | Verdict::ForGood
            | Verdict::Elsewhere
            | Verdict::Looked => self.untried += 1,
            Verdict::Unknown(_) => self.unknown += 1,
        }
    }

    /// What was tried in pairs.
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

/// A way in words.
fn way_text(way: &Way, cure: &str) -> String {
    match way {
        Way::Again(line)
        | Way::During(line)
        | Way::Before(line)
        | Way::Looks(line)
        | Way::ForGood(line)
        | Way::Incomplete(line) => line.clone(),
        Way::Code => format!("code: {cure}"),
        Way::Restart => "a restart".to_owned(),
        Way::Elsewhere => "somewhere else".to_owned(),
        Way::Words => "arguments".to_owned(),
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
            Counts { helped, nothing, claimed, harmed, not_typed, ..Counts::default() }.hold()
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
        assert_eq!(AdviceOptions::read(&["loop", "--pairs", "5"]).map(|asked| asked.pairs), Some(5));
        assert!(AdviceOptions::read(&["no such program"]).is_none());
        assert!(AdviceOptions::read(&["--pairs", "0"]).is_none());
    }

    /// One program, as all are; what came of it is a matter of the machine, that something was found out is not.
    #[test]
    fn one_program_is_watched_and_its_advice_followed() {
        let Some(program) = program() else { return };
        let programs = match Programs::new(&program) {
            Ok(programs) => programs,
            Err(error) => return skip(&format!("no programs can be made: {error}")),
        };
        let guard = Guard::default();
        let trying = Trying { programs: &programs, guard: &guard, pairs: 1 };
        match trying.subject(&SUBJECTS[0]) {
            Ok(all) => all.iter().for_each(|one| {
                let (word, why) = (one.verdict.word(), one.verdict.why());
                assert!(!matches!(one.verdict, Verdict::Unknown(_)), "{word}: {why}");
            }),
            Err(error) => skip(&format!("it could not be watched: {error}")),
        }
    }
}
