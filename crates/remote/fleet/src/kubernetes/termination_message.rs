//! The termination message of a pod, which Kubernetes keeps with its state.

use serde::{Deserialize, Serialize};

use super::log_encoding::RecordingDigest;
use crate::NodeStatus;

/// How the measurement ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PodReport {
    /// The program's exit status.
    pub(super) status: u8,
    /// The recording; none was left if `None`.
    pub(super) recording: Option<RecordingDigest>,
    /// The last line of its log.
    #[serde(rename = "said")]
    pub(super) message: Option<String>,
}

impl PodReport {
    pub(super) fn state(&self) -> NodeStatus {
        NodeStatus::ended(self.status, self.message.clone())
    }
}
