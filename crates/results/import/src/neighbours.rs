//! Programs whose files are recognised and not read: what each lacks, and what to type instead.

use serde_json::Value;

use crate::format::Neighbour;
use crate::json::writer;

/// What to type for the neighbours of cyclictest that print only a minimum, a mean and a maximum.
const NOTIFY: &str = "howlate measures the same with percentiles: `howlate notify`";

pub(crate) const NEIGHBOURS: &[Neighbour] = &[
    Neighbour {
        is_sign: |line| is_thread_line(line) && line.contains(" I:"),
        what: "what cyclictest prints without `-h`: a minimum, a mean and a maximum per thread, and no histogram",
        remedy: "howlate reads cyclictest's histogram and JSON; make one with `cyclictest -h 1000 --json=FILE`",
    },
    Neighbour {
        is_sign: is_thread_line,
        what: "what programs of rt-tests print: a minimum, a mean and a maximum per thread, and no histogram",
        remedy: "howlate reads cyclictest's histogram: `cyclictest -h 1000 --json=FILE`; or measures itself: `howlate notify`",
    },
    Neighbour {
        is_sign: |line| line.starts_with("hwlatdetect:") && line.contains("test duration"),
        what: "the report of hwlatdetect: single gaps above its threshold, and no distribution",
        remedy: "howlate reads oslat's histograms of gaps: `oslat --json=FILE`; or measures them itself: `howlate gaps`",
    },
    Neighbour {
        is_sign: |line| line == "Timer Latency" || line.contains("IRQ Timer Latency"),
        what: "the table of `rtla timerlat top`: a minimum, a mean and a maximum per CPU, and no histogram",
        remedy: "howlate reads rtla's histograms; make one with `rtla timerlat hist > FILE`",
    },
    Neighbour {
        is_sign: |line| line == "Operating System Noise" || line == "Hardware-related Noise",
        what: "the table of `rtla osnoise top`: sums and maxima per CPU, and no histogram",
        remedy: "howlate reads rtla's histograms; make one with `rtla osnoise hist > FILE`",
    },
    Neighbour {
        is_sign: |line| line == "# tracer: timerlat" || line == "# tracer: osnoise",
        what: "a trace of the kernel's tracer timerlat or osnoise, and no histogram",
        remedy: "howlate reads rtla's histograms; make one with `rtla timerlat hist > FILE`, or `rtla osnoise hist > FILE`",
    },
    Neighbour {
        is_sign: |line| line.contains("| Switches |") && line.contains("delay ms"),
        what: "the table of `perf sched latency`: a mean and a maximum per task, and no distribution",
        remedy: "howlate reads histograms of the same waits: `runqlat > FILE`; or sees them itself: `howlate watch PID`",
    },
    Neighbour {
        is_sign: |line| line.contains("wait time") && line.contains("sch delay") && line.contains("run time"),
        what: "the list of `perf sched timehist`: single switches, and no distribution",
        remedy: "howlate reads histograms of the same waits: `runqlat > FILE`; or sees them itself: `howlate watch PID`",
    },
    Neighbour {
        is_sign: |line| {
            line.starts_with("T_experiment")
                || (line.contains("latency_min") && line.contains("latency_mean"))
        },
        what: "a log of performance_test: a minimum, a mean and a maximum per second, and no distribution",
        remedy: "howlate reads logs of HdrHistogram (`.hlog`); or sees the threads of the nodes itself: `howlate watch PID`",
    },
    Neighbour {
        is_sign: |line| line.contains(" ros2:") && line.contains("{"),
        what: "a trace of ros2_tracing: single events, and no distribution",
        remedy: "howlate reads logs of HdrHistogram (`.hlog`); or sees the threads of the nodes itself: `howlate watch PID`",
    },
    Neighbour {
        is_sign: |line| line.contains("latency-histogram") || line.contains("latencybins"),
        what: "what LinuxCNC's latency-histogram prints: it shows its histogram in a window, and writes none",
        remedy: "howlate measures the same, a servo thread and a base thread: `howlate cyclic --policy fifo:80 --period 1ms,100us`",
    },
    Neighbour {
        is_sign: |line| line.starts_with("Benchmark ") && line.contains(": "),
        what: "what hyperfine prints: a mean and a range per command, and no single times",
        remedy: "howlate reads its JSON; make one with `hyperfine --export-json FILE …`",
    },
    Neighbour {
        is_sign: |line| {
            line.starts_with("command,mean,stddev,median") || line.starts_with("| Command | Mean")
        },
        what: "a table of hyperfine: a mean and a range per command, and no single times",
        remedy: "howlate reads its JSON; make one with `hyperfine --export-json FILE …`",
    },
    Neighbour {
        is_sign: |line| line.starts_with("oslat: ") || line.starts_with("Total runtime:"),
        what: "the beginning of what oslat prints, without its buckets",
        remedy: "let oslat run to its end, or write them: `oslat --json=FILE`",
    },
    Neighbour {
        is_sign: |line| line.starts_with("PERFILE2"),
        what: "a file of perf, and no distribution",
        remedy: "howlate reads histograms: `runqlat > FILE`; or sees threads itself: `howlate watch PID`",
    },
    Neighbour {
        is_sign: |line| line.starts_with("\u{17}\u{8}Dtracing"),
        what: "a trace of trace-cmd, and no distribution",
        remedy: "howlate reads rtla's histograms: `rtla timerlat hist > FILE`",
    },
    Neighbour {
        is_sign: |line| line.starts_with("recording,started,") || line.starts_with("measured_by,"),
        what: "a table that howlate has written for others",
        remedy: "`howlate show` reads the recording that it was made of",
    },
];

/// `T: 0 (  809) P:80 I:1000 C:  61200 Min:      3 Act:    5 Avg:    5 Max:      88`
fn is_thread_line(line: &str) -> bool {
    line.starts_with("T:") && line.contains("Min:") && line.contains("Max:")
}

/// Unsupported JSON files of known programs.
pub(crate) fn json_neighbour(value: &Value) -> Option<&'static Neighbour> {
    if let Some(program) = writer(value).filter(|_| value.get("file_version").is_some()) {
        return Some(match program {
            "cyclicdeadline" => &OF_RT_TESTS[0],
            "hwlatdetect" => &OF_RT_TESTS[1],
            _ => &OF_RT_TESTS[2],
        });
    }
    let is_fio = value.get("fio version").is_some();
    is_fio.then_some(&FIO)
}

const OF_RT_TESTS: [Neighbour; 3] = [
    Neighbour {
        is_sign: |_| false,
        what: "JSON of cyclicdeadline: a minimum, a mean and a maximum per thread, and no histogram",
        remedy: "howlate measures the same with percentiles: `howlate cyclic --policy deadline:500us/1ms`",
    },
    Neighbour {
        is_sign: |_| false,
        what: "JSON of hwlatdetect: single gaps above its threshold, and no distribution",
        remedy: "howlate reads oslat's histograms of gaps: `oslat --json=FILE`; or measures them itself: `howlate gaps`",
    },
    Neighbour {
        is_sign: |_| false,
        what: "JSON of a program of rt-tests that writes no histogram: only a minimum, a mean and a maximum",
        remedy: NOTIFY,
    },
];

const FIO: Neighbour = Neighbour {
    is_sign: |_| false,
    what: "JSON of fio: how long requests to a disk took, by its own percentiles",
    remedy: "howlate reads logs of HdrHistogram (`.hlog`), and shows who waits for disks: `howlate top`",
};
