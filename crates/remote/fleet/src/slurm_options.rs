//! Options of `sbatch` besides the partition.

use serde::{Deserialize, Serialize};

/// Options in the syntax of `sbatch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlurmOptions {
    /// The partition, where `--on` names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Features that nodes must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
    /// The nodes that measure; all if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodelist: Option<String>,
    /// Whose account is charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The quality of service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qos: Option<String>,
    /// A reservation, whose nodes measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// How long each job may take, as Slurm writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

impl SlurmOptions {
    /// With what `sbatch` would take from the environment where nothing else is asked, as far as that decides which nodes there
    /// are. The rest of its variables (`SBATCH_ACCOUNT`, `SBATCH_QOS`, `SBATCH_TIMELIMIT`, …) it reads itself.
    #[must_use]
    pub fn or_of_environment(self, read: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| read(name).filter(|value| !value.is_empty());
        Self {
            partition: self.partition.or_else(|| variable("SBATCH_PARTITION")),
            constraint: self.constraint.or_else(|| variable("SBATCH_CONSTRAINT")),
            reservation: self.reservation.or_else(|| variable("SBATCH_RESERVATION")),
            ..self
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_comes_before_the_environment() {
        let environment = |name: &str| match name {
            "SBATCH_PARTITION" => Some("rt".to_owned()),
            "SBATCH_CONSTRAINT" => Some("fast".to_owned()),
            "SBATCH_RESERVATION" => Some(String::new()),
            other => Some(other.to_owned()),
        };
        let options = SlurmOptions { constraint: Some("slow".to_owned()), ..SlurmOptions::default() };
        let of = options.or_of_environment(environment);
        assert_eq!((of.partition.as_deref(), of.constraint.as_deref()), (Some("rt"), Some("slow")));
        assert_eq!((of.reservation, of.account, of.time), (None, None, None));
    }
}
