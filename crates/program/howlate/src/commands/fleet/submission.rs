//! What is sent to the nodes of a fleet, checked before any node is contacted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use howlate_fleet::{
    Fleet, FleetError, FleetMember, FleetPods, FleetProgram, FleetTarget, Host, Kubernetes, NodeTask, PLAN,
    PROGRAM, PodPlacement, SCRIPT, Slurm, SlurmOptions,
};
use howlate_linux::helper::THIS_PROGRAM;
use howlate_model::{shell_path, shell_word};
use howlate_recording::{new_id, read_text_within};

use crate::error::Error;
use crate::plan_file::Experiment;
use howlate_cli::built_in_plans;
use howlate_cli::{Cli, CliCommand, FleetRunArgs, PlacementArgs, SlurmArgs};
use howlate_model::refused_option::{FleetOption, PodOption};

/// In bytes; limits plans and lists of hosts.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Options of `howlate run` that the fleet sets itself.
const RESERVED_RUN_OPTIONS: [&str; 6] = ["--out", "-o", "--node", "--anonymous", "--resume", "--dry-run"];
/// Options of `howlate record` that the fleet sets itself.
const RESERVED_RECORD_OPTIONS: [&str; 5] = ["--out", "-o", "--live", "--install", "--yes"];
/// Stands in place of a plan where the nodes record.
pub(super) const RECORD: &str = "record";

/// Name that Podman gives to the image built from this project's Containerfile.
const IMAGE: &str = "localhost/howlate";
/// One for a measuring thread, one for everything else.
const DEFAULT_POD_CPUS: u16 = 2;

/// The plan, if the nodes measure one, and the program to send or the pods that contain it.
pub(super) struct Submission {
    pub(super) program: Option<FleetProgram>,
    pub(super) plan: Option<String>,
    pods: Option<FleetPods>,
}

impl Submission {
    /// Reads the files; checks the plan and the options of the command that the nodes run.
    pub(super) fn check(args: &FleetRunArgs) -> Result<Self, Error> {
        let is_traced = match task_of(args) {
            NodeTask::Plan => check_plan(args)?,
            NodeTask::Record => check_recorder(args)?,
        };
        let pods = pods_of(args, is_traced)?;
        let file = args.program.as_deref().unwrap_or(Path::new(THIS_PROGRAM));
        let program = pods.is_none().then(|| FleetProgram::read(file)).transpose()?;
        Ok(Self { program, plan: plan(args)?, pods })
    }

    /// The fleet of these options, before anything is created.
    pub(super) fn fleet(&self, args: &FleetRunArgs, interrupted: &Arc<AtomicBool>) -> Result<Fleet, Error> {
        let slurm = slurm_of(args)?;
        let fleet = Fleet {
            id: new_id().chars().take(12).collect(),
            on: args.on.to_string(),
            sha256: self.program.as_ref().map(|program| program.sha256.clone()),
            machine: self.program.as_ref().and_then(|program| program.machine.clone()),
            task: task_of(args),
            arguments: args.arguments.clone(),
            at_once: args.at_once,
            timeout_s: args.timeout.map(|most| most.as_nanos().div_ceil(1_000_000_000)),
            pods: self.pods.clone(),
            members: hosts(args, &slurm, interrupted)?
                .into_iter()
                .map(|host| FleetMember { host, ..FleetMember::default() })
                .collect(),
            slurm,
            folder: std::path::absolute(super::folder(args))?,
        };
        fleet.check()?;
        Ok(fleet)
    }

