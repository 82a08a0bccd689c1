//! `--deepest-idle-state`: disables deeper idle states of the measured CPUs.

use howlate_guard::{AppliedSettings, Guard, SettingRequest};
use howlate_model::{Caveat, CpuSet, Turn};
use howlate_procfs::Root;
use howlate_render as render;
use howlate_rt_tests::cyclictest::{CpuMasks, CyclictestOptions, PowerManagement};

use crate::output::Streams;

/// Idle states that are disabled until this value is dropped.
pub(crate) struct DisabledIdleStates {
    applied: Option<AppliedSettings>,
    streams: Streams,
}

/// Disables the states deeper than `--deepest-idle-state`; `None` without that option.
pub(crate) fn disable_deeper_states(
    options: &CyclictestOptions,
    turn: &Turn,
    masks: &CpuMasks,
    streams: Streams,
) -> Option<DisabledIdleStates> {
    let PowerManagement::DeepestIdleState(deepest) = options.power else { return None };
    let bound: CpuSet = turn.tasks.iter().filter_map(|task| task.cpu).collect();
    let cpus = if bound.is_empty() { masks.allowed.clone() } else { bound };
    let root = Root::live();
    let mut settings = Vec::new();
    for cpu in cpus.iter() {
        match deeper_states(&root, cpu, deepest) {
            Some(states) => settings.extend(states),
            None => streams.say(&format!(
                "WARN: cannot limit the idle states of CPU {cpu}: the kernel has no driver for them\n"
            )),
        }
    }
    let applied = Guard::default().apply(&settings);
    warn(&applied.caveats, streams);
    Some(DisabledIdleStates { applied: Some(applied), streams })
}

/// Settings that disable the states of a CPU deeper than `deepest`; `None` if the CPU has no idle states.
///
/// Source: Documentation/admin-guide/pm/cpuidle.rst, `disable`.
fn deeper_states(root: &Root, cpu: u32, deepest: i64) -> Option<Vec<SettingRequest>> {
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

impl Drop for DisabledIdleStates {
    fn drop(&mut self) {
        warn(&self.applied.take().map(AppliedSettings::undo).unwrap_or_default(), self.streams);
    }
}
