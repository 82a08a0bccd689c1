//! CPUs that the scheduler and the tick leave alone.

use crate::settings::{NOHZ_FULL_FILE, core_to_isolate, housekeeping};
use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{CgroupMembership, CommandLine, Isolation, Root, SELF, container, parse_cpu_list};

use super::boot_parameters::another_kernel;
use super::draft::{Draft, finding};
use crate::kernel_config::KernelConfig;

const OPTION: &str = "CONFIG_NO_HZ_FULL";

/// CPUs on which nothing runs that was not put there, whether since the start or by a control group.
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
                Some(asked) => with_domain(draft, asked),
                None => half_of_it(draft.turn(root, "isolcpus"), root, online),
            }
        }
        (false, true) => all_isolated(root, isolated_cpus, &line),
        (false, false) => {
            let found = format!("isolated CPUs: {isolated_cpus}; {}", how_to_use(root, &isolation));
            finding(FindingId::IsolatedCpus, Verdict::Good, found)
        }
    };
    let draft = draft.seen(at_boot).when(!by_groups.is_missing(), |draft| draft.seen(by_groups));
    let draft = draft.seen(&line.only(&["isolcpus"])).why(
        "The scheduler does not move threads to an isolated CPU. Threads bound to one have it \
            almost to themselves.",
    );
    Some(draft.end())
}

/// Where to measure: on those that this process may be bound to.
fn how_to_use(root: &Root, isolation: &Isolation) -> String {
    let isolated_cpus = &isolation.isolated;
    let within =
        |cpus: &CpuSet| -> CpuSet { isolated_cpus.iter().filter(|cpu| cpus.contains(*cpu)).collect() };
    let own = within(&isolation.allowed);
    let bound = own_cpuset(root).or_else(|| container(root).map(|_| isolation.allowed.clone()));
    let usable = bound.map_or_else(|| isolated_cpus.clone(), |bound| within(&bound));
    let by_groups = parse_cpu_list(&isolation.readings[1]).unwrap_or_default();
    match (usable.is_empty(), usable.without(&by_groups).is_empty() && own.is_empty()) {
        (true, _) => "this process may use none of them".to_owned(),
        (false, true) => "programs come there through the control group that has them".to_owned(),
        (false, false) => format!("measure there with `--cpus {usable}`"),
    }
}

/// What the control group of this process may use, where that is said.
///
/// Source: Documentation/admin-guide/cgroup-v2.rst, `cpuset.cpus.effective`.
fn own_cpuset(root: &Root) -> Option<CpuSet> {
    let path = CgroupMembership::read(root, SELF).v2()?.to_owned();
    let group = path.trim_end_matches('/');
    parse_cpu_list(&root.reading(format!("/sys/fs/cgroup{group}/cpuset.cpus.effective")))
}

/// Flags were given, and not the one by which the scheduler moves nothing there: no flag is implied then.
///
/// Source: Documentation/admin-guide/kernel-parameters.txt, `isolcpus=`.
fn with_domain(draft: Draft, asked: &str) -> Draft {
    let write = |one: &str, other: &str| {
        format!(
            "write `isolcpus={one}` instead of `isolcpus={other}` on the kernel's command line and restart"
        )
    };
    let wanted = format!("domain,{asked}");
    draft.apply(write(&wanted, asked)).undo(write(asked, &wanted))
}

/// What isolating the only core that can be spared costs a small machine.
fn half_of_it(draft: Draft, root: &Root, online: &CpuSet) -> Draft {
    let core = core_to_isolate(root).unwrap_or_default();
    let rest = online.without(&core);
    let cpus = if rest.len() == 1 { "CPU" } else { "CPUs" };
    draft.when(core.len() * 2 >= online.len(), |draft| {
        draft.apply(format!(
            "it takes half of this machine: interrupts and every other program then share {cpus} {rest}"
        ))
    })
}

/// Every CPU: nothing is left for what has to run somewhere.
fn all_isolated(root: &Root, isolated: &CpuSet, line: &CommandLine) -> Draft {
    let (kept, freed) = housekeeping(root);
    let found = format!(
        "every CPU is isolated ({isolated}): none is left for interrupts, the kernel's threads and other programs; keep CPU {kept} for them"
    );
    let draft = finding(FindingId::IsolatedCpus, Verdict::Costs, found);
    if line.has("isolcpus") {
        let (before, after): (Vec<String>, Vec<String>) =
            ["isolcpus", "nohz_full"].into_iter().filter_map(|name| fewer(line, name, &kept, &freed)).unzip();
        let (before, after) = (before.join(" "), after.join(" "));
        let write = |one: &str, other: &str| {
            format!("write `{one}` instead of `{other}` on the kernel's command line and restart")
        };
        return draft.apply(write(&after, &before)).undo(write(&before, &after));
    }
    // A partition of cgroup v2 isolates CPUs while the machine runs.
    draft
        .apply(format!(
            "leave only {freed} in `cpuset.cpus` of the control groups whose partition is `isolated`"
        ))
        .undo(format!("write {isolated} to `cpuset.cpus` again"))
}

