//! Where the pods of a fleet on Kubernetes are put, and as what.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The pods of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetPods {
    /// Whose image they run.
    pub image: String,
    /// CPUs of each.
    pub cpus: u16,
    /// Whether each node of the cluster has one.
    pub every_node: bool,
    /// Whether they trace.
    pub is_traced: bool,
    /// Where they are put, and as what.
    #[serde(default)]
    pub placement: PodPlacement,
}

/// Where pods are put, and as what; each as Kubernetes calls it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodPlacement {
    /// The namespace; that of the context if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Labels that nodes must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints of nodes that pods bear.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// Secrets with which the image is pulled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pull_secrets: Vec<String>,
    /// The class of their priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<String>,
    /// The class of what runs them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_class: Option<String>,
    /// A claim of a volume that recordings stay on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results_claim: Option<String>,
}

/// A taint that pods bear: `KEY=VALUE:EFFECT`, `KEY:EFFECT`, `KEY=VALUE` or `KEY`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toleration {
    /// The taint's key.
    pub key: String,
    /// Its value; any if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Its effect; any if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// The effects that there are: <https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/>.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

impl FromStr for Toleration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (taint, effect) =
            text.split_once(':').map_or((text, None), |(taint, effect)| (taint, Some(effect)));
        let (key, value) = taint.split_once('=').map_or((taint, None), |(key, value)| (key, Some(value)));
        match effect.filter(|effect| !EFFECTS.contains(effect)) {
            Some(effect) => Err(format!("`{effect}` is no effect; choose from {}", EFFECTS.join(", "))),
            None if key.is_empty() => Err("write a taint such as `dedicated=rt:NoSchedule`".to_owned()),
            None => Ok(Self {
                key: key.to_owned(),
                value: value.map(str::to_owned),
                effect: effect.map(str::to_owned),
            }),
        }
    }
}

impl Toleration {
    /// Whether it bears a taint.
    pub(crate) fn bears(&self, key: &str, value: &str, effect: &str) -> bool {
        self.key == key
            && self.value.as_deref().is_none_or(|required| required == value)
            && self.effect.as_deref().is_none_or(|required| required == effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_are_borne_as_they_are_written() {
        let read = |text: &str| text.parse::<Toleration>();
        let both = read("dedicated=rt:NoSchedule").unwrap();
        assert!(both.bears("dedicated", "rt", "NoSchedule") && !both.bears("dedicated", "x", "NoSchedule"));
        assert!(!both.bears("dedicated", "rt", "NoExecute"));
        assert!(read("dedicated").unwrap().bears("dedicated", "x", "NoExecute"));
        assert!(read("dedicated:NoSchedule").unwrap().bears("dedicated", "x", "NoSchedule"));
        assert!(read("a=b:Sometimes").unwrap_err().contains("choose from NoSchedule"));
        assert!(read("").is_err() && read("=x").is_err());
    }
}
