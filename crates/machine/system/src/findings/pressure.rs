//! Pressure stall information (PSI): the share of time in which threads wait for CPUs, memory and disks.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Reading, Root};

use super::draft::finding;

/// Pressure in percent from which on measurements are unreliable.
const HIGH_PRESSURE: f64 = 10.0;

/// The share of the last ten seconds in which some thread, or all runnable ones, waited.
///
/// Source: `Documentation/accounting/psi.rst`.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let files = ["cpu", "memory", "io"].map(|resource| root.reading(format!("/proc/pressure/{resource}")));
    let [cpu, memory, io] = &files;
    let some_cpu = share(cpu, "some")?;
    let full = |reading: &Reading| share(reading, "full").unwrap_or_default();
    let (memory_full, io_full) = (full(memory), full(io));
    let is_high = some_cpu >= HIGH_PRESSURE || memory_full >= HIGH_PRESSURE || io_full >= HIGH_PRESSURE;
    let found = format!(
        "in the last 10 s some thread waited for a CPU {some_cpu:.0} % of the time; all waited for memory {memory_full:.0} %, \
         for disks {io_full:.0} %"
    );
    let verdict = if is_high { Verdict::Costs } else { Verdict::Good };
    let draft = finding(FindingId::Pressure, verdict, found);
    let draft = files.iter().fold(draft, |draft, file| draft.evidence(file));
    let draft = draft.why(
        "Threads are late by the time they wait for a CPU. A measurement taken now is one of a busy machine, even with load \"idle\".",
    );
    Some(
        draft
            .when(is_high, |draft| draft.apply("howlate top   # who waits, for what, and for whom"))
            .finish(),
    )
}

/// `avg10` of the line `some` or `full`, in percent.
fn share(reading: &Reading, kind: &str) -> Option<f64> {
    let line = reading.text()?.lines().find(|line| line.split(' ').next() == Some(kind))?;
    line.split(' ').find_map(|word| word.strip_prefix("avg10=")?.parse().ok())
}
