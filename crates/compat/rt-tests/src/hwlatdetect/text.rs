//! What hwlatdetect prints and writes.

use super::options::Options;

/// A time in which a CPU did nothing that the kernel knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it began, in nanoseconds since 1970.
    pub at_ns: i64,
    /// How long it was, in whole microseconds.
    pub micros: u64,
    /// Its CPU.
    pub cpu: u32,
}

/// What is printed before the run.
pub fn preamble(options: &Options) -> String {
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

/// A sample on a line. One loop reads the clock here, where the kernel's has an inner and an outer difference.
pub fn sample_line(sample: &Sample) -> String {
    let (seconds, nanos) = (sample.at_ns.div_euclid(1_000_000_000), sample.at_ns.rem_euclid(1_000_000_000));
    format!("ts: {seconds}.{nanos:09}, inner:{}, outer:0\n", sample.micros)
}

/// What is printed when it is over; `smis` where they are counted.
pub fn summary(samples: &[Sample], smis: &[(u32, u64)]) -> String {
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

/// What is said of a report that was written.
pub fn report_line(options: &Options, samples: usize) -> Option<String> {
    let path = options.report.as_ref()?;
    Some(format!("report saved to {} ({samples} samples)\n", path.display()))
}

#[cfg(test)]
mod tests {
    use super::super::options::read;
    use super::*;

    #[test]
    fn what_readers_look_for_is_there() {
        let words = ["--threshold", "20", "--duration", "5"].map(str::to_owned);
        let options = read(&words, &"0".parse().unwrap()).unwrap();
        let expected = "hwlatdetect:  test duration 5 seconds\n   detector: tracer\n   parameters:\n        \
                        CPU list:          None\n        Latency threshold: 20us\n        Sample window:     1000000us\n        \
                        Sample width:      500000us\n     Non-sampling period:  500000us\n        Output File:       None\n\nStarting test\n";
        assert_eq!(preamble(&options), expected);
        let sample = Sample { at_ns: 1_700_000_000_000_000_123, micros: 25, cpu: 1 };
        assert_eq!(sample_line(&sample), "ts: 1700000000.000000123, inner:25, outer:0\n");
        let text = summary(&[sample], &[(0, 0), (1, 2)]);
        assert_eq!(
            text,
            "test finished\nMax Latency: 25us\nSamples recorded: 1\nSamples exceeding threshold: 1\n2 SMIs occured on cpu 1\nSMIs during run: 2\n"
        );
        assert!(summary(&[], &[]).contains("Max Latency: Below threshold\n"));
    }
}
