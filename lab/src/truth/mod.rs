//! `cargo xtask truth`: compares howlate's claims with independent witnesses.
//!
//! `why`: threads that howlate does not know compete with the measured ones: with different names, several with one name, and more
//! names than a record has room for. Meanwhile the kernel traces what runs on each CPU into a separate instance. Every part of the
//! worst wake-ups of every turn is then compared with this trace.
//!
//! `record`: threads whose lateness is provoked, and which stamp it, have to be in a recording of the whole machine, and nothing else.
//!
//! `watch` and `top`: compared with the kernel's events of programs that stamp their own wake-ups, or compete in a known way.
//!
//! `requests`: a server's requests wait in known ways, of which the server says when.
//!
//! `remedies`: advice against a provoked cause is followed. `advice`: advice for whole programs is followed.

mod advice;
pub mod claims;
mod contenders;
mod control_group;
pub mod record;
mod remedies;
mod requests;
mod sleeper;
mod top;
mod turns;
mod watch;
mod witness;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use claims::{Scores, TruthClaim, judge, score};
use contenders::Rivals;
use serde_json::Value;
use sleeper::SleeperProgram;
use witness::{Instance, OF_CPUS};

use crate::bench::built;

/// A measurement and its competing threads.
struct Attack {
    name: &'static str,
    options: &'static [&'static str],
    rivals: fn() -> Rivals,
}

const PERIOD: Duration = Duration::from_millis(2);

const ATTACKS: [Attack; 7] = [
    Attack {
        name: "normal threads beside three others of different names",
        options: &["--policy", "other"],
        rivals: || Rivals::ordinary(&["rival-a", "rival-b", "rival-c"]),
    },
    Attack {
        name: "normal threads beside four of one name",
        options: &["--policy", "other"],
        rivals: || Rivals::ordinary(&["herd", "herd", "herd", "herd"]),
    },
    Attack {
        name: "normal threads beside fourteen names",
        options: &["--policy", "other"],
        rivals: || {
            Rivals::ordinary(&[
                "n01", "n02", "n03", "n04", "n05", "n06", "n07", "n08", "n09", "n10", "n11", "n12", "n13",
                "n14",
            ])
        },
    },
    Attack {
        name: "real-time threads below two of one name",
        options: &["--policy", "fifo:50"],
        rivals: || Rivals::real_time(&["above", "above"]),
    },
    Attack {
        name: "real-time threads beside two that write to a disk and wait for it",
        options: &["--policy", "fifo:50"],
        rivals: || Rivals::syncing(&["writes", "writes"]),
    },
    Attack {
        name: "real-time threads beside a control group that is short of memory",
        options: &["--policy", "fifo:50"],
        rivals: Rivals::reclaimed,
    },
    Attack {
        name: "normal threads, tracefs",
        options: &["--policy", "other", "--tracer", "tracefs"],
        rivals: || Rivals::ordinary(&["rival-a", "herd", "herd"]),
    },
];

/// Parts that can be selected on the command line.
const PARTS: [&str; 6] = ["why", "watch", "top", "record", "requests", "remedies"];

/// The command line.
struct TruthOptions {
    parts: Vec<String>,
    times: u64,
    seconds: u64,
}

