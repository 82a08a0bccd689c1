//! Where a fleet runs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::host::{Host, HostError};

/// The scheduler, and which of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `sbatch`: every node of a partition, of the default one if none is named.
    Slurm {
        /// The partition.
        partition: Option<String>,
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
    #[error("`{found}` is none of slurm, slurm:PARTITION, ssh:HOST,… and ssh:@FILE")]
    Unknown {
        /// What was typed.
        found: String,
    },
    /// A host cannot be one.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slurm { partition: None } => f.write_str("slurm"),
            Self::Slurm { partition: Some(name) } => write!(f, "slurm:{name}"),
            Self::Ssh(hosts) => {
                let addresses: Vec<&str> = hosts.iter().map(|host| host.address.as_str()).collect();
                write!(f, "ssh:{}", addresses.join(","))
            }
            Self::SshFile(path) => write!(f, "ssh:@{}", path.display()),
        }
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let unknown = || TargetError::Unknown { found: text.to_owned() };
        match text.split_once(':') {
            None if text == "slurm" => Ok(Self::Slurm { partition: None }),
            Some(("slurm", name)) if name.parse::<Host>().is_ok_and(|host| host.labels.is_empty()) => {
                Ok(Self::Slurm { partition: Some(name.to_owned()) })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_its_scheduler() {
        assert_eq!("slurm".parse(), Ok(Target::Slurm { partition: None }));
        assert_eq!("slurm:rt".parse(), Ok(Target::Slurm { partition: Some("rt".into()) }));
        assert_eq!("ssh:@lab.txt".parse(), Ok(Target::SshFile("lab.txt".into())));
        assert!(matches!("ssh:a,b".parse(), Ok(Target::Ssh(hosts)) if hosts.len() == 2));
        for wrong in ["", "pbs", "slurm:", "ssh:", "ssh:@", "ssh:-x", "slurm:--x", "slurm:a b=c"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }
}
