//! What cyclicdeadline prints and writes.

use crate::run_facts::{RunFacts, json_head};
use howlate_model::{Latency, Span};

use super::options::{Options, Thread};
use super::tally::{Tally, micros};
use crate::compat::Compat;

/// What each thread asks for, and that what it does in a period, which takes `turn`, fits.
pub fn intervals(options: &Options, turn: Span) -> String {
    let of = |thread: &Thread| {
        let Thread { runtime_us, period_us } = thread;
        let took = turn.as_nanos() / 1_000;
        format!("interval: {runtime_us}:{period_us}\n  Tested at {took}us of {runtime_us}us\n")
    };
    options.threads.iter().map(of).collect()
}

/// The ids of the threads.
pub fn thread_ids(tids: &[u32]) -> String {
    tids.iter().map(|tid| format!("deadline thread {tid}\n")).collect()
}

/// What each has asked for.
pub fn thread_settings(options: &Options, tids: &[u32]) -> String {
    let of = |(thread, tid): (&Thread, &u32)| {
        format!("thread[{tid}] runtime={}us deadline={}us\n", thread.runtime_us, thread.period_us)
    };
    options.threads.iter().zip(tids).map(of).collect()
}

/// The id of the thread that does not measure.
pub fn main_thread(tid: u32) -> String {
    format!("main thread {tid}\n")
}

/// A line for each thread.
pub fn table(tallies: &[Tally]) -> String {
    let line = |(number, tally): (usize, &Tally)| {
        let Tally { tid, cycles, min, act, max, .. } = tally;
        let (period, mean) = (tally.thread.period_us, tally.whole_mean());
        format!(
            "T:{number:2} ({tid:5}) I:{period} C:{cycles:7} Min:{min:7} Act:{act:5} Avg:{mean:5} Max:{max:8}\n"
        )
    };
    tallies.iter().enumerate().map(line).collect()
}

/// What is printed of the thread that ended the run.
pub fn broken(tid: u32, latency: Latency) -> String {
    format!("# Break thread: {tid}\n# Break value: {}\n", micros(latency))
}

/// What `--tracemark` writes into the kernel's trace.
pub fn trace_mark(latency: Latency, above_us: u64) -> String {
    format!("hit latency threshold ({} > {above_us})", micros(latency))
}

/// A thread that missed whole periods, which its line does not tell.
pub fn missed(number: usize, tally: &Tally) -> Option<String> {
    let Tally { cycles, missing, max, thread, .. } = tally;
    (*missing > 0).then(|| {
        format!(
            "thread {number} missed periods: {missing} of {cycles} latencies are not below its period of {} us, the longest is {max} us. \
             The kernel begins new periods where a thread is so late, and here they are counted on, as in the original: all \
             later latencies contain what was missed",
            thread.period_us
        )
    })
}

/// The file that `--json` asks for.
pub fn json(dialect: Compat, tallies: &[Tally], facts: &RunFacts) -> String {
    let indent = dialect.indent();
    let thread = |(number, tally): (usize, &Tally)| {
        let Tally { cycles, min, max, .. } = tally;
        format!(
            "    \"{number}\": {{\n{indent}\"cycles\": {cycles},\n{indent}\"min\": {min},\n{indent}\"max\": {max},\n{indent}\"avg\": {:.2}\n    }}",
            tally.mean()
        )
    };
    let threads: Vec<String> = tallies.iter().enumerate().map(thread).collect();
    format!(
        "{}  \"num_threads\": {},\n  \"resolution_in_ns\": 0,\n  \"thread\": {{\n{}\n  }}\n}}\n",
        json_head(dialect.version_without_cyclictest(), facts),
        tallies.len(),
        threads.join(",\n")
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::read;
    use super::*;

    fn options(line: &str) -> Options {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words, &"0-1".parse().unwrap(), Compat::V2_4).unwrap()
    }

    fn tallies(nanos: &[i64]) -> Vec<Tally> {
        let options = options("-t 2 -i 10000");
        let mut tallies: Vec<Tally> =
            options.threads.iter().zip([21_354, 7]).map(|(thread, tid)| Tally::new(*thread, tid)).collect();
        nanos.iter().for_each(|nanos| tallies[0].add(Latency::from_nanos(*nanos)));
        tallies
    }

    #[test]
    fn the_table_has_the_columns_that_readers_look_for() {
        let expected = "T: 0 (21354) I:10000 C:      3 Min:      0 Act:   26 Avg:   69 Max:     181\n\
                        T: 1 (    7) I:10500 C:      0 Min:      0 Act:    0 Avg:    0 Max:       0\n";
        assert_eq!(table(&tallies(&[181_999, 900, 26_000])), expected);
    }

    #[test]
    fn what_is_asked_for_is_said_as_the_original_does() {
        let options = options("-t 3 -i 10000");
        let expected = "interval: 5300:10000\n  Tested at 1us of 5300us\ninterval: 5565:10500\n  Tested at 1us of 5565us\n\
                        interval: 5830:11000\n  Tested at 1us of 5830us\n";
        assert_eq!(intervals(&options, Span::from_nanos(1_900)), expected);
        assert_eq!(thread_ids(&[5, 6]), "deadline thread 5\ndeadline thread 6\n");
        let settings = thread_settings(&options, &[5]);
        assert_eq!(settings, "thread[5] runtime=5300us deadline=10000us\n");
        assert_eq!(main_thread(4), "main thread 4\n");
        assert_eq!(trace_mark(Latency::from_nanos(65_999), 50), "hit latency threshold (65 > 50)");
        assert_eq!(broken(5, Latency::from_nanos(65_999)), "# Break thread: 5\n# Break value: 65\n");
    }

    #[test]
    fn who_missed_periods_is_told_of() {
        let tallies = tallies(&[9_999_999, 10_000_000, 35_000_000]);
        let text = missed(0, &tallies[0]).unwrap();
        assert!(text.starts_with("thread 0 missed periods: 2 of 3 latencies"), "{text}");
        assert!(text.contains("the longest is 35000 us."), "{text}");
        assert_eq!(missed(1, &tallies[1]), None);
    }

    #[test]
    fn json_is_what_the_originals_is() {
        let tallies = tallies(&[1_000, 3_000, 4_000]);
        let text = json(Compat::V2_4, &tallies, &RunFacts::default());
        let end = "  \"num_threads\": 2,\n  \"resolution_in_ns\": 0,\n  \"thread\": {\n    \"0\": {\n\t \"cycles\": 3,\n\t \"min\": 1,\n\t \"max\": 4,\n\t \"avg\": 2.67\n    },\n    \"1\": {\n\t \"cycles\": 0,\n\t \"min\": 0,\n\t \"max\": 0,\n\t \"avg\": 0.00\n    }\n  }\n}\n";
        assert!(text.ends_with(end), "{text}");
        for dialect in [Compat::V2_4, Compat::V2_10] {
            let text = json(dialect, &tallies, &RunFacts::default());
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(json["rt_test_version:"], dialect.version_without_cyclictest());
            assert_eq!(json["thread"]["0"]["avg"], 2.67);
        }
        assert!(json(Compat::V2_10, &tallies, &RunFacts::default()).contains("\n      \"cycles\": 3,\n"));
    }
}
