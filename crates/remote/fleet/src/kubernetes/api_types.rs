//! Objects as `kubectl get --output=json` describes them; of each what is read here.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What `kubectl get` answers.
#[derive(Debug, Default, Deserialize)]
pub(super) struct List {
    pub(super) items: Vec<Object>,
}

/// Any of those that are asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Object {
    pub(super) kind: String,
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
    pub(super) status: Status,
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
pub(super) struct Spec {
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
pub(super) struct Status {
    pub(super) phase: String,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    pub(super) conditions: Vec<Condition>,
    pub(super) init_container_statuses: Vec<Container>,
    pub(super) container_statuses: Vec<Container>,
    /// Of a Job: `1,3-5`.
    pub(super) failed_indexes: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) message: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) state: ContainerState,
    pub(super) last_state: ContainerState,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ContainerState {
    pub(super) waiting: Option<Reason>,
    pub(super) running: Option<Value>,
    pub(super) terminated: Option<Reason>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Reason {
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    pub(super) exit_code: i64,
}