    /// Commands that create the folder; empty where nothing is sent.
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

/// Pods of a Kubernetes fleet; their options are errors elsewhere.
pub(super) fn pods_of(args: &FleetRunArgs, is_traced: bool) -> Result<Option<FleetPods>, Error> {
    if !matches!(args.on, FleetTarget::Kubernetes { .. }) {
        let pod_options = [
            (args.nodes.is_some(), PodOption::Nodes),
            (args.every_node, PodOption::EveryNode),
            (args.image.is_some(), PodOption::Image),
            (args.pod_cpus.is_some(), PodOption::PodCpus),
            (args.placement != PlacementArgs::default(), PodOption::Placement),
        ];
        let found = pod_options.into_iter().find_map(|(is_given, option)| is_given.then_some(option));
        return found.map_or(Ok(None), |found| Err(FleetOption::OnlyKubernetes(found).into()));
    }
    match (args.nodes, args.every_node, &args.program) {
        (_, _, Some(_)) => return Err(FleetOption::Program.into()),
        (None, false, None) => return Err(FleetOption::NodesMissing.into()),
        (Some(_), _, None) | (None, true, None) => {}
    }
    let image = args.image.clone().unwrap_or_else(|| IMAGE.to_owned());
    let cpus = args.pod_cpus.unwrap_or(DEFAULT_POD_CPUS);
    let placement = placement(&args.placement);
    Ok(Some(FleetPods { image, cpus, every_node: args.every_node, is_traced, placement }))
}

fn placement(args: &PlacementArgs) -> PodPlacement {
    let args = args.clone();
    PodPlacement {
        namespace: args.namespace,
        node_selector: args.node_selector.into_iter().collect(),
        tolerations: args.toleration,
        pull_secrets: args.pull_secret,
        priority_class: args.priority_class,
        runtime_class: args.runtime_class,
        results_claim: args.results_claim,
    }
}

/// Options for Slurm, completed from its environment variables; they are errors elsewhere.
pub(super) fn slurm_of(args: &FleetRunArgs) -> Result<SlurmOptions, Error> {
    let SlurmArgs { constraint, nodelist, account, qos, reservation, time } = args.slurm.clone();
    if matches!(args.on, FleetTarget::Slurm { .. }) {
        let options = SlurmOptions { partition: None, constraint, nodelist, account, qos, reservation, time };
        return Ok(options.or_of_environment(|name| std::env::var(name).ok()));
    }
    let options = [
        ("--constraint", constraint),
        ("--nodelist", nodelist),
        ("--account", account),
        ("--qos", qos),
        ("--reservation", reservation),
        ("--time", time),
    ];
    let found = options.into_iter().find_map(|(name, value)| value.map(|_| name));
    found.map_or_else(|| Ok(SlurmOptions::default()), |name| Err(FleetOption::OnlySlurm(name).into()))
}

/// Checks that an existing fleet has the same plan, nodes and options; the image may differ.
pub(super) fn check_same_fleet(fleet: &Fleet, args: &FleetRunArgs) -> Result<(), Error> {
    let pods = pods_of(args, false)?;
    let is_every_node = |pods: &Option<FleetPods>| pods.as_ref().map(|pods| pods.every_node);
    let has_same_size = args.nodes.is_none_or(|nodes| usize::from(nodes) == fleet.members.len());
    let has_same_task = fleet.task == task_of(args)
        && plan(args)?.is_none_or(|plan| text(&fleet.path(PLAN)).is_ok_and(|text| text == plan));
    let has_same_nodes = has_same_size && is_every_node(&pods) == is_every_node(&fleet.pods);
    match has_same_task
        && has_same_nodes
        && fleet.on == args.on.to_string()
        && fleet.arguments == args.arguments
    {
        true => Ok(()),
        false => Err(Error::OtherFleet { path: fleet.folder.clone() }),
    }
}

fn task_of(args: &FleetRunArgs) -> NodeTask {
    if args.plan == Path::new(RECORD) { NodeTask::Record } else { NodeTask::Plan }
}

/// Text of the plan, if one is measured; built-in plans by their name, as of `howlate run`.
fn plan(args: &FleetRunArgs) -> Result<Option<String>, FleetError> {
    let read = || {
        let built_in = built_in_plans::find(&args.plan);
        built_in.map_or_else(|| text(&args.plan), |plan| Ok(plan.text.to_owned()))
    };
    task_of(args).eq(&NodeTask::Plan).then(read).transpose()
}

fn text(path: &Path) -> Result<String, FleetError> {
    read_text_within(path, MAX_FILE_BYTES)
        .map_err(|source| FleetError::File { path: path.to_owned(), source })
}

/// The nodes. Kubernetes itself chooses those of a Job.
fn hosts(
    args: &FleetRunArgs,
    slurm: &SlurmOptions,
    interrupted: &Arc<AtomicBool>,
) -> Result<Vec<Host>, Error> {
    let interrupted = Arc::clone(interrupted);
    match &args.on {
        FleetTarget::Slurm { partition } => {
            Ok(Slurm { partition: partition.clone(), interrupted }.nodes(slurm)?)
        }
        FleetTarget::Kubernetes { context } => match args.nodes {
            Some(nodes) => {
                Ok((0..nodes).map(|pod| format!("pod-{pod}").parse()).collect::<Result<_, _>>()?)
            }
            None => {
                let placement = placement(&args.placement);
                Ok(Kubernetes { context: context.clone(), placement, at_once: 1, interrupted }.nodes()?)
            }
        },
        FleetTarget::Ssh(hosts) => Ok(hosts.clone()),
        FleetTarget::SshFile(path) => Ok(Host::lines(&text(path)?)?),
    }
}

/// Checks that `howlate run` accepts the plan and the options; returns whether causes are traced.
fn check_plan(args: &FleetRunArgs) -> Result<bool, Error> {
    let experiment = Experiment::read(&args.plan, "howlate fleet run")?;
    if experiment.files.len() > 1 {
        return Err(Error::FleetPlan { path: args.plan.clone() });
    }
    match parse_command("run", &[PLAN], &args.arguments, &RESERVED_RUN_OPTIONS)? {
        CliCommand::Run(run) => Ok(run.reasons.why || experiment.options.is_some_and(|run| run.reasons.why)),
        _ => Err(unknown_options("run", &args.arguments)),
    }
}

/// Checks that `howlate record` accepts the options. Not for pods: a DaemonSet of its own records there.
fn check_recorder(args: &FleetRunArgs) -> Result<bool, Error> {
    if matches!(args.on, FleetTarget::Kubernetes { .. }) {
        return Err(FleetOption::Record.into());
    }
    parse_command(RECORD, &[], &args.arguments, &RESERVED_RECORD_OPTIONS)?;
    Ok(false)
}

/// Parses a command for the nodes. `fixed` are its first arguments; `reserved` options are errors.
fn parse_command(
    name: &'static str,
    fixed: &[&str],
    options: &[String],
    reserved: &[&str],
) -> Result<CliCommand, Error> {
    let is_reserved = |option: &&String| reserved.contains(&option.split('=').next().unwrap_or_default());
    if let Some(option) = options.iter().find(is_reserved) {
        return Err(Error::FleetOwnOption { found: option.clone() });
    }
    let fixed = ["howlate", name].into_iter().chain(fixed.iter().copied());
    let parsed = Cli::try_parse_from(fixed.chain(options.iter().map(String::as_str)));
    parsed.ok().and_then(|cli| cli.command).ok_or_else(|| unknown_options(name, options))
}

fn unknown_options(command: &'static str, options: &[String]) -> Error {
    Error::FleetArguments { command, found: options.iter().map(shell_word).collect::<Vec<_>>().join(" ") }
}
