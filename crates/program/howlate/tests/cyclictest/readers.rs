//! Programs that parse cyclictest's output, reimplemented from their published sources.

use std::process::{Command, Stdio};

use regex::Regex;
use serde_json::Value;

use crate::{howlate, stdout_of};

/// LAVA's test-definitions: numbers of each thread, and whether the test passed.
#[test]
fn lava_finds_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cyclictest.json");
    let json = format!("--json={}", file.display());
    for compat in ["--compat=2.4", "--compat=2.6", "--compat=2.10"] {
        stdout_of(&["-q", "-i", "1000", "-t", "2", "-a", "0", "-l", "20", "-h", "50", compat, &json]);
        let result: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(result["num_threads"], 2);
        assert_eq!(result["return_code"], 0);
        for thread in ["0", "1"] {
            let thread = &result["thread"][thread];
            let number = |key: &str| thread[key].as_f64().unwrap();
            assert!(number("min") <= number("avg") && number("avg") <= number("max"));
        }
    }
}

#[test]
fn json_is_valid_whatever_was_typed() {
    let text = stdout_of(&[
        "-q",
        "-l",
        "1",
        "-t",
        "2",
        "-i",
        "100000",
        "-d",
        "100000000",
        "--json=-",
        "a \"word\"\\",
    ]);
    let json: Value = serde_json::Deserializer::from_str(text.split_once('\n').map_or(
        "",
        |(first, rest)| {
            if first.starts_with('#') { rest } else { text.as_str() }
        },
    ))
    .into_iter()
    .next()
    .unwrap()
    .unwrap();
    assert!(json["cmdline:"].as_str().unwrap().ends_with("a \"word\"\\"));
    // The first thread ends the run before the second has started.
    assert_eq!(json["thread"]["1"]["cycles"], 0);
    assert_eq!(json["thread"]["1"]["avg"], 0.0);
    assert_eq!(json["thread"]["0"]["cycles"], 1);
}

/// OSADL's mklatencyplot: the largest latency, and columns split at tabs and blanks.
#[test]
fn osadls_pipeline_finds_columns_and_maximum() {
    let text = stdout_of(&["-l20", "-m", "-t2", "-i200", "-h1000000", "-q"]);
    let shell = r#"f=$(mktemp); cat > "$f"
        grep "Max Latencies" "$f" | tr " " "\n" | sort -n | tail -1 | sed s/^0*//
        grep -v -e "^#" -e "^$" "$f" | tr " " "\t" | cut -f1,3 | head -1
        rm "$f""#;
    let mut child =
        Command::new("sh").args(["-c", shell]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let mut lines = output.lines();
    assert!(lines.next().unwrap().parse::<u64>().unwrap() > 0);
    let row = Regex::new(r"^\d{6}\t\d{6}$").unwrap();
    assert!(row.is_match(lines.next().unwrap()), "{output}");
}

#[test]
fn mmtests_finds_average_and_maximum() {
    let text = stdout_of(&["--mlockall", "--threads", "2", "-l", "20", "--quiet"]);
    let rule = Regex::new(r"(?m)^T: ([0-9+]) .*Avg:\s+([0-9]+).*Max:\s+([0-9]+)").unwrap();
    assert_eq!(rule.captures_iter(&text).count(), 2, "{text}");
}

#[test]
fn python_readers_find_every_field() {
    let text = stdout_of(&["-q", "-l", "20", "-t2"]);
    let rule = r"T:\s*(\d+)\s*\(\s*(\d+)\s*\)\s*P:\s*(\d+)\s*I:\s*(\d+)\s*C:\s*(\d+)\s*Min:\s*(\d+)\s*Act:\s*(\d+)\s*Avg:\s*(\d+)\s*Max:\s*(\d+)";
    let rule = Regex::new(rule).unwrap();
    let threads: Vec<String> = rule.captures_iter(&text).map(|found| found[1].to_owned()).collect();
    assert_eq!(threads, ["0", "1"]);
}

/// crucible: the last column of the maxima is that of the whole system.
#[test]
fn crucible_finds_the_systems_maximum_last() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("histogram.txt");
    let histfile = file.to_str().unwrap();
    stdout_of(&[
        "--policy",
        "other",
        "--interval",
        "1000",
        "--histofall",
        "100",
        "--histfile",
        histfile,
        "--loops",
        "20",
        "--quiet",
        "--affinity",
        "0",
        "--threads",
        "2",
        "--mlockall",
        "--mainaffinity",
        "0",
    ]);
    let text = std::fs::read_to_string(file).unwrap();
    let maxima = Regex::new(r"(?m)^# Max Latencies:\s+(.*)$").unwrap().captures(&text).unwrap()[1].to_owned();
    let maxima: Vec<u64> = maxima.split_whitespace().map(|number| number.parse().unwrap()).collect();
    assert_eq!(maxima.len(), 3);
    assert_eq!(maxima[2], maxima[0].max(maxima[1]));
}

/// OpenShift's runner starts it with an empty environment.
#[test]
fn openshift_finds_the_maxima() {
    let arguments =
        ["--duration", "1s", "--loops", "20", "--threads", "2", "--affinity", "0", "--histogram", "30"];
    let output = howlate(&arguments)
        .args(["--interval", "1000", "--mlockall", "--mainaffinity", "0", "--quiet"])
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let found =
        Regex::new(r"# Max Latencies:\t*\s*(.*)\s*\t*").unwrap().captures(&text).unwrap()[1].to_owned();
    assert_eq!(found.split_whitespace().filter(|number| number.parse::<u64>().is_ok()).count(), 2);
}

/// rteval: `-h 3500` as one argument, an empty argument, no standard input; rows, maxima, break value.
#[test]
fn rteval_reads_the_histogram() {
    let arguments = ["", "-i100", "-qmu", "-h 3500", "-t2", "-a0", "-b1", "-l50"];
    let output = howlate(&arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for row in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        assert_eq!(row.split_whitespace().filter(|number| number.parse::<u64>().is_ok()).count(), 3);
    }
    let behind = |label: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(label)).unwrap();
        line.split_whitespace().map(|number| number.parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(behind("# Max Latencies: ").len(), 2);
    assert!(behind("# Break value: ")[0] > 1);
}

/// SEAPATH counts tabs in line 7 and rows up to the totals: it needs the text of 2.4 and 2.6, the default.
#[test]
fn seapath_finds_cores_and_rows() {
    let text = stdout_of(&["-l20", "-m", "-t2", "-i200", "-h100", "-q"]);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("# /dev")).collect();
    assert_eq!(lines[6].matches('\t').count() + 1, 2);
    let rows = lines.iter().position(|line| line.starts_with("# Total")).unwrap() - 1;
    assert_eq!(rows, 100);
    let new = stdout_of(&["-l20", "-m", "-t2", "-i200", "-h100", "-q", "--compat=2.10"]);
    assert!(!new.contains("# Total") && !new.contains("000000 000000\t000000"));
}
