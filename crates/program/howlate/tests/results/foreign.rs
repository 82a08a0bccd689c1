//! Results of other programs: shown, compared and reported under their own names.
//!
//! The files in `testdata/foreign` were written by these programs on a virtual machine; those of rtla and of OSADL's scripts, which need
//! a tracer or a test farm, were written by hand after their sources.

use std::io::Write as _;
use std::process::Output;

use crate::common::{howlate, stderr, stdout};
use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/foreign");
    howlate(arguments).current_dir(folder).output().unwrap()
}

#[track_caller]
fn show_json(file: &str) -> Value {
    let output = run(&["show", "--json", file]);
    assert_eq!(output.status.code(), Some(0), "{file}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Name, count and largest value of each distribution.
fn counts(file: &str) -> Vec<(String, u64, i64)> {
    let results = show_json(file)["results"].as_array().unwrap().clone();
    let of = |value: &Value| {
        let mechanism = value["condition"]["mechanism"].as_str().unwrap().to_owned();
        (mechanism, value["count"].as_u64().unwrap(), value["latency_ns"]["max"].as_i64().unwrap())
    };
    results.iter().map(of).collect()
}

#[track_caller]
fn check(file: &str, expected: &[(&str, u64, i64)]) {
    let found = counts(file);
    let found: Vec<(&str, u64, i64)> = found.iter().map(|(name, n, max)| (name.as_str(), *n, *max)).collect();
    assert_eq!(found, expected, "{file}");
}

#[test]
fn every_format_gives_the_counts_and_maxima_that_stand_in_it() {
    check("cyclictest-2.4.json", &[("cyclictest", 300, 85_000), ("cyclictest", 300, 23_000)]);
    check("cyclictest-2.6.json", &[("cyclictest", 300, 131_000), ("cyclictest", 300, 65_000)]);
    check("cyclictest-2.10.json", &[("cyclictest", 289, 43_000), ("cyclictest", 300, 156_000)]);
    check("cyclictest-2.4.txt", &[("cyclictest", 300, 85_000), ("cyclictest", 300, 23_000)]);
    check("cyclictest-2.6.txt", &[("cyclictest", 300, 131_000), ("cyclictest", 300, 65_000)]);
    check("cyclictest-2.10.txt", &[("cyclictest", 289, 43_000), ("cyclictest", 300, 156_000)]);
    check("rt-dataset.json", &[("cyclictest", 300, 131_000), ("cyclictest", 300, 65_000)]);
    check(
        "rtla-timerlat.txt",
        &[
            ("timerlat_irq", 2_000, 12_000),
            ("timerlat_thread", 2_000, 310_000),
            ("timerlat_irq", 2_000, 12_000),
            ("timerlat_thread", 2_000, 12_000),
        ],
    );
    check("rtla-osnoise.txt", &[("osnoise", 153, 17_000), ("osnoise", 163, 17_000)]);
    for (file, name, distributions) in [
        ("jitterdebugger.json", "jitterdebugger", 2),
        ("oslat.json", "oslat", 2),
        ("oslat.txt", "oslat", 2),
        ("cyclictest-verbose.txt", "cyclictest", 2),
        ("stress-ng.txt", "stress_ng", 1),
    ] {
        let found = counts(file);
        assert!(
            found.len() == distributions
                && found.iter().all(|distribution| distribution.0 == name && distribution.1 > 0),
            "{found:?}"
        );
    }
    assert_eq!(counts("hiccups.hlog").iter().map(|count| count.1).collect::<Vec<_>>(), [300]);
    assert_eq!(
        counts("latency.hgrm").iter().map(|count| (count.1, count.2)).collect::<Vec<_>>(),
        [(1_000, 17_236_000)]
    );
}

#[test]
fn what_a_file_says_is_taken_from_it_and_the_rest_is_listed() {
    let imported = show_json("cyclictest-2.4.json");
    let condition = &imported["results"][0]["condition"];
    assert_eq!((&condition["policy"], &condition["priority"]), (&"fifo".into(), &80.into()));
    assert_eq!((&condition["period_ns"], &condition["cpu"]), (&500_000.into(), &0.into()));
    let unsaid = |result: &Value| -> Vec<String> {
        let caveats = result["caveats"].as_array().unwrap();
        let caveat = caveats.iter().find(|caveat| caveat["caveat"] == "imported").unwrap();
        caveat["unsaid"]
            .as_array()
            .unwrap()
            .iter()
            .map(|detail| detail.as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(unsaid(&imported), ["the load"]);
    let text = show_json("cyclictest-2.4.txt");
    assert_eq!(unsaid(&text), ["the policy", "the period", "the load", "the CPU", "the kernel", "the date"]);
    let notes = &show_json("rtla-timerlat.txt")["caveats"][0]["notes"];
    assert_eq!(
        *notes,
        serde_json::json!([
            {"note": "whole_microseconds"},
            {"note": "beyond_the_last_bucket", "count": 5, "from_ns": 256_000, "end": "assumed"}
        ])
    );
    let table = stdout(&run(&["show", "cyclictest-2.4.txt"]));
    assert!(table.starts_with("cyclictest") && table.contains("It does not say the policy"), "{table}");
}

/// Each number of the first distribution as the page, the table and other formats show it.
#[track_caller]
fn check_clipped(file: &str, number: usize, from: i64, bounds: &[&str], exact: &[&str]) {
    let latency = &show_json(file)["results"][number]["latency_ns"];
    assert_eq!(latency["clipped_at"], from, "{file}: {latency}");
    for name in bounds {
        assert_eq!(latency[*name], from, "{file}: {name} of {latency}");
    }
    for name in exact {
        assert!(latency[*name] != from, "{file}: {name} of {latency}");
    }
}

/// Percentiles above a histogram are at least its upper end, wherever its last row is.
#[test]
fn what_is_beyond_a_histogram_is_a_lower_bound_at_its_true_end() {
    // A real file: 177 of 300 are above `-h 30`; the file has their maximum and mean.
    check_clipped("cyclictest-clipped.json", 0, 30_000, &["p50", "p95", "p99"], &["max", "min"]);
    let latency = show_json("cyclictest-clipped.json")["results"][0]["latency_ns"].clone();
    assert_eq!((&latency["mean"], &latency["max"]), (&35_300.0.into(), &365_000.into()), "{latency}");
    // rtla has 256 buckets of 1 µs; the last row of these 2000 is 12, and 5 are above.
    check_clipped("rtla-timerlat.txt", 1, 256_000, &["p99.9"], &["p50", "p99", "max"]);
    // A histogram with all rows shows its upper end.
    check_clipped("oslat.txt", 0, 32_000, &[], &["p50", "max"]);
    check_clipped("oslat.json", 0, 32_000, &[], &["p50", "max"]);
}

/// Files of programs that omit empty rows: the last row is far below the upper end.
#[test]
fn the_end_of_a_histogram_is_taken_from_the_command_line_or_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    };
    let cyclictest = |command: &str| {
        format!(
            "{{\"file_version\": 1, \"cmdline:\": \"{command}\", \"resolution_in_ns\": 0, \"thread\": {{\"0\": {{
               \"histogram\": {{\"20\": 990}}, \"cycles\": 1000, \"min\": 20, \"max\": 9000, \"avg\": 60.5, \"cpu\": 0}}}}}}"
        )
    };
    let json_file = file("said.json", cyclictest("cyclictest -q -h 400 --json=said.json"));
    check_clipped(&json_file, 0, 400_000, &["p99.9"], &["p50", "p99", "max"]);
    let unknown = file("unknown.json", cyclictest(""));
    check_clipped(&unknown, 0, 21_000, &["p99.9"], &["p50", "max"]);
    let says = stdout(&run(&["show", &unknown]));
    let prose = says.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(says.contains("≥ 21.0") && prose.contains("may have reached further"), "{says}");
    let jitterdebugger = file(
        "jitterdebugger.json",
        "{\"version\": 3, \"sysinfo\": {\"resolution_in_ns\": 1000}, \"cpu\": {\"0\": {\"histogram\": {\"9\": 900, \"925\": 90},
          \"count\": 1000, \"min\": 9, \"max\": 4000, \"avg\": 70.0}}}"
            .to_owned(),
    );
    check_clipped(&jitterdebugger, 0, 1_000_000, &["p99.9"], &["p50", "p95", "max"]);
}

#[test]
fn a_lower_bound_is_never_shown_as_a_number() {
    let table = stdout(&run(&["show", "cyclictest-clipped.json"]));
    let prose = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        table.contains("≥ 30.0") && prose.contains("beyond 30 µs, where the file only counts"),
        "{table}"
    );
    let csv = stdout(&run(&["show", "cyclictest-clipped.json", "--format", "csv"]));
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows[0].ends_with(",clipped_at_ns,clock") && rows[1].ends_with(",30000,"), "{csv}");
    for (format, has) in
        [("influx", "clipped_at_ns=30000i"), ("junit", "p99 ≥ 30.0 µs"), ("benchmark", "p99 ≥ 30.0 µs")]
    {
        let text = stdout(&run(&["show", "cyclictest-clipped.json", "--format", format]));
        assert!(text.contains(has), "{format}: {text}");
    }
    // Lower bounds are left out or marked in other formats.
    for (format, has, lacks) in [
        ("benchmark", "· max", "\"value\": 30.0,"),
        ("bmf", "max-latency", "p99-latency"),
        ("lava", "-p99-limit --result fail\n", "30.000"),
        ("lava", "-p99 --result skip\n", "planned"),
        ("tap", "  value_ns: 30000\n  value_at_least: true\n", "≥ 30.0 µs 30"),
        ("kcidb", "\"clipped_at\": 30000", "\"number\""),
        ("hlog", ": from 30000 on only counted]\n", "planned"),
        ("hgrm", "#[Only counted = from 30.000 on]\n", "planned"),
    ] {
        let arguments = ["show", "cyclictest-clipped.json", "--format", format, "--fail-above", "p99>10us"];
        let text = stdout(&run(&arguments));
        assert!(text.contains(has) && !text.contains(lacks), "{format}: {text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (page, metrics) = (path("page.html"), path("howlate.prom"));
    run(&["report", "cyclictest-clipped.json", "-o", &page, "--prometheus", &metrics]);
    let (page, metrics) = (std::fs::read_to_string(page).unwrap(), std::fs::read_to_string(metrics).unwrap());
    assert!(page.contains("≥ 30.0"), "the page has the table");
    let markdown = stdout(&run(&["report", "cyclictest-clipped.json", "--format", "md"]));
    for text in [&page, &markdown] {
        assert!(
            !text.contains("To repeat") && !text.contains("#repeat"),
            "howlate did not measure it: {text}"
        );
    }
    let quantiles =
        metrics.lines().filter(|line| line.starts_with("howlate_wakeup_latency_quantile_seconds{"));
    let quantiles: Vec<&str> = quantiles.collect();
    assert!(
        quantiles.len() == 1 && quantiles[0].ends_with(" 0.000027"),
        "a bound is no quantile: {quantiles:?}"
    );
    let compared = run(&["compare", "cyclictest-2.4.json", "cyclictest-clipped.json", "--format", "json"]);
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let p50 = &compared["compared"][0]["statistics"][0];
    assert_eq!((&p50["new_at_least"], &p50["base_at_least"]), (&true.into(), &Value::Null), "{p50}");
    let text = stdout(&run(&["compare", "cyclictest-2.4.json", "cyclictest-clipped.json", "--details"]));
    assert!(text.contains("≥ 30.0") && text.contains("≥ +"), "{text}");
    let text = stdout(&run(&["compare", "cyclictest-clipped.json", "cyclictest-2.4.json", "--details"]));
    assert!(text.contains("≥ 30.0") && text.contains("≤ −"), "{text}");
}

/// A limit above the histogram cannot be judged, unless the maximum is below it.
#[test]
fn a_limit_beyond_a_histogram_cannot_be_judged() {
    let judged = |limit: &str| {
        let output = run(&["show", "cyclictest-clipped.json", "--fail-above", limit]);
        (output.status.code(), stderr(&output))
    };
    assert_eq!(judged("p99>20us").0, Some(1));
    assert_eq!(judged("p99>1ms").0, Some(0));
    let (status, says) = judged("p99>100us");
    assert!(
        status == Some(3) && says.contains("does not resolve latencies above 30.0 µs"),
        "{status:?} {says}"
    );
}

#[test]
fn two_distributions_are_compared_without_certainty() {
    for (base, new) in
        [("cyclictest-2.4.json", "cyclictest-2.6.json"), ("cyclictest-2.4.txt", "cyclictest-2.10.txt")]
    {
        let output = run(&["compare", base, new, "--details"]);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stdout(&output).contains("two distributions, not tested"), "{}", stdout(&output));
        let output = run(&["compare", base, new, "--format", "json"]);
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let statistics = result["compared"][0]["statistics"].as_array().unwrap();
        assert!(!statistics.is_empty());
        assert!(
            statistics.iter().all(|statistic| statistic["reason"] == "two_distributions"),
            "{statistics:?}"
        );
    }
}

#[test]
fn what_no_file_says_keeps_no_limit() {
    let judged = |limit: &str| {
        let output = run(&["show", "cyclictest-2.4.json", "--fail-above", limit]);
        (output.status.code(), stderr(&output))
    };
    assert_eq!(judged("max>50us").0, Some(1));
    assert_eq!(judged("max>1ms").0, Some(0));
    let (status, says) = judged("missed>0");
    assert!(status == Some(3) && says.contains("does not say how many periods were missed"), "{says}");
    let csv = stdout(&run(&["show", "cyclictest-2.4.txt", "--format", "csv"]));
    assert!(csv.contains("cyclictest,,,,,0,,,,,,,,300,,false"), "{csv}");
}

#[test]
fn what_is_no_file_of_any_of_them_is_told_which_there_are() {
    let page = include_str!("../../../../../docs/imports.md");
    let says = stderr(&run(&["show", "../cyclictest/2.10/N.txt"]));
    for program in ["cyclictest", "jitterdebugger", "rtla", "oslat", "stress-ng", "OSADL", "HdrHistogram"] {
        assert!(says.contains(program) && page.contains(program), "{program}: {says}");
    }
}

/// A result without sleeps has no list of them, instead of an empty one.
#[test]
fn a_list_of_sleeps_of_what_slept_not_is_refused() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    let list =
        |file: &str| howlate(&["show", file, "--format", "intervals"]).current_dir(folder).output().unwrap();
    let none = list("cyclic.jsonl");
    assert_eq!(none.status.code(), Some(2), "{}", stdout(&none));
    assert!(
        stderr(&none).contains("no sleep or message was measured") && stderr(&none).contains("--samples-out")
    );
    assert!(stdout(&list("sleep.jsonl")).lines().count() > 2);
}

