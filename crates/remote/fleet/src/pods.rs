//! The pods in which a fleet on Kubernetes measures.

use serde::{Deserialize, Serialize};

use crate::placement::Placement;

/// The pods of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pods {
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
    pub placement: Placement,
}
