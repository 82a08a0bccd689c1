//! CPUs that the scheduler and the tick leave alone.

use crate::settings::{NOHZ_FULL_FILE, core_to_isolate, housekeeping};
use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{CgroupMembership, CommandLine, Isolation, Root, SELF, container, parse_cpu_list};

use super::boot_parameters::kernel_with;
use super::draft::{FindingDraft, finding};
use crate::kernel_config::KernelConfig;

const OPTION: &str = "CONFIG_NO_HZ_FULL";

/// CPUs isolated from the scheduler, by `isolcpus=` or by a partition of cgroup v2.
pub(super) fn isolated(root: &Root) -> Option<Finding> {
    let isolation = Isolation::read(root);
    let Isolation { online, isolated: isolated_cpus, readings: [at_boot, by_groups], .. } = &isolation;
    if online.len() < 2 || (at_boot.text().is_none() && by_groups.text().is_none()) {
        return None;
    }
    let line = CommandLine::read(root);
    let draft = match (isolated_cpus.is_empty(), online.without(isolated_cpus).is_empty()) {
        (true, _) if isolates(&line) => ineffective(&line),
        (true, _) => {
            let found = match isolation.tickless.is_empty() {
                true => "no CPU is isolated".to_owned(),
                false => format!(
                    "no CPU is isolated: those without a tick ({}) get whatever the scheduler moves there",
                    isolation.tickless
                ),
            };
            let draft = finding(FindingId::IsolatedCpus, Verdict::Note, found);
            match line.value("isolcpus") {
                Some(parameter) => with_domain(draft, parameter),
                None => warn_of_half(draft.setting(root, "isolcpus"), root, online),
            }
        }
        (false, true) => all_isolated(root, isolated_cpus, &line),
        (false, false) => {
            let found = format!("isolated CPUs: {isolated_cpus}; {}", how_to_use(root, &isolation));
            finding(FindingId::IsolatedCpus, Verdict::Good, found)
        }
    };
    let draft = draft.evidence(at_boot).when(!by_groups.is_missing(), |draft| draft.evidence(by_groups));
    let draft = draft.evidence(&line.only(&["isolcpus"])).why(
        "The scheduler does not move threads to an isolated CPU. Threads bound to one have it \
            almost to themselves.",
    );
    Some(draft.finish())
}

/// Where to measure: the isolated CPUs that this process may be bound to.
fn how_to_use(root: &Root, isolation: &Isolation) -> String {
    let isolated_cpus = &isolation.isolated;
    let within =
        |cpus: &CpuSet| -> CpuSet { isolated_cpus.iter().filter(|cpu| cpus.contains(*cpu)).collect() };
    let own = within(&isolation.allowed);
    let confined_to = own_cpuset(root).or_else(|| container(root).map(|_| isolation.allowed.clone()));
    let usable = confined_to.map_or_else(|| isolated_cpus.clone(), |confined_to| within(&confined_to));
    let by_groups = parse_cpu_list(&isolation.readings[1]).unwrap_or_default();
    match (usable.is_empty(), usable.without(&by_groups).is_empty() && own.is_empty()) {
        (true, _) => "this process may use none of them".to_owned(),
        (false, true) => "programs get there through the control group that owns them".to_owned(),
        (false, false) => format!("measure there with `--cpus {usable}`"),
    }
}

/// The CPUs that the control group of this process may use; `None` without a `cpuset` controller.
///
/// Source: Documentation/admin-guide/cgroup-v2.rst, `cpuset.cpus.effective`.
fn own_cpuset(root: &Root) -> Option<CpuSet> {
    let path = CgroupMembership::read(root, SELF).v2()?.to_owned();
    let group = path.trim_end_matches('/');
    parse_cpu_list(&root.reading(format!("/sys/fs/cgroup{group}/cpuset.cpus.effective")))
}

/// `isolcpus=` was given flags without `domain`: the default `domain` applies only where no flag is given.
///
/// Source: Documentation/admin-guide/kernel-parameters.txt, `isolcpus=`.
fn with_domain(draft: FindingDraft, parameter: &str) -> FindingDraft {
    let replace = |new: &str, old: &str| {
        format!("write `isolcpus={new}` instead of `isolcpus={old}` on the kernel's command line and restart")
    };
    let with_domain = format!("domain,{parameter}");
    draft.apply(replace(&with_domain, parameter)).undo(replace(parameter, &with_domain))
}

/// Warns where isolating one core takes at least half of the machine's CPUs.
fn warn_of_half(draft: FindingDraft, root: &Root, online: &CpuSet) -> FindingDraft {
    let core = core_to_isolate(root).unwrap_or_default();
    let rest = online.without(&core);
    let cpus = if rest.len() == 1 { "CPU" } else { "CPUs" };
    draft.when(core.len() * 2 >= online.len(), |draft| {
        draft.apply(format!(
            "it takes half of this machine: interrupts and every other program then share {cpus} {rest}"
        ))
    })
}

