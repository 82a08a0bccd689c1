//! Options that are taken in one place and refused in another, each with what to do instead.

use std::fmt;

/// What measuring commands take, and `howlate tune` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotForTune {
    /// `--why`
    Why,
    /// `--rounds`
    Rounds,
    /// `--until`
    Until,
    /// `--samples-out`
    SamplesOut,
    /// `--export-json`
    ExportJson,
    /// `--export-markdown`
    ExportMarkdown,
    /// `--fail-above`
    FailAbove,
    /// `--format`
    Format,
    /// `--start-at`
    StartAt,
}

impl fmt::Display for NotForTune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Why => "--why",
            Self::Rounds => "--rounds",
            Self::Until => "--until",
            Self::SamplesOut => "--samples-out",
            Self::ExportJson => "--export-json",
            Self::ExportMarkdown => "--export-markdown",
            Self::FailAbove => "--fail-above",
            Self::Format => "--format",
            Self::StartAt => "--start-at",
        })
    }
}

impl NotForTune {
    /// What to do instead.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Why => "`howlate why` says where lateness comes from",
            Self::Rounds | Self::Until => {
                "there are as many turns as are needed; `--budget` limits how long they may take"
            }
            Self::StartAt => "leave it out: it is for measuring on several machines at the same time",
            Self::ExportJson => "add `--json`, and redirect what is printed",
            Self::SamplesOut | Self::ExportMarkdown | Self::FailAbove | Self::Format => {
                "save a recording with `--out`, and use it with `howlate show` or `howlate compare`"
            }
        }
    }
}

/// What was typed for a guest, and cannot be used in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotForGuests {
    /// An option.
    Option(String),
    /// A command.
    Command(String),
}

impl fmt::Display for NotForGuests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Option(word) | Self::Command(word)) = self;
        f.pad(word)
    }
}

impl NotForGuests {
    /// An option.
    pub fn option(option: &'static str) -> Self {
        Self::Option(option.to_owned())
    }

    /// What to do instead.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Option(_) => "leave it out: only the recording leaves a guest",
            Self::Command(_) => {
                "commands that measure can: `-- cyclic …`, `-- sleep …`, `-- notify …`, `-- run PLAN`; `-- selfcheck`, `-- doctor` and \
                 `-- top` as well"
            }
        }
    }
}

/// What `howlate guest` itself is told of its output, not what runs in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputOfGuest {
    /// `--out`
    Out,
    /// `--json`
    Json,
    /// `--format`
    Format,
}

impl fmt::Display for OutputOfGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Out => "--out",
            Self::Json => "--json",
            Self::Format => "--format",
        })
    }
}

/// What says which pods there are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodOption {
    /// `--nodes`
    Nodes,
    /// `--every-node`
    EveryNode,
    /// `--image`
    Image,
    /// `--pod-cpus`
    PodCpus,
    /// Where pods may run, and as what.
    Placement,
}

impl fmt::Display for PodOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nodes => "--nodes",
            Self::EveryNode => "--every-node",
            Self::Image => "--image",
            Self::PodCpus => "--pod-cpus",
            Self::Placement => "--namespace`, `--node-selector`, `--toleration`, `--pull-secret`, `--priority-class`, `--runtime-class` or `--results-claim",
        })
    }
}

/// Why a fleet cannot be sent with the options that say where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FleetOption {
    /// Only pods have it.
    #[error("`{0}` is for `--on kubernetes`")]
    OnlyKubernetes(PodOption),
    /// Only Slurm has it.
    #[error("`{0}` is for `--on slurm`")]
    OnlySlurm(&'static str),
    /// Pods have the program of their image.
    #[error("`--program` is not for Kubernetes, whose pods run the howlate of their image")]
    Program,
    /// How many pods is not said.
    #[error("`--nodes` is missing: how many nodes of the cluster measure?")]
    NodesMissing,
    /// Pods may not see the machine.
    #[error("`record` is not for `--on kubernetes`, whose pods see no threads but their own")]
    Record,
}

impl FleetOption {
    /// What to do instead.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::OnlyKubernetes(
                PodOption::EveryNode | PodOption::Image | PodOption::PodCpus | PodOption::Placement,
            )
            | Self::OnlySlurm(_) => "leave it out",
            Self::Program => "name the image with `--image`",
            Self::Record => {
                "docs/howlate-record-daemonset.yaml records on each node of a cluster: https://github.com/howlate/howlate"
            }
            Self::NodesMissing | Self::OnlyKubernetes(PodOption::Nodes) => {
                "such as `--on kubernetes --nodes 3`, or `--every-node`"
            }
        }
    }
}
