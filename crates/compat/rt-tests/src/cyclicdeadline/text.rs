//! Output and usage text of cyclicdeadline.

use crate::run_facts::{RunFacts, json_head};
use howlate_model::{Latency, Span};

use super::options::{CyclicdeadlineOptions, DeadlineParameters};
use super::stats::{DeadlineThreadStats, micros};
use crate::compat::Compat;

/// Runtime and period of each thread, and that the work of a period, which takes `work_time`, fits into the runtime.
pub fn intervals(options: &CyclicdeadlineOptions, work_time: Span) -> String {
    let lines = |thread: &DeadlineParameters| {
        let DeadlineParameters { runtime_us, period_us } = thread;
        let work_us = work_time.as_nanos() / 1_000;
        format!("interval: {runtime_us}:{period_us}\n  Tested at {work_us}us of {runtime_us}us\n")
    };
    options.threads.iter().map(lines).collect()
}

pub fn thread_ids(tids: &[u32]) -> String {
    tids.iter().map(|tid| format!("deadline thread {tid}\n")).collect()
}

/// Runtime and deadline of each thread.
pub fn thread_settings(options: &CyclicdeadlineOptions, tids: &[u32]) -> String {
    let line = |(thread, tid): (&DeadlineParameters, &u32)| {
        format!("thread[{tid}] runtime={}us deadline={}us\n", thread.runtime_us, thread.period_us)
    };
    options.threads.iter().zip(tids).map(line).collect()
}

pub fn main_thread(tid: u32) -> String {
    format!("main thread {tid}\n")
}

/// One line of statistics per thread.
pub fn table(thread_stats: &[DeadlineThreadStats]) -> String {
    let line = |(number, stats): (usize, &DeadlineThreadStats)| {
        let DeadlineThreadStats { tid, cycles, min, act, max, .. } = stats;
        let (period, mean) = (stats.parameters.period_us, stats.whole_mean());
        format!(
            "T:{number:2} ({tid:5}) I:{period} C:{cycles:7} Min:{min:7} Act:{act:5} Avg:{mean:5} Max:{max:8}\n"
        )
    };
    thread_stats.iter().enumerate().map(line).collect()
}

/// The thread and the latency that ended the run.
pub fn break_lines(tid: u32, latency: Latency) -> String {
    format!("# Break thread: {tid}\n# Break value: {}\n", micros(latency))
}

/// The mark that `--tracemark` writes into the kernel's trace.
pub fn trace_mark(latency: Latency, above_us: u64) -> String {
    format!("hit latency threshold ({} > {above_us})", micros(latency))
}

/// Warning about missed periods, which the table does not show; `None` if the thread missed none.
pub fn missed_periods(number: usize, stats: &DeadlineThreadStats) -> Option<String> {
    let DeadlineThreadStats { cycles, missed, max, parameters, .. } = stats;
    (*missed > 0).then(|| {
        format!(
            "thread {number} missed periods: {missed} of {cycles} latencies are not below its period of {} us, the longest is {max} us. \
             The kernel begins new periods where a thread is so late, and here they are counted on, as in the original: all \
             later latencies contain what was missed",
            parameters.period_us
        )
    })
}

/// Content of the `--json` file.
pub fn json(compat: Compat, thread_stats: &[DeadlineThreadStats], facts: &RunFacts) -> String {
    let indent = compat.json_indent();
    let thread = |(number, stats): (usize, &DeadlineThreadStats)| {
        let DeadlineThreadStats { cycles, min, max, .. } = stats;
        format!(
            "    \"{number}\": {{\n{indent}\"cycles\": {cycles},\n{indent}\"min\": {min},\n{indent}\"max\": {max},\n{indent}\"avg\": {:.2}\n    }}",
            stats.mean()
        )
    };
    let threads: Vec<String> = thread_stats.iter().enumerate().map(thread).collect();
    format!(
        "{}  \"num_threads\": {},\n  \"resolution_in_ns\": 0,\n  \"thread\": {{\n{}\n  }}\n}}\n",
        json_head(compat.version_without_cyclictest(), facts),
        thread_stats.len(),
        threads.join(",\n")
    )
}

/// Names and description of each option.
const OPTION_ROWS: [(&str, &str); 12] = [
    ("-a, --affinity[=CPUS]", "CPUs of all threads, such as 2-3; all if none are named"),
    ("-b, --breaktrace=US", "end with the first latency of more than so many microseconds"),
    ("-D, --duration=TIME", "seconds, or with m, h or d minutes, hours or days; else until Ctrl-C"),
    (DEBUG, "print the ids of the threads, and what they ask for"),
    ("-h, --help", "list the options"),
    ("-i, --interval=US", "period and deadline of the first thread [default: 1000]"),
    ("    --json=FILENAME", "write the results as JSON"),
    ("-q, --quiet", "print the summary only"),
    ("-s, --step=US", "how much longer each further thread's period is [default: 500]"),
    ("-t, --threads=N", "number of threads [default: 1]"),
    ("    --tracemark", "with -b: mark the kernel's trace, and stop it"),
    (VERBOSE, "print runtimes and periods"),
];

