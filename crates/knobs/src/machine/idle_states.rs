//! Idle states that take long to leave, switched off.
//!
//! Source: Documentation/admin-guide/pm/cpuidle.rst.

use howlate_model::{Remedy, Scope};
use howlate_procfs::Root;

use crate::knob::{Knob, Look};
use crate::per_instance::Files;
use crate::writes::{Writes, write_command};

pub(crate) const KNOB: Knob = Knob {
    name: "idle_states",
    scope: Scope::Machine,
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
    let states = root.list(&format!("{CPUS}/cpu0/cpuidle"));
    let slow = |state: &&String| {
        let latency = root.read(&format!("{CPUS}/cpu0/cpuidle/{state}/latency")).ok();
        latency.and_then(|text| text.parse::<u64>().ok()).is_some_and(|latency| latency > NOTICEABLE_US)
    };
    let slow: Vec<&String> = states.iter().filter(slow).collect();
    match (states.is_empty(), slow.is_empty()) {
        (true, _) => Look::Absent("this kernel manages no idle states".to_owned()),
        (false, true) => Look::AsWanted("none takes longer than 10 µs to leave".to_owned()),
        (false, false) => match switched_off(root, &slow) {
            writes if writes.each.is_empty() => Look::AsWanted("off".to_owned()),
            writes => Look::files(writes),
        },
    }
}

/// Their file on every CPU; those that are off already stay as they are.
fn switched_off(root: &Root, states: &[&String]) -> Writes {
    let files = |state: &&String| {
        let files = Files::list(root, CPUS, "cpu", &format!("cpuidle/{state}/disable"));
        ((*state).clone(), files.values() == ["0"], files)
    };
    let (everywhere, partly): (Vec<_>, Vec<_>) = states.iter().map(files).partition(|(_, all_on, _)| *all_on);
    let first = match everywhere.is_empty() {
        true => Writes::default(),
        false => {
            Writes { remedy: remedy(everywhere.iter().map(|one| one.0.as_str())), ..disable_all(&everywhere) }
        }
    };
    let rest =
        partly.iter().map(|(_, _, files)| files.only(|now| now == "0")).filter(|files| !files.is_empty());
    rest.fold(first, |writes, files| writes.and(files.write("1")))
}

fn disable_all(states: &[(String, bool, Files)]) -> Writes {
    states.iter().fold(Writes::default(), |writes, (_, _, files)| writes.and(files.write("1")))
}

/// One command for all states that every CPU has on.
fn remedy<'a>(states: impl Iterator<Item = &'a str>) -> Remedy {
    let numbers: Vec<&str> = states.filter_map(|state| state.strip_prefix("state")).collect();
    let several = match numbers.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("{{{}}}", many.join(",")),
    };
    let command = |value| vec![write_command(value, &format!("{CPUS}/cpu*/cpuidle/state{several}/disable"))];
    Remedy { apply: command("1"), undo: command("0") }
}
