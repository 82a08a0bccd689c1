//! Whether two CPUs share a core.

use crate::settings::SMT_CONTROL;
use crate::settings::cores_to_isolate;
use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{Isolation, Root, siblings};

use super::draft::{Draft, finding};

const WHY: &str = "CPUs of one core compete for its caches and execution units. Keep the sibling of a real-time CPU idle, or \
    switch sharing off.";

/// Source: Documentation/admin-guide/cpu-isolation.rst: what isolates a CPU isolates its whole core, or it helps little.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let active = root.reading("/sys/devices/system/cpu/smt/active");
    let control = root.reading(SMT_CONTROL);
    let isolation = Isolation::read(root);
    let sibling_of = |cpu: u32| -> CpuSet {
        siblings(root, cpu)
            .iter()
            .filter(|other| *other != cpu && isolation.online.contains(*other))
            .collect()
    };
    let sharing: CpuSet = isolation.online.iter().filter(|cpu| !sibling_of(*cpu).is_empty()).collect();
    // A machine that cannot share its cores has nothing to report.
    if active.text() != Some("1") && sharing.is_empty() && control.text() != Some("off") {
        return None;
    }
    let apart = isolation.separated();
    let half_isolated: Vec<(u32, CpuSet)> = apart
        .iter()
        .map(|cpu| (cpu, sibling_of(cpu).without(&apart)))
        .filter(|(_, others)| !others.is_empty())
        .collect();
    let draft = match half_isolated.is_empty() {
        false => shared_with_others(root, &half_isolated),
        true => shared(
            root,
            &sharing,
            &isolation.online,
            active.text() == Some("1"),
            control.text() == Some("on"),
        ),
    };
    Some(draft.seen(&active).seen(&control).why(WHY).end())
}

/// Isolated CPUs whose siblings are not.
fn shared_with_others(root: &Root, half_isolated: &[(u32, CpuSet)]) -> Draft {
    let isolated: CpuSet = half_isolated.iter().map(|(cpu, _)| *cpu).collect();
    let others: CpuSet = half_isolated.iter().flat_map(|(_, others)| others.iter()).collect();
    let are =
        |cpus: &CpuSet, one: &str, many: &str| if cpus.len() == 1 { one.to_owned() } else { many.to_owned() };
    let found = format!(
        "isolated {} {isolated} {} with {} {others}, which {} not isolated",
        are(&isolated, "CPU", "CPUs"),
        are(&isolated, "shares its core", "share their cores"),
        are(&others, "CPU", "CPUs"),
        are(&others, "is", "are"),
    );
    let draft = finding(FindingId::Smt, Verdict::Costs, found);
    let isolation = Isolation::read(root);
    let draft = switched_off(draft, &isolation, &isolated, &others);
    in_whole_cores(draft, root, &isolation)
}

/// The half of those cores that can be missed, while the machine runs: that of others, or, where those keep house for all, that of the
/// isolated ones, if others are left of them.
fn switched_off(draft: Draft, isolation: &Isolation, isolated: &CpuSet, others: &CpuSet) -> Draft {
    let keeps_house = isolation.online.without(&isolation.separated());
    let first = isolation.online.iter().next().unwrap_or(0);
    let can_miss_others = !others.contains(first) && !keeps_house.without(others).is_empty();
    let can_miss_isolated = !isolation.separated().without(isolated).is_empty();
    let switched = match (can_miss_others, can_miss_isolated) {
        (true, _) => others,
        (false, true) => isolated,
        (false, false) => return draft,
    };
    let switch = |value: &str| {
        let list: Vec<String> = switched.iter().map(|cpu| cpu.to_string()).collect();
        match list.as_slice() {
            [one] => format!("echo {value} | sudo tee /sys/devices/system/cpu/cpu{one}/online"),
            many => {
                let many = many.join(" ");
                format!(
                    "for n in {many}; do echo {value} | sudo tee /sys/devices/system/cpu/cpu$n/online; done"
                )
            }
        }
    };
    draft.apply(format!("{}   # while no program is bound to that", switch("0"))).undo(switch("1"))
}

/// As many CPUs, in whole cores, as far as there are.
fn in_whole_cores(draft: Draft, root: &Root, isolation: &Isolation) -> Draft {
    let wanted = isolation.separated().len();
    let mut chosen: Vec<u32> = Vec::new();
    for core in cores_to_isolate(root) {
        if chosen.len() + core.len() <= wanted {
            chosen.extend(core.iter());
        }
    }
    let whole: CpuSet = chosen.into_iter().collect();
    let (step, back) = match whole.is_empty() {
        true => (
            "isolate nothing: of each core but the first CPU's, one half would be left to others".to_owned(),
            "as before",
        ),
        false => (
            format!("isolate whole cores at the next start: {whole} in `isolcpus=` and `nohz_full=`"),
            "name the CPUs there that are there now",
        ),
    };
    draft.apply(step).undo(back)
}

/// Worth knowing where nothing is isolated, or only whole cores are.
fn shared(root: &Root, sharing: &CpuSet, online: &CpuSet, is_active: bool, can_be_switched: bool) -> Draft {
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
    draft.when(verdict == Verdict::Note && can_be_switched, |draft| {
        draft.turn(root, "smt").remarked("programs bound to the CPUs that go lose them")
    })
}