const DEBUG: &str = "    --debug";
const VERBOSE: &str = "    --verbose";

/// The text of `--help`.
pub fn usage(compat: Compat) -> String {
    let available =
        OPTION_ROWS.iter().filter(|(names, _)| compat.is_silent() || ![DEBUG, VERBOSE].contains(names));
    let rows: String =
        available.map(|(names, description)| format!("  {names:<25}{description}\n")).collect();
    format!(
        "cyclicdeadline V {}\nUsage:\ncyclicdeadline <options>\n\nHow late SCHED_DEADLINE threads run; howlate in cyclicdeadline's place.\n\n{rows}",
        compat.version()
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::parse;
    use super::*;

    fn options(line: &str) -> CyclicdeadlineOptions {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments, &"0-1".parse().unwrap(), Compat::V2_4).unwrap()
    }

    fn thread_stats(nanos: &[i64]) -> Vec<DeadlineThreadStats> {
        let options = options("-t 2 -i 10000");
        let mut thread_stats: Vec<DeadlineThreadStats> = options
            .threads
            .iter()
            .zip([21_354, 7])
            .map(|(thread, tid)| DeadlineThreadStats::new(*thread, tid))
            .collect();
        nanos.iter().for_each(|nanos| thread_stats[0].add(Latency::from_nanos(*nanos)));
        thread_stats
    }

    #[test]
    fn the_table_has_the_columns_of_the_original() {
        let expected = "T: 0 (21354) I:10000 C:      3 Min:      0 Act:   26 Avg:   69 Max:     181\n\
                        T: 1 (    7) I:10500 C:      0 Min:      0 Act:    0 Avg:    0 Max:       0\n";
        assert_eq!(table(&thread_stats(&[181_999, 900, 26_000])), expected);
    }

    #[test]
    fn thread_descriptions_are_those_of_the_original() {
        let options = options("-t 3 -i 10000");
        let expected = "interval: 5300:10000\n  Tested at 1us of 5300us\ninterval: 5565:10500\n  Tested at 1us of 5565us\n\
                        interval: 5830:11000\n  Tested at 1us of 5830us\n";
        assert_eq!(intervals(&options, Span::from_nanos(1_900)), expected);
        assert_eq!(thread_ids(&[5, 6]), "deadline thread 5\ndeadline thread 6\n");
        let settings = thread_settings(&options, &[5]);
        assert_eq!(settings, "thread[5] runtime=5300us deadline=10000us\n");
        assert_eq!(main_thread(4), "main thread 4\n");
        assert_eq!(trace_mark(Latency::from_nanos(65_999), 50), "hit latency threshold (65 > 50)");
        assert_eq!(break_lines(5, Latency::from_nanos(65_999)), "# Break thread: 5\n# Break value: 65\n");
    }

    #[test]
    fn missed_periods_are_reported() {
        let thread_stats = thread_stats(&[9_999_999, 10_000_000, 35_000_000]);
        let text = missed_periods(0, &thread_stats[0]).unwrap();
        assert!(text.starts_with("thread 0 missed periods: 2 of 3 latencies"), "{text}");
        assert!(text.contains("the longest is 35000 us."), "{text}");
        assert_eq!(missed_periods(1, &thread_stats[1]), None);
    }

    #[test]
    fn json_is_that_of_the_original() {
        let thread_stats = thread_stats(&[1_000, 3_000, 4_000]);
        let text = json(Compat::V2_4, &thread_stats, &RunFacts::default());
        let end = "  \"num_threads\": 2,\n  \"resolution_in_ns\": 0,\n  \"thread\": {\n    \"0\": {\n\t \"cycles\": 3,\n\t \"min\": 1,\n\t \"max\": 4,\n\t \"avg\": 2.67\n    },\n    \"1\": {\n\t \"cycles\": 0,\n\t \"min\": 0,\n\t \"max\": 0,\n\t \"avg\": 0.00\n    }\n  }\n}\n";
        assert!(text.ends_with(end), "{text}");
        for compat in [Compat::V2_4, Compat::V2_10] {
            let text = json(compat, &thread_stats, &RunFacts::default());
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(json["rt_test_version:"], compat.version_without_cyclictest());
            assert_eq!(json["thread"]["0"]["avg"], 2.67);
        }
        assert!(
            json(Compat::V2_10, &thread_stats, &RunFacts::default()).contains("\n      \"cycles\": 3,\n")
        );
    }
}
