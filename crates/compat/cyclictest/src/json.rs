//! The result as JSON, `file_version` 1.
//!
//! Two of its keys end in a colon; that is what readers look for.

use crate::histogram::Histogram;
use crate::options::Unit;
use crate::results::Results;
use crate::tally::Tally;

/// What JSON says besides the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// The command line, the program's name included.
    pub command_line: String,
    /// Begin of the run, RFC 2822.
    pub started: String,
    /// End of the run, RFC 2822.
    pub ended: String,
    /// The exit status.
    pub return_code: u8,
    /// `sysname` of `uname(2)`.
    pub sysname: String,
    /// `nodename` of `uname(2)`.
    pub nodename: String,
    /// `release` of `uname(2)`.
    pub release: String,
    /// `version` of `uname(2)`.
    pub version: String,
    /// `machine` of `uname(2)`.
    pub machine: String,
    /// Whether `/sys/kernel/realtime` says 1.
    pub realtime: bool,
    /// The NUMA node of each thread's CPU; −1: not bound.
    pub nodes: Vec<i32>,
}

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

/// What the files of all programs of rt-tests begin with, up to the number of threads.
pub fn json_head(version: &str, facts: &RunFacts) -> String {
    [
        "{\n  \"file_version\": 1,\n".to_owned(),
        text_line(2, "cmdline:", &facts.command_line),
        text_line(2, "rt_test_version:", version),
        text_line(2, "start_time", &facts.started),
        text_line(2, "end_time", &facts.ended),
        format!("  \"return_code\": {},\n", facts.return_code),
        system(facts),
    ]
    .concat()
}

fn system(facts: &RunFacts) -> String {
    [
        "  \"sysinfo\": {\n".to_owned(),
        text_line(4, "sysname", &facts.sysname),
        text_line(4, "nodename", &facts.nodename),
        text_line(4, "release", &facts.release),
        text_line(4, "version", &facts.version),
        text_line(4, "machine", &facts.machine),
        format!("    \"realtime\": {}\n  }},\n", u8::from(facts.realtime)),
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

fn text_line(indent: usize, key: &str, value: &str) -> String {
    format!("{:indent$}\"{key}\": \"{}\",\n", "", escaped(value))
}

/// As RFC 8259 wants it: quotes, backslashes and control characters.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, one| {
        match one {
            '"' | '\\' => escaped.extend(['\\', one]),
            one if one < ' ' => escaped.push_str(&format!("\\u{:04x}", u32::from(one))),
            one => escaped.push(one),
        }
        escaped
    })
}
