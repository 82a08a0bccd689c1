//! What is sent to the nodes of a fleet, checked before any of them is bothered.

use std::path::Path;

use clap::Parser;
use howlate_fleet::{Fleet, FleetError, Host, Member, PLAN, PROGRAM, Program, SCRIPT, Slurm, Target};
use howlate_linux::helper::THIS_PROGRAM;
use howlate_model::{shell_path, shell_word};
use howlate_record::read_text_within;

use crate::cli::{Cli, FleetRun};
use crate::error::Error;
use crate::experiment::Experiment;
use crate::recorder::new_id;

/// A longer plan, or list of hosts, is none.
const LONGEST: u64 = 4 << 20;

/// Options of `howlate run` that are the fleet's to say.
const OURS: [&str; 6] = ["--out", "-o", "--node", "--anonymous", "--resume", "--dry-run"];

/// The program and the plan.
pub(super) struct Sent {
    pub(super) program: Program,
    pub(super) plan: String,
}

impl Sent {
    /// Reads both; the plan and the options of `howlate run` must be ones.
    pub(super) fn of(asked: &FleetRun) -> Result<Self, Error> {
        if Experiment::read(&asked.plan)?.files.len() > 1 {
            return Err(Error::FleetPlan { path: asked.plan.clone() });
        }
        check(&asked.words)?;
        let program = Program::read(asked.program.as_deref().unwrap_or(Path::new(THIS_PROGRAM)))?;
        let unreadable = |source| FleetError::File { path: asked.plan.clone(), source };
        let plan = read_text_within(&asked.plan, LONGEST).map_err(unreadable)?;
        Ok(Self { program, plan })
    }

    /// The fleet that is asked for, before anything is made.
    pub(super) fn fleet(&self, asked: &FleetRun) -> Result<Fleet, Error> {
        let fleet = Fleet {
            id: new_id().chars().take(12).collect(),
            on: asked.on.to_string(),
            sha256: self.program.sha256.clone(),
            machine: self.program.machine.clone(),
            words: asked.words.clone(),
            at_once: asked.at_once,
            timeout_s: asked.timeout.map(|most| most.as_nanos().div_ceil(1_000_000_000)),
            members: hosts(&asked.on)?.into_iter().map(|host| Member { host, ..Member::default() }).collect(),
            folder: std::path::absolute(super::folder(asked))?,
        };
        fleet.check()?;
        Ok(fleet)
    }

    /// What makes the folder, as commands.
    pub(super) fn dry_run(&self, fleet: &Fleet) -> String {
        let folder = shell_path(&fleet.folder);
        let program = std::fs::read_link(&self.program.path).unwrap_or_else(|_| self.program.path.clone());
        format!(
            "mkdir -p {folder} && cp {} {folder}/{PROGRAM}\ncat > {folder}/{PLAN} <<'PLAN'\n{}\nPLAN\ncat > {folder}/{SCRIPT} \
             <<'SCRIPT'\n{}SCRIPT\n",
            shell_path(&program),
            self.plan.trim_end(),
            fleet.script()
        )
    }
}

/// Whether a fleet is the one that is asked for.
pub(super) fn must_be(fleet: &Fleet, asked: &FleetRun) -> Result<(), Error> {
    let text = |path: &Path| {
        let failed = |source| FleetError::File { path: path.to_owned(), source };
        read_text_within(path, LONGEST).map_err(failed)
    };
    let is_same = text(&fleet.path(PLAN))? == text(&asked.plan)?;
    match is_same && fleet.on == asked.on.to_string() && fleet.words == asked.words {
        true => Ok(()),
        false => Err(Error::FleetOther { path: fleet.folder.clone() }),
    }
}

/// The nodes of a target.
fn hosts(on: &Target) -> Result<Vec<Host>, Error> {
    match on {
        Target::Slurm { partition } => Ok(Slurm { partition: partition.clone() }.nodes()?),
        Target::Ssh(hosts) => Ok(hosts.clone()),
        Target::SshFile(path) => {
            let failed = |source| FleetError::File { path: path.clone(), source };
            Ok(Host::lines(&read_text_within(path, LONGEST).map_err(failed)?)?)
        }
    }
}

/// Whether `howlate run` would take these words, and none is the fleet's to say.
fn check(words: &[String]) -> Result<(), Error> {
    let is_ours = |word: &&String| OURS.contains(&word.split('=').next().unwrap_or_default());
    if let Some(word) = words.iter().find(is_ours) {
        return Err(Error::FleetWord { found: word.clone() });
    }
    let all = ["howlate", "run", PLAN].into_iter().chain(words.iter().map(String::as_str));
    Cli::try_parse_from(all)
        .map(drop)
        .map_err(|_| Error::FleetWords { found: words.iter().map(shell_word).collect::<Vec<_>>().join(" ") })
}
