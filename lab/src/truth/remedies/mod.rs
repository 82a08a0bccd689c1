//! False remedies: what howlate advises against a cause is done while the cause is made, and what it changes is measured, with
//! and without by turns, by a program that stamps its own wake-ups.

mod advice;
mod rows;

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use advice::Step;
use howlate_analyse::quantile_ranks;
use howlate_guard::Guard;
use howlate_linux::sched;
use howlate_model::Policy;
use rows::{Making, Of, ROWS, Row, Trial};
use serde_json::Value;

use super::claims::{Claim, Scores, score};
use super::sleeper::{Sleeper, latenesses, run};
use crate::bench::{json, median};

/// Of the sleeper.
const PERIOD_US: u64 = 2_000;
/// With and without each piece of advice. Nine let one of them be the other way round.
const PAIRS: usize = 9;

/// Settings of the machine come from a guardian, so that they go back.
struct Trying<'a> {
    program: &'a Path,
    sleeper: &'a Sleeper,
    guard: &'a Guard,
    /// How long howlate looks, and each half of a pair lasts.
    lasts: Duration,
}

/// Tries every row, and tells of each what came of it.
pub fn try_all(program: &Path, sleeper: &Sleeper, lasts: Duration, scores: &mut Scores) {
    let guard = Guard::default();
    let trying = Trying { program, sleeper, guard: &guard, lasts };
    for row in ROWS {
        let verdict = trying.row(row, scores).unwrap_or_else(|error| format!("not tried here: {error}"));
        println!("{}: {}\n  {}: {verdict}", row.cause, row.what, row.finding);
    }
    for caveat in guard.end() {
        eprintln!("not put back: {caveat:?}");
    }
}

impl Trying<'_> {
    fn row(&self, row: &Row, scores: &mut Scores) -> io::Result<String> {
        let making = match &row.trial {
            Trial::Made(making) => making,
            Trial::NotHere(reason) => return Ok(format!("not tried here: {reason}")),
        };
        let made = (making.make)(self.guard)?;
        let enter = made.enter();
        let advice = match making.policy {
            Some(policy) => self.advised(row, policy, &enter)?,
            None => Ok(self.doctor(row.finding, &enter)?),
        };
        let advice = match advice {
            Ok(advice) => advice,
            Err(why_not) => return Ok(why_not),
        };
        let mut all = Vec::new();
        for line in advice.lines {
            let step = Step::read(&line).above(advice.priority_above);
            if let Step::NotHere(_) = step {
                all.push(format!("not tried here: `{line}`"));
                continue;
            }
            let pairs = self.pairs(making, &step, &enter)?;
            let (verdict, right) = judged(&pairs);
            let right = right && advice.says_on_what_it_depends;
            let above =
                advice.priority_above.map_or_else(String::new, |cause| format!(", above priority {cause}"));
            let verdict = format!("{} {verdict} by `{line}`{above}", if right { "right:" } else { "wrong:" });
            score(scores, Claim::Remedies, right, || format!("{}, {}: {verdict}", row.cause, row.what));
            all.push(verdict);
        }
        Ok(all.join("; "))
    }

    /// What howlate advises while it measures beside the cause; or why there is nothing to try.
    fn advised(&self, row: &Row, policy: &str, enter: &str) -> io::Result<Result<Advice, String>> {
        let measuring = format!(
            "{enter}exec {} cyclic --why --quiet --no-save --json --rounds 2 --threads 1 --period {PERIOD_US}us --duration {}ms \
             --policy {policy}",
            self.program.display(),
            (self.lasts * 2).as_millis()
        );
        let result = json(Command::new("sh").args(["-c", &measuring]))?;
        let causes = result["results"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["why"]["causes"].as_array());
        let same: Vec<&Value> = causes.flatten().filter(|one| one["kind"] == row.cause).collect();
        if same.is_empty() {
            return Ok(Err("not tried here: the cause did not come about".to_owned()));
        }
        let is_of_row = |one: &&&Value| row.finding.split(", ").any(|id| one["remedy"]["finding"] == id);
        let Some(cause) = same.iter().find(is_of_row) else {
            return Ok(Err("not tried here: nothing is advised".to_owned()));
        };
        // Advice that depends on something is followed where it says what.
        let priority_above = match cause["remedy"]["only_if"] == "lower_priority" {
            true => cause["pid"].as_u64().and_then(|pid| priority_of(u32::try_from(pid).ok()?)),
            false => None,
        };
        let says_on_what_it_depends = cause["real_time"] != true || priority_above.is_some();
        Ok(Ok(Advice { lines: lines(&cause["remedy"]), priority_above, says_on_what_it_depends }))
    }

    /// What doctor says.
    fn doctor(&self, finding: &str, enter: &str) -> io::Result<Advice> {
        let asking = format!("{enter}exec {} doctor --json", self.program.display());
        // Its status tells how bad it is.
        let output = Command::new("sh").args(["-c", &asking]).output()?;
        let result: Value = serde_json::from_slice(&output.stdout)?;
        let found = result["findings"].as_array().into_iter().flatten().find(|one| one["id"] == finding);
        let lines = found.map(|one| lines(&one["remedy"])).unwrap_or_default();
        Ok(Advice { lines, priority_above: None, says_on_what_it_depends: true })
    }

    /// Lateness without the advice and with it, pair by pair, in random order.
    fn pairs(&self, making: &Making, step: &Step, enter: &str) -> io::Result<Vec<(f64, f64)>> {
        let wakeups = self.lasts.as_micros() as u64 / PERIOD_US;
        let program = self.sleeper.command(PERIOD_US, wakeups, making.options);
        let program = format!("{}{program}", making.before);
        let late = |line: &str| run(line).map(|stamps| lateness(&latenesses(&stamps, PERIOD_US), making.of));
        let without = || late(&format!("{enter}exec {program}"));
        let with = || {
            let applied = step.applied(self.guard)?;
            let with = late(&format!("{enter}{}", step.followed(&program)));
            drop(applied);
            with
        };
        let pair = |_| match fastrand::bool() {
            true => without().and_then(|before| Ok((before, with()?))),
            false => with().and_then(|after| Ok((without()?, after))),
        };
        (0..PAIRS).map(pair).collect()
    }
}

