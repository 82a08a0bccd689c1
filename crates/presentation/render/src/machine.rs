//! A machine in one line.

use howlate_model::System;

/// `Intel … , 2 CPUs · Linux 6.18.44 PREEMPT_DYNAMIC · scheduler lavd · KVM guest`; what an imported file does not say is left out.
pub fn machine(system: &System) -> String {
    let cpus = match system.online.len() {
        0 => String::new(),
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let mut parts = vec![match (system.processor.as_str(), cpus.as_str()) {
        ("", cpus) => cpus.to_owned(),
        (processor, "") => processor.to_owned(),
        (processor, cpus) => format!("{processor}, {cpus}"),
    }];
    let preemption = system.preemption.as_deref().unwrap_or_default();
    let is_known = !system.kernel.is_empty();
    parts.extend(is_known.then(|| format!("Linux {} {preemption}", system.kernel).trim_end().to_owned()));
    parts.extend(system.scheduler.as_ref().map(|name| format!("scheduler {name}")));
    parts.retain(|part| !part.is_empty());
    parts.extend(system.hypervisor.as_ref().map(|name| format!("{name} guest")));
    parts.extend(system.container.as_ref().map(|name| format!("{name} container")));
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_other_than_the_kernels_is_named() {
        let system = System {
            processor: "AMD Ryzen".into(),
            online: [0, 1].into_iter().collect(),
            kernel: "7.0.3".into(),
            preemption: Some("PREEMPT_DYNAMIC".into()),
            scheduler: Some("lavd".into()),
            ..System::default()
        };
        assert_eq!(machine(&system), "AMD Ryzen, 2 CPUs · Linux 7.0.3 PREEMPT_DYNAMIC · scheduler lavd");
    }
}
