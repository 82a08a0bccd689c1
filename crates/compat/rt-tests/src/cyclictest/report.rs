//! Text of the live screen, of the status, and of the results.

use crate::cyclictest::histogram_rows;
use crate::cyclictest::options::{LatencyUnit, PolicyName};
use crate::cyclictest::results::CyclictestResults;
use crate::cyclictest::stats::ThreadStats;

/// One `T:` line per thread.
pub fn stat_lines(results: &CyclictestResults) -> String {
    results.threads.iter().map(|stats| stat_line(stats, results.unit)).collect()
}

/// One line, as in `T: 0 (30519) P:80 I:1000 C:    100 Min:      5 Act:   10 Avg:    9 Max:      25`.
fn stat_line(stats: &ThreadStats, unit: LatencyUnit) -> String {
    let ThreadStats { thread, tid, priority, interval_us, cycles, min, act, max, .. } = stats;
    let width = match unit {
        LatencyUnit::Micros => 5,
        LatencyUnit::Nanos => 8,
    };
    let mean = stats.whole_mean();
    let smis = stats.smis.map_or_else(String::new, |smis| format!(" SMI:{smis:8}"));
    format!(
        "T:{thread:2} ({tid:5}) P:{priority:2} I:{interval_us} C:{cycles:7} \
         Min:{min:7} Act:{act:width$} Avg:{mean:width$} Max:{max:8}{smis}\n"
    )
}

/// The live screen, without the escape sequence that moves the cursor up. `load` is the text of `/proc/loadavg`.
pub fn live_text(results: &CyclictestResults, load: &str) -> String {
    let policy = policy_text(results.policy);
    format!("policy: {policy}: loadavg: {}          \n\n{}", load.trim_end(), stat_lines(results))
}

/// The requested policy and, for policies without priorities, the policy in force. Both are the same here; the original
/// prints `batch/other`, because it then runs as `other`.
fn policy_text(policy: PolicyName) -> String {
    let name = policy.name();
    if policy.is_realtime() { name.to_owned() } else { format!("{name}/{name}") }
}

/// The status that `SIGUSR1` prints and `SIGUSR2` stores in shared memory.
pub fn status_text(results: &CyclictestResults) -> String {
    const RULE: &str = "#---------------------------\n";
    format!("{RULE}# cyclictest current status:\n{}{RULE}", stat_lines(results))
}

/// The histogram; `None` without `-h` or `-H`.
pub fn histogram_text(results: &CyclictestResults) -> Option<String> {
    let histogram = results.histogram?;
    Some(histogram_rows::text(&results.threads, histogram.sum, results.compat))
}

/// Text after the run. `histogram` is empty if it is written to a file.
pub fn final_text(results: &CyclictestResults, histogram: &str) -> String {
    let mut text = String::new();
    if results.quiet && results.histogram.is_none() {
        text.push_str(&stat_lines(results));
    }
    if let Some(spikes) = &results.spikes {
        text.push_str(&spikes.text(results.clock_offset_ns));
    }
    text.push_str(histogram);
    if results.breaks {
        text.push_str(&break_lines(results));
    }
    text
}

fn break_lines(results: &CyclictestResults) -> String {
    let tids: String = results.threads.iter().map(|stats| format!(" {:05}", stats.tid)).collect();
    let break_event = results.break_event.map_or_else(String::new, |event| {
        format!("# Break thread: {}\n# Break value: {}\n", event.tid, event.value)
    });
    format!("# Thread Ids:{tids}\n{break_event}")
}
