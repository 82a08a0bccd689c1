//! Schedulers loaded as BPF (sched_ext), and daemons that tune the machine.

use crate::settings::tuning_daemons;
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Isolation, LinuxDistribution, Reading, Root};

use super::draft::{FindingDraft, finding};

/// Whether a sched_ext scheduler, with rules of its own for nice values and slices, has the normal threads.
///
/// Source: Documentation/scheduler/sched-ext.rst.
pub(super) fn sched_ext(root: &Root) -> Option<Finding> {
    let (state, name) =
        (root.reading("/sys/kernel/sched_ext/state"), root.reading("/sys/kernel/sched_ext/root/ops"));
    if state.text()? != "enabled" {
        return None;
    }
    let suffix = name.text().map(|name| format!(" ({name})")).unwrap_or_default();
    let found = format!("normal threads are scheduled by a scheduler of BPF{suffix}");
    let draft = finding(FindingId::SchedExt, Verdict::Note, found).evidence(&state).evidence(&name).why(
        "What is known of the kernel's own scheduler holds for none of them: nice values, slices and wake-ups are as that scheduler has \
         them. Real-time threads still come first, but for the time that it keeps for normal ones.",
    );
    Some(
        draft
            .apply("end what has loaded it (the service `scx_loader` or `scx`, or a program `scx_…`): the kernel's own scheduler takes over")
            .undo("start that program again")
            .finish(),
    )
}

/// Running daemons that overwrite settings.
pub(super) fn daemons(root: &Root) -> Option<Finding> {
    let mut daemons = tuning_daemons::running(root);
    // TLP has no process: udev runs it when the power supply changes.
    let tlp = root.has("/etc/tlp.conf");
    daemons.extend(tlp.then_some("TLP"));
    let (first, rest) = daemons.split_first()?;
    let names = rest
        .iter()
        .fold(whole_name(first).to_owned(), |names, name| format!("{names}, {}", whole_name(name)));
    let verb = if rest.is_empty() { "sets" } else { "set" };
    let found = format!("{names} {verb} the machine up while it runs");
    let reading = Reading { path: "/proc/*/comm".into(), content: Ok(daemons.join(", ")) };
    let draft = finding(FindingId::TuningDaemons, Verdict::Note, found).evidence(&reading).why(
        "What is written to frequencies, idle states and interrupts may be changed again by them, at once or at the next event. Settings that \
         are to last belong into their own configuration; irqbalance leaves alone what `isolcpus=` and `nohz_full=` name, not what control \
         groups isolate.",
    );
    let separated = Isolation::read(root).separated();
    let file = match LinuxDistribution::read(root) {
        LinuxDistribution::RedHat | LinuxDistribution::Fedora | LinuxDistribution::Suse => {
            "/etc/sysconfig/irqbalance"
        }
        _ => "/etc/default/irqbalance",
    };
    let stop = |draft: FindingDraft, name: &&str| {
        match *name {
            // Only irqbalance moves what was placed deliberately.
            "irqbalance" => draft
                .apply("sudo systemctl stop irqbalance   # while interrupts are to stay where they were put")
                .undo("sudo systemctl start irqbalance")
                .when(!separated.is_empty(), |draft| {
                    draft.lasting(format!(
                        "write `IRQBALANCE_BANNED_CPULIST={separated}` to {file}, and restart irqbalance"
                    ))
                }),
            _ => draft,
        }
    };
    Some(daemons.iter().fold(draft, stop).finish())
}

/// The name of a process that the kernel cuts after 15 bytes.
fn whole_name(name: &str) -> &str {
    if name == "power-profiles-" { "power-profiles-daemon" } else { name }
}
