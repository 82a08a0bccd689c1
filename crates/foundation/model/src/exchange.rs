//! Sender and receiver of notifications, and irregular messages.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the sender and the receiver are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Between")]
pub enum Peers {
    /// Sender and receiver are two processes.
    #[default]
    Processes,
    /// Two threads of one process.
    Threads,
}

impl Peers {
    /// The name used on the command line and in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Threads => "threads",
        }
    }
}

/// In what state the receiver's CPU awaits a notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiverCpu {
    /// Idle, as deep as the gap lets it fall; or busy, where the receiver itself keeps it so.
    #[default]
    AsLeft,
    /// Kept from idling by an idle-class thread, which anything else displaces at once.
    HeldAwake,
}

impl ReceiverCpu {
    /// The name used on the command line and in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsLeft => "as_left",
            Self::HeldAwake => "held_awake",
        }
    }
}

/// Where two CPUs are to each other. The nearest that fits is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Sender and receiver take turns on one CPU.
    SameCpu,
    /// Two hardware threads of one core.
    SmtSibling,
    /// Two cores behind one last-level cache.
    SameCache,
    /// Two cores of one node that share no cache, or are not known to.
    OtherCache,
    /// Two memory nodes.
    OtherNode,
}

impl Placement {
    /// Every placement, nearest first.
    pub const ALL: [Self; 5] =
        [Self::SameCpu, Self::SmtSibling, Self::SameCache, Self::OtherCache, Self::OtherNode];

    /// The name used in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameCpu => "same_cpu",
            Self::SmtSibling => "smt_sibling",
            Self::SameCache => "same_cache",
            Self::OtherCache => "other_cache",
            Self::OtherNode => "other_node",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Messages that a mechanism did not deliver once and in order. None of them is in the latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Irregular")]
pub struct IrregularMessages {
    /// Sent and never received, or merged with another.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages_lost: u64,
    /// Received again, or never sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages_duplicated: u64,
    /// Received after a later one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages_reordered: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl IrregularMessages {
    /// Whether every message was received once and in order.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the counts of another block.
    pub fn add(&mut self, other: Self) {
        self.messages_lost = self.messages_lost.saturating_add(other.messages_lost);
        self.messages_duplicated = self.messages_duplicated.saturating_add(other.messages_duplicated);
        self.messages_reordered = self.messages_reordered.saturating_add(other.messages_reordered);
    }
}
