//! Prints and writes the results.

use std::fs;
use std::io;
use std::path::Path;

use howlate_procfs::{Root, numa_node};
use howlate_rt_tests::RunFacts;
use howlate_rt_tests::cyclictest::{CyclictestOptions, CyclictestResults, final_text, histogram_text, json};

use crate::common::run_facts;
use crate::cyclictest::error::CyclictestError;
use crate::output::Streams;

/// Prints the results; returns the exit status. A histogram that cannot be written to its file is printed.
pub(crate) fn print(
    options: &CyclictestOptions,
    results: &CyclictestResults,
    started: String,
    cpus: &[Option<u32>],
    streams: Streams,
) -> Result<u8, CyclictestError> {
    let facts = &facts_of_run(started, cpus, options);
    let json_status = options.json.as_ref().map(|path| write_json(path, &json(results, facts), streams));
    let histogram = histogram_text(results).unwrap_or_default();
    let in_file = options.histfile.as_ref().is_some_and(|path| write_histogram(path, &histogram, streams));
    streams.print(&final_text(results, if in_file { "" } else { &histogram }))?;
    json_status.unwrap_or(Ok(0))
}

/// Returns 0, or the error number as in the original.
fn write_json(path: &Path, text: &str, streams: Streams) -> Result<u8, CyclictestError> {
    if path == Path::new("-") {
        streams.print(text)?;
        return Ok(0);
    }
    let Err(error) = fs::write(path, text) else { return Ok(0) };
    streams.say(&format!("Failed to open '{}': {error}\n", path.display()));
    Ok(status_of(&error))
}

fn status_of(error: &io::Error) -> u8 {
    error.raw_os_error().and_then(|number| u8::try_from(number).ok()).unwrap_or(1)
}

/// Whether the file was written; without a histogram it is not touched.
fn write_histogram(path: &Path, text: &str, streams: Streams) -> bool {
    if text.is_empty() {
        return false;
    }
    let written = fs::write(path, text);
    if let Err(error) = &written {
        streams.say(&format!("opening histogram file: {}: {error}\n", path.display()));
    }
    written.is_ok()
}

/// Facts of a run that started at `started` and ends now, with its threads on `cpus`.
fn facts_of_run(started: String, cpus: &[Option<u32>], options: &CyclictestOptions) -> RunFacts {
    let root = Root::live();
    RunFacts {
        nodes: cpus.iter().map(|cpu| printed_node(&root, *cpu, options)).collect(),
        ..run_facts(started)
    }
}

/// The node that the original prints: that of the thread's CPU, 0 for a thread that is not bound, −1 with `-S`.
fn printed_node(root: &Root, cpu: Option<u32>, options: &CyclictestOptions) -> i32 {
    if options.smp { -1 } else { cpu.map_or(0, |cpu| node(root, cpu)) }
}

/// NUMA node of a CPU; 0 if the kernel has none.
fn node(root: &Root, cpu: u32) -> i32 {
    numa_node(root, cpu).and_then(|node| node.try_into().ok()).unwrap_or(0)
}
