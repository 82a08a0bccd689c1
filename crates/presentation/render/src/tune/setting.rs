//! A setting on this machine, and whether it is tried.

use howlate_model::{PermanentSetting, SettingScope, SettingWrite};

/// A setting of this machine.
#[derive(Clone, Debug)]
pub struct SettingTrial {
    /// Name of the setting, as `--knobs` takes it.
    pub knob: &'static str,
    /// What it applies to.
    pub scope: SettingScope,
    pub what: &'static str,
    pub from: String,
    /// The value that is tried.
    pub to: String,
    /// [`TrialStatus::Tried`], or why not.
    pub status: TrialStatus,
    /// Files that are written, for a setting of the machine.
    pub writes: Vec<SettingWrite>,
    /// Disadvantages for others.
    pub cost: &'static str,
    /// How to make it permanent.
    pub permanent: Vec<PermanentSetting>,
}

/// Whether and why a setting was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialStatus {
    Tried,
    /// Not requested by `--knobs`.
    NotRequested,
    InForce,
    /// Not available on this machine.
    Absent(String),
    NotPermitted(String),
    BootOnly,
    NotTried(String),
    /// The trial failed or was not finished.
    Failed(String),
}

impl TrialStatus {
    /// Name in the JSON output.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Tried => "tried",
            Self::NotRequested => "not_asked",
            Self::InForce => "in_force",
            Self::Absent(_) => "absent",
            Self::NotPermitted(_) => "not_permitted",
            Self::BootOnly => "boot_only",
            Self::NotTried(_) => "not_tried",
            Self::Failed(_) => "failed",
        }
    }

    /// Why it was not tried; `None` if it was.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Tried => None,
            Self::NotRequested => Some("not requested"),
            Self::InForce => Some("already set"),
            Self::BootOnly => Some("needs a restart"),
            Self::Absent(reason)
            | Self::NotPermitted(reason)
            | Self::NotTried(reason)
            | Self::Failed(reason) => Some(reason),
        }
    }
}
