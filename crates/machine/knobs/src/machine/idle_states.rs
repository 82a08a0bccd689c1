//! Idle states that take long to leave, switched off on the CPUs on which that matters: those that are set apart, or all.
//!
//! Source: Documentation/admin-guide/pm/cpuidle.rst.

use std::collections::BTreeSet;

use howlate_model::{Remedy, SettingScope};
use howlate_procfs::{Isolation, Root};

use crate::knob::{Knob, Look};
use crate::per_instance::Files;
use crate::writes::Writes;

pub(crate) const KNOB: Knob = Knob {
    name: "idle_states",
    scope: SettingScope::Machine,
    what: "no idle states that take long to leave",
    cost: "power and heat; less turbo for other CPUs",
    look,
    texts: &[],
};

const CPUS: &str = "/sys/devices/system/cpu";

/// An exit that takes longer than this, in microseconds, stands out against the few microseconds that a
/// wake-up takes anyway.
pub const NOTICEABLE_US: u64 = 10;

fn look(root: &Root) -> Look {
    let cpus = Isolation::read(root).relevant_cpus();
    let names =
        |cpu: u32| root.list(&format!("{CPUS}/cpu{cpu}/cpuidle")).into_iter().filter(|name| is_state(name));
    let states: BTreeSet<String> = cpus.iter().flat_map(names).collect();
    if states.is_empty() {
        return Look::Absent("this kernel manages no idle states".to_owned());
    }
    let is_slow = |cpu: u32, state: &str| {
        let latency = root.reading(format!("{CPUS}/cpu{cpu}/cpuidle/{state}/latency")).number::<u64>();
        latency.is_some_and(|latency| latency > NOTICEABLE_US)
    };
    let slow_and_on = |state: &String| {
        let all = Files::list(root, CPUS, "cpu", &format!("cpuidle/{state}/disable"));
        let slow = all.numbered(|cpu| cpus.contains(cpu) && is_slow(cpu, state));
        let on = slow.only(|now| now == "0");
        // Some that are off already in between are switched off once more.
        if on.are_scattered() { slow } else { on }
    };
    let mut alike: Vec<(Vec<&str>, Files)> = Vec::new();
    for (state, files) in states.iter().map(|state| (state, slow_and_on(state))) {
        match alike.iter_mut().find(|(_, known)| known.numbers() == files.numbers()) {
            _ if files.is_empty() => {}
            Some((several, _)) => several.push(state),
            None => alike.push((vec![state], files)),
        }
    }
    let writes =
        alike.iter().fold(Writes::default(), |writes, (states, files)| writes.and(off(states, files)));
    match writes.each.is_empty() {
        true => Look::AsWanted("none that takes longer than 10 µs to leave".to_owned()),
        false => Look::files(writes),
    }
}

/// Switches states off on the CPUs of `files`, by one command.
fn off(states: &[&str], files: &Files) -> Writes {
    let file = |state: &str| files.named(&format!("cpuidle/{state}/disable"));
    let all = states.iter().fold(Writes::default(), |writes, state| writes.and(file(state).write("1")));
    if states.len() == 1 {
        return all;
    }
    let numbers: Vec<&str> = states.iter().filter_map(|state| state.strip_prefix("state")).collect();
    let remedy = file("state$s").write("1").remedy;
    let each = |command: String| format!("for s in {}; do {command}; done", numbers.join(" "));
    let each = |commands: Vec<String>| commands.into_iter().map(each).collect();
    Writes {
        remedy: Remedy { apply: each(remedy.apply), undo: each(remedy.undo), ..Remedy::default() },
        ..all
    }
}

fn is_state(name: &str) -> bool {
    name.strip_prefix("state").is_some_and(|number| number.parse::<u32>().is_ok())
}