/// Every CPU is isolated: none is left for interrupts and the kernel's threads.
fn all_isolated(root: &Root, isolated: &CpuSet, line: &CommandLine) -> FindingDraft {
    let (housekeeping_cpus, isolatable) = housekeeping(root);
    let found = format!(
        "every CPU is isolated ({isolated}): none is left for interrupts, the kernel's threads and other programs; keep CPU {housekeeping_cpus} for them"
    );
    let draft = finding(FindingId::IsolatedCpus, Verdict::Costs, found);
    if line.has("isolcpus") {
        let (before, after): (Vec<String>, Vec<String>) = ["isolcpus", "nohz_full"]
            .into_iter()
            .filter_map(|name| without_housekeeping(line, name, &housekeeping_cpus, &isolatable))
            .unzip();
        let (before, after) = (before.join(" "), after.join(" "));
        let replace = |new: &str, old: &str| {
            format!("write `{new}` instead of `{old}` on the kernel's command line and restart")
        };
        return draft.apply(replace(&after, &before)).undo(replace(&before, &after));
    }
    // A partition of cgroup v2 isolates CPUs while the machine runs.
    draft
        .apply(format!(
            "leave only {isolatable} in `cpuset.cpus` of the control groups whose partition is `isolated`"
        ))
        .undo(format!("write {isolated} to `cpuset.cpus` again"))
}

/// A kernel parameter as it is, and with `isolatable` as its CPUs; `None` if it does not name a house-keeping CPU.
fn without_housekeeping(
    line: &CommandLine,
    parameter: &str,
    housekeeping_cpus: &CpuSet,
    isolatable: &CpuSet,
) -> Option<(String, String)> {
    let (flags, cpus) = flags_and_cpus(line.value(parameter)?);
    let names_housekeeping =
        cpus.parse().is_ok_and(|cpus: CpuSet| housekeeping_cpus.iter().any(|cpu| cpus.contains(cpu)));
    let after = flags.into_iter().chain([isolatable.to_string()]).collect::<Vec<_>>().join(",");
    names_housekeeping.then(|| {
        (format!("{parameter}={}", line.value(parameter).unwrap_or_default()), format!("{parameter}={after}"))
    })
}

/// Splits `domain,managed_irq,2-3` into `domain,managed_irq` and `2-3`.
fn flags_and_cpus(value: &str) -> (Vec<String>, String) {
    let is_flag = |word: &&str| word.starts_with(|first: char| first.is_ascii_alphabetic());
    let (flags, cpus): (Vec<&str>, Vec<&str>) = value.split(',').partition(is_flag);
    (flags.into_iter().map(str::to_owned).collect(), cpus.join(","))
}

/// Whether `isolcpus=` asks for isolation from the scheduler: with the flag `domain`, or without any flag.
fn isolates(line: &CommandLine) -> bool {
    line.value("isolcpus").is_some_and(|value| {
        let (flags, _) = flags_and_cpus(value);
        flags.is_empty() || flags.iter().any(|flag| flag == "domain")
    })
}

/// `isolcpus=` was given, and no CPU is isolated.
fn ineffective(line: &CommandLine) -> FindingDraft {
    let parameter = line.value("isolcpus").unwrap_or_default();
    let found = format!("`isolcpus={parameter}` has no effect: no CPU is isolated");
    finding(FindingId::IsolatedCpus, Verdict::Costs, found)
        .apply(
            "look at what the kernel said of it, `sudo dmesg | grep -i isol`: it takes a list of CPUs that are there, after flags such as `domain`",
        )
        .undo(format!("write `isolcpus={parameter}` on the kernel's command line again and restart"))
}

/// CPUs whose tick stops while a single thread runs.
pub(super) fn tickless(root: &Root) -> Option<Finding> {
    let reading = root.reading(NOHZ_FULL_FILE);
    let isolation = Isolation::read(root);
    let (line, config) = (CommandLine::read(root), KernelConfig::read(root));
    let tickless = parse_cpu_list(&reading);
    if isolation.online.len() < 2 {
        return None;
    }
    // The file exists wherever the kernel can stop the tick: drivers/base/cpu.c.
    let is_unsupported = reading.is_missing() || config.is_off(OPTION);
    let parameter = line.value("nohz_full");
    let draft = match (parameter, tickless) {
        (Some(parameter), None) if is_unsupported => ineffective_nohz_full(parameter, is_unsupported),
        (_, None) => return None,
        (Some(parameter), Some(tickless)) if tickless.is_empty() => {
            ineffective_nohz_full(parameter, is_unsupported)
        }
        (None, Some(tickless)) if tickless.is_empty() => {
            finding(FindingId::NohzFull, Verdict::Note, "every CPU ticks while it is busy")
                .setting(root, "nohz_full")
        }
        (_, Some(tickless)) => finding(
            FindingId::NohzFull,
            Verdict::Good,
            format!("CPUs without a tick (nohz_full): {tickless}"),
        ),
    };
    let draft = draft.evidence(&reading).evidence(&line.only(&["nohz_full", "rcu_nocbs"]));
    let draft =
        draft.when(parameter.is_some() && is_unsupported, |draft| draft.evidence(&config.only(&[OPTION])));
    let draft = draft.why(
        "The tick interrupts a thread that computes or spins, and each interrupt takes time. \
            Threads that mostly sleep gain little.",
    );
    Some(draft.finish())
}

/// `nohz_full=` was given, and every CPU ticks.
fn ineffective_nohz_full(parameter: &str, is_unsupported: bool) -> FindingDraft {
    let reason = match is_unsupported {
        true => format!("this kernel was built without {OPTION}"),
        false => "the kernel stops the tick on no CPU".to_owned(),
    };
    let found = format!("`nohz_full={parameter}` has no effect: {reason}");
    let draft = finding(FindingId::NohzFull, Verdict::Costs, found);
    match is_unsupported {
        true => kernel_with(draft, &[OPTION]),
        false => draft
            .apply("look at what the kernel said of it, `sudo dmesg | grep -i nohz`: it takes a list of CPUs that are there, without the first")
            .undo(format!("write `nohz_full={parameter}` on the kernel's command line again and restart")),
    }
}
