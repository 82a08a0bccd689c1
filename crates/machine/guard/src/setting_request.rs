//! Settings requested by the user.

use std::path::Path;

use howlate_model::SettingRefusal;
use howlate_procfs::Root;

use crate::setting::is_setting;

/// A setting and the value that it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRequest {
    /// `governor`, a sysctl such as `kernel.sched_rt_runtime_us`, or a path below `/sys` or `/proc/sys`.
    pub name: String,
    /// As it is written to the file.
    pub value: String,
}

/// A name that is not a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown setting `{name}`; write `governor`, a name that sysctl knows such as `kernel.sched_rt_runtime_us`, or a path below /sys or /proc/sys"
)]
pub struct UnknownSetting {
    /// As typed.
    pub name: String,
}

impl SettingRequest {
    /// Accepts the three kinds of [`name`](Self::name).
    ///
    /// # Errors
    ///
    /// When the name is none of them.
    pub fn parse(name: &str, value: &str) -> Result<Self, UnknownSetting> {
        let sysctl = name.contains('.') && !name.contains('/');
        if name == "governor" || is_setting(name) || sysctl {
            return Ok(Self { name: name.to_owned(), value: value.to_owned() });
        }
        Err(UnknownSetting { name: name.to_owned() })
    }

    /// The files of the setting.
    pub(crate) fn paths(&self) -> Result<Vec<String>, SettingRefusal> {
        if self.name == "governor" {
            return governors();
        }
        let path = match self.name.starts_with('/') {
            true => self.name.clone(),
            false => format!("/proc/sys/{}", self.name.replace('.', "/")),
        };
        if Path::new(&path).exists() { Ok(vec![path]) } else { Err(SettingRefusal::NoFile { path }) }
    }
}

/// Sorted by name, the order of all recordings.
fn governors() -> Result<Vec<String>, SettingRefusal> {
    let mut files = howlate_procfs::governors(&Root::live());
    files.sort();
    match files.is_empty() {
        true => Err(SettingRefusal::NoGovernor),
        false => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_three_kinds_of_name() {
        for name in ["governor", "kernel.timer_migration", "/sys/a/b", "/proc/sys/kernel/x"] {
            assert!(SettingRequest::parse(name, "1").is_ok(), "{name}");
        }
        for name in ["govenor", "/etc/passwd", "/sys/../etc/passwd", "/proc/1/mem", "kernel/../x.y"] {
            assert!(SettingRequest::parse(name, "1").is_err(), "{name}");
        }
    }
}