/// A pipe is read once.
#[test]
fn a_pipe_is_read_like_a_file() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata");
    for (file, says) in [
        ("foreign/cyclictest-2.4.json", "cyclictest 2.40"),
        ("foreign/hiccups.hlog", "HdrHistogram log"),
        ("recordings/v1/cyclic.jsonl", "howlate cyclic"),
        ("foreign/stress-ng.txt", "stress-ng"),
    ] {
        let text = std::fs::read(format!("{folder}/{file}")).unwrap();
        let mut child = howlate(&["show", "/dev/stdin"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&text).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(stdout(&output).contains(says), "{file}: {}", stdout(&output));
    }
}

#[test]
fn a_page_and_every_export_take_them() {
    let files = ["cyclictest-2.4.json", "rtla-timerlat.txt", "hiccups.hlog"];
    let page = run(&[&["report", "--output", "-"], files.as_slice()].concat());
    assert_eq!(page.status.code(), Some(0), "{}", stderr(&page));
    for format in ["csv", "hlog", "hgrm", "junit", "tap", "lava", "kcidb", "benchmark", "influx"] {
        let output = run(&[&["show", "--format", format], files.as_slice()].concat());
        assert_eq!(output.status.code(), Some(0), "{format}: {}", stderr(&output));
    }
}

