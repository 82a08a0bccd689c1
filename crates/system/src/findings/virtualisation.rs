//! The host below a guest.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Root, Stat};

use super::draft::{Draft, finding};

/// A share of stolen time, in hundredths of a percent, above which it is felt.
const FELT: u64 = 100;

/// Whether this is a guest.
pub(super) fn hypervisor(root: &Root) -> Option<Finding> {
    let hypervisor = howlate_procfs::hypervisor(root)?;
    let found = format!("this machine is a guest ({})", hypervisor.name);
    let draft = finding(FindingId::Hypervisor, Verdict::Costs, found)
        .seen(&hypervisor.reading)
        .why(
            "The host decides when a virtual CPU runs. Timer interrupts pass through it, and an idle \
            virtual CPU must be scheduled on the host before it wakes up.",
        )
        .typically(
            "median 4.6 µs for sleeps of 200 µs, 11.6 µs for 250 µs, when the host stops polling; 52 µs \
                for 5 ms",
            "measured by howlate's authors in a KVM guest; Documentation/virt/kvm/halt-polling.rst",
        )
        .apply("on the host: bind each virtual CPU to a CPU of its own, e.g. `virsh vcpupin GUEST 0 2`")
        .undo("on the host: `virsh vcpupin GUEST 0 0-N`, with N the host's last CPU");
    Some(draft.end())
}

/// Time during which the host ran something else.
pub(super) fn steal(root: &Root) -> Option<Finding> {
    howlate_procfs::hypervisor(root)?;
    let times = root.reading("/proc/stat").lines(|line| line.starts_with("cpu "));
    let all = Stat::parse(times.text()?).all()?;
    let share = all.steal?.saturating_mul(10_000).checked_div(all.whole)?;
    let verdict = if share >= FELT { Verdict::Costs } else { Verdict::Note };
    let found = format!("the host took {}.{:02} % of CPU time since boot (steal)", share / 100, share % 100);
    let draft = finding(FindingId::Steal, verdict, found).seen(&times).why(
        "While time is stolen the virtual CPU stands still, and so does every thread on it. Not every \
            host reports it.",
    );
    let mend = |draft: Draft| {
        draft
            .apply("on the host: give this guest CPUs that nothing else uses, e.g. `virsh vcpupin GUEST 0 2`")
            .undo("on the host: `virsh vcpupin GUEST 0 0-N`, with N the host's last CPU")
    };
    Some(draft.when(verdict == Verdict::Costs, mend).end())
}
