//! What oslat prints and writes.

use crate::run_facts::{RunFacts, json_head};
use howlate_model::{Policy, Span};

use super::counts::Counts;
use super::options::Options;
use super::results::{CpuResult, Results};

/// What is printed before the run.
pub fn preamble(options: &Options) -> String {
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

/// Times in widths as microseconds: whole ones, or with three digits where widths are not.
struct Unit {
    width_ns: u64,
}

impl Unit {
    const fn is_whole(&self) -> bool {
        self.width_ns.is_multiple_of(1_000)
    }

    fn text(&self, widths: u64) -> String {
        let nanos = widths * self.width_ns;
        if self.is_whole() { (nanos / 1_000).to_string() } else { format!("{:.3}", nanos as f64 / 1e3) }
    }

    /// A time as the original counts it: begun microseconds; where widths are not whole ones, nanoseconds.
    const fn time(&self, length: Span) -> u64 {
        if self.is_whole() { length.as_nanos() / 1_000 + 1 } else { length.as_nanos() }
    }

    /// Such a time in microseconds.
    fn micros(&self, time: u64) -> String {
        if self.is_whole() { time.to_string() } else { format!("{:.3}", time as f64 / 1e3) }
    }

    fn bucket(&self, widths: u64) -> String {
        let text = self.text(widths);
        if self.is_whole() { format!("{text:0>3}") } else { text }
    }
}

/// What is printed when it is over.
pub fn summary(options: &Options, results: &Results) -> String {
    let unit = Unit { width_ns: options.width_ns };
    let all: Vec<Counts> = results.cpus.iter().map(CpuResult::all).collect();
    let per_cpu = |value: &dyn Fn(&CpuResult) -> String| results.cpus.iter().map(value).collect::<Vec<_>>();
    let shortest = |one: &CpuResult| unit.time(one.shortest);
    let longest = |one: &CpuResult| unit.time(one.counts.longest(one.shortest));
    let means = all.iter().map(|counts| format!("{:.3}", counts.mean() * options.width_ns as f64 / 1e3));
    let frequency = format!(" ({})", options.dialect.megahertz());
    [
        field("Core", &per_cpu(&|one| one.cpu.to_string()), ""),
        field("Counter Freq", &per_cpu(&|one| one.megahertz.to_string()), &frequency),
        rows(options, &all, &unit),
        field("Minimum", &per_cpu(&|one| unit.micros(shortest(one))), " (us)"),
        field("Average", &means.collect::<Vec<_>>(), " (us)"),
        field("Maximum", &per_cpu(&|one| unit.micros(longest(one))), " (us)"),
        field("Max-Min", &per_cpu(&|one| unit.micros(longest(one) - shortest(one))), " (us)"),
        field("Duration", &per_cpu(&|one| format!("{:.3}", one.seconds)), " (sec)"),
        "\n".to_owned(),
    ]
    .concat()
}

fn field(label: &str, values: &[String], end: &str) -> String {
    format!("{label:>12}:\t {}{end}\n", values.join(" "))
}

/// A row for each bucket.
fn rows(options: &Options, all: &[Counts], unit: &Unit) -> String {
    let (mut text, mut left_out) = (String::new(), false);
    let last = options.buckets.saturating_sub(1);
    for place in 0..options.buckets {
        let is_empty = all.iter().all(|counts| counts.buckets[place] == 0);
        if options.omit_zero && is_empty && place < last {
            left_out = true;
            continue;
        }
        if std::mem::take(&mut left_out) {
            text.push_str("    ...\n");
        }
        let widths = all.first().map_or(place as u64 + 1, |counts| counts.upper(place));
        let values: Vec<String> = all.iter().map(|counts| counts.buckets[place].to_string()).collect();
        let end = if place == last { " (including overflows)" } else { "" };
        text.push_str(&field(&format!("{} (us)", unit.bucket(widths)), &values, end));
    }
    text
}

/// The file that `--json` asks for.
pub fn json(options: &Options, results: &Results, facts: &RunFacts) -> String {
    let thread = |(number, one): (usize, &CpuResult)| thread(number, one, options);
    let threads: Vec<String> = results.cpus.iter().enumerate().map(thread).collect();
    format!(
        "{}  \"num_threads\": {},\n  \"thread\": {{\n{}\n  }}\n}}\n",
        json_head(options.dialect.version_without_cyclictest(), facts),
        results.cpus.len(),
        threads.join(",\n")
    )
}

fn thread(number: usize, one: &CpuResult, options: &Options) -> String {
    let unit = Unit { width_ns: options.width_ns };
    let all = one.all();
    let counted = all.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
    let buckets: Vec<String> = counted
        .map(|(place, count)| format!("\n        \"{}\": {count}", unit.text(all.upper(place))))
        .collect();
    let end = if buckets.is_empty() { "" } else { "\n" };
    format!(
        "    \"{number}\": {{\n      \"cpu\": {},\n      \"freq\": {},\n      \"min\": {},\n      \
         \"avg\": {:.6},\n      \"max\": {},\n      \"duration\": {:.3},\n      \
         \"histogram\": {{{}{end}      }}\n    }}",
        one.cpu,
        one.megahertz,
        unit.time(one.shortest),
        all.mean() * options.width_ns as f64 / 1e3,
        unit.time(one.counts.longest(one.shortest)),
        one.seconds,
        buckets.join(","),
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::read;
    use super::*;
    use crate::compat::Compat;

    fn options(line: &str) -> Options {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words, &"0-1".parse().unwrap(), Compat::V2_4).unwrap()
    }

    fn results(options: &Options) -> Results {
        let cpu = |cpu: u32| {
            let mut counts = Counts::new(options, 0);
            counts.add(Span::from_micros(52_037));
            counts.add(Span::from_nanos(2_500));
            CpuResult {
                cpu,
                megahertz: 2_597,
                shortest: Span::from_nanos(29),
                turns: 1_000,
                seconds: 1.032_4,
                counts,
            }
        };
        Results { cpus: vec![cpu(0), cpu(1)] }
    }

    #[test]
    fn the_summary_has_the_columns_that_readers_look_for() {
        let options = options("-b 5 -z");
        let expected = "        Core:\t 0 1\nCounter Freq:\t 2597 2597 (Mhz)\n    001 (us):\t 998 998\n    ...\n    \
                        003 (us):\t 1 1\n    ...\n    005 (us):\t 1 1 (including overflows)\n     \
                        Minimum:\t 1 1 (us)\n     Average:\t 53.039 53.039 (us)\n     Maximum:\t 52038 52038 (us)\n     \
                        Max-Min:\t 52037 52037 (us)\n    Duration:\t 1.032 1.032 (sec)\n\n";
        assert_eq!(summary(&options, &results(&options)), expected);
    }

    #[test]
    fn the_preamble_says_what_was_asked_for() {
        let expected = "Total runtime: \t\t60 seconds\nThread priority: \tSCHED_FIFO:5\nCPU list: \t\t0-1\n\
                        CPU for main thread: \t1\nWorkload: \t\tmemmove\nWorkload mem: \t\t8 (KiB)\n\
                        Preheat cores: \t\t1\n\n";
        assert_eq!(preamble(&options("-D 1m -f 5 -c 0-1 -C 1 -w memmove -m 8K -s")), expected);
    }

    /// As scripts read it: `[[ $(jq '.thread."0".max' FILE) -gt 10000 ]]`.
    #[test]
    fn with_buckets_of_parts_of_a_microsecond_times_are_whole_nanoseconds() {
        let words: Vec<String> = ["-b", "5", "--bucket-width", "500"].map(str::to_owned).into();
        let options = read(&words, &"0-1".parse().unwrap(), Compat::V2_10).unwrap();
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
    fn json_is_what_the_originals_is() {
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
