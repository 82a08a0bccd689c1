//! What is sent to the nodes of a fleet, checked before any of them is bothered.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use howlate_fleet::{
    Fleet, FleetError, Host, Kubernetes, Member, PLAN, PROGRAM, Placement, Pods, Program, SCRIPT, Slurm,
    SlurmOptions, Target, Task,
};
use howlate_linux::helper::THIS_PROGRAM;
use howlate_model::{shell_path, shell_word};
use howlate_recording::{new_id, read_text_within};

use crate::error::Error;
use crate::plan_file::Experiment;
use howlate_cli::built_in_plans;
use howlate_cli::{Cli, CliCommand, FleetRunArgs, PlacementArgs, SlurmArgs};
use howlate_model::refused_option::{FleetOption, PodOption};

/// A longer plan, or list of hosts, is none.
const LONGEST: u64 = 4 << 20;

/// Options of `howlate run` that are the fleet's to say.
const OURS: [&str; 6] = ["--out", "-o", "--node", "--anonymous", "--resume", "--dry-run"];
/// Those of `howlate record`.
const OURS_OF_RECORD: [&str; 5] = ["--out", "-o", "--live", "--install", "--yes"];
/// What is typed in a plan's place where nodes are to record.
pub(super) const RECORD: &str = "record";

/// The image that is built from this project's Containerfile, as Podman calls it.
const IMAGE: &str = "localhost/howlate";
/// A measuring thread, and whoever watches it.
const POD_CPUS: u16 = 2;

/// The plan, if one is measured, and what runs it: a program that is sent, or pods that have one.
pub(super) struct Sent {
    pub(super) program: Option<Program>,
    pub(super) plan: Option<String>,
    pods: Option<Pods>,
}

impl Sent {
    /// Reads what there is; the plan, and the options of what nodes do, must be ones.
    pub(super) fn check(asked: &FleetRunArgs) -> Result<Self, Error> {
        let is_traced = match task(asked) {
            Task::Plan => check_plan(asked)?,
            Task::Record => check_recorder(asked)?,
        };
        let pods = pods(asked, is_traced)?;
        let file = asked.program.as_deref().unwrap_or(Path::new(THIS_PROGRAM));
        let program = pods.is_none().then(|| Program::read(file)).transpose()?;
        Ok(Self { program, plan: plan(asked)?, pods })
    }

    /// The fleet that is asked for, before anything is made.
    pub(super) fn fleet(&self, asked: &FleetRunArgs, interrupted: &Arc<AtomicBool>) -> Result<Fleet, Error> {
        let slurm = slurm(asked)?;
        let fleet = Fleet {
            id: new_id().chars().take(12).collect(),
            on: asked.on.to_string(),
            sha256: self.program.as_ref().map(|program| program.sha256.clone()),
            machine: self.program.as_ref().and_then(|program| program.machine.clone()),
            task: task(asked),
            words: asked.arguments.clone(),
            at_once: asked.at_once,
            timeout_s: asked.timeout.map(|most| most.as_nanos().div_ceil(1_000_000_000)),
            pods: self.pods.clone(),
            members: hosts(asked, &slurm, interrupted)?
                .into_iter()
                .map(|host| Member { host, ..Member::default() })
                .collect(),
            slurm,
            folder: std::path::absolute(super::folder(asked))?,
        };
        fleet.check()?;
        Ok(fleet)
    }

    /// What makes the folder, as commands; nothing where nothing is sent.
    pub(super) fn dry_run(&self, fleet: &Fleet) -> String {
        let Some(program) = &self.program else { return String::new() };
        let folder = shell_path(&fleet.folder);
        let put = |plan: &String| format!("cat > {folder}/{PLAN} <<'PLAN'\n{}\nPLAN\n", plan.trim_end());
        let plan = self.plan.as_ref().map(put).unwrap_or_default();
        let program = std::fs::read_link(&program.path).unwrap_or_else(|_| program.path.clone());
        format!(
            "mkdir -p {folder} && cp {} {folder}/{PROGRAM}\n{plan}cat > {folder}/{SCRIPT} <<'SCRIPT'\n{}SCRIPT\n\n",
            shell_path(&program),
            fleet.script()
        )
    }
}