/// What is to be done, line by line, each by itself.
struct Advice {
    lines: Vec<String>,
    /// The priority of the thread that had the CPU, where it is said that a higher one is needed.
    priority_above: Option<u32>,
    /// Against a real-time thread no priority helps that is not higher.
    says_on_what_it_depends: bool,
}

fn priority_of(tid: u32) -> Option<u32> {
    sched::policy(tid).ok().and_then(Policy::priority).map(u32::from)
}

fn lateness(all: &[f64], of: Of) -> f64 {
    match of {
        Of::Median => median(all),
        Of::Mean => all.iter().sum::<f64>() / all.len().max(1) as f64,
    }
}

fn lines(remedy: &Value) -> Vec<String> {
    let lines = remedy["apply"].as_array().into_iter().flatten();
    lines.filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

/// Whether it became less late: the 95 % interval of the median difference lies below zero.
fn judged(pairs: &[(f64, f64)]) -> (String, bool) {
    let [before, after] = [0, 1].map(|side| {
        let all: Vec<f64> = pairs.iter().map(|pair| if side == 0 { pair.0 } else { pair.1 }).collect();
        median(&all) / 1_000.0
    });
    let mut differences: Vec<f64> = pairs.iter().map(|(before, after)| (after - before) / 1_000.0).collect();
    differences.sort_by(f64::total_cmp);
    let Some((low, high)) = quantile_ranks(differences.len() as u64, 0.5) else {
        return ("too few pairs".to_owned(), false);
    };
    let [low, high] = [low, high].map(|rank| differences[rank as usize - 1]);
    (format!("{before:.1} → {after:.1} µs, difference {low:+.1} to {high:+.1}"), high < 0.0)
}

#[cfg(test)]
mod tests {
    use howlate_testing::skip;

    use super::*;
    use crate::truth::tests::program;

    #[test]
    fn priority_helps_beside_others_as_it_is_advised() {
        let Some(program) = program() else { return };
        let folder = tempfile::tempdir().unwrap();
        let Ok(sleeper) = Sleeper::compile(folder.path()) else { return skip("there is no C compiler") };
        let (guard, mut scores) = (Guard::default(), Scores::new());
        let lasts = Duration::from_millis(300);
        let trying = Trying { program: &program, sleeper: &sleeper, guard: &guard, lasts };
        let is_it = |row: &&Row| row.what == "an ordinary thread beside three others";
        let told = trying.row(ROWS.iter().find(is_it).unwrap(), &mut scores).unwrap();
        let Some(score) = scores.get(&Claim::Remedies) else { return skip(&told) };
        assert_eq!((score.tried, score.wrong.clone()), (1, Vec::new()));
    }

    #[test]
    fn advice_is_right_where_every_doubt_is_on_one_side() {
        let (told, right) = judged(&[(9_000.0, 1_000.0); 6]);
        assert_eq!((told.as_str(), right), ("9.0 → 1.0 µs, difference -8.0 to -8.0", true));
        let one_worse = [(9e3, 1e3), (9e3, 1e3), (9e3, 1e3), (9e3, 1e3), (9e3, 1e3), (1e3, 9e3)];
        assert!(!judged(&one_worse).1, "six pairs have no room for cause");
        assert!(!judged(&[(9e3, 1e3); 5]).1, "five are too few");
    }
}
