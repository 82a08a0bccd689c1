//! Options of `howlate fleet`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use howlate_fleet::{FleetTarget, Toleration};
use howlate_model::Span;

use super::completion_values;

/// Measure the same on many machines, over ssh, Slurm or Kubernetes
#[derive(Args)]
#[command(disable_help_subcommand = true)]
pub struct FleetArgs {
    /// What is to be done.
    #[command(subcommand)]
    pub command: FleetCommand,
}

/// What a fleet is told to do.
#[derive(Subcommand)]
pub enum FleetCommand {
    Run(Box<FleetRunArgs>),
    /// How each node is doing
    Status {
        /// The fleet's folder
        folder: PathBuf,
        /// Print it for programs, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Fetch the recordings that are there, and show what they say
    Collect {
        /// The fleet's folder
        folder: PathBuf,
        /// Print the nodes and the result for programs, as JSON
        #[arg(long)]
        json: bool,
    },
    /// End what is still running; what was measured until then can be collected
    Cancel {
        /// The fleet's folder
        folder: PathBuf,
    },
}

/// Measure a plan on every node, or record; fetch the recordings, and show what they say
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 every node did all that was asked, 1 a limit was exceeded somewhere, 2 could not, 3 some nodes are \
missing, or did not do all.\n\nExamples:\n  \
howlate fleet run plan.toml --on ssh:n1,n2,root@n3 --timeout 10m\n  \
howlate fleet run rt-kernel --on slurm:rt --folder ~/rt-nodes\n  \
howlate fleet run plan.toml --on kubernetes:lab --every-node \\\n      --image registry.lab/howlate\n  \
howlate fleet run plan.toml --on ssh:@lab.txt -- --fail-above 'max>1ms'\n  \
howlate fleet run plan.toml --on ssh:@lab.txt --resume\n  \
howlate fleet run record --on ssh:root@n1,root@n2 \\\n      -- --late-above 2ms --duration 1h\n\n\
Ctrl-C ends the waiting, and the nodes go on: `howlate fleet collect FOLDER` fetches what they find, `howlate fleet cancel FOLDER` ends \
them."
)]
pub struct FleetRunArgs {
    /// The plan: a file, which includes no other, or the name of one that comes with howlate; or `record`, for `howlate record` on
    /// each
    #[arg(value_parser = completion_values::plan(), hide_possible_values = true)]
    pub plan: PathBuf,
    /// Nodes: slurm or slurm:PARTITION, all of whose nodes measure; kubernetes or kubernetes:CONTEXT; ssh:HOST,…; or ssh:@FILE
    /// with one host a line and labels such as rack=7 after it
    #[arg(long, value_name = "NODES")]
    pub on: FleetTarget,
    /// The fleet's folder, where recordings are put [default: the plan's name with `-fleet`]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// The program to send, such as a static one [default: this one]
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// Number of nodes, chosen by the Kubernetes cluster
    #[arg(long, value_name = "N", conflicts_with = "every_node", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub nodes: Option<u16>,
    /// On every node of a Kubernetes cluster that takes pods
    #[arg(long)]
    pub every_node: bool,
    /// The image with howlate, where pods on Kubernetes find it [default: localhost/howlate]
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// CPUs of each pod on Kubernetes [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub pod_cpus: Option<u16>,
    /// Connections open at once
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub at_once: u16,
    /// Cancel nodes that are not done after this time; what they have measured counts
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub timeout: Option<Span>,
    /// Start the nodes and do not wait for them
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,
    /// Go on with the fleet in the folder: measure on the nodes that are missing
    #[arg(long, conflicts_with = "dry_run")]
    pub resume: bool,
    /// Only print the commands that would be run, or the Kubernetes manifest
    #[arg(long)]
    pub dry_run: bool,
    /// Print the nodes and the result for programs, as JSON
    #[arg(long, conflicts_with = "dry_run")]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Of Slurm.
    #[command(flatten)]
    pub slurm: SlurmArgs,
    /// Of Kubernetes.
    #[command(flatten)]
    pub placement: PlacementArgs,
    /// Options of `howlate run`, or of `howlate record`, for every node
    #[arg(last = true, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// What is asked of Slurm; each is handed on to `sbatch`, whose variables (`SBATCH_PARTITION`, `SBATCH_ACCOUNT`, …) count as well.
#[derive(Args, Clone, Default, PartialEq, Eq)]
#[command(next_help_heading = "Slurm")]
pub struct SlurmArgs {
    /// Only nodes with these features, joined by & or |
    #[arg(long, value_name = "FEATURES", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub constraint: Option<String>,
    /// Only these nodes, such as n[1-4]
    #[arg(long, value_name = "NODES", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub nodelist: Option<String>,
    /// The account that is charged
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub account: Option<String>,
    /// The quality of service
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub qos: Option<String>,
    /// The nodes of a reservation, within it
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub reservation: Option<String>,
    /// How long each job may take, as Slurm writes it, such as 0:30:00 [default: what --timeout says]
    #[arg(long, value_name = "TIME", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub time: Option<String>,
}

/// Where pods on Kubernetes are put, and as what.
#[derive(Args, Clone, Default, PartialEq, Eq)]
#[command(next_help_heading = "Kubernetes")]
pub struct PlacementArgs {
    /// The namespace [default: that of the context]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub namespace: Option<String>,
    /// Only nodes with this label
    #[arg(long, value_name = "KEY=VALUE", value_parser = label, hide_short_help = true)]
    pub node_selector: Vec<(String, String)>,
    /// A taint that pods tolerate, such as dedicated=rt:NoSchedule
    #[arg(long, value_name = "TAINT", hide_short_help = true)]
    pub toleration: Vec<Toleration>,
    /// A secret with which the image is pulled
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub pull_secret: Vec<String>,
    /// Priority class of the pods
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub priority_class: Option<String>,
    /// Runtime class of the pods
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub runtime_class: Option<String>,
    /// A persistent volume claim on which recordings stay as well
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    pub results_claim: Option<String>,
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write a label such as `pool=rt`".to_owned()),
    }
}
