//! Settings as people write them.

use std::path::Path;

use howlate_model::SettingRefusal;
use howlate_procfs::Root;

use crate::setting::is_setting;

/// A setting that is to have a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// `governor`, a sysctl such as `kernel.sched_rt_runtime_us`, or a path below `/sys` or `/proc/sys`.
    pub name: String,
    /// The value, as it is written to the file.
    pub value: String,
}

/// A text that names no setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown setting `{name}`; write `governor`, a name that sysctl knows such as `kernel.sched_rt_runtime_us`, or a path below /sys or /proc/sys"
)]
pub struct WantedError {
    /// What was written.
    pub name: String,
}

impl Wanted {
    /// A setting by one of its three kinds of name.
    ///
    /// # Errors
    ///
    /// When the name is of none of them.
    pub fn parse(name: &str, value: &str) -> Result<Self, WantedError> {
        let sysctl = name.contains('.') && !name.contains('/');
        if name == "governor" || is_setting(name) || sysctl {
            return Ok(Self { name: name.to_owned(), value: value.to_owned() });
        }
        Err(WantedError { name: name.to_owned() })
    }

    /// The files it stands in; the reason if there is none.
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

/// In the order of their names, as it was recorded ever since.
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
            assert!(Wanted::parse(name, "1").is_ok(), "{name}");
        }
        for name in ["govenor", "/etc/passwd", "/sys/../etc/passwd", "/proc/1/mem", "kernel/../x.y"] {
            assert!(Wanted::parse(name, "1").is_err(), "{name}");
        }
    }
}
