//! `--deepest-idle-state`: keeps the measured CPUs out of deeper idle states.

use howlate_guard::{AppliedSettings, Guard, SettingRequest};
use howlate_model::{Caveat, CpuSet, Turn};
use howlate_procfs::Root;
use howlate_render as render;
use howlate_rt_tests::cyclictest::{CpuMasks, Options, Power};

use crate::streams::Streams;

/// Idle states that are disabled until this is dropped, or the process killed.
pub(crate) struct Disabled {
    applied: Option<AppliedSettings>,
    streams: Streams,
}

/// Disables the states as asked; `None` if nothing was asked.
pub(crate) fn limit(options: &Options, turn: &Turn, masks: &CpuMasks, streams: Streams) -> Option<Disabled> {
    let Power::DeepestIdleState(deepest) = options.power else { return None };
    let bound: CpuSet = turn.tasks.iter().filter_map(|task| task.cpu).collect();
    let cpus = if bound.is_empty() { masks.allowed.clone() } else { bound };
    let root = Root::live();
    let mut wanted = Vec::new();
    for cpu in cpus.iter() {
        match deeper(&root, cpu, deepest) {
            Some(states) => wanted.extend(states),
            None => streams.say(&format!(
                "WARN: cannot limit the idle states of CPU {cpu}: the kernel has no driver for them\n"
            )),
        }
    }
    let applied = Guard::default().apply(&wanted);
    warn(&applied.caveats, streams);
    Some(Disabled { applied: Some(applied), streams })
}

/// The switches of the states of a CPU that are deeper than asked; `None` where it has no states.
///
/// Source: Documentation/admin-guide/pm/cpuidle.rst, `disable`.
fn deeper(root: &Root, cpu: u32, deepest: i64) -> Option<Vec<SettingRequest>> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let names = Some(root.list(&folder)).filter(|names| !names.is_empty())?;
    let number = |name: &String| name.strip_prefix("state")?.parse::<i64>().ok();
    let deeper = names.iter().filter(|name| number(name).is_some_and(|state| state > deepest));
    Some(
        deeper
            .filter_map(|name| SettingRequest::parse(&format!("{folder}/{name}/disable"), "1").ok())
            .collect(),
    )
}

pub(crate) fn warn(caveats: &[Caveat], streams: Streams) {
    caveats.iter().for_each(|caveat| streams.say(&format!("WARN: {}\n", render::caveat(caveat))));
}

impl Drop for Disabled {
    fn drop(&mut self) {
        warn(&self.applied.take().map(AppliedSettings::undo).unwrap_or_default(), self.streams);
    }
}
