//! The options of cyclicdeadline, listed.

use crate::compat::Compat;

/// An option: its names, and what it does.
const ROWS: [(&str, &str); 12] = [
    ("-a, --affinity[=CPUS]", "CPUs of all threads, such as 2-3; all if none are named"),
    ("-b, --breaktrace=US", "end with the first latency of more than so many microseconds"),
    ("-D, --duration=TIME", "seconds, or with m, h or d minutes, hours or days; else until Ctrl-C"),
    (DEBUG, "print the ids of the threads, and what they ask for"),
    ("-h, --help", "list the options"),
    ("-i, --interval=US", "period and deadline of the first thread; 1000 if left out"),
    ("    --json=FILENAME", "write the results as JSON"),
    ("-q, --quiet", "print the summary only"),
    ("-s, --step=US", "how much longer each further thread's period is; 500 if left out"),
    ("-t, --threads=N", "number of threads; 1 if left out"),
    ("    --tracemark", "with -b: mark the kernel's trace, and stop it"),
    (VERBOSE, "print runtimes and periods"),
];

const DEBUG: &str = "    --debug";
const VERBOSE: &str = "    --verbose";

/// All options of a dialect.
pub fn usage(dialect: Compat) -> String {
    let known = ROWS.iter().filter(|(names, _)| dialect.is_silent() || ![DEBUG, VERBOSE].contains(names));
    let rows: String = known.map(|(names, what)| format!("  {names:<25}{what}\n")).collect();
    format!(
        "cyclicdeadline V {}\nUsage:\ncyclicdeadline <options>\n\nHow late SCHED_DEADLINE threads run; howlate in cyclicdeadline's place.\n\n{rows}",
        dialect.version()
    )
}
