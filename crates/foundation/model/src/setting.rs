//! Settings of the machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A setting of the machine, as it was changed for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The file it was written to.
    pub path: String,
    /// What was read from it before.
    pub before: String,
    /// What was read back.
    pub in_force: String,
}
