//! `.hlog` by `HdrHistogram`'s libraries for Java, Python, Go and JavaScript; `.hgrm` by its shape.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{packages, show};

/// One condition as read by a library.
#[derive(Debug, PartialEq)]
struct LoggedCondition {
    tag: String,
    count: u64,
    p50: f64,
    p99: f64,
    max: f64,
}

const LOGS: [&str; 3] = ["cyclic", "sleep", "languages"];

/// Passes logs to a reader that prints `TAG COUNT P50 P99 MAX START` for each line.
fn check(reader: Option<Command>, has_tags: bool) {
    let Some(mut reader) = reader else { return };
    for name in LOGS {
        let log = tempfile::Builder::new().suffix(".hlog").tempfile().unwrap();
        log.as_file().write_all(show(name, "hlog", &[], 0).as_bytes()).unwrap();
        let output = reader_of(&mut reader).arg(log.path()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
        let text = String::from_utf8(output.stdout).unwrap();
        let found: Vec<LoggedCondition> = text.lines().map(parse_condition).collect();
        compare(name, &found, has_tags);
    }
}

/// A copy of the command.
fn reader_of(command: &mut Command) -> Command {
    let mut again = Command::new(command.get_program());
    again.args(command.get_args()).stdin(Stdio::null());
    command.get_envs().for_each(|(key, value)| {
        again.env(key, value.unwrap_or_default());
    });
    command.get_current_dir().map(|folder| again.current_dir(folder));
    again
}

fn parse_condition(line: &str) -> LoggedCondition {
    let fields: Vec<&str> = line.split(' ').collect();
    let number = |word: &str| word.parse::<f64>().unwrap_or_else(|_| panic!("{line}"));
    let [tag, count, p50, p99, max] = fields.as_slice() else { panic!("{line}") };
    LoggedCondition {
        tag: (*tag).to_owned(),
        count: count.parse().unwrap(),
        p50: number(p50),
        p99: number(p99),
        max: number(max),
    }
}

/// Counts are exact; values have the 1 % precision of the buckets.
#[track_caller]
fn compare(name: &str, found: &[LoggedCondition], has_tags: bool) {
    let result: Value = serde_json::from_str(&show(name, "json", &[], 0)).unwrap();
    let measured: Vec<&Value> =
        result["results"].as_array().unwrap().iter().filter(|result| result["count"] != 0).collect();
    assert_eq!(found.len(), measured.len(), "{name}");
    for (found, measured) in found.iter().zip(measured) {
        assert_eq!(Some(found.count), measured["count"].as_u64(), "{name}");
        for (value, key) in [(found.p50, "p50"), (found.p99, "p99"), (found.max, "max")] {
            let ours = measured["latency_ns"][key].as_f64().unwrap().max(0.0);
            assert!((value - ours).abs() <= ours / 50.0 + 2.0, "{name} {key}: {value} against {ours}");
        }
        let mechanism = measured["condition"]["mechanism"].as_str().unwrap();
        assert!(!has_tags || found.tag.starts_with(mechanism), "{}: {mechanism}", found.tag);
    }
}

#[test]
fn java_reads_the_log() {
    let program = r#"
import org.HdrHistogram.*;
public class Reader {
    public static void main(String[] arguments) throws Exception {
        HistogramLogReader reader = new HistogramLogReader(arguments[0]);
        EncodableHistogram next;
        while ((next = reader.nextIntervalHistogram()) != null) {
            Histogram histogram = (Histogram) next;
            if (reader.getStartTimeSec() < 1e9) throw new IllegalStateException("no start time");
            System.out.println(histogram.getTag() + " " + histogram.getTotalCount() + " " + histogram.getValueAtPercentile(50)
                + " " + histogram.getValueAtPercentile(99) + " " + histogram.getMaxValue());
        }
    }
}
"#;
    check(packages::java("hdr-java", "org.hdrhistogram:HdrHistogram:2.2.2", program), true);
}

#[test]
fn python_reads_the_log() {
    let program = "
import sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 3600000000000, 2))
while True:
    histogram = reader.get_next_interval_histogram()
    if histogram is None:
        break
    print(histogram.get_tag(), histogram.get_total_count(), histogram.get_value_at_percentile(50), histogram.get_value_at_percentile(99), histogram.get_max_value())
