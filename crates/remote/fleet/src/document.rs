//! A fleet as it is published: how each node is doing, and what all of them found.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::folder::Fleet;
use crate::state::NodeStatus;

/// What `howlate fleet … --json` prints. Names are added to, never changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FleetDocument {
    /// The version of this format.
    format: u32,
    /// The version of howlate.
    howlate: &'static str,
    /// What was asked for.
    command: &'static str,
    /// The fleet's folder.
    folder: String,
    /// Where it runs, as `--on` has it.
    on: String,
    /// Each node.
    nodes: Vec<NodeState>,
    /// What the recordings that are there say, as `howlate show FOLDER --json --details` prints it, of a plan or of recorders; absent where nothing was fetched, or
    /// there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
}

/// How a node is doing.
#[derive(Debug, Serialize, JsonSchema)]
struct NodeState {
    /// Its name.
    node: String,
    /// How it is doing, with the reason where there is one.
    #[serde(flatten)]
    state: NodeStatus,
}

impl FleetDocument {
    /// Of a fleet whose nodes are doing so, in their order, and what they found.
    pub fn new(fleet: &Fleet, states: &[NodeStatus], result: Option<Value>) -> Self {
        let nodes = fleet.members.iter().zip(states);
        Self {
            format: 1,
            howlate: env!("CARGO_PKG_VERSION"),
            command: "fleet",
            folder: fleet.folder.display().to_string(),
            on: fleet.on.clone(),
            nodes: nodes
                .map(|(member, state)| NodeState { node: member.name(), state: state.clone() })
                .collect(),
            result,
        }
    }

    /// The same as text.
    ///
    /// # Errors
    ///
    /// None that is known: numbers and texts are JSON.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

/// The JSON Schema of that object, draft 2020-12; `docs/fleet.schema.json` is a copy.
///
/// # Errors
///
/// None that is known.
pub fn fleet_schema() -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&schemars::schema_for!(FleetDocument)).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_that_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/fleet.schema.json");
        let now = fleet_schema().unwrap();
        if std::env::var_os("HOWLATE_UPDATE").is_some() {
            std::fs::write(path, &now).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            now == published,
            "run HOWLATE_UPDATE=1 cargo test -p howlate-fleet document, then read the difference"
        );
    }
}
