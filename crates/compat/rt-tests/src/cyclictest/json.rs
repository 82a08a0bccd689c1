//! The result as JSON, `file_version` 1.
//!
//! Two of its keys end in a colon; that is what readers look for.

use crate::cyclictest::histogram::Histogram;
use crate::cyclictest::options::Unit;
use crate::cyclictest::results::Results;
use crate::cyclictest::tally::Tally;
use crate::run_facts::{RunFacts, json_head};

/// The whole file.
pub fn json(results: &Results, facts: &RunFacts) -> String {
    let resolution = u8::from(results.unit == Unit::Nanos);
    let thread = |tally: &Tally| thread(tally, results, facts);
    let threads: Vec<String> = results.tallies.iter().map(thread).collect();
    [
        json_head(results.compat.version(), facts),
        format!("  \"num_threads\": {},\n", results.tallies.len()),
        format!("  \"resolution_in_ns\": {resolution},\n  \"thread\": {{\n"),
        threads.join(",\n"),
        "\n  }\n}\n".to_owned(),
    ]
    .concat()
}

fn thread(tally: &Tally, results: &Results, facts: &RunFacts) -> String {
    let Tally { thread, cycles, min, max, .. } = tally;
    let cpu = tally.cpu.map_or(-1, i64::from);
    let node = facts.nodes.get(*thread).copied().unwrap_or(-1);
    let histogram = tally.histogram.as_ref();
    let histogram = match histogram {
        None if !results.compat.always_has_histogram() => String::new(),
        histogram => {
            format!("      \"histogram\": {{{}      }},\n", histogram.map_or_else(String::new, buckets))
        }
    };
    let mean = tally.mean();
    format!(
        "    \"{thread}\": {{\n{histogram}      \"cycles\": {cycles},\n      \"min\": {min},\n      \
         \"max\": {max},\n      \"avg\": {mean:.2},\n      \"cpu\": {cpu},\n      \"node\": {node}\n    }}"
    )
}

fn buckets(histogram: &Histogram) -> String {
    let lines: Vec<String> =
        histogram.counted().map(|(bucket, count)| format!("\n        \"{bucket}\": {count}")).collect();
    if lines.is_empty() { String::new() } else { format!("{}\n", lines.join(",")) }
}
