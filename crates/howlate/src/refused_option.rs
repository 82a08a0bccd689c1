//! Options that are taken in one place and refused in another, each with what to do instead.

use std::fmt;

/// What measuring commands take, and `howlate tune` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotForTune {
    Why,
    Rounds,
    Until,
    SamplesOut,
    ExportJson,
    ExportMarkdown,
    FailAbove,
    Format,
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
        })
    }
}

impl NotForTune {
    pub(crate) const fn hint(self) -> &'static str {
        match self {
            Self::Why => "`howlate why` says where lateness comes from",
            Self::Rounds | Self::Until => {
                "there are as many turns as are needed; `--budget` limits how long they may take"
            }
            Self::ExportJson => "add `--json`, and redirect what is printed",
            Self::SamplesOut | Self::ExportMarkdown | Self::FailAbove | Self::Format => {
                "save a recording with `--out`, and use it with `howlate show` or `howlate compare`"
            }
        }
    }
}

/// What was typed for a guest, and cannot be used in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotForGuests {
    Option(String),
    Command(String),
}

impl fmt::Display for NotForGuests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Option(word) | Self::Command(word)) = self;
        f.pad(word)
    }
}

impl NotForGuests {
    pub(crate) fn option(option: &'static str) -> Self {
        Self::Option(option.to_owned())
    }

    pub(crate) const fn hint(&self) -> &'static str {
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
pub(crate) enum OutputOfGuest {
    Out,
    Json,
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
pub(crate) enum PodOption {
    Nodes,
    EveryNode,
    Image,
    PodCpus,
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
pub(crate) enum FleetOption {
    #[error("`{0}` is for `--on kubernetes`")]
    OnlyKubernetes(PodOption),
    #[error("`{0}` is for `--on slurm`")]
    OnlySlurm(&'static str),
    #[error("`--program` is not for Kubernetes, whose pods run the howlate of their image")]
    Program,
    #[error("`--nodes` is missing: how many nodes of the cluster measure?")]
    NodesMissing,
}

impl FleetOption {
    pub(crate) const fn hint(self) -> &'static str {
        match self {
            Self::OnlyKubernetes(
                PodOption::EveryNode | PodOption::Image | PodOption::PodCpus | PodOption::Placement,
            )
            | Self::OnlySlurm(_) => "leave it out",
            Self::Program => "name the image with `--image`",
            Self::NodesMissing | Self::OnlyKubernetes(PodOption::Nodes) => {
                "such as `--on kubernetes --nodes 3`, or `--every-node`"
            }
        }
    }
}
