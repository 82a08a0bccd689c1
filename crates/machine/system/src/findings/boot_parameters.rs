//! Boot parameters without effect on this kernel, and `mce=off`.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Root};

use super::draft::{FindingDraft, finding};
use crate::kernel_config::KernelConfig;

/// Parameters, and the kernel options that they need; `nohz_full=` and `isolcpus=` have findings of their own.
///
/// Source: Documentation/admin-guide/kernel-parameters.txt.
const PARAMETERS: [(&str, &str); 4] = [
    ("rcu_nocbs", "CONFIG_RCU_NOCB_CPU"),
    ("threadirqs", "CONFIG_IRQ_FORCED_THREADING"),
    ("preempt", "CONFIG_PREEMPT_DYNAMIC"),
    ("rt_group_sched", "CONFIG_RT_GROUP_SCHED"),
];

pub(super) fn examine(root: &Root) -> Option<Finding> {
    let (line, config) = (CommandLine::read(root), KernelConfig::read(root));
    let is_ineffective = |(parameter, option): &(&str, &str)| line.has(parameter) && config.is_off(option);
    let ineffective: Vec<(&str, &str)> = PARAMETERS.into_iter().filter(is_ineffective).collect();
    let (parameters, options): (Vec<&str>, Vec<&str>) = ineffective.iter().copied().unzip();
    if ineffective.is_empty() {
        return None;
    }
    let verb = if ineffective.len() == 1 { "has" } else { "have" };
    let found = format!(
        "{} on the kernel's command line {verb} no effect: this kernel was built without {}",
        parameters.join(" and "),
        options.join(" and ")
    );
    let draft = finding(FindingId::BootParameters, Verdict::Costs, found)
        .evidence(&line.only(&parameters))
        .evidence(&config.only(&options))
        .why("The kernel reads a parameter only where it was built for it, and says nothing of one that it does not know.");
    Some(kernel_with(draft, &options).finish())
}

/// Whether machine checks are switched off by `mce=off`.
///
/// Source: Documentation/arch/x86/x86_64/boot-options.rst.
pub(super) fn machine_checks(root: &Root) -> Option<Finding> {
    let line = CommandLine::read(root);
    if line.value("mce") != Some("off") {
        return None;
    }
    let found = "faults of memory and processor are not reported (mce=off)";
    let draft = finding(FindingId::MachineChecks, Verdict::Note, found).evidence(&line.only(&["mce"])).why(
        "The kernel then neither looks for them now and then, which takes a CPU for some microseconds every five minutes, nor says why a \
         machine has failed. `mce=ignore_ce` leaves out the looking alone.",
    );
    Some(
        draft
            .apply("write `mce=ignore_ce` instead of `mce=off` on the kernel's command line and restart")
            .undo("write `mce=off` again and restart")
            .finish(),
    )
}

/// Adds the remedy of a kernel built with these options.
pub(super) fn kernel_with(draft: FindingDraft, options: &[&str]) -> FindingDraft {
    draft
        .apply(format!("install a kernel built with {} and restart into it", options.join(" and ")))
        .undo("choose the present kernel in the boot menu")
}

/// Adds the remedy of a kernel built without these options.
pub(super) fn kernel_without(draft: FindingDraft, options: &[&str]) -> FindingDraft {
    draft
        .apply(format!("install a kernel built without {}, and restart into it", options.join(", ")))
        .undo("choose the present kernel in the boot menu")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str, config: &str) -> Option<Finding> {
        let files =
            [("proc/cmdline", line), ("proc/sys/kernel/osrelease", "6.1.0"), ("boot/config-6.1.0", config)];
        examine(&Root::at(howlate_testing::tree(&files).path()))
    }

    #[test]
    fn parameters_without_effect_are_named() {
        let line = "ro threadirqs rcu_nocbs=2-3 preempt=full";
        let ineffective = found(line, "CONFIG_PREEMPT_DYNAMIC=y\n# CONFIG_RCU_NOCB_CPU is not set\n# CONFIG_IRQ_FORCED_THREADING is not set\n")
            .unwrap();
        assert_eq!((ineffective.verdict, &ineffective.id), (Verdict::Costs, &FindingId::BootParameters));
        assert!(ineffective.found.starts_with("rcu_nocbs and threadirqs "), "{}", ineffective.found);
        assert!(
            ineffective.found.ends_with("CONFIG_RCU_NOCB_CPU and CONFIG_IRQ_FORCED_THREADING"),
            "{}",
            ineffective.found
        );
        assert!(!ineffective.found.contains("preempt"), "{}", ineffective.found);
        assert_eq!(found("ro", "CONFIG_HZ=250\n"), None);
        let built = "CONFIG_RCU_NOCB_CPU=y\nCONFIG_IRQ_FORCED_THREADING=y\nCONFIG_PREEMPT_DYNAMIC=y\n";
        assert_eq!(found(line, built), None);
    }

    #[test]
    fn without_the_kernel_configuration_there_is_no_finding() {
        let files = [("proc/cmdline", "ro threadirqs"), ("proc/sys/kernel/osrelease", "6.1.0")];
        assert_eq!(examine(&Root::at(howlate_testing::tree(&files).path())), None);
    }
}
