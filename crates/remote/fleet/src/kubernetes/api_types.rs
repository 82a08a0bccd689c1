//! Objects as `kubectl get --output=json` describes them; of each what is read here.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What `kubectl get` answers.
#[derive(Debug, Default, Deserialize)]
pub(super) struct KubeList {
    pub(super) items: Vec<KubeObject>,
}

/// Any of those that are asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KubeObject {
    pub(super) kind: String,
    pub(super) metadata: Metadata,
    pub(super) spec: KubeSpec,
    pub(super) status: KubeStatus,
    /// What an event tells.
    pub(super) message: Option<String>,
    /// What it tells of.
    pub(super) involved_object: Involved,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Involved {
    pub(super) name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) creation_timestamp: String,
    pub(super) deletion_timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KubeSpec {
    /// Of a pod that has a node.
    pub(super) node_name: Option<String>,
    pub(super) affinity: Value,
    /// Of a node.
    pub(super) unschedulable: bool,
    pub(super) taints: Vec<Taint>,
}

/// What keeps pods away from a node.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Taint {
    pub(super) key: String,
    #[serde(default)]
    pub(super) value: String,
    pub(super) effect: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KubeStatus {
    pub(super) phase: String,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    pub(super) conditions: Vec<KubeCondition>,
    pub(super) init_container_statuses: Vec<KubeContainer>,
    pub(super) container_statuses: Vec<KubeContainer>,
    /// Of a Job: `1,3-5`.
    pub(super) failed_indexes: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KubeCondition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) message: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KubeContainer {
    pub(super) name: String,
    pub(super) state: ContainerState,
    pub(super) last_state: ContainerState,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ContainerState {
    pub(super) waiting: Option<StateReason>,
    pub(super) running: Option<Value>,
    pub(super) terminated: Option<StateReason>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StateReason {
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    pub(super) exit_code: i64,
}
