//! Caveats in words.

use howlate_model::Caveat;

use crate::numbers::{count, length, rough};

/// A caveat in one sentence: what was found, and what would help.
pub fn caveat(caveat: &Caveat) -> String {
    match caveat {
        Caveat::PolicyRefused { asked, in_force, reason, remedy } => {
            let remedy = if remedy.is_empty() { String::new() } else { format!(" {remedy}") };
            format!("{asked} was refused ({reason}); measured as {in_force}.{remedy}")
        }
        Caveat::SlackDiffers { asked_ns, in_force_ns } => {
            format!(
                "A timer slack of {} was asked for; {} is in force.",
                length(*asked_ns),
                length(*in_force_ns)
            )
        }
        Caveat::AffinityDiffers { asked, in_force, reason } => {
            format!("The thread was to run on CPU {asked}, but may run on {in_force} ({reason}).")
        }
        Caveat::MemoryNotLocked { reason } => format!(
            "Memory is not locked ({reason}), so page faults may delay wake-ups. Run as root, or raise the limit: `ulimit -l unlimited`, in a container `--ulimit memlock=-1`."
        ),
        Caveat::DmaLatencyRefused { asked_us, reason } => format!(
            "/dev/cpu_dma_latency could not be held at {asked_us} µs ({reason}); idle states were left as they are. It needs root."
        ),
        Caveat::ObserverShares { measured } => format!(
            "Every CPU is measured ({measured}), so the observer runs on one of them; it wakes 10 times a second."
        ),
        Caveat::ThreadsShareCpus { threads, cpus } => {
            format!("{threads} threads on {cpus} CPUs delay one another.")
        }
        Caveat::LeftOut { condition, reason } => format!("Left out: {condition}: {reason}."),
        Caveat::SettingLeftOut { setting, asked, reason } => {
            format!("The setting {setting} = {asked} is not in force: {reason}.")
        }
        Caveat::SettingNotRestored { path, before, reason } => {
            format!(
                "{path} could not be put back to `{before}` ({reason}): `echo '{before}' > {path}` as root."
            )
        }
        Caveat::SettingChanged { path, set, found } => format!(
            "{path} was set to `{set}` for this run, and held `{found}` at the end: somebody else changed it meanwhile."
        ),
        Caveat::SettingLeftBehind { path, left, restored } => format!(
            "A howlate that was killed had left {path} at `{left}`; it was put back to `{restored}` before this run."
        ),
        Caveat::GuardianGone => {
            "The process that puts settings back was killed during the run, which then put them back itself."
                .to_owned()
        }
        Caveat::SamplesLost { count: lost } => {
            format!("{} wake-ups came faster than they could be collected and are missing.", count(*lost))
        }
        Caveat::MessagesIrregular { lost, duplicated, reordered } => format!(
            "Notifications did not all arrive once and in order: {} lost or merged, {} duplicated, {} reordered. They are not in the numbers.",
            count(*lost),
            count(*duplicated),
            count(*reordered)
        ),
        Caveat::EarlyWakeups { count: early } => {
            format!("{} wake-ups came before their time; they are counted at 0.", count(*early))
        }
        Caveat::Unfinished { got, reason } => format!("Unfinished after {} wake-ups: {reason}.", count(*got)),
        Caveat::PageFaults { minor, major } => {
            format!("The measured threads met page faults: {} minor, {} major.", count(*minor), count(*major))
        }
        Caveat::LoadEnded { load, words } => {
            format!(
                "The load {load} ended by itself ({words}); what was measured after that was not under it."
            )
        }
        Caveat::LoadIneffective { load } => format!(
            "The load {load} did nothing while this was measured: its processes got no CPU time, or the turns were too short."
        ),
        Caveat::RecordingIncomplete { lines_lost, reason } => {
            format!("{} lines could not be written to the recording ({reason}).", count(*lines_lost))
        }
        Caveat::RecordingCutOff { path } => {
            format!("The last line of {path} is incomplete, as after a crash; the rest was read.")
        }
        Caveat::NoEnd { path } => {
            format!("{path} does not say that the run ended: it was killed, or still goes on.")
        }
        Caveat::Throttled { group, stopped, periods, stopped_ns } => format!(
            "The CPU quota of this control group ({group}) was used up in {} of {} periods: ordinary threads stood still for {} \
             in all. `howlate doctor` says how to lift it.",
            count(*stopped),
            count(*periods),
            rough(*stopped_ns)
        ),
        Caveat::SiblingBusy { cpu, sibling, percent } => format!(
            "CPU {sibling}, on the same core as the measured CPU {cpu}, was busy {percent} % of the time: it slows it down. \
             Keep it idle, or measure elsewhere with `--cpus`."
        ),
        Caveat::EmulatedCpu => "Emulated CPU: compare kernels with each other, not with hardware.".to_owned(),
        Caveat::Note { text } => text.clone(),
    }
}
