//! `cargo xtask truth remedies`: follows howlate's advice against a provoked cause, and measures its effect, with and without in
//! alternation, by a program that stamps its own wake-ups.

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
use rows::{CauseSetup, LatenessStatistic, ROWS, RemedyRow, RemedyTrial};
use serde_json::Value;

use super::claims::{Scores, TruthClaim, score};
use super::sleeper::{SleeperProgram, latenesses, run};
use crate::bench::{json, median};

/// Period of the sleeper, µs.
const PERIOD_US: u64 = 2_000;
/// Pairs with and without each piece of advice. With nine, one may contradict the others.
const PAIRS: usize = 9;

/// Settings of the machine are changed by the guard, which restores them.
struct RemedyTrials<'a> {
    program: &'a Path,
    sleeper: &'a SleeperProgram,
    guard: &'a Guard,
    /// Half of howlate's measurement, and the length of each run of a pair.
    lasts: Duration,
}

/// Tries every row, and prints the verdicts.
pub fn try_all(program: &Path, sleeper: &SleeperProgram, lasts: Duration, scores: &mut Scores) {
    let guard = Guard::default();
    let trials = RemedyTrials { program, sleeper, guard: &guard, lasts };
    for row in ROWS {
        let verdict = trials.row(row, scores).unwrap_or_else(|error| format!("not tried here: {error}"));
        println!("{}: {}\n  {}: {verdict}", row.cause, row.what, row.finding);
    }
    for caveat in guard.end() {
        eprintln!("not put back: {caveat:?}");
    }
}

