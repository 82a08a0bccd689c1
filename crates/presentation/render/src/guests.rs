//! The guests of a run, and what the host did to them.

use std::borrow::Cow;
use std::collections::HashSet;

use howlate_analyse::Analysis;
use howlate_model::{Accelerator, Boot, BootEnd, Condition, Property, Span};

use crate::condition::named_by;
use crate::detail::{Brevity, show_again};
use crate::numbers::micros;
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, paint};
use crate::table::TextTable;

/// The results by kind of guest, with its name, and with the guest's system in place of the host's. A single entry without a name
/// if nothing was measured in guests.
pub(crate) fn parts(analysis: &Analysis) -> Vec<(String, Cow<'_, Analysis>)> {
    if analysis.boots.is_empty() {
        return vec![(String::new(), Cow::Borrowed(analysis))];
    }
    let mut names: Vec<String> = analysis.outcomes().iter().map(|outcome| name(&outcome.condition)).collect();
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.into_iter().map(|name| (name.clone(), Cow::Owned(part(analysis, &name)))).collect()
}

fn part(analysis: &Analysis, guest_name: &str) -> Analysis {
    let mut part = analysis.only(|condition| name(condition) == guest_name);
    let kernel = part.outcomes().first().map(|outcome| outcome.condition.kernel.clone());
    if let Some(boot) = analysis.boots.iter().find(|boot| Some(&boot.kernel) == kernel.as_ref()) {
        part.header.system = boot.system.clone();
        part.header.findings.clone_from(&boot.findings);
        part.header.instrument = boot.instrument;
    }
    part
}

/// `Linux 6.1.0-rt · host load cpu · vCPU threads fifo:1`.
pub(crate) fn name(condition: &Condition) -> String {
    named_by(condition, &[Property::Kernel, Property::HostLoad, Property::VcpuPolicy])
}

/// The tables of each kind of guest, below its name.
pub(crate) fn sections(analysis: &Analysis, width: usize, tables: impl Fn(&Analysis) -> String) -> String {
    let section = |(name, part): (String, Cow<'_, Analysis>)| {
        let heading = if name.is_empty() {
            String::new()
        } else {
            format!("{}\n\n", paint(HEADING, wrapped(&name, width, 0)))
        };
        format!("{heading}{}", tables(&part))
    };
    parts(analysis).into_iter().map(section).collect()
}

/// One row per boot.
pub(crate) fn tables(analysis: &Analysis, brevity: Brevity, width: usize) -> String {
    let Some(first) = analysis.boots.first() else { return String::new() };
    let cpus = first.system.online.len();
    let plural = if cpus == 1 { "" } else { "s" };
    let what = format!("QEMU {}, {}, {cpus} CPU{plural}", first.qemu, first.accelerator);
    let waits = waits(analysis).map_or_else(String::new, |text| format!("{}\n", wrapped(&text, width, 0)));
    if brevity.is(Brevity::WithoutAsides) {
        let boots = analysis.boots.len();
        let boots = if boots == 1 { "1 boot".to_owned() } else { format!("{boots} boots") };
        let models = preemption_models(&analysis.boots);
        let text =
            format!("Guests: {what}, {boots}{models}; each of them: {}.", show_again(analysis, "--details"));
        return format!("{}\n{waits}", paint(DIM, wrapped(&text, width, 0)));
    }
    let headings = [
        "guest",
        "kernel",
        "",
        "boot, s",
        "clock, µs",
        "vCPU threads",
        "CPUs",
        "ran, ms",
        "waited, ms",
        "host's steal, ms",
    ];
    let mut table = TextTable::new(&headings.map(str::to_owned), 3);
    for boot in &analysis.boots {
        let ended = analysis.boots_ended.iter().find(|ended| ended.boot == boot.boot);
        table.row(row(boot, ended));
    }
    let meaning = "clock: cost of one reading. ran, waited: CPU time of the vCPU threads on the host, and how long they waited for it.";
    let meaning = paint(DIM, wrapped(meaning, width, 0));
    let title = wrapped(&format!("Guests ({what}):"), width, 0);
    format!("{title}\n\n{}\n{meaning}\n{waits}", table.text(width))
}

/// ` (PREEMPT_DYNAMIC, PREEMPT_RT)`: real-time kernels do not always say so in their names.
fn preemption_models(boots: &[Boot]) -> String {
    let mut models: Vec<&str> = boots.iter().filter_map(|boot| boot.system.preemption.as_deref()).collect();
    models.sort_unstable();
    models.dedup();
    if models.is_empty() { String::new() } else { format!(" ({})", models.join(", ")) }
}

/// Minimum share of waiting, in percent, to be mentioned.
const FELT: u64 = 2;

