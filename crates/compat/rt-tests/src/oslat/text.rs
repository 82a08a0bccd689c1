//! Output and usage text of oslat.

use crate::compat::Compat;
use crate::run_facts::{RunFacts, json_head};
use howlate_model::{Policy, Span};

use super::options::OslatOptions;
use super::results::{CpuHistogram, OslatCpu, OslatResults};

/// Text before the run.
pub fn preamble(options: &OslatOptions) -> String {
    let priority = match options.policy {
        Policy::Fifo { priority } => format!("SCHED_FIFO:{}", priority.get()),
        _ => "default".to_owned(),
    };
    let list = options.cpu_list.as_deref().unwrap_or("all");
    let (workload, kib) = options.workload.map_or(("no", 0), |bytes| ("memmove", bytes / 1024));
    let preheat = if options.single_preheat { 1 } else { options.cpus.len() };
    format!(
        "Total runtime: \t\t{} seconds\nThread priority: \t{priority}\nCPU list: \t\t{list}\n\
         CPU for main thread: \t{}\nWorkload: \t\t{workload}\nWorkload mem: \t\t{kib} (KiB)\n\
         Preheat cores: \t\t{preheat}\n\n",
        options.seconds, options.main_cpu
    )
}

/// Formats lengths as microseconds: whole ones if the bucket width is whole microseconds, else with three decimals.
struct BucketUnit {
    width_ns: u64,
}

impl BucketUnit {
    const fn is_whole_micros(&self) -> bool {
        self.width_ns.is_multiple_of(1_000)
    }

    /// A length in bucket widths.
    fn bucket_micros(&self, widths: u64) -> String {
        let nanos = widths * self.width_ns;
        if self.is_whole_micros() {
            (nanos / 1_000).to_string()
        } else {
            format!("{:.3}", nanos as f64 / 1e3)
        }
    }

    /// A length as the original counts it: microseconds, rounded up to the next whole one, or nanoseconds if the bucket
    /// width is not whole microseconds.
    const fn rounded(&self, length: Span) -> u64 {
        if self.is_whole_micros() { length.as_nanos() / 1_000 + 1 } else { length.as_nanos() }
    }

    /// A [`rounded`](Self::rounded) length in microseconds.
    fn micros(&self, rounded: u64) -> String {
        if self.is_whole_micros() { rounded.to_string() } else { format!("{:.3}", rounded as f64 / 1e3) }
    }

    fn bucket_label(&self, widths: u64) -> String {
        let text = self.bucket_micros(widths);
        if self.is_whole_micros() { format!("{text:0>3}") } else { text }
    }
}

/// Text after the run.
pub fn summary(options: &OslatOptions, results: &OslatResults) -> String {
    let unit = BucketUnit { width_ns: options.width_ns };
    let histograms: Vec<CpuHistogram> = results.cpus.iter().map(OslatCpu::histogram).collect();
    let per_cpu = |value: &dyn Fn(&OslatCpu) -> String| results.cpus.iter().map(value).collect::<Vec<_>>();
    let shortest = |cpu: &OslatCpu| unit.rounded(cpu.shortest);
    let longest = |cpu: &OslatCpu| unit.rounded(cpu.gaps.longest(cpu.shortest));
    let means =
        histograms.iter().map(|histogram| format!("{:.3}", histogram.mean() * options.width_ns as f64 / 1e3));
    let frequency = format!(" ({})", options.compat.megahertz());
    [
        field("Core", &per_cpu(&|cpu| cpu.cpu.to_string()), ""),
        field("Counter Freq", &per_cpu(&|cpu| cpu.megahertz.to_string()), &frequency),
        histogram_rows(options, &histograms, &unit),
        field("Minimum", &per_cpu(&|cpu| unit.micros(shortest(cpu))), " (us)"),
        field("Average", &means.collect::<Vec<_>>(), " (us)"),
        field("Maximum", &per_cpu(&|cpu| unit.micros(longest(cpu))), " (us)"),
        field("Max-Min", &per_cpu(&|cpu| unit.micros(longest(cpu) - shortest(cpu))), " (us)"),
        field("Duration", &per_cpu(&|cpu| format!("{:.3}", cpu.seconds)), " (sec)"),
        "\n".to_owned(),
    ]
    .concat()
}

