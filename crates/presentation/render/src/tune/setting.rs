//! A setting on this machine, and what becomes of it.

use howlate_model::{PermanentSetting, SettingScope, SettingWrite};

/// A setting as it is here.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Name of the setting, as `--knobs` takes it.
    pub knob: &'static str,
    /// What it holds for.
    pub scope: SettingScope,
    /// What it does.
    pub what: &'static str,
    /// The value now.
    pub from: String,
    /// The value that is tried.
    pub to: String,
    /// What becomes of it: [`Fate::Tried`], or why not.
    pub fate: Fate,
    /// What is written for it, if it holds for the machine.
    pub writes: Vec<SettingWrite>,
    /// What it costs others.
    pub cost: &'static str,
    /// How it is had for good.
    pub permanent: Vec<PermanentSetting>,
}

/// What became of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was tried.
    Tried,
    /// It was not asked for.
    NotAsked,
    /// It is so already.
    InForce,
    /// There is no such thing here.
    Absent(String),
    /// This process may not.
    NotPermitted(String),
    /// It takes a restart.
    BootOnly,
    /// It is never tried.
    NotTried(String),
    /// It was tried in vain, or not to the end.
    Failed(String),
}

impl Fate {
    /// Its name in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Tried => "tried",
            Self::NotAsked => "not_asked",
            Self::InForce => "in_force",
            Self::Absent(_) => "absent",
            Self::NotPermitted(_) => "not_permitted",
            Self::BootOnly => "boot_only",
            Self::NotTried(_) => "not_tried",
            Self::Failed(_) => "failed",
        }
    }

    /// Why it was not tried.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Tried => None,
            Self::NotAsked => Some("not requested"),
            Self::InForce => Some("already set"),
            Self::BootOnly => Some("needs a restart"),
            Self::Absent(reason)
            | Self::NotPermitted(reason)
            | Self::NotTried(reason)
            | Self::Failed(reason) => Some(reason),
        }
    }
}
