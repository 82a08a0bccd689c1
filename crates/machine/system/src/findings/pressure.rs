//! What threads wait for now, all over the machine.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Reading, Root};

use super::draft::finding;

/// Threads that wait for a CPU for this share of the time, per cent, make measurements here doubtful.
const MUCH: f64 = 10.0;

/// Pressure stall information: the share of the last ten seconds in which some thread, or all that could run, waited.
///
/// Source: `Documentation/accounting/psi.rst`.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let files = ["cpu", "memory", "io"].map(|of| root.reading(format!("/proc/pressure/{of}")));
    let [cpu, memory, io] = &files;
    let some_cpu = share(cpu, "some")?;
    let full = |of: &Reading| share(of, "full").unwrap_or_default();
    let (memory_full, io_full) = (full(memory), full(io));
    let is_much = some_cpu >= MUCH || memory_full >= MUCH || io_full >= MUCH;
    let found = format!(
        "in the last 10 s some thread waited for a CPU {some_cpu:.0} % of the time; all waited for memory {memory_full:.0} %, \
         for disks {io_full:.0} %"
    );
    let verdict = if is_much { Verdict::Costs } else { Verdict::Good };
    let draft = finding(FindingId::Pressure, verdict, found);
    let draft = files.iter().fold(draft, |draft, file| draft.seen(file));
    let draft = draft.why(
        "Threads are late by the time they wait for a CPU. A measurement taken now is one of a busy machine, even with load \"idle\".",
    );
    Some(draft.when(is_much, |draft| draft.apply("howlate top   # who waits, for what, and for whom")).end())
}

/// `avg10` of the line for `some` or `full`, per cent.
fn share(reading: &Reading, of: &str) -> Option<f64> {
    let line = reading.text()?.lines().find(|line| line.split(' ').next() == Some(of))?;
    line.split(' ').find_map(|word| word.strip_prefix("avg10=")?.parse().ok())
}