/// A parameter of the kernel that has the CPUs that are to be kept, as it is and with those alone that are to be freed.
fn fewer(line: &CommandLine, parameter: &str, kept: &CpuSet, freed: &CpuSet) -> Option<(String, String)> {
    let (flags, cpus) = flags_and_cpus(line.value(parameter)?);
    let has_kept = cpus.parse().is_ok_and(|cpus: CpuSet| kept.iter().any(|cpu| cpus.contains(cpu)));
    let after = flags.into_iter().chain([freed.to_string()]).collect::<Vec<_>>().join(",");
    has_kept.then(|| {
        (format!("{parameter}={}", line.value(parameter).unwrap_or_default()), format!("{parameter}={after}"))
    })
}

/// `domain,managed_irq` and `2-3` of `domain,managed_irq,2-3`.
fn flags_and_cpus(value: &str) -> (Vec<String>, String) {
    let is_flag = |word: &&str| word.starts_with(|first: char| first.is_ascii_alphabetic());
    let (flags, cpus): (Vec<&str>, Vec<&str>) = value.split(',').partition(is_flag);
    (flags.into_iter().map(str::to_owned).collect(), cpus.join(","))
}

/// Whether CPUs were to be isolated from the scheduler: by default, or among other things.
fn isolates(line: &CommandLine) -> bool {
    line.value("isolcpus").is_some_and(|value| {
        let (flags, _) = flags_and_cpus(value);
        flags.is_empty() || flags.iter().any(|flag| flag == "domain")
    })
}

/// It was asked for, and no CPU is.
fn ineffective(line: &CommandLine) -> Draft {
    let asked = line.value("isolcpus").unwrap_or_default();
    let found = format!("`isolcpus={asked}` has no effect: no CPU is isolated");
    finding(FindingId::IsolatedCpus, Verdict::Costs, found)
        .apply(
            "look at what the kernel said of it, `sudo dmesg | grep -i isol`: it takes a list of CPUs that are there, after flags such as `domain`",
        )
        .undo(format!("write `isolcpus={asked}` on the kernel's command line again and restart"))
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
    // The file is there wherever a kernel can stop the tick: drivers/base/cpu.c.
    let cannot = reading.is_missing() || config.is_off(OPTION);
    let asked = line.value("nohz_full");
    let draft = match (asked, tickless) {
        (Some(asked), None) if cannot => vain(asked, cannot),
        (_, None) => return None,
        (Some(asked), Some(tickless)) if tickless.is_empty() => vain(asked, cannot),
        (None, Some(tickless)) if tickless.is_empty() => {
            finding(FindingId::NohzFull, Verdict::Note, "every CPU ticks while it is busy")
                .turn(root, "nohz_full")
        }
        (_, Some(tickless)) => finding(
            FindingId::NohzFull,
            Verdict::Good,
            format!("CPUs without a tick (nohz_full): {tickless}"),
        ),
    };
    let draft = draft.seen(&reading).seen(&line.only(&["nohz_full", "rcu_nocbs"]));
    let draft = draft.when(asked.is_some() && cannot, |draft| draft.seen(&config.only(&[OPTION])));
    let draft = draft.why(
        "The tick interrupts a thread that computes or spins, and each interrupt takes time. \
            Threads that mostly sleep gain little.",
    );
    Some(draft.end())
}

/// It was asked for, and every CPU ticks.
fn vain(asked: &str, cannot: bool) -> Draft {
    let reason = match cannot {
        true => format!("this kernel was built without {OPTION}"),
        false => "the kernel stops the tick on no CPU".to_owned(),
    };
    let found = format!("`nohz_full={asked}` has no effect: {reason}");
    let draft = finding(FindingId::NohzFull, Verdict::Costs, found);
    match cannot {
        true => another_kernel(draft, &[OPTION]),
        false => draft
            .apply("look at what the kernel said of it, `sudo dmesg | grep -i nohz`: it takes a list of CPUs that are there, without the first")
            .undo(format!("write `nohz_full={asked}` on the kernel's command line again and restart")),
    }
}
