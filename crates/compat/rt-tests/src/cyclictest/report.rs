//! The texts of a run: live screen, status, and what is printed at the end.

use crate::cyclictest::histogram_rows;
use crate::cyclictest::options::PolicyName;
use crate::cyclictest::results::Results;
use crate::cyclictest::stat_line::stat_line;

/// One `T:` line per thread.
pub fn stat_lines(results: &Results) -> String {
    results.tallies.iter().map(|tally| stat_line(tally, results.unit)).collect()
}

/// The live screen, without the step back up. `load` is the text of `/proc/loadavg`.
pub fn live_text(results: &Results, load: &str) -> String {
    let policy = policy_text(results.policy);
    format!("policy: {policy}: loadavg: {}          \n\n{}", load.trim_end(), stat_lines(results))
}

/// What was asked for and, where there are no priorities, what is in force: the original says `batch/other`,
/// because it runs as `other` then.
fn policy_text(policy: PolicyName) -> String {
    let name = policy.name();
    if policy.is_realtime() { name.to_owned() } else { format!("{name}/{name}") }
}

/// What `SIGUSR1` prints and `SIGUSR2` leaves in shared memory.
pub fn status_text(results: &Results) -> String {
    const RULE: &str = "#---------------------------\n";
    format!("{RULE}# cyclictest current status:\n{}{RULE}", stat_lines(results))
}

/// The histogram, if one was asked for.
pub fn histogram_text(results: &Results) -> Option<String> {
    let asked = results.histogram?;
    Some(histogram_rows::text(&results.tallies, asked.sum, results.compat))
}

/// What is printed when the run is over. `histogram` is empty if that goes elsewhere.
pub fn final_text(results: &Results, histogram: &str) -> String {
    let mut text = String::new();
    if results.quiet && results.histogram.is_none() {
        text.push_str(&stat_lines(results));
    }
    if let Some(spikes) = &results.spikes {
        text.push_str(&spikes.text(results.ahead));
    }
    text.push_str(histogram);
    if results.breaks {
        text.push_str(&break_lines(results));
    }
    text
}

fn break_lines(results: &Results) -> String {
    let tids: String = results.tallies.iter().map(|tally| format!(" {:05}", tally.tid)).collect();
    let hit = results.hit.map_or_else(String::new, |hit| {
        format!("# Break thread: {}\n# Break value: {}\n", hit.tid, hit.value)
    });
    format!("# Thread Ids:{tids}\n{hit}")
}
