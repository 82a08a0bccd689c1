//! Idle states and CPU frequencies.

use crate::settings::change::Change;
use crate::settings::numbered_files::NumberedFiles;
use crate::settings::permanent::PermanentText;
use crate::settings::tunable::{Probe, Tunable};
use crate::settings::writes::Writes;
use howlate_model::{Remedy, SettingScope};
use howlate_procfs::{FREQUENCY_POLICIES, GOVERNOR, Isolation, Root};
use std::collections::BTreeSet;

/// A request that no CPU enters an idle state with an exit latency, as long as the file is held open.
///
/// Source: Documentation/power/pm_qos_interface.rst.
pub(crate) const CPU_DMA_LATENCY: Tunable = Tunable {
    name: "cpu_dma_latency",
    scope: SettingScope::Machine,
    what: "no idle states that take time to leave, while it is held",
    cost: "power and heat: no CPU sleeps; less turbo for other CPUs",
    probe: probe_cpu_dma_latency,
    permanent: &[
        PermanentText::Line(
            "C",
            r#"int f = open("/dev/cpu_dma_latency", O_WRONLY); int32_t us = 0; write(f, &us, 4);   /* and leave it open */"#,
        ),
        PermanentText::Line(
            "Python",
            r#"f = open("/dev/cpu_dma_latency", "wb", 0); f.write(bytes(4))   # and leave it open"#,
        ),
        PermanentText::Line(
            "shell",
            r#"exec 3> /dev/cpu_dma_latency; printf '\0\0\0\0' >&3   # as long as this shell lives"#,
        ),
    ],
};

const CPU_DMA_LATENCY_FILE: &str = "/dev/cpu_dma_latency";

fn probe_cpu_dma_latency(root: &Root) -> Probe {
    if !root.has("/sys/devices/system/cpu/cpu0/cpuidle/state0/name") {
        return Probe::Absent("this kernel manages no idle states".to_owned());
    }
    let change = Change::Held { path: CPU_DMA_LATENCY_FILE, micros: 0 };
    Probe::Changeable { from: "no request".to_owned(), to: "0 µs".to_owned(), change }
}

/// The PM QoS request of each CPU: `n/a` means no latency at all, 0 means no limit.
///
/// Source: Documentation/admin-guide/pm/cpuidle.rst.
pub(crate) const RESUME_LATENCY: Tunable = Tunable {
    name: "resume_latency",
    scope: SettingScope::Machine,
    what: "each CPU is asked to poll rather than sleep",
    cost: "power and heat: no CPU sleeps",
    probe: probe_resume_latency,
    permanent: &[],
};

fn probe_resume_latency(root: &Root) -> Probe {
    if !root.has("/sys/devices/system/cpu/cpu0/cpuidle/state0/name") {
        return Probe::Absent("this kernel manages no idle states".to_owned());
    }
    let each = NumberedFiles::list(root, "/sys/devices/system/cpu", "cpu", "power/pm_qos_resume_latency_us");
    Probe::files(each.write("n/a"))
}

/// Idle states with a long exit latency, disabled on the isolated CPUs, or on all.
///
/// Source: Documentation/admin-guide/pm/cpuidle.rst.
pub(crate) const IDLE_STATES: Tunable = Tunable {
    name: "idle_states",
    scope: SettingScope::Machine,
    what: "no idle states that take long to leave",
    cost: "power and heat; less turbo for other CPUs",
    probe: probe_idle_states,
    permanent: &[],
};

const CPUS: &str = "/sys/devices/system/cpu";

/// Exit latency in microseconds that stands out against the few microseconds of any wake-up.
pub(crate) const NOTICEABLE_US: u64 = 10;

fn probe_idle_states(root: &Root) -> Probe {
    let cpus = Isolation::read(root).relevant_cpus();
    let names =
        |cpu: u32| root.list(&format!("{CPUS}/cpu{cpu}/cpuidle")).into_iter().filter(|name| is_state(name));
    let states: BTreeSet<String> = cpus.iter().flat_map(names).collect();
    if states.is_empty() {
        return Probe::Absent("this kernel manages no idle states".to_owned());
    }
    let is_slow = |cpu: u32, state: &str| {
        let latency = root.reading(format!("{CPUS}/cpu{cpu}/cpuidle/{state}/latency")).number::<u64>();
        latency.is_some_and(|latency| latency > NOTICEABLE_US)
    };
    let slow_and_enabled = |state: &String| {
        let files = NumberedFiles::list(root, CPUS, "cpu", &format!("cpuidle/{state}/disable"));
        let slow = files.filter_numbers(|cpu| cpus.contains(cpu) && is_slow(cpu, state));
        let enabled = slow.filter_values(|value| value == "0");
        // One command for a whole range, including states that are already disabled, is shorter than scattered numbers.
        if enabled.are_scattered() { slow } else { enabled }
    };
    let mut by_cpus: Vec<(Vec<&str>, NumberedFiles)> = Vec::new();
    for (state, files) in states.iter().map(|state| (state, slow_and_enabled(state))) {
        match by_cpus.iter_mut().find(|(_, other)| other.numbers() == files.numbers()) {
            _ if files.is_empty() => {}
            Some((states, _)) => states.push(state),
            None => by_cpus.push((vec![state], files)),
        }
    }
    let writes =
        by_cpus.iter().fold(Writes::default(), |writes, (states, files)| writes.and(disable(states, files)));
    match writes.files.is_empty() {
        true => Probe::AsWanted("none that takes longer than 10 µs to leave".to_owned()),
        false => Probe::files(writes),
    }
}

