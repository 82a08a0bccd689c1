//! Where a fleet runs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::host::{Host, HostError};

/// The scheduler, and which of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `ssh`, to each of these.
    Ssh(Vec<Host>),
    /// `ssh`, to each of those that a file lists.
    SshFile(PathBuf),
}

/// What cannot be a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// There is no such scheduler.
    #[error("`{found}` is none of ssh:HOST,… and ssh:@FILE")]
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
        assert_eq!("ssh:@lab.txt".parse(), Ok(Target::SshFile("lab.txt".into())));
        assert!(matches!("ssh:a,b".parse(), Ok(Target::Ssh(hosts)) if hosts.len() == 2));
        for wrong in ["", "pbs", "slurm:", "ssh:", "ssh:@", "ssh:-x"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }
}
