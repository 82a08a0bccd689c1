//! What each node of a fleet does, and what it leaves.

use serde::{Deserialize, Serialize};

use crate::files::{PLAN, PROGRAM};

/// What the recorder's folder is called on a node.
const RECORDED: &str = "recorded";

/// What each node does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeTask {
    /// Measures a plan, by `howlate run`.
    #[default]
    Plan,
    /// Records what waits too long for a CPU, by `howlate record`.
    Record,
}

impl NodeTask {
    /// Whether it is the usual one.
    pub(crate) fn is_plan(&self) -> bool {
        *self == Self::Plan
    }

    /// The file that a node leaves.
    pub(crate) const fn left(self) -> &'static str {
        match self {
            Self::Plan => "run.jsonl",
            Self::Record => "recorded.tar",
        }
    }

    /// Does it in the folder of a node; `arguments` are further options, each with a space behind it. The status is `status`, and what
    /// was said is in `log`.
    pub(crate) fn commands(self, arguments: &str) -> String {
        let left = self.left();
        match self {
            Self::Plan => format!(
                r#"../../{PROGRAM} run ../../{PLAN} --node "$node" "$@" {arguments}--quiet --out {left} > log 2>&1
    status=$?
    # The signal may come here only after it has come to the program, which says so in its last line.
    case $(tail -n 1 {left} 2> /dev/null) in
        *'"how":"interrupted"'*) cancelled=yes ;;
    esac"#
            ),
            Self::Record => format!(
                r#"../../{PROGRAM} record {arguments}--quiet --out {RECORDED} > log 2>&1
    status=$?
    if [ -d {RECORDED} ]; then
        tar -cf {left}.new -C {RECORDED} . >> log 2>&1 && mv {left}.new {left} && rm -rf {RECORDED} || status=2
    fi"#
            ),
        }
    }
}