/// What pods are to be, on Kubernetes; what is said of pods must not be said elsewhere.
pub(super) fn pods(asked: &FleetRunArgs, is_traced: bool) -> Result<Option<Pods>, Error> {
    if !matches!(asked.on, Target::Kubernetes { .. }) {
        let of_pods = [
            (asked.nodes.is_some(), PodOption::Nodes),
            (asked.every_node, PodOption::EveryNode),
            (asked.image.is_some(), PodOption::Image),
            (asked.pod_cpus.is_some(), PodOption::PodCpus),
            (asked.placement != PlacementArgs::default(), PodOption::Placement),
        ];
        let found = of_pods.into_iter().find_map(|(is_there, option)| is_there.then_some(option));
        return found.map_or(Ok(None), |found| Err(FleetOption::OnlyKubernetes(found).into()));
    }
    match (asked.nodes, asked.every_node, &asked.program) {
        (_, _, Some(_)) => return Err(FleetOption::Program.into()),
        (None, false, None) => return Err(FleetOption::NodesMissing.into()),
        (Some(_), _, None) | (None, true, None) => {}
    }
    let image = asked.image.clone().unwrap_or_else(|| IMAGE.to_owned());
    let cpus = asked.pod_cpus.unwrap_or(POD_CPUS);
    let placement = placement(&asked.placement);
    Ok(Some(Pods { image, cpus, every_node: asked.every_node, is_traced, placement }))
}

/// Where pods are put, and as what.
fn placement(asked: &PlacementArgs) -> Placement {
    let asked = asked.clone();
    Placement {
        namespace: asked.namespace,
        node_selector: asked.node_selector.into_iter().collect(),
        tolerations: asked.toleration,
        pull_secrets: asked.pull_secret,
        priority_class: asked.priority_class,
        runtime_class: asked.runtime_class,
        results_claim: asked.results_claim,
    }
}

/// What is asked of Slurm, and what its variables say; what is said of Slurm must not be said elsewhere.
pub(super) fn slurm(asked: &FleetRunArgs) -> Result<SlurmOptions, Error> {
    let SlurmArgs { constraint, nodelist, account, qos, reservation, time } = asked.slurm.clone();
    if matches!(asked.on, Target::Slurm { .. }) {
        let options = SlurmOptions { partition: None, constraint, nodelist, account, qos, reservation, time };
        return Ok(options.or_of_environment(|name| std::env::var(name).ok()));
    }
    let all = [
        ("--constraint", constraint),
        ("--nodelist", nodelist),
        ("--account", account),
        ("--qos", qos),
        ("--reservation", reservation),
        ("--time", time),
    ];
    let found = all.into_iter().find_map(|(name, value)| value.map(|_| name));
    found.map_or_else(|| Ok(SlurmOptions::default()), |name| Err(FleetOption::OnlySlurm(name).into()))
}

/// Whether a fleet is the one that is asked for; pods may be of another image.
pub(super) fn must_be(fleet: &Fleet, asked: &FleetRunArgs) -> Result<(), Error> {
    let pods = pods(asked, false)?;
    let is_every_node = |pods: &Option<Pods>| pods.as_ref().map(|pods| pods.every_node);
    let is_as_many = asked.nodes.is_none_or(|nodes| usize::from(nodes) == fleet.members.len());
    let is_same = fleet.task == task(asked)
        && plan(asked)?.is_none_or(|plan| text(&fleet.path(PLAN)).is_ok_and(|text| text == plan));
    let is_there = is_as_many && is_every_node(&pods) == is_every_node(&fleet.pods);
    match is_same && is_there && fleet.on == asked.on.to_string() && fleet.words == asked.arguments {
        true => Ok(()),
        false => Err(Error::FleetOther { path: fleet.folder.clone() }),
    }
}