fn field(label: &str, values: &[String], end: &str) -> String {
    format!("{label:>12}:\t {}{end}\n", values.join(" "))
}

/// One row per bucket.
fn histogram_rows(options: &OslatOptions, histograms: &[CpuHistogram], unit: &BucketUnit) -> String {
    let (mut text, mut omitted) = (String::new(), false);
    let last = options.buckets.saturating_sub(1);
    for bucket in 0..options.buckets {
        let is_empty = histograms.iter().all(|histogram| histogram.buckets[bucket] == 0);
        if options.omit_zero && is_empty && bucket < last {
            omitted = true;
            continue;
        }
        if std::mem::take(&mut omitted) {
            text.push_str("    ...\n");
        }
        let widths = histograms.first().map_or(bucket as u64 + 1, |histogram| histogram.upper_limit(bucket));
        let values: Vec<String> =
            histograms.iter().map(|histogram| histogram.buckets[bucket].to_string()).collect();
        let end = if bucket == last { " (including overflows)" } else { "" };
        text.push_str(&field(&format!("{} (us)", unit.bucket_label(widths)), &values, end));
    }
    text
}

/// Content of the `--json` file.
pub fn json(options: &OslatOptions, results: &OslatResults, facts: &RunFacts) -> String {
    let thread = |(number, cpu): (usize, &OslatCpu)| thread(number, cpu, options);
    let threads: Vec<String> = results.cpus.iter().enumerate().map(thread).collect();
    format!(
        "{}  \"num_threads\": {},\n  \"thread\": {{\n{}\n  }}\n}}\n",
        json_head(options.compat.version_without_cyclictest(), facts),
        results.cpus.len(),
        threads.join(",\n")
    )
}

fn thread(number: usize, cpu: &OslatCpu, options: &OslatOptions) -> String {
    let unit = BucketUnit { width_ns: options.width_ns };
    let histogram = cpu.histogram();
    let nonzero = histogram.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
    let buckets: Vec<String> = nonzero
        .map(|(bucket, count)| {
            format!("\n        \"{}\": {count}", unit.bucket_micros(histogram.upper_limit(bucket)))
        })
        .collect();
    let end = if buckets.is_empty() { "" } else { "\n" };
    format!(
        "    \"{number}\": {{\n      \"cpu\": {},\n      \"freq\": {},\n      \"min\": {},\n      \
         \"avg\": {:.6},\n      \"max\": {},\n      \"duration\": {:.3},\n      \
         \"histogram\": {{{}{end}      }}\n    }}",
        cpu.cpu,
        cpu.megahertz,
        unit.rounded(cpu.shortest),
        histogram.mean() * options.width_ns as f64 / 1e3,
        unit.rounded(cpu.gaps.longest(cpu.shortest)),
        cpu.seconds,
        buckets.join(","),
    )
}

/// Names and description of each option.
const OPTION_ROWS: [(&str, &str); 16] = [
    ("-b, --bucket-size=N", "number of buckets, 5 to 1024 [default: 32]"),
    ("-B, --bias", "take off each time what a turn took at least in the warm-up"),
    ("-c, --cpu-list=LIST", "CPUs to measure, such as 1,3,5,7-15 [default: all]"),
    ("-C, --cpu-main-thread=CPU", "CPU of the main thread [default: 0]"),
    ("-D, --duration=TIME", "seconds, or with m, h or d minutes, hours or days [default: 1]"),
    ("    --json=FILENAME", "write the results as JSON"),
    ("-f, --rtprio=PRIORITY", "measure under SCHED_FIFO with this priority, 1 to 99"),
    ("-h, --help", "list the options"),
    ("-m, --workload-mem=SIZE", "bytes that the workload copies, such as 4K or 1M"),
    ("-q, --quiet", "print the summary only"),
    ("-s, --single-preheat", "warm up on one CPU only"),
    ("-T, --trace-threshold=US", "end with the first time of so many microseconds"),
    ("-v, --version", "print the version"),
    ("-w, --workload=NAME", "what to do at each turn: no, or memmove"),
    (WIDTH, "width of a bucket, in nanoseconds [default: 1000]"),
    ("-z, --zero-omit", "leave out empty buckets"),
];

