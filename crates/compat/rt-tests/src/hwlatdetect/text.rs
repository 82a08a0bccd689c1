//! Output and usage text of hwlatdetect.

use super::options::HwlatdetectOptions;

/// A gap on one CPU that no kernel event explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HwlatdetectSample {
    /// Start, in nanoseconds since 1970.
    pub at_ns: i64,
    /// Length in whole microseconds.
    pub micros: u64,
    pub cpu: u32,
}

/// Text before the run.
pub fn preamble(options: &HwlatdetectOptions) -> String {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "None".to_owned());
    let report = options.report.as_ref().map(|path| path.display().to_string());
    format!(
        "hwlatdetect:  test duration {} seconds\n   detector: tracer\n   parameters:\n        \
         CPU list:          {}\n        Latency threshold: {}us\n        Sample window:     {}us\n        \
         Sample width:      {}us\n     Non-sampling period:  {}us\n        Output File:       {}\n\nStarting test\n",
        options.seconds,
        or_none(options.cpu_list.clone()),
        options.threshold_us,
        options.window_us,
        options.width_us,
        options.window_us.saturating_sub(options.width_us),
        or_none(report),
    )
}

/// A sample as one line. The kernel's tracer also measures from one iteration of its loop to the next (`outer`); that is 0
/// here.
pub fn sample_line(sample: &HwlatdetectSample) -> String {
    let (seconds, nanos) = (sample.at_ns.div_euclid(1_000_000_000), sample.at_ns.rem_euclid(1_000_000_000));
    format!("ts: {seconds}.{nanos:09}, inner:{}, outer:0\n", sample.micros)
}

/// Text after the run. `smis`: CPU and number of its SMIs; empty where they are not counted.
pub fn summary(samples: &[HwlatdetectSample], smis: &[(u32, u64)]) -> String {
    let longest = samples.iter().map(|sample| sample.micros).max();
    let longest = longest.map_or_else(|| "Below threshold".to_owned(), |micros| format!("{micros}us"));
    let count = samples.len();
    let mut text = format!(
        "test finished\nMax Latency: {longest}\nSamples recorded: {count}\nSamples exceeding threshold: {count}\n"
    );
    for (cpu, count) in smis.iter().filter(|(_, count)| *count > 0) {
        text.push_str(&format!("{count} SMIs occured on cpu {cpu}\n"));
    }
    if !smis.is_empty() {
        let total: u64 = smis.iter().map(|(_, count)| count).sum();
        text.push_str(&format!("SMIs during run: {total}\n"));
    }
    text
}

/// Confirms that the report was written; `None` without `--report`.
pub fn report_line(options: &HwlatdetectOptions, samples: usize) -> Option<String> {
    let path = options.report.as_ref()?;
    Some(format!("report saved to {} ({samples} samples)\n", path.display()))
}

/// Names and description of each option.
const OPTION_ROWS: [(&str, &str); 11] = [
    ("-h, --help", "list the options"),
    ("--duration TIME", "for how long: a number of s, m, h, d or w [default: 120 s]"),
    ("--threshold TIME", "time from which on it is a sample: us, ms or s [default: 10 us]"),
    ("--hardlimit TIME", "time above which the status is 1 [default: the threshold]"),
    ("--window TIME", "time window [default: 1 s]"),
    ("--width TIME", "part of each window that is measured [default: 500 ms]"),
    ("--report FILE", "file for the samples"),
    ("--cpu-list LIST", "CPUs, one for each window, in turn [default: all]"),
    ("--debug", "say what is done"),
    ("--quiet", "print samples only"),
    ("--watch", "print samples as they come"),
];

/// The text of `--help`.
pub fn usage() -> String {
    let rows: String =
        OPTION_ROWS.iter().map(|(names, description)| format!("  {names:<20}{description}\n")).collect();
    format!(
        "usage: hwlatdetect [options]\n\nTimes for which a CPU does nothing that the kernel knows of; howlate in hwlatdetect's place.\n\n{rows}"
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::parse;
    use super::*;

    #[test]
    fn output_has_the_fields_of_the_original() {
        let arguments = ["--threshold", "20", "--duration", "5"].map(str::to_owned);
        let options = parse(&arguments, &"0".parse().unwrap()).unwrap();
        let expected = "hwlatdetect:  test duration 5 seconds\n   detector: tracer\n   parameters:\n        \
                        CPU list:          None\n        Latency threshold: 20us\n        Sample window:     1000000us\n        \
                        Sample width:      500000us\n     Non-sampling period:  500000us\n        Output File:       None\n\nStarting test\n";
        assert_eq!(preamble(&options), expected);
        let sample = HwlatdetectSample { at_ns: 1_700_000_000_000_000_123, micros: 25, cpu: 1 };
        assert_eq!(sample_line(&sample), "ts: 1700000000.000000123, inner:25, outer:0\n");
        let text = summary(&[sample], &[(0, 0), (1, 2)]);
        assert_eq!(
            text,
            "test finished\nMax Latency: 25us\nSamples recorded: 1\nSamples exceeding threshold: 1\n2 SMIs occured on cpu 1\nSMIs during run: 2\n"
        );
        assert!(summary(&[], &[]).contains("Max Latency: Below threshold\n"));
    }
}
