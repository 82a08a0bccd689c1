//! Settings of the machine that a measurement changes, and that are put back afterwards.
//!
//! Before anything is changed, this program is started again as a guardian that knows what was
//! there before. The guardian puts it back when its standard input ends: because the
//! measurement is over, or because the kernel closed it with a killed process. So not even
//! `SIGKILL` leaves the machine changed.

mod guardian;
mod wanted;

use std::io;

use howlate_model::{Caveat, Setting};

pub use guardian::GUARDIAN;
pub use wanted::{Wanted, WantedError};

use guardian::Guardian;

/// Keeps settings in force until it is ended or dropped.
#[derive(Default)]
pub struct Guard {
    guardian: Option<Guardian>,
    /// What was changed, and what was read back.
    pub settings: Vec<Setting>,
    /// What could not be had.
    pub caveats: Vec<Caveat>,
}

impl Guard {
    /// Puts all that is wanted in force, as far as the machine lets it.
    pub fn set(wanted: &[Wanted]) -> Self {
        let mut guard = Self::default();
        for one in wanted {
            match one.paths() {
                Ok(paths) => paths.iter().for_each(|path| guard.change(one, path)),
                Err(reason) => guard.leave_out(one, reason),
            }
        }
        guard
    }

    fn change(&mut self, wanted: &Wanted, path: &str) {
        match self.try_change(path, &wanted.value) {
            Ok(setting) => self.settings.push(setting),
            Err(reason) => self.leave_out(wanted, format!("{path}: {reason}")),
        }
    }

    fn try_change(&mut self, path: &str, value: &str) -> io::Result<Setting> {
        let before = read(path)?;
        if before != value {
            self.guardian()?.remember(path, &before)?;
            std::fs::write(path, value)?;
        }
        let in_force = read(path)?;
        if in_force == value {
            return Ok(Setting { path: path.to_owned(), before, in_force });
        }
        Err(io::Error::other(format!("the kernel took it and kept `{in_force}`")))
    }

    fn guardian(&mut self) -> io::Result<&mut Guardian> {
        if self.guardian.is_none() {
            self.guardian = Some(Guardian::start()?);
        }
        self.guardian.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn leave_out(&mut self, wanted: &Wanted, reason: impl ToString) {
        self.caveats.push(Caveat::SettingLeftOut {
            setting: wanted.name.clone(),
            asked: wanted.value.clone(),
            reason: reason.to_string(),
        });
    }

    /// Puts everything back; tells what could not be.
    pub fn end(self) -> Vec<Caveat> {
        self.guardian.map(Guardian::end).unwrap_or_default()
    }
}

/// A setting's value. Of a choice such as `always [madvise] never`, the one in brackets.
fn read(path: &str) -> io::Result<String> {
    let text = std::fs::read_to_string(path)?;
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Ok(chosen.map_or(text.trim(), |(chosen, _)| chosen).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_one_of_several_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("enabled");
        std::fs::write(&path, "always [madvise] never\n").unwrap();
        assert_eq!(read(path.to_str().unwrap()).unwrap(), "madvise");
    }

    #[test]
    fn what_this_machine_does_not_have_is_left_out_with_its_reason() {
        let wanted = Wanted::parse("kernel.no_such_setting", "1").unwrap();
        let guard = Guard::set(&[wanted]);
        assert!(guard.settings.is_empty());
        let [Caveat::SettingLeftOut { setting, reason, .. }] = &guard.caveats[..] else {
            panic!("{:?}", guard.caveats);
        };
        assert_eq!(setting, "kernel.no_such_setting");
        assert!(reason.contains("this machine has no"), "{reason}");
    }
}