const WIDTH: &str = "-W, --bucket-width=NS";

/// The text of `--help`.
pub fn usage(compat: Compat) -> String {
    let available = OPTION_ROWS.iter().filter(|(names, _)| *names != WIDTH || compat.has_bucket_width());
    let rows: String =
        available.map(|(names, description)| format!("  {names:<27}{description}\n")).collect();
    format!(
        "Usage:\noslat <options>\n\nHow long loops are kept from running; howlate in oslat's place.\n\n{rows}"
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::parse;
    use super::*;

    fn options(line: &str) -> OslatOptions {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments, &"0-1".parse().unwrap(), Compat::V2_4).unwrap()
    }

    fn results(options: &OslatOptions) -> OslatResults {
        let cpu = |cpu: u32| {
            let mut gaps = CpuHistogram::new(options, 0);
            gaps.add(Span::from_micros(52_037));
            gaps.add(Span::from_nanos(2_500));
            OslatCpu {
                cpu,
                megahertz: 2_597,
                shortest: Span::from_nanos(29),
                iterations: 1_000,
                seconds: 1.032_4,
                gaps,
            }
        };
        OslatResults { cpus: vec![cpu(0), cpu(1)] }
    }

    #[test]
    fn the_summary_has_the_columns_of_the_original() {
        let options = options("-b 5 -z");
        let expected = "        Core:\t 0 1\nCounter Freq:\t 2597 2597 (Mhz)\n    001 (us):\t 998 998\n    ...\n    \
                        003 (us):\t 1 1\n    ...\n    005 (us):\t 1 1 (including overflows)\n     \
                        Minimum:\t 1 1 (us)\n     Average:\t 53.039 53.039 (us)\n     Maximum:\t 52038 52038 (us)\n     \
                        Max-Min:\t 52037 52037 (us)\n    Duration:\t 1.032 1.032 (sec)\n\n";
        assert_eq!(summary(&options, &results(&options)), expected);
    }

    #[test]
    fn the_preamble_lists_the_options() {
        let expected = "Total runtime: \t\t60 seconds\nThread priority: \tSCHED_FIFO:5\nCPU list: \t\t0-1\n\
                        CPU for main thread: \t1\nWorkload: \t\tmemmove\nWorkload mem: \t\t8 (KiB)\n\
                        Preheat cores: \t\t1\n\n";
        assert_eq!(preamble(&options("-D 1m -f 5 -c 0-1 -C 1 -w memmove -m 8K -s")), expected);
    }

    /// As scripts read it: `[[ $(jq '.thread."0".max' FILE) -gt 10000 ]]`.
    #[test]
    fn with_buckets_below_a_microsecond_lengths_are_whole_nanoseconds() {
        let arguments: Vec<String> = ["-b", "5", "--bucket-width", "500"].map(str::to_owned).into();
        let options = parse(&arguments, &"0-1".parse().unwrap(), Compat::V2_10).unwrap();
        let text = json(&options, &results(&options), &RunFacts::default());
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let thread = &json["thread"]["0"];
        assert_eq!((&thread["min"], &thread["max"]), (&29.into(), &52_037_000.into()));
        assert_eq!(thread["histogram"], serde_json::json!({"0.500": 998, "2.500": 2}));
        let text = summary(&options, &results(&options));
        assert!(text.contains("Minimum:\t 0.029 0.029 (us)\n"), "{text}");
        assert!(text.contains("Maximum:\t 52037.000 52037.000 (us)\n"), "{text}");
    }

    #[test]
    fn json_is_that_of_the_original() {
        let options = options("-b 5");
        let text = json(&options, &results(&options), &RunFacts::default());
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let thread = &json["thread"]["1"];
        assert_eq!((&json["file_version"], &json["num_threads"]), (&1.into(), &2.into()));
        assert_eq!((&thread["cpu"], &thread["max"], &thread["min"]), (&1.into(), &52_038.into(), &1.into()));
        assert_eq!(thread["histogram"], serde_json::json!({"1": 998, "3": 1, "5": 1}));
        assert!(text.contains("      \"avg\": 53.039000,\n"), "{text}");
    }
}
