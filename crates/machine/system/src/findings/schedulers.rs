//! Who schedules ordinary threads, and who sets the machine's settings again.

use crate::settings::tuning_daemons;
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Isolation, LinuxDistribution, Reading, Root};

use super::draft::{Draft, finding};

/// A scheduler that was loaded as BPF has ordinary threads, and its own idea of nice values and slices.
///
/// Source: Documentation/scheduler/sched-ext.rst.
pub(super) fn of_bpf(root: &Root) -> Option<Finding> {
    let (state, name) =
        (root.reading("/sys/kernel/sched_ext/state"), root.reading("/sys/kernel/sched_ext/root/ops"));
    if state.text()? != "enabled" {
        return None;
    }
    let named = name.text().map(|name| format!(" ({name})")).unwrap_or_default();
    let found = format!("ordinary threads are scheduled by a scheduler of BPF{named}");
    let draft = finding(FindingId::SchedExt, Verdict::Note, found).seen(&state).seen(&name).why(
        "What is known of the kernel's own scheduler holds for none of them: nice values, slices and wake-ups are as that scheduler has \
         them. Real-time threads still come first, but for the time that it keeps for ordinary ones.",
    );
    Some(
        draft
            .apply("end what has loaded it (the service `scx_loader` or `scx`, or a program `scx_…`): the kernel's own scheduler takes over")
            .undo("start that program again")
            .end(),
    )
}

/// Programs that write the settings again that others have changed.
pub(super) fn daemons(root: &Root) -> Option<Finding> {
    let mut all = tuning_daemons::running(root);
    // It has no process, and acts at each change of the plug.
    let tlp = root.has("/etc/tlp.conf");
    all.extend(tlp.then_some("TLP"));
    let (first, rest) = all.split_first()?;
    let names = rest
        .iter()
        .fold(whole_name(first).to_owned(), |names, name| format!("{names}, {}", whole_name(name)));
    let verb = if rest.is_empty() { "sets" } else { "set" };
    let found = format!("{names} {verb} the machine up while it runs");
    let seen = Reading { path: "/proc/*/comm".into(), content: Ok(all.join(", ")) };
    let draft = finding(FindingId::TuningDaemons, Verdict::Note, found).seen(&seen).why(
        "What is written to frequencies, idle states and interrupts may be changed again by them, at once or at the next event. Settings that \
         are to last belong into their own configuration; irqbalance leaves alone what `isolcpus=` and `nohz_full=` name, not what control \
         groups isolate.",
    );
    let apart = Isolation::read(root).separated();
    let file = match LinuxDistribution::read(root) {
        LinuxDistribution::RedHat | LinuxDistribution::Fedora | LinuxDistribution::Suse => {
            "/etc/sysconfig/irqbalance"
        }
        _ => "/etc/default/irqbalance",
    };
    let stop = |draft: Draft, name: &&str| {
        match *name {
            // Others set up what the machine is to be; this one moves what was put somewhere.
            "irqbalance" => draft
                .apply("sudo systemctl stop irqbalance   # while interrupts are to stay where they were put")
                .undo("sudo systemctl start irqbalance")
                .when(!apart.is_empty(), |draft| {
                    draft.lasting(format!(
                        "write `IRQBALANCE_BANNED_CPULIST={apart}` to {file}, and restart irqbalance"
                    ))
                }),
            _ => draft,
        }
    };
    Some(all.iter().fold(draft, stop).end())
}

/// The kernel cuts names of processes after 15 bytes.
fn whole_name(name: &str) -> &str {
    if name == "power-profiles-" { "power-profiles-daemon" } else { name }
}
