//! The `--json` file, `file_version` 1.
//!
//! Two keys end in a colon, as in the original.

use crate::cyclictest::options::LatencyUnit;
use crate::cyclictest::results::CyclictestResults;
use crate::cyclictest::stats::{Histogram, ThreadStats};
use crate::run_facts::{RunFacts, json_head};

/// Content of the file.
pub fn json(results: &CyclictestResults, facts: &RunFacts) -> String {
    let resolution = u8::from(results.unit == LatencyUnit::Nanos);
    let thread = |stats: &ThreadStats| thread(stats, results, facts);
    let threads: Vec<String> = results.threads.iter().map(thread).collect();
    [
        json_head(results.compat.version(), facts),
        format!("  \"num_threads\": {},\n", results.threads.len()),
        format!("  \"resolution_in_ns\": {resolution},\n  \"thread\": {{\n"),
        threads.join(",\n"),
        "\n  }\n}\n".to_owned(),
    ]
    .concat()
}

fn thread(stats: &ThreadStats, results: &CyclictestResults, facts: &RunFacts) -> String {
    let ThreadStats { thread, cycles, min, max, .. } = stats;
    let cpu = stats.cpu.map_or(-1, i64::from);
    let node = facts.nodes.get(*thread).copied().unwrap_or(-1);
    let histogram = stats.histogram.as_ref();
    let histogram = match histogram {
        None if !results.compat.always_has_histogram() => String::new(),
        histogram => {
            format!("      \"histogram\": {{{}      }},\n", histogram.map_or_else(String::new, buckets))
        }
    };
    let mean = stats.mean();
    format!(
        "    \"{thread}\": {{\n{histogram}      \"cycles\": {cycles},\n      \"min\": {min},\n      \
         \"max\": {max},\n      \"avg\": {mean:.2},\n      \"cpu\": {cpu},\n      \"node\": {node}\n    }}"
    )
}

fn buckets(histogram: &Histogram) -> String {
    let lines: Vec<String> =
        histogram.nonzero().map(|(bucket, count)| format!("\n        \"{bucket}\": {count}")).collect();
    if lines.is_empty() { String::new() } else { format!("{}\n", lines.join(",")) }
}
