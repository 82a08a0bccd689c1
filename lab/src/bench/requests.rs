//! `cargo xtask bench requests`: what hostile programs of three users cost root's recorder, and what it loses; and
//! `requests-planted`: whether it still records provoked lateness beside them.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use howlate_linux::clock;
use howlate_model::Span;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::crowd::memory;
use super::program::{KilledOnDrop, built};
use super::why::limit::{BenchFigure, BenchLimits};
use crate::truth::claims::Scores;
use crate::truth::{all_hold, record};

const HOSTILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/hostile/recorder.py");
/// Limits of memory, MiB, and of additional CPU time, percent of a CPU.
const MOST_MEMORY: f64 = 64.0;
const MOST_CPU: f64 = 2.0;
/// Default of `--for`.
const USUALLY: Span = Span::from_secs(60);
/// At the beginning, each user's first requests are granted (three timelines, a hundred turns), which costs CPU time once.
const AT_FIRST: Span = Span::from_secs(60);
/// Memory samples in that time.
const LOOKS: u64 = 20;
/// The hostile programs of each user.
const USERS: [u32; 3] = [65_531, 65_532, 65_533];
const WAYS: [&str; 7] = ["flood", "flood", "turns", "turns", "lingering", "lingering", "sparse"];
/// Seconds per scene of provoked lateness.
const SCENE: u64 = 4;

/// Runs for the default time.
pub fn run() -> io::Result<()> {
    run_for(USUALLY)
}

/// Runs one recorder alone, then one beside the hostile programs.
pub fn run_for(time: Span) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Err(io::Error::other("programs of other users take root"));
    }
    // A minute is enough for the CPU time without them.
    let alone = RecorderUsage::beside(time.min(USUALLY), |_| Ok(Vec::new()))?;
    let attacked = RecorderUsage::beside(time, |place| all_hostile(time, place))?;
    let missing = &attacked.missing;
    println!("beside them: {missing}");
    let mut limits = BenchLimits::default();
    let more = attacked.cpu - alone.cpu;
    limits.judge(&BenchFigure {
        name: "MiB at most",
        value: attacked.most,
        interval: None,
        most: MOST_MEMORY,
        unit: "MiB",
    });
    limits.judge(&BenchFigure {
        name: "more of a CPU",
        value: more,
        interval: None,
        most: MOST_CPU,
        unit: "%",
    });
    let lost = missing["incidents_lost"].as_f64().unwrap_or(f64::NAN);
    limits.judge(&BenchFigure { name: "incidents lost", value: lost, interval: None, most: 0.0, unit: "" });
    limits.verdict()
}

/// Runs for the default time.
pub fn planted() -> io::Result<()> {
    planted_for(USUALLY)
}

/// Whether it still records all provoked lateness beside them, and nothing else.
pub fn planted_for(time: Span) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Err(io::Error::other("programs of other users take root"));
    }
    let (program, folder, until) = (built()?, tempfile::tempdir()?, clock::now().plus(time));
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))?;
    let place = folder.path().join("recorder");
    let _others = all_hostile(time, &place)?;
    let mut scores = Scores::new();
    while clock::now() < until {
        record::attack(&program, folder.path(), SCENE, Some(&place), &mut scores)?;
    }
    match all_hold(&scores) && !scores.is_empty() {
        true => Ok(()),
        false => {
            Err(io::Error::other("beside them it does not record as it should, or none of it could be tried"))
        }
    }
}

fn all_hostile(time: Span, place: &Path) -> io::Result<Vec<KilledOnDrop>> {
    let all = USERS.iter().flat_map(|user| WAYS.map(|way| (*user, way)));
    all.map(|(user, way)| hostile(user, way, time, place)).collect()
}

fn hostile(user: u32, way: &str, time: Span, place: &Path) -> io::Result<KilledOnDrop> {
    let seconds = time.plus(AT_FIRST).as_secs_f64().to_string();
    let mut command = Command::new("python3");
    command.args(["-B", HOSTILE, way, &seconds]).env("HOWLATE_RECORDER", place).uid(user).gid(user);
    Ok(KilledOnDrop(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?))
}

struct RecorderUsage {
    /// Peak memory, MiB.
    most: f64,
    /// CPU time, percent of a CPU.
    cpu: f64,
    /// Losses that it reports.
    missing: Value,
}

impl RecorderUsage {
    fn beside(
        time: Span,
        start_others: impl FnOnce(&Path) -> io::Result<Vec<KilledOnDrop>>,
    ) -> io::Result<Self> {
        let (program, folder) = (built()?, tempfile::tempdir()?);
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))?;
        let (place, out) = (folder.path().join("recorder"), folder.path().join("kept"));
        let mut command = Command::new(&program);
        command.args(["record", "--quiet", "--late-above", "1s", "--out"]).arg(&out);
        command.env("HOWLATE_RECORDER", &place).stdout(Stdio::null());
        let mut recorder = KilledOnDrop(command.spawn()?);
        while !place.exists() {
            if recorder.0.try_wait()?.is_some() {
                return Err(io::Error::other("it ended before it recorded"));
            }
            clock::sleep_for(Span::from_millis(50))?;
        }
        let _others = start_others(&place)?;
        let mut most = 0.0_f64;
        let mut share_of = |time: Span| -> io::Result<f64> {
            let (began, before) = (clock::now(), cpu_time(&recorder.0)?);
            for _ in 0..LOOKS {
                clock::sleep_for(Span::from_nanos(time.as_nanos() / LOOKS))?;
                let [_, peak] = memory(recorder.0.id())?;
                most = most.max(peak);
            }
            let took = clock::now().since(began).as_secs_f64();
            Ok(100.0 * (cpu_time(&recorder.0)? - before) / took)
        };
        let (at_first, cpu) = (share_of(AT_FIRST)?, share_of(time)?);
        kill_process(Pid::from_child(&recorder.0), Signal::INT)?;
        recorder.0.wait()?;
        let shown = Command::new(&program).arg("show").arg(&out).args(["--json", "--details"]).output()?;
        let shown: Value = serde_json::from_slice(&shown.stdout)?;
        println!("{most:.1} MiB at most; {at_first:.2} % of a CPU at first, then {cpu:.2} %");
        Ok(Self { most, cpu, missing: shown["missing"].clone() })
    }
}

/// CPU time of a process, s.
fn cpu_time(child: &Child) -> io::Result<f64> {
    // Fields 14 and 15 include ended threads, in hundredths of a second.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    let after_its_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_its_name.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    let ticks = ticks.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}