/// How long vCPUs waited for CPUs of the host.
fn waits(analysis: &Analysis) -> Option<String> {
    let whole: u64 =
        analysis.boots_ended.iter().map(|ended| ended.elapsed.as_nanos() * ended.vcpus.len() as u64).sum();
    let waited =
        analysis.boots_ended.iter().flat_map(|ended| &ended.vcpus).map(|vcpu| vcpu.waited.as_nanos());
    let percent = (waited.sum::<u64>() * 100).checked_div(whole).filter(|percent| *percent >= FELT)?;
    Some(format!(
        "The guests' CPUs spent {percent} % of the time waiting for a CPU of the host, so part of the lateness is the host's. {}",
        remedy(&analysis.boots)
    ))
}

/// What would help on the host. There is no real-time priority for an emulated CPU: it computes where a real one would halt, and
/// takes the CPU from normal threads (an ordinary sleeper on the host: p99 from 1.4 to 490 ms), among them the emulator's own
/// thread, which serves its timers.
fn remedy(boots: &[Boot]) -> &'static str {
    let is_realtime = |boot: &Boot| boot.vcpus.iter().any(|thread| thread.policy.priority().is_some());
    if boots.iter().any(|boot| boot.accelerator == Accelerator::Tcg) {
        "Measure when the host has less to do. Real-time priority is no remedy for an emulated CPU: it hardly pauses, and would take \
         the host's CPUs from everything else."
    } else if boots.iter().any(is_realtime) {
        "Their threads have real-time priority already; a CPU of the host for each, `--vcpu-pin`, is what is left."
    } else {
        "Real-time priority for them and, above it, for QEMU's main thread may help; it was not tried here: `--vcpu-policy fifo:1 \
         --emulator-policy fifo:2`. A guest that computes without pause then starves every normal program on its CPU of the host."
    }
}

fn millis(span: Span) -> String {
    format!("{:.0}", span.as_secs_f64() * 1e3)
}

fn row(boot: &Boot, ended: Option<&BootEnd>) -> Vec<String> {
    let sum = |time: fn(&howlate_model::VcpuTime) -> Span| {
        let vcpus = ended.filter(|ended| !ended.vcpus.is_empty());
        let total = vcpus.map(|ended| ended.vcpus.iter().map(time).fold(Span::ZERO, Span::plus));
        total.map_or_else(|| "–".to_owned(), millis)
    };
    let steal = ended.and_then(|ended| ended.host_steal);
    let clock = i64::try_from(boot.instrument.clock_read.as_nanos()).unwrap_or(i64::MAX);
    let thread = boot.vcpus.first();
    vec![
        (boot.boot + 1).to_string(),
        boot.kernel.clone(),
        boot.system.preemption.clone().unwrap_or_default(),
        format!("{:.1}", boot.boot_took.as_secs_f64()),
        micros(clock),
        thread.map_or_else(String::new, |thread| thread.policy.to_string()),
        boot.vcpus.iter().map(|thread| thread.cpus.to_string()).collect::<Vec<_>>().join(" "),
        sum(|vcpu| vcpu.ran),
        sum(|vcpu| vcpu.waited),
        steal.map_or_else(|| "–".to_owned(), millis),
    ]
}

#[cfg(test)]
mod tests {
    use howlate_model::{HostThread, Policy};

    use super::*;

    fn booted(accelerator: Accelerator, policy: Policy) -> Boot {
        let thread = HostThread { tid: 7, policy, cpus: "0-1".parse().unwrap() };
        Boot {
            boot: 0,
            at: howlate_model::MonotonicTime::from_nanos(0),
            kernel: "6.1.0".into(),
            asked: "host".into(),
            image_sha256: String::new(),
            on_host: howlate_model::HostCondition::default(),
            first_round: 0,
            accelerator,
            qemu: "9.2.0".into(),
            vcpus: vec![thread.clone()],
            emulator: thread,
            boot_took: Span::ZERO,
            moved_by_ns: 0,
            system: howlate_model::System::default(),
            findings: Vec::new(),
            instrument: howlate_model::Instrument::default(),
        }
    }

    #[test]
    fn an_emulated_cpu_is_never_given_realtime_priority() {
        let (kvm, tcg) = (booted(Accelerator::Kvm, Policy::OTHER), booted(Accelerator::Tcg, Policy::OTHER));
        for boots in [vec![tcg.clone()], vec![kvm, tcg]] {
            assert!(!remedy(&boots).contains("--vcpu-policy"), "one of them is emulated");
        }
    }

    #[test]
    fn the_emulator_stands_above_the_cpus_that_it_serves_and_who_may_starve_is_said() {
        let text = remedy(&[booted(Accelerator::Kvm, Policy::OTHER)]);
        assert!(text.contains("`--vcpu-policy fifo:1 --emulator-policy fifo:2`"), "{text}");
        assert!(text.contains("not tried") && text.contains("starves every normal program"), "{text}");
    }

    #[test]
    fn what_was_done_is_not_advised() {
        let text = remedy(&[booted(Accelerator::Kvm, "fifo:1".parse().unwrap())]);
        assert!(!text.contains("--vcpu-policy"), "{text}");
    }
}