/// howlate reads its own exports in HdrHistogram's formats, to the precision of a bucket.
#[test]
fn own_logs_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1/cyclic.jsonl");
    let before = show_json(recording);
    for format in ["hlog", "hgrm"] {
        let file = folder.path().join(format);
        std::fs::write(&file, run(&["show", "--format", format, recording]).stdout).unwrap();
        let after = show_json(file.to_str().unwrap());
        let results = |value: &Value| value["results"].as_array().unwrap().clone();
        for (result, other) in results(&before).iter().zip(results(&after)) {
            assert_eq!(result["count"], other["count"], "{format}");
            let (p99, again) = (&result["latency_ns"]["p99"], &other["latency_ns"]["p99"]);
            let (p99, again) = (p99.as_f64().unwrap(), again.as_f64().unwrap());
            assert!((p99 - again).abs() <= p99 / 20.0, "{format}: {p99} became {again}");
        }
    }
}

/// A lower bound stays one in every format.
#[test]
fn what_was_only_counted_is_no_number_in_a_log_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let p99_of = |file: &str| {
        let rows = show_json(file)["results"].as_array().unwrap().clone();
        let latency = |row: &Value| row["latency_ns"].clone();
        rows.iter()
            .map(latency)
            .map(|row| (row["p99"].clone(), row["clipped_at"].clone()))
            .collect::<Vec<_>>()
    };
    let before = p99_of("cyclictest-clipped.json");
    assert_eq!(before[0], (30_000.into(), 30_000.into()));
    for format in ["hlog", "hgrm"] {
        let file = folder.path().join(format);
        let log = run(&["show", "--format", format, "cyclictest-clipped.json"]).stdout;
        std::fs::write(&file, log).unwrap();
        assert_eq!(p99_of(file.to_str().unwrap()), before, "{format}");
    }
}

