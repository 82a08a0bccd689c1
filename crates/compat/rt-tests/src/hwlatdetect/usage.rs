//! The options of hwlatdetect, listed.

/// An option: its name, and what it does.
const ROWS: [(&str, &str); 11] = [
    ("-h, --help", "list the options"),
    ("--duration TIME", "for how long: a number of s, m, h, d or w; 120 s if left out"),
    ("--threshold TIME", "time from which on it is a sample: us, ms or s; 10 us if left out"),
    ("--hardlimit TIME", "time above which the status is 1; the threshold if left out"),
    ("--window TIME", "time window; 1 s if left out"),
    ("--width TIME", "part of each window that is measured; 500 ms if left out"),
    ("--report FILE", "file for the samples"),
    ("--cpu-list LIST", "CPUs, one for each window, in turn; all if left out"),
    ("--debug", "say what is done"),
    ("--quiet", "print samples only"),
    ("--watch", "print samples as they come"),
];

/// All options.
pub fn usage() -> String {
    let rows: String = ROWS.iter().map(|(names, what)| format!("  {names:<20}{what}\n")).collect();
    format!(
        "usage: hwlatdetect [options]\n\nTimes for which a CPU does nothing that the kernel knows of; howlate in hwlatdetect's place.\n\n{rows}"
    )
}