/// What each node is to do.
fn task(asked: &FleetRunArgs) -> Task {
    if asked.plan == Path::new(RECORD) { Task::Record } else { Task::Plan }
}

/// The plan's text, if one is measured: of one that comes with the program by its name, as `howlate run` takes it.
fn plan(asked: &FleetRunArgs) -> Result<Option<String>, FleetError> {
    let read = || {
        let built_in = built_in_plans::find(&asked.plan);
        built_in.map_or_else(|| text(&asked.plan), |plan| Ok(plan.text.to_owned()))
    };
    task(asked).eq(&Task::Plan).then(read).transpose()
}

fn text(path: &Path) -> Result<String, FleetError> {
    read_text_within(path, LONGEST).map_err(|source| FleetError::File { path: path.to_owned(), source })
}

/// The nodes that measure. Which those of a Job are is for Kubernetes to say.
fn hosts(
    asked: &FleetRunArgs,
    slurm: &SlurmOptions,
    interrupted: &Arc<AtomicBool>,
) -> Result<Vec<Host>, Error> {
    let interrupted = Arc::clone(interrupted);
    match &asked.on {
        Target::Slurm { partition } => Ok(Slurm { partition: partition.clone(), interrupted }.nodes(slurm)?),
        Target::Kubernetes { context } => match asked.nodes {
            Some(nodes) => {
                Ok((0..nodes).map(|pod| format!("pod-{pod}").parse()).collect::<Result<_, _>>()?)
            }
            None => {
                let placement = placement(&asked.placement);
                Ok(Kubernetes { context: context.clone(), placement, at_once: 1, interrupted }.nodes()?)
            }
        },
        Target::Ssh(hosts) => Ok(hosts.clone()),
        Target::SshFile(path) => Ok(Host::lines(&text(path)?)?),
    }
}

/// Whether `howlate run` would take the plan and these words, and none is the fleet's to say; returns whether causes are asked for.
fn check_plan(asked: &FleetRunArgs) -> Result<bool, Error> {
    let experiment = Experiment::read(&asked.plan, "howlate fleet run")?;
    if experiment.files.len() > 1 {
        return Err(Error::FleetPlan { path: asked.plan.clone() });
    }
    match command("run", &[PLAN], &asked.arguments, &OURS)? {
        CliCommand::Run(run) => Ok(run.reasons.why || experiment.options.is_some_and(|run| run.reasons.why)),
        _ => Err(unknown("run", &asked.arguments)),
    }
}

/// Whether `howlate record` would take these words; it is not for pods, which a DaemonSet of its own is for.
fn check_recorder(asked: &FleetRunArgs) -> Result<bool, Error> {
    if matches!(asked.on, Target::Kubernetes { .. }) {
        return Err(FleetOption::Record.into());
    }
    command(RECORD, &[], &asked.arguments, &OURS_OF_RECORD)?;
    Ok(false)
}

/// What howlate would do on a node, if it takes these words and none of them is `ours`.
fn command(
    name: &'static str,
    before: &[&str],
    words: &[String],
    ours: &[&str],
) -> Result<CliCommand, Error> {
    let is_ours = |word: &&String| ours.contains(&word.split('=').next().unwrap_or_default());
    if let Some(word) = words.iter().find(is_ours) {
        return Err(Error::FleetWord { found: word.clone() });
    }
    let before = ["howlate", name].into_iter().chain(before.iter().copied());
    let parsed = Cli::try_parse_from(before.chain(words.iter().map(String::as_str)));
    parsed.ok().and_then(|cli| cli.command).ok_or_else(|| unknown(name, words))
}

fn unknown(command: &'static str, words: &[String]) -> Error {
    Error::FleetWords { command, found: words.iter().map(shell_word).collect::<Vec<_>>().join(" ") }
}