/// Disables states on the CPUs of `files` with one command.
fn disable(states: &[&str], files: &NumberedFiles) -> Writes {
    let file = |state: &str| files.sibling_files(&format!("cpuidle/{state}/disable"));
    let writes = states.iter().fold(Writes::default(), |writes, state| writes.and(file(state).write("1")));
    if states.len() == 1 {
        return writes;
    }
    let numbers: Vec<&str> = states.iter().filter_map(|state| state.strip_prefix("state")).collect();
    let remedy = file("state$s").write("1").remedy;
    let loop_command = |command: String| format!("for s in {}; do {command}; done", numbers.join(" "));
    let loops = |commands: Vec<String>| commands.into_iter().map(loop_command).collect();
    Writes {
        remedy: Remedy { apply: loops(remedy.apply), undo: loops(remedy.undo), ..Remedy::default() },
        ..writes
    }
}

fn is_state(name: &str) -> bool {
    name.strip_prefix("state").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The governor that selects idle states: `teo` goes by the next timers, `menu` by past idle times.
///
/// Source: Documentation/admin-guide/pm/cpuidle.rst.
pub(crate) const IDLE_GOVERNOR: Tunable = Tunable {
    name: "idle_governor",
    scope: SettingScope::Machine,
    what: "a different governor of idle states",
    cost: "different idle states: may take more power or less",
    probe: probe_idle_governor,
    permanent: &[],
};

const IDLE_GOVERNOR_FOLDER: &str = "/sys/devices/system/cpu/cpuidle";

/// Selects the other of the two governors for kernels that stop the tick.
fn probe_idle_governor(root: &Root) -> Probe {
    let available = root.read(&format!("{IDLE_GOVERNOR_FOLDER}/available_governors")).unwrap_or_default();
    let now = root.read(&format!("{IDLE_GOVERNOR_FOLDER}/current_governor")).unwrap_or_default();
    let mut candidates = ["teo", "menu"].into_iter().filter(|name| *name != now);
    match candidates.find(|name| available.split_whitespace().any(|governor| governor == *name)) {
        Some(other) => Probe::file(root, &format!("{IDLE_GOVERNOR_FOLDER}/current_governor"), other),
        None => Probe::Absent("this kernel has no other governor of idle states".to_owned()),
    }
}

/// The governor that selects the frequency: `performance` keeps it at the maximum.
///
/// With it, drivers with hardware-controlled frequencies set `energy_performance_preference` to performance, and not all of them
/// restore it with another governor.
///
/// Source: Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate}.rst.
pub(crate) const FREQUENCY_GOVERNOR: Tunable = Tunable {
    name: "frequency_governor",
    scope: SettingScope::Machine,
    what: "the highest frequency at all times",
    cost: "power and heat",
    probe: |root| {
        Probe::files(governors(root).write("performance").watching(energy_preferences(root).unchanged()))
    },
    permanent: &[],
};

/// The governor of each frequency policy.
pub(crate) fn governors(root: &Root) -> NumberedFiles {
    NumberedFiles::list(root, FREQUENCY_POLICIES, "policy", GOVERNOR)
}

/// The energy-performance preference of the processor. Under the governor `performance` the kernel accepts only 0.
///
/// Source: Documentation/admin-guide/pm/intel_pstate.rst.
pub(crate) const ENERGY_PREFERENCE: Tunable = Tunable {
    name: "energy_preference",
    scope: SettingScope::Machine,
    what: "the processor is told to prefer speed",
    cost: "power and heat",
    probe: |root| Probe::files(energy_preferences(root).write("performance")),
    permanent: &[],
};

/// The energy-performance preference of each frequency policy.
pub(crate) fn energy_preferences(root: &Root) -> NumberedFiles {
    NumberedFiles::list(root, FREQUENCY_POLICIES, "policy", "energy_performance_preference")
}

/// Frequencies above the base frequency, as long as temperature and the other cores allow.
///
/// Source: Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst.
pub(crate) const BOOST: Tunable = Tunable {
    name: "boost",
    scope: SettingScope::Machine,
    what: "no turbo, so that the same code takes the same time",
    cost: "everything that computes is slower",
    probe: probe_boost,
    permanent: &[],
};

/// The inverse switch, with `intel_pstate`.
pub(crate) const NO_TURBO_FILE: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
/// The switch of other drivers.
pub(crate) const BOOST_FILE: &str = "/sys/devices/system/cpu/cpufreq/boost";

fn probe_boost(root: &Root) -> Probe {
    if root.has(NO_TURBO_FILE) {
        return Probe::file(root, NO_TURBO_FILE, "1");
    }
    Probe::file(root, BOOST_FILE, "0")
}

/// A guest polls for a while before it gives its CPU back to the host.
///
/// Source: Documentation/virt/guest-halt-polling.rst.
pub(crate) const HALT_POLLING: Tunable = Tunable {
    name: "halt_polling",
    scope: SettingScope::Machine,
    what: "a guest that polls longer before it halts",
    cost: "CPU time of the host",
    probe: probe_halt_polling,
    permanent: &[],
};

fn probe_halt_polling(root: &Root) -> Probe {
    if root.read("/sys/devices/system/cpu/cpuidle/current_driver").as_deref() != Ok("haltpoll") {
        return Probe::Absent("this is not a guest whose idle driver is haltpoll".to_owned());
    }
    Probe::file(root, "/sys/module/haltpoll/parameters/guest_halt_poll_ns", "1000000")
}
