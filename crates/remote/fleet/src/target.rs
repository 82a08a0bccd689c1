//! Where a fleet runs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::host::{Host, HostError};

/// The scheduler, and which of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetTarget {
    /// `sbatch`: every node of a partition, of the default one if none is named.
    Slurm {
        /// Its name; the cluster's default one if none is given.
        partition: Option<String>,
    },
    /// `kubectl`: pods in the cluster of a context, of the current one if none is named.
    Kubernetes {
        /// Its name in kubectl's configuration; the current one if none is given.
        context: Option<String>,
    },
    /// `ssh`, to each of these.
    Ssh(Vec<Host>),
    /// `ssh`, to each of those that a file lists.
    SshFile(PathBuf),
}

/// What cannot be a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// There is no such scheduler.
    #[error(
        "`{found}` is none of slurm, slurm:PARTITION, kubernetes, kubernetes:CONTEXT, ssh:HOST,… and ssh:@FILE"
    )]
    Unknown {
        /// What was typed.
        found: String,
    },
    /// A host cannot be one.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl fmt::Display for FleetTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slurm { partition: None } => f.write_str("slurm"),
            Self::Slurm { partition: Some(name) } => write!(f, "slurm:{name}"),
            Self::Kubernetes { context: None } => f.write_str("kubernetes"),
            Self::Kubernetes { context: Some(name) } => write!(f, "kubernetes:{name}"),
            Self::Ssh(hosts) => {
                let addresses: Vec<&str> = hosts.iter().map(|host| host.address.as_str()).collect();
                write!(f, "ssh:{}", addresses.join(","))
            }
            Self::SshFile(path) => write!(f, "ssh:@{}", path.display()),
        }
    }
}

impl FromStr for FleetTarget {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let unknown = || TargetError::Unknown { found: text.to_owned() };
        match text.split_once(':') {
            None if text == "slurm" => Ok(Self::Slurm { partition: None }),
            Some(("slurm", name)) if name.parse::<Host>().is_ok_and(|host| host.labels.is_empty()) => {
                Ok(Self::Slurm { partition: Some(name.to_owned()) })
            }
            None if text == "kubernetes" => Ok(Self::Kubernetes { context: None }),
            Some(("kubernetes", name)) if is_context(name) => {
                Ok(Self::Kubernetes { context: Some(name.to_owned()) })
            }
            Some(("ssh", list)) => match list.strip_prefix('@') {
                Some("") => Err(unknown()),
                Some(file) => Ok(Self::SshFile(file.into())),
                None => Ok(Self::Ssh(Host::list(list)?)),
            },
            _ => Err(unknown()),
        }
    }
}

/// Whether a context may be called so: `admin@lab`, `arn:aws:eks:eu-west-1:12345:cluster/lab`.
fn is_context(name: &str) -> bool {
    (1..=512).contains(&name.len()) && name.chars().all(|letter| letter.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_its_scheduler() {
        assert_eq!("slurm".parse(), Ok(FleetTarget::Slurm { partition: None }));
        assert_eq!("slurm:rt".parse(), Ok(FleetTarget::Slurm { partition: Some("rt".into()) }));
        let aws = "kubernetes:arn:aws:eks:eu-west-1:12345:cluster/lab";
        for cluster in ["kubernetes", aws] {
            let target: FleetTarget = cluster.parse().unwrap();
            assert!(
                matches!(target, FleetTarget::Kubernetes { .. }) && target.to_string() == cluster,
                "{target}"
            );
        }
        assert_eq!("ssh:@lab.txt".parse(), Ok(FleetTarget::SshFile("lab.txt".into())));
        assert!(matches!("ssh:a,b".parse(), Ok(FleetTarget::Ssh(hosts)) if hosts.len() == 2));
        for wrong in [
            "",
            "pbs",
            "slurm:",
            "ssh:",
            "ssh:@",
            "ssh:-x",
            "slurm:--x",
            "slurm:a b=c",
            "kubernetes:",
            "kubernetes:a b",
        ] {
            assert!(wrong.parse::<FleetTarget>().is_err(), "{wrong}");
        }
    }
}
