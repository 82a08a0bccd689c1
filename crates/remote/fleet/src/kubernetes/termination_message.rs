//! What a pod says when it has measured, as its termination message: Kubernetes keeps it with the state of the pod.

use serde::{Deserialize, Serialize};

use super::log_encoding::Encoded;
use crate::State;

/// How it ended, and what stands in its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Report {
    /// The program's exit status.
    pub(super) status: u8,
    /// The recording; none was left if `None`.
    pub(super) recording: Option<Encoded>,
    /// The last line that was said.
    pub(super) said: Option<String>,
}

impl Report {
    pub(super) fn state(&self) -> State {
        State::ended(self.status, self.said.clone())
    }
}
