//! The machine in one line.

use howlate_model::System;

/// One line on the machine: `Intel … , 2 CPUs · Linux 6.18.44 PREEMPT_DYNAMIC · KVM guest`.
pub fn machine(system: &System) -> String {
    let cpus = match system.online.len() {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let mut parts =
        vec![if system.processor.is_empty() { cpus } else { format!("{}, {cpus}", system.processor) }];
    let preemption = system.preemption.as_deref().unwrap_or_default();
    parts.push(format!("Linux {} {preemption}", system.kernel).trim_end().to_owned());
    parts.extend(system.hypervisor.as_ref().map(|name| format!("{name} guest")));
    parts.extend(system.container.as_ref().map(|name| format!("{name} container")));
    parts.join(" · ")
}