impl RemedyTrials<'_> {
    fn row(&self, row: &RemedyRow, scores: &mut Scores) -> io::Result<String> {
        let setup = match &row.trial {
            RemedyTrial::Possible(setup) => setup,
            RemedyTrial::NotHere(reason) => return Ok(format!("not tried here: {reason}")),
        };
        let cause = (setup.make)(self.guard)?;
        let enter = cause.enter();
        let advice = match setup.policy {
            Some(policy) => self.measured_advice(row, policy, &enter)?,
            None => Ok(self.doctor(row.finding, &enter)?),
        };
        let advice = match advice {
            Ok(advice) => advice,
            Err(why_not) => return Ok(why_not),
        };
        let mut verdicts = Vec::new();
        for line in advice.lines {
            let step = Step::read(&line).above(advice.priority_above);
            if let Step::NotHere(_) = step {
                verdicts.push(format!("not tried here: `{line}`"));
                continue;
            }
            let pairs = self.pairs(setup, &step, &enter)?;
            let (verdict, right) = judge(&pairs);
            let right = right && advice.says_on_what_it_depends;
            let above =
                advice.priority_above.map_or_else(String::new, |cause| format!(", above priority {cause}"));
            let verdict = format!("{} {verdict} by `{line}`{above}", if right { "right:" } else { "wrong:" });
            score(scores, TruthClaim::Remedies, right, || format!("{}, {}: {verdict}", row.cause, row.what));
            verdicts.push(verdict);
        }
        Ok(verdicts.join("; "))
    }

    /// howlate's advice from measuring under the cause; or why there is nothing to try.
    fn measured_advice(
        &self,
        row: &RemedyRow,
        policy: &str,
        enter: &str,
    ) -> io::Result<Result<RemedyAdvice, String>> {
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
            .filter_map(|result| result["why"]["causes"].as_array());
        let same: Vec<&Value> = causes.flatten().filter(|cause| cause["kind"] == row.cause).collect();
        if same.is_empty() {
            return Ok(Err("not tried here: the cause did not come about".to_owned()));
        }
        let is_of_row = |cause: &&&Value| row.finding.split(", ").any(|id| cause["remedy"]["finding"] == id);
        let Some(cause) = same.iter().find(is_of_row) else {
            return Ok(Err("not tried here: nothing is advised".to_owned()));
        };
        // Advice with a condition is followed if it names the condition.
        let priority_above = match cause["remedy"]["only_if"] == "lower_priority" {
            true => cause["pid"].as_u64().and_then(|pid| priority_of(u32::try_from(pid).ok()?)),
            false => None,
        };
        let says_on_what_it_depends = cause["real_time"] != true || priority_above.is_some();
        Ok(Ok(RemedyAdvice { lines: lines(&cause["remedy"]), priority_above, says_on_what_it_depends }))
    }

    /// The advice of `howlate doctor` for a finding.
    fn doctor(&self, finding: &str, enter: &str) -> io::Result<RemedyAdvice> {
        let asking = format!("{enter}exec {} doctor --json", self.program.display());
        // A non-zero status only means that there are findings.
        let output = Command::new("sh").args(["-c", &asking]).output()?;
        let result: Value = serde_json::from_slice(&output.stdout)?;
        let found = result["findings"].as_array().into_iter().flatten().find(|entry| entry["id"] == finding);
        let lines = found.map(|entry| lines(&entry["remedy"])).unwrap_or_default();
        Ok(RemedyAdvice { lines, priority_above: None, says_on_what_it_depends: true })
    }

    /// Lateness without the advice and with it, pair by pair, in random order.
    fn pairs(&self, setup: &CauseSetup, step: &Step, enter: &str) -> io::Result<Vec<(f64, f64)>> {
        let wakeups = self.lasts.as_micros() as u64 / PERIOD_US;
        let program = self.sleeper.command(PERIOD_US, wakeups, setup.options);
        let program = format!("{}{program}", setup.before);
        let late =
            |line: &str| run(line).map(|stamps| lateness(&latenesses(&stamps, PERIOD_US), setup.statistic));
        let without = || late(&format!("{enter}exec {program}"));
        let with = || {
            let applied = step.apply(self.guard)?;
            let with = late(&format!("{enter}{}", step.command(&program)));
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

/// Lines of advice, each to be tried by itself.
struct RemedyAdvice {
    lines: Vec<String>,
    /// The priority of the delaying thread, if the advice says that a higher one is needed.
    priority_above: Option<u32>,
    /// Whether advice against a real-time thread says that its priority has to be exceeded.
    says_on_what_it_depends: bool,
}

fn priority_of(tid: u32) -> Option<u32> {
    sched::policy(tid).ok().and_then(Policy::priority).map(u32::from)
}

fn lateness(all: &[f64], statistic: LatenessStatistic) -> f64 {
    match statistic {
        LatenessStatistic::Median => median(all),
        LatenessStatistic::Mean => all.iter().sum::<f64>() / all.len().max(1) as f64,
    }
}

fn lines(remedy: &Value) -> Vec<String> {
    let lines = remedy["apply"].as_array().into_iter().flatten();
    lines.filter_map(|line| line.as_str().map(str::to_owned)).collect()
}

/// A sentence, and whether the advice helps: the 95 % interval of the median difference is below zero.
fn judge(pairs: &[(f64, f64)]) -> (String, bool) {
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
        let Ok(sleeper) = SleeperProgram::compile(folder.path()) else {
            return skip("there is no C compiler");
        };
        let (guard, mut scores) = (Guard::default(), Scores::new());
        let lasts = Duration::from_millis(300);
        let trials = RemedyTrials { program: &program, sleeper: &sleeper, guard: &guard, lasts };
        let is_selected = |row: &&RemedyRow| row.what == "a normal thread beside three others";
        let verdict = trials.row(ROWS.iter().find(is_selected).unwrap(), &mut scores).unwrap();
        let Some(score) = scores.get(&TruthClaim::Remedies) else { return skip(&verdict) };
        assert_eq!((score.tried, score.wrong.clone()), (1, Vec::new()));
    }

    #[test]
    fn advice_is_right_where_every_doubt_is_on_one_side() {
        let (sentence, right) = judge(&[(9_000.0, 1_000.0); 6]);
        assert_eq!((sentence.as_str(), right), ("9.0 → 1.0 µs, difference -8.0 to -8.0", true));
        let one_worse = [(9e3, 1e3), (9e3, 1e3), (9e3, 1e3), (9e3, 1e3), (9e3, 1e3), (1e3, 9e3)];
        assert!(!judge(&one_worse).1, "six pairs have no room for cause");
        assert!(!judge(&[(9e3, 1e3); 5]).1, "five are too few");
    }
}
