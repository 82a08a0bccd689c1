//! The options of oslat, listed.

use crate::compat::Compat;

/// An option: its names, and what it does.
const ROWS: [(&str, &str); 16] = [
    ("-b, --bucket-size=N", "number of buckets, 5 to 1024; 32 if left out"),
    ("-B, --bias", "take off each time what a turn took at least in the warm-up"),
    ("-c, --cpu-list=LIST", "CPUs to measure, such as 1,3,5,7-15; all if left out"),
    ("-C, --cpu-main-thread=CPU", "CPU of the main thread; 0 if left out"),
    ("-D, --duration=TIME", "seconds, or with m, h or d minutes, hours or days; 1 if left out"),
    ("    --json=FILENAME", "write the results as JSON"),
    ("-f, --rtprio=PRIORITY", "measure under SCHED_FIFO with this priority, 1 to 99"),
    ("-h, --help", "list the options"),
    ("-m, --workload-mem=SIZE", "bytes that the workload copies, such as 4K or 1M"),
    ("-q, --quiet", "print the summary only"),
    ("-s, --single-preheat", "warm up on one CPU only"),
    ("-T, --trace-threshold=US", "end with the first time of so many microseconds"),
    ("-v, --version", "print the version"),
    ("-w, --workload=NAME", "what to do at each turn: no, or memmove"),
    (WIDTH, "width of a bucket, in nanoseconds; 1000 if left out"),
    ("-z, --zero-omit", "leave out empty buckets"),
];

const WIDTH: &str = "-W, --bucket-width=NS";

/// All options of a dialect.
pub fn usage(dialect: Compat) -> String {
    let known = ROWS.iter().filter(|(names, _)| *names != WIDTH || dialect.has_widths());
    let rows: String = known.map(|(names, what)| format!("  {names:<27}{what}\n")).collect();
    format!(
        "Usage:\noslat <options>\n\nHow long loops are kept from running; howlate in oslat's place.\n\n{rows}"
    )
}