/// A file without a date gives a log without a date, instead of 1970.
#[test]
fn nobody_says_when_a_log_began_of_which_it_is_not_known() {
    let log = |file: &str| stdout(&run(&["show", "--format", "hlog", file]));
    let (undated, dated) = (log("cyclictest-2.4.txt"), log("cyclictest-2.6.json"));
    assert!(undated.contains("\"StartTimestamp\"") && !undated.contains("StartTime:"), "{undated}");
    assert!(dated.contains("#[StartTime: 1"), "{dated}");
}

#[test]
fn what_cannot_be_read_is_refused_with_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str, says: &str| {
        let file = folder.path().join("file");
        std::fs::write(&file, text).unwrap();
        let output = run(&["show", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(stderr(&output).contains(says), "{text}: {}", stderr(&output));
    };
    check(
        r#"{"file_version": 1, "thread": {"0": {"cycles": 5, "min": 1, "max": 3, "avg": 2.0, "cpu": 0}}}"#,
        "`cyclictest -h 1000 --json=FILE`",
    );
    check(
        r#"{"file_version": 1, "thread": {"0": {"cycles": 1, "max": 3, "histogram": {"x": 1}}}}"#,
        "`x` is no bucket",
    );
    check("# Histogram\n000001 0000x\n# Max Latencies: 00001\n", "`000001 0000x` is no row");
    check("# RTLA timerlat histogram\n0 1\n", "no line `Index");
    check("stress-ng: info:  [7] cyclic: sched SCHED_OTHER: 100000 ns delay, 10 samples\n", "--cyclic-dist");
    check("0.0,1.0,2.0,HISTF!!!\n", "it looks like the output of HdrHistogram log");
    check("{\"a\": 1}", "is not a howlate recording");
}