/// Runs the named parts, or all, `--times` times for `--for` seconds each; prints the table; status 1 if a claim is right too seldom.
pub fn run(arguments: &[&str]) -> ExitCode {
    if let ["advice", arguments @ ..] = arguments {
        return advice::run(arguments);
    }
    let Some(options) = TruthOptions::read(arguments) else {
        let parts = PARTS.join("|");
        eprintln!(
            "error: write `cargo xtask truth [{parts} …] [--times N] [--for SECONDS]`, or `cargo xtask truth advice`"
        );
        return ExitCode::from(2);
    };
    match built().and_then(|program| options.attack(&program)) {
        Ok(scores) if all_hold(&scores) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

impl TruthOptions {
    fn read(arguments: &[&str]) -> Option<Self> {
        let mut options = Self { parts: Vec::new(), times: 3, seconds: 4 };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--times" => options.times = arguments.next()?.parse().ok()?,
                "--for" => options.seconds = arguments.next()?.parse().ok()?,
                part if PARTS.contains(&part) => options.parts.push(part.to_owned()),
                _ => return None,
            }
        }
        Some(options)
    }

    fn attack(&self, program: &Path) -> io::Result<Scores> {
        let is_selected =
            |part: &str| self.parts.is_empty() || self.parts.iter().any(|selected| selected == part);
        let mut scores =
            if is_selected("why") { attacks(program, self.times, self.seconds)? } else { Scores::new() };
        let folder = tempfile::tempdir()?;
        let sleeper = SleeperProgram::compile(folder.path())?;
        // So that the user `nobody` can run it.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        for time in 0..self.times {
            if is_selected("watch") {
                eprintln!("{} of {}: watch", time + 1, self.times);
                watch::attack(program, &sleeper, self.seconds, &mut scores)?;
            }
            if is_selected("top") {
                eprintln!("{} of {}: top", time + 1, self.times);
                top::attack(program, self.seconds, &mut scores)?;
            }
            if is_selected("record") {
                eprintln!("{} of {}: record", time + 1, self.times);
                record::attack(program, folder.path(), self.seconds, None, &mut scores)?;
            }
        }
        for time in (0..self.times).filter(|_| is_selected("requests")) {
            eprintln!("{} of {}: requests", time + 1, self.times);
            requests::attack(program, folder.path(), self.seconds, &mut scores)?;
        }
        if is_selected("remedies") {
            remedies::try_all(program, &sleeper, Duration::from_secs(self.seconds) / 4, &mut scores);
        }
        Ok(scores)
    }
}

fn attacks(program: &Path, times: u64, seconds: u64) -> io::Result<Scores> {
    let mut scores = Scores::new();
    for time in 0..times {
        for attack in &ATTACKS {
            eprintln!("{} of {times}: {}", time + 1, attack.name);
            once(program, attack, seconds, &mut scores)?;
        }
    }
    Ok(scores)
}

fn once(program: &Path, attack: &Attack, seconds: u64, scores: &mut Scores) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let recording = folder.path().join("run.jsonl");
    let instance = Instance::create("witness-truth", OF_CPUS)?;
    let rivals = (attack.rivals)();
    let mut measuring = Command::new(program);
    let (duration, period) = (format!("{seconds}s"), format!("{}us", PERIOD.as_micros()));
    measuring.args(["cyclic", "--why", "--quiet", "--no-save", "--json", "--details", "--rounds", "4"]);
    measuring.args(["--duration", &duration, "--period", &period]).args(attack.options);
    let output = measuring.arg("--out").arg(&recording).output()?;
    drop(rivals);
    let witness = instance.read()?;
    let Ok(result) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    };
    let planned = u128::from(seconds) * 1_000_000_000 / PERIOD.as_nanos();
    for row in result["results"].as_array().into_iter().flatten() {
        let counts = row["count"].as_u64().zip(row["missed_periods"].as_u64());
        let counted = counts.map_or(0, |(count, missed)| u128::from(count) + u128::from(missed));
        score(scores, TruthClaim::Counts, counted == planned, || format!("{counted} of {planned} planned"));
    }
    judge(&std::fs::read_to_string(&recording)?, &witness, scores);
    Ok(())
}

/// Prints a line per claim; whether all limits hold.
pub fn all_hold(scores: &Scores) -> bool {
    println!("{:<60} {:>8} {:>8} {:>7} {:>8} {:>8}", "claim", "tried", "right", "wrong", "%", "at least");
    let mut holds = true;
    for (claim, score) in scores {
        let (statement, least) = claim.statement();
        let share = if score.tried == 0 { 1.0 } else { score.right as f64 / score.tried as f64 };
        holds &= share >= least;
        let wrong = score.tried - score.right;
        let (share, least) = (share * 100.0, least * 100.0);
        println!(
            "{statement:<60} {:>8} {:>8} {wrong:>7} {share:>8.2} {least:>8.1}",
            score.tried, score.right
        );
        score.reasons.iter().for_each(|(reason, count)| println!("  {count} of those: {reason}"));
        score.wrong.iter().for_each(|wrong| eprintln!("  wrong: {wrong}"));
    }
    holds
}

#[cfg(test)]
mod tests;
