//! Whether two CPUs share a core.

use crate::settings::SMT_CONTROL;
use crate::settings::cores_to_isolate;
use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{Isolation, Root, siblings};

use super::draft::{FindingDraft, finding};

const WHY: &str = "CPUs of one core compete for its caches and execution units. Keep the sibling of a real-time CPU idle, or \
    switch sharing off.";

/// Source: Documentation/admin-guide/cpu-isolation.rst: a core is isolated as a whole, or isolation helps little.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let active = root.reading("/sys/devices/system/cpu/smt/active");
    let control = root.reading(SMT_CONTROL);
    let isolation = Isolation::read(root);
    let sibling_of = |cpu: u32| -> CpuSet {
        siblings(root, cpu)
            .iter()
            .filter(|sibling| *sibling != cpu && isolation.online.contains(*sibling))
            .collect()
    };
    let sharing: CpuSet = isolation.online.iter().filter(|cpu| !sibling_of(*cpu).is_empty()).collect();
    // A machine that cannot share its cores has nothing to report.
    if active.text() != Some("1") && sharing.is_empty() && control.text() != Some("off") {
        return None;
    }
    let separated = isolation.separated();
    let half_isolated: Vec<(u32, CpuSet)> = separated
        .iter()
        .map(|cpu| (cpu, sibling_of(cpu).without(&separated)))
        .filter(|(_, siblings)| !siblings.is_empty())
        .collect();
    let draft = match half_isolated.is_empty() {
        false => half_isolated_cores(root, &half_isolated),
        true => core_sharing(
            root,
            &sharing,
            &isolation.online,
            active.text() == Some("1"),
            control.text() == Some("on"),
        ),
    };
    Some(draft.evidence(&active).evidence(&control).why(WHY).finish())
}

/// Isolated CPUs whose siblings are not.
fn half_isolated_cores(root: &Root, half_isolated: &[(u32, CpuSet)]) -> FindingDraft {
    let isolated: CpuSet = half_isolated.iter().map(|(cpu, _)| *cpu).collect();
    let siblings: CpuSet = half_isolated.iter().flat_map(|(_, siblings)| siblings.iter()).collect();
    let by_number = |cpus: &CpuSet, singular: &str, plural: &str| {
        if cpus.len() == 1 { singular.to_owned() } else { plural.to_owned() }
    };
    let found = format!(
        "isolated {} {isolated} {} with {} {siblings}, which {} not isolated",
        by_number(&isolated, "CPU", "CPUs"),
        by_number(&isolated, "shares its core", "share their cores"),
        by_number(&siblings, "CPU", "CPUs"),
        by_number(&siblings, "is", "are"),
    );
    let draft = finding(FindingId::Smt, Verdict::Costs, found);
    let isolation = Isolation::read(root);
    let draft = take_offline(draft, &isolation, &isolated, &siblings);
    isolate_whole_cores(draft, root, &isolation)
}

/// Takes one half of those cores offline: the siblings, or, where those are needed for house-keeping, the isolated CPUs,
/// if other isolated CPUs remain.
fn take_offline(
    draft: FindingDraft,
    isolation: &Isolation,
    isolated: &CpuSet,
    siblings: &CpuSet,
) -> FindingDraft {
    let housekeeping = isolation.online.without(&isolation.separated());
    let first = isolation.online.iter().next().unwrap_or(0);
    let can_spare_siblings = !siblings.contains(first) && !housekeeping.without(siblings).is_empty();
    let can_spare_isolated = !isolation.separated().without(isolated).is_empty();
    let spare = match (can_spare_siblings, can_spare_isolated) {
        (true, _) => siblings,
        (false, true) => isolated,
        (false, false) => return draft,
    };
    let write_online = |value: &str| {
        let list: Vec<String> = spare.iter().map(|cpu| cpu.to_string()).collect();
        match list.as_slice() {
            [cpu] => format!("echo {value} | sudo tee /sys/devices/system/cpu/cpu{cpu}/online"),
            cpus => {
                let cpus = cpus.join(" ");
                format!(
                    "for n in {cpus}; do echo {value} | sudo tee /sys/devices/system/cpu/cpu$n/online; done"
                )
            }
        }
    };
    draft
        .apply(format!("{}   # while no program is bound to that", write_online("0")))
        .undo(write_online("1"))
}

/// Suggests isolating at most as many CPUs as now, in whole cores.
fn isolate_whole_cores(draft: FindingDraft, root: &Root, isolation: &Isolation) -> FindingDraft {
    let separated_count = isolation.separated().len();
    let mut chosen: Vec<u32> = Vec::new();
    for core in cores_to_isolate(root) {
        if chosen.len() + core.len() <= separated_count {
            chosen.extend(core.iter());
        }
    }
    let whole_cores: CpuSet = chosen.into_iter().collect();
    let (step, undo) = match whole_cores.is_empty() {
        true => (
            "isolate nothing: of each core but the first CPU's, one half would be left to others".to_owned(),
            "as before",
        ),
        false => (
            format!("isolate whole cores at the next start: {whole_cores} in `isolcpus=` and `nohz_full=`"),
            "name the CPUs there that are there now",
        ),
    };
    draft.apply(step).undo(undo)
}

/// No core is isolated by half: core sharing is only worth knowing.
fn core_sharing(
    root: &Root,
    sharing: &CpuSet,
    online: &CpuSet,
    is_active: bool,
    can_switch: bool,
) -> FindingDraft {
    let is_all = online.without(sharing).is_empty();
    let (verdict, found) = match (is_active || !sharing.is_empty(), is_all || sharing.is_empty()) {
        (false, _) => (Verdict::Good, "no core is shared: SMT is switched off".to_owned()),
        (true, true) => (Verdict::Note, "every core is shared by two or more CPUs".to_owned()),
        (true, false) => (
            Verdict::Note,
            format!("CPUs {sharing} share their cores in pairs or more; {} do not", online.without(sharing)),
        ),
    };
    let draft = finding(FindingId::Smt, verdict, found);
    draft.when(verdict == Verdict::Note && can_switch, |draft| {
        draft.setting(root, "smt").remark("programs bound to the CPUs that go lose them")
    })
}
