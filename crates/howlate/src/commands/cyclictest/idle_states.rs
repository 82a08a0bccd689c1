//! `--deepest-idle-state`: keeps the measured CPUs out of deeper idle states.

use std::fs;
use std::io;
use std::path::PathBuf;

use howlate_cyclictest::{Machine, Options, Power};
use howlate_model::{CpuSet, Turn};

use crate::terminal::say;

/// Idle states that were disabled, with what their files said before. Restored when dropped.
pub(crate) struct Disabled {
    before: Vec<(PathBuf, String)>,
}

/// Disables the states as asked; `None` if nothing was asked.
///
/// Source: Documentation/admin-guide/pm/cpuidle.rst, `disable`.
pub(crate) fn limit(options: &Options, turn: &Turn, machine: &Machine) -> Option<Disabled> {
    let Power::DeepestIdleState(deepest) = options.power else { return None };
    let bound: CpuSet = turn.tasks.iter().filter_map(|task| task.cpu).collect();
    let cpus = if bound.is_empty() { machine.allowed.clone() } else { bound };
    let mut disabled = Disabled { before: Vec::new() };
    for cpu in cpus.iter() {
        if let Err(error) = disabled.disable(cpu, deepest) {
            say(&format!("WARN: cannot limit the idle states of CPU {cpu}: {error}\n"));
        }
    }
    Some(disabled)
}

impl Disabled {
    fn disable(&mut self, cpu: u32, deepest: i64) -> io::Result<()> {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let state: Option<i64> = name.strip_prefix("state").and_then(|number| number.parse().ok());
            if state.is_some_and(|state| state > deepest) {
                self.set(path.join("disable"))?;
            }
        }
        Ok(())
    }

    fn set(&mut self, file: PathBuf) -> io::Result<()> {
        let before = fs::read_to_string(&file)?;
        fs::write(&file, "1")?;
        let now = fs::read_to_string(&file)?;
        self.before.push((file, before));
        if now.trim() == "1" { Ok(()) } else { Err(io::Error::other("the kernel did not take it")) }
    }
}

impl Drop for Disabled {
    fn drop(&mut self) {
        for (file, before) in self.before.iter().rev() {
            if let Err(error) = fs::write(file, before) {
                say(&format!("WARN: cannot restore {}: {error}\n", file.display()));
            }
        }
    }
}