";
    let python = packages::python("hdr-python", &["hdrhistogram==0.10.8"]);
    check(
        python.map(|mut python| {
            python.args(["-c", program]);
            python
        }),
        true,
    );
}

#[test]
fn go_reads_the_log() {
    let program = r#"package main

import (
	"fmt"
	"os"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	reader := hdrhistogram.NewHistogramLogReader(file)
	for {
		histogram, err := reader.NextIntervalHistogram()
		if err != nil {
			panic(err)
		}
		if histogram == nil {
			break
		}
		tag := histogram.Tag()
		if tag == "" {
			tag = "-"
		}
		fmt.Println(tag, histogram.TotalCount(), histogram.ValueAtQuantile(50), histogram.ValueAtQuantile(99), histogram.Max())
	}
}
"#;
    check(packages::go("hdr-go", &["github.com/HdrHistogram/hdrhistogram-go@v1.1.2"], program), false);
}

#[test]
fn javascript_reads_the_log() {
    let program = "
const { HistogramLogReader } = require('hdr-histogram-js');
const reader = new HistogramLogReader(require('fs').readFileSync(process.argv[1], 'utf8'));
for (let histogram; (histogram = reader.nextIntervalHistogram()) != null; ) {
    console.log(histogram.tag, histogram.totalCount, histogram.getValueAtPercentile(50), histogram.getValueAtPercentile(99), histogram.maxValue);
}
";
    let node = packages::node("hdr-js", &["hdr-histogram-js@3.0.1"]);
    check(
        node.map(|mut node| {
            node.args(["-e", program]);
            node
        }),
        true,
    );
}

/// The plotter's format: four columns, ascending, the last line at 100 % without the fourth.
#[test]
fn percentiles_have_the_plotters_columns() {
    let text = show("cyclic", "hgrm", &[], 0);
    let sections: Vec<&str> = text.split("#[Condition = ").filter(|section| !section.is_empty()).collect();
    let result: Value = serde_json::from_str(&show("cyclic", "json", &[], 0)).unwrap();
    assert_eq!(sections.len(), result["results"].as_array().unwrap().len());
    for section in sections {
        let rows: Vec<Vec<f64>> = section
            .lines()
            .filter_map(|line| line.split_whitespace().map(|cell| cell.parse().ok()).collect())
            .filter(|row: &Vec<f64>| !row.is_empty())
            .collect();
        assert!(section.contains("Value     Percentile TotalCount 1/(1-Percentile)\n\n"), "{section}");
        assert!(rows.len() > 3 && rows.windows(2).all(|pair| pair[0][..3] <= pair[1][..3]), "{section}");
        let (last, before) = rows.split_last().unwrap();
        assert!(last.len() == 3 && (last[1] - 1.0).abs() < 1e-12, "{section}");
        assert!(before.iter().all(|row| row.len() == 4), "{section}");
        let max = section.split("#[Max     = ").nth(1).unwrap().split(',').next().unwrap();
        assert!((max.trim().parse::<f64>().unwrap() - last[0]).abs() <= last[0] / 50.0, "{section}");
    }
}

/// Histograms of the recording itself: V2 encoding without compression, which Java and Rust read.
#[test]
fn java_reads_a_histogram_of_the_recording_itself() {
    let program = r#"
import java.nio.ByteBuffer;
import java.util.Base64;
import org.HdrHistogram.*;
public class Reader {
    public static void main(String[] arguments) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(arguments[0]));
        System.out.println(Histogram.decodeFromByteBuffer(bytes, 0).getTotalCount());
    }
}
"#;
    let Some(mut java) = packages::java("hdr-java-block", "org.hdrhistogram:HdrHistogram:2.2.2", program)
    else {
        return;
    };
    let text = std::fs::read_to_string(crate::recordings().join("cyclic.jsonl")).unwrap();
    let blocks = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let latency = blocks.filter_map(|line| line.pointer("/block/latency").cloned()).next().unwrap();
    let output = java.arg(latency["hdr"].as_str().unwrap()).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), latency["count"].to_string(), "{message}");
}
