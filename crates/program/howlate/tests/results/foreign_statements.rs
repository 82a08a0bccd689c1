//! Files of other programs as users have them: cut, concatenated, wrapped, compressed, or of similar programs. Statements in a file are
//! checked against its rows; tests assert values, not texts.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use crate::common::{howlate, stderr, stdout};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with one file.
struct ForeignFile {
    folder: TempDir,
    path: PathBuf,
}

fn file(name: &str, content: impl AsRef<[u8]>) -> ForeignFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    ForeignFile { folder, path }
}

impl ForeignFile {
    fn run(&self, before: &[&str], after: &[&str]) -> Output {
        let path = self.path.to_str().unwrap();
        howlate(&[before, &[path], after].concat()).output().unwrap()
    }

    #[track_caller]
    fn json(&self, more: &[&str]) -> Value {
        let output = self.run(&["show", "--format", "json"], more);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Error message and hint.
    #[track_caller]
    fn error(&self) -> String {
        let output = self.run(&["show"], &[]);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Name, count and these numbers of each row.
fn numbers(result: &Value, names: &[&str]) -> Vec<(String, u64, Vec<i64>)> {
    let row = |item: &Value| {
        let name = item["condition"]["name"].as_str().unwrap_or_default().to_owned();
        let number = |name: &&str| item["latency_ns"][*name].as_i64().unwrap();
        (name, item["count"].as_u64().unwrap(), names.iter().map(number).collect())
    };
    result["results"].as_array().unwrap().iter().map(row).collect()
}

fn notes(result: &Value) -> Vec<Value> {
    let caveats = result["caveats"].as_array().unwrap();
    let notes = caveats.iter().filter_map(|item| item["notes"].as_array());
    notes.flatten().cloned().collect()
}

/// Rows of cyclictest's histogram, with one thread per list of counts.
fn rows(first: u64, threads: &[&[u64]]) -> String {
    let row = |place: usize| {
        let counts: Vec<String> = threads.iter().map(|counts| format!("{:06}", counts[place])).collect();
        format!("{:06} {}\n", first + place as u64, counts.join("\t"))
    };
    (0..threads[0].len()).map(row).collect()
}

/// A whole histogram of cyclictest; `below` are the lines of total, minima, averages, maxima and overflows.
fn histogram(rows: &str, below: [&str; 5]) -> String {
    let labels = ["Total", "Min Latencies", "Avg Latencies", "Max Latencies", "Histogram Overflows"];
    let below: String =
        labels.iter().zip(below).map(|(label, numbers)| format!("# {label}: {numbers}\n")).collect();
    format!("# /dev/cpu_dma_latency set to 0us\n# Histogram\n{rows}{below}")
}

fn two_threads() -> String {
    let rows = rows(0, &[&[0, 0, 800, 150, 50], &[0, 0, 600, 300, 100]]);
    histogram(&rows, ["001000 001000", "00002 00002", "00002 00002", "00004 00004", "00000 00000"])
}

#[test]
fn the_maximum_of_a_file_is_its_own_where_rows_were_cut_out() {
    let cut = rows(0, &[&[0, 0, 800, 150], &[0, 0, 600, 300]]);
    let cut = file(
        "cut.txt",
        histogram(&cut, ["001000 001000", "00002 00002", "00002 00002", "00072 00068", "00000 00000"]),
    );
    let result = cut.json(&[]);
    assert_eq!(
        numbers(&result, &["p50", "max", "clipped_at"]),
        [
            (String::new(), 1_000, vec![2_000, 72_000, 4_000]),
            (String::new(), 1_000, vec![2_000, 68_000, 4_000])
        ]
    );
    let notes = notes(&result);
    let says = |note: &str, claim: Option<&str>| {
        notes.iter().any(|item| item["note"] == note && claim.is_none_or(|claim| item["claim"] == claim))
    };
    assert!(says("disagrees", Some("total")) && says("disagrees", Some("maximum")), "{notes:?}");
    assert!(says("rows_missing", None), "{notes:?}");
    // The 95 % with rows are known, the others are not.
    let judged = |limit: &str| cut.run(&["show"], &["--fail-above", limit]).status.code();
    assert_eq!(["p90>5us", "p99>2us", "p99>50us"].map(judged), [Some(0), Some(1), Some(3)]);
}

#[test]
fn two_results_in_a_file_are_two() {
    let loaded = rows(5, &[&[700, 200, 100], &[500, 400, 100]]);
    let loaded =
        histogram(&loaded, ["001000 001000", "00005 00005", "00005 00005", "00007 00007", "00000 00000"]);
    let both = file("both.txt", format!("=== idle ===\n{}\n=== loaded ===\n{loaded}\n", two_threads()));
    let found = numbers(&both.json(&[]), &["max"]);
    let of = |result: &str, max: i64| (result.to_owned(), 1_000, vec![max]);
    let expected =
        [of("result 1", 4_000), of("result 1", 4_000), of("result 2", 7_000), of("result 2", 7_000)];
    assert_eq!(found, expected);
}

#[test]
fn a_column_of_sums_is_no_thread() {
    let sums = rows(0, &[&[0, 0, 800, 150, 50], &[0, 0, 600, 300, 100], &[0, 0, 1_400, 450, 150]]);
    let sums = histogram(
        &sums,
        ["001000 001000 002000", "00002 00002", "00002 00002", "00004 00004 00004", "00000 00000 00000"],
    );
    assert_eq!(numbers(&file("sums.txt", &sums).json(&[]), &["max"]).len(), 2);
    let named = format!("{sums}# Thread 0:\n# Thread 1:\n");
    assert_eq!(numbers(&file("named.txt", named).json(&[]), &["max"]).len(), 2);
    // Cut within its last lines, where no thread is missing.
    let cut = format!("{}# Histogram Overflow at cycle number:\n# Thread 0:\n", two_threads());
    assert_eq!(numbers(&file("cut.txt", cut).json(&[]), &["max"]).len(), 2);
}

#[test]
fn what_ends_in_the_middle_keeps_no_limit_but_may_exceed_one() {
    for (name, text) in [
        ("cut-off.txt", format!("# Histogram\n{}", rows(0, &[&[0, 800, 150, 50]]))),
        ("stripped.txt", rows(0, &[&[0, 800, 150, 50]])),
    ] {
        let cut = file(name, text);
        let result = cut.json(&[]);
        assert_eq!(numbers(&result, &["p50"]), [(String::new(), 1_000, vec![1_000])], "{name}");
        assert!(notes(&result).iter().any(|note| note["note"] == "cut_off"), "{name}");
        let judged = |limit: &str| cut.run(&["show"], &["--fail-above", limit]).status.code();
        assert_eq!(["p50>1ms", "p50>0us"].map(judged), [Some(3), Some(1)], "{name}");
    }
}

#[test]
fn a_limit_is_held_against_the_numbers_of_a_file() {
    let rows = rows(9, &[&[985, 0, 0, 0, 0, 14, 0, 0, 0, 0, 0, 1]]);
    let whole = file("whole.txt", histogram(&rows, ["001000", "00009", "00009", "00020", "00000"]));
    assert_eq!(numbers(&whole.json(&[]), &["p99"]), [(String::new(), 1_000, vec![14_000])]);
    let judged = |limit: &str| whole.run(&["show"], &["--fail-above", limit]).status.code();
    assert_eq!(
        ["p99>14us", "p99>13us", "max>20us", "max>19us"].map(judged),
        [Some(0), Some(1), Some(0), Some(1)]
    );
}

#[test]
fn buckets_are_as_wide_as_the_file_has_them() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/foreign");
    let show = |fields: &[&str]| howlate(&[&["show"], fields].concat()).current_dir(folder).output().unwrap();
    let json =
        |file: &str| -> Value { serde_json::from_slice(&show(&["--format", "json", file]).stdout).unwrap() };
    let buckets = json("rtla-buckets.txt");
    let (irq, thread) = (&buckets["results"][0]["latency_ns"], &buckets["results"][1]["latency_ns"]);
    assert_eq!((&irq["min"], &irq["p99"], &irq["max"]), (&2_000.into(), &20_000.into(), &71_000.into()));
    assert_eq!((&thread["clipped_at"], &thread["p99.9"]), (&80_000.into(), &80_000.into()), "not 256 µs");
    assert!(notes(&buckets).contains(&serde_json::json!({"note": "starts_of_buckets", "width_ns": 20_000})));
    // The 99th percentile is between 40 and 60 µs.
    let judged = |limit: &str| show(&["rtla-buckets.txt", "--fail-above", limit]).status.code();
    assert_eq!(["p90>50us", "p90>60us", "p90>30us"].map(judged), [Some(3), Some(0), Some(1)]);
    for file in ["oslat-width.txt", "oslat-width.json"] {
        let found = numbers(&json(file), &["min", "p50", "max"]);
        let expected = [(700_163, vec![27, 250, 412_350]), (650_116, vec![31, 250, 77_125])];
        let expected = expected.map(|(count, numbers)| (String::new(), count, numbers));
        assert_eq!(found, expected, "{file}");
    }
}

#[test]
fn the_unit_of_a_log_is_in_it_or_typed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/foreign");
    let show = |fields: &[&str]| {
        let output =
            howlate(&[&["show", "--format", "json"], fields].concat()).current_dir(folder).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    let logged = show(&["requests.hlog"]);
    let found = numbers(&logged, &["p50"]);
    assert_eq!(found.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["read", "write"]);
    assert!(found.iter().all(|row| row.1 == 1_600 && (100_000..1_000_000).contains(&row.2[0])), "{found:?}");
    assert!(!notes(&logged).iter().any(|note| note["note"] == "unit_taken"), "it is known");
    let millis = numbers(&show(&["latency.hgrm"]), &["p50"]);
    let micros = numbers(&show(&["latency.hgrm", "--unit", "us"]), &["p50"]);
    assert_eq!((millis[0].2[0], micros[0].2[0]), (460_000, 460));
    let output =
        howlate(&["show", "rtla-timerlat.txt", "--unit", "us"]).current_dir(folder).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "it says its unit itself");
    let columns = |unit: &str| numbers(&show(&["cyclictest-2.4.txt", "--unit", unit]), &["max"])[0].2[0];
    assert_eq!((columns("us"), columns("ns")), (85_000, 85));
}

#[test]
fn packed_piped_and_wrapped_files_are_read() {
    let text = two_threads();
    let expected = numbers(&file("plain.txt", &text).json(&[]), &["p50", "p99", "max"]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    assert_eq!(numbers(&file("good.txt.gz", &gzip).json(&[]), &["p50", "p99", "max"]), expected);
    let cut = file("cut.txt.gz", &gzip[..gzip.len() - 12]).error();
    assert!(cut.contains("cut.txt.gz"), "{cut}");
    let zstd = file("good.txt.zst", b"\x28\xb5\x2f\xfd\x04\x00").error();
    assert!(
        zstd.contains("zstd") && zstd.contains("zstdcat") && zstd.contains("| howlate show -`"),
        "{zstd}"
    );
    let compose: String = text.lines().map(|line| format!("cyclictest-1  | {line}\n")).collect();
    assert_eq!(numbers(&file("compose.txt", compose).json(&[]), &["p50", "p99", "max"]), expected);
    let mut child =
        howlate(&["show", "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let piped: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(numbers(&piped, &["p50", "p99", "max"]), expected);
}

#[test]
fn a_pattern_and_a_folder_of_others_files_are_one_result() {
    let first = file("run1.txt", two_threads());
    let folder = first.folder.path();
    std::fs::write(folder.join("run2.txt"), two_threads()).unwrap();
    std::fs::write(folder.join("notes"), "what I did that day\n").unwrap();
    for path in ["run*.txt", "."] {
        let output = howlate(&["show", "--json", path]).current_dir(folder).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{path}: {}", stderr(&output));
        let names: Vec<String> = numbers(&serde_json::from_slice(&output.stdout).unwrap(), &["max"])
            .into_iter()
            .map(|row| row.0)
            .collect();
        assert_eq!(names, ["run1.txt", "run1.txt", "run2.txt", "run2.txt"], "{path}");
    }
}

/// Text and JSON of one run contain different details, and are compared by those in both.
#[test]
fn a_text_and_the_json_of_a_run_are_compared() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/foreign");
    for (text, json) in
        [("cyclictest-2.4.txt", "cyclictest-2.4.json"), ("oslat-width.txt", "oslat-width.json")]
    {
        let output =
            howlate(&["compare", text, json, "--format", "json"]).current_dir(folder).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        let compared: Value = serde_json::from_slice(&output.stdout).unwrap();
        let statistics = compared["compared"][0]["statistics"].as_array().unwrap();
        assert!(
            !statistics.is_empty() && statistics.iter().all(|item| item["base"] == item["new"]),
            "{statistics:?}"
        );
    }
}

/// Such files have no id: two are the same only where one is named twice.
#[test]
fn two_files_without_a_date_are_two_results() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/foreign");
    for (other, is_same) in [("cyclictest-2.6.txt", false), ("cyclictest-2.4.txt", true)] {
        let output = howlate(&["compare", "cyclictest-2.4.txt", other]).current_dir(folder).output().unwrap();
        let text = stdout(&output).replace('\n', " ");
        assert_eq!(text.contains("are the same recording"), is_same, "{text}");
    }
}

#[test]
fn what_is_piped_in_is_called_standard_input() {
    for (text, expected) in [
        ("", "standard input is empty"),
        ("root:x:0:0\n", "standard input is not a howlate recording: no program whose files howlate reads"),
    ] {
        let mut command = howlate(&["show", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

/// howlate reads what it writes as oslat; times are integers of ns, since scripts compare them.
#[test]
fn own_files_of_oslat_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let fields = ["oslat", "-c", "0", "-D", "1", "-q", "--bucket-width", "500", "--json=o.json"];
    let output = howlate(&fields).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let written: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("o.json")).unwrap()).unwrap();
    let thread = &written["thread"]["0"];
    let (min, max) = (thread["min"].as_i64().unwrap(), thread["max"].as_i64().unwrap());
    let output = howlate(&["show", "--json", "o.json"]).current_dir(folder.path()).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(numbers(&shown, &["min", "max"])[0].2, [min, max], "{}", stderr(&output));
}

#[test]
fn neighbours_are_known_by_name_and_never_called_no_json() {
    let json = |program: &str| {
        format!(
            "{{\n  \"file_version\": 1,\n  \"cmdline:\": \"{program} -q\",\n  \"thread\": {{\"0\": {{\"cycles\": 5, \"min\": 1, \"max\": 8, \"avg\": 4.2}}}}\n}}\n"
        )
    };
    for (text, program, command) in [
        ("T: 0 (  809) P:80 I:1000 C:  61200 Min:      3 Act:    5 Avg:    5 Max:      88\n".to_owned(), "cyclictest", "cyclictest -h"),
        ("> T: 0 (  809) P:80 I:1000 C:  61200 Min:      3 Act:    5 Avg:    5 Max:      88\n".to_owned(), "cyclictest", "cyclictest -h"),
        ("hwlatdetect:  test duration 60 seconds\n   detector: tracer\nMax Latency: 31us\n".to_owned(), "hwlatdetect", "howlate gaps"),
        ("                    Timer Latency\n  0 00:00:07   |          IRQ Timer Latency (us)        |\n".to_owned(), "rtla timerlat top", "rtla timerlat hist"),
        ("          Operating System Noise\nduration:   0 00:00:20 | time is in us\n".to_owned(), "rtla osnoise top", "rtla osnoise hist"),
        ("  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    |\n".to_owned(), "perf sched latency", "runqlat"),
        ("           time    cpu  task name                       wait time  sch delay   run time\n".to_owned(), "perf sched timehist", "runqlat"),
        ("T_experiment,T_loop,received,sent,lost,latency_min (ms),latency_max (ms),latency_mean (ms)\n".to_owned(), "performance_test", "howlate watch"),
        ("[12:00:00.1] (+0.1) rt7 ros2:callback_start: { cpu_id = 1 }, { callback = 0x1 }\n".to_owned(), "ros2_tracing", "howlate watch"),
        ("latency-histogram --nox\n".to_owned(), "latency-histogram", "howlate cyclic"),
        ("Benchmark 1: sleep 0.1\n  Time (mean ± σ):     101.2 ms ±   0.4 ms\n".to_owned(), "hyperfine", "--export-json"),
        (json("cyclicdeadline"), "cyclicdeadline", "howlate cyclic --policy deadline"),
        (json("/usr/bin/ptsematest"), "rt-tests", "howlate notify"),
        ("# Histogram\n# Total: 000000360\n# Min Latencies: 00004\n# Max Latencies: 00039\n".to_owned(), "cyclictest", "--json=FILE"),
        ("Running 30s test @ http://h/\n    Latency   635.91us    0.89ms  12.92ms   93.69%\n  9 requests in 30.00s, 1MB read\n".to_owned(), "wrk", "wrk --latency"),
        ("{\n  \"a\": {\"b\": 1}\n}\n".to_owned(), "it is JSON, but of no program", "hyperfine"),
        ("a,b\n1,2\n".to_owned(), "no program whose files howlate reads", "hyperfine"),
    ] {
        let says = file("result", &text).error();
        assert!(says.contains(program) && says.contains(command), "{text}: {says}");
        assert!(!says.contains("is not JSON"), "{text}: {says}");
    }
}

#[test]
fn rows_are_named_after_what_the_file_is_about() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/foreign");
    let names = |file: &str| {
        let output = howlate(&["show", file]).current_dir(folder).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{file}: {}", stderr(&output));
        stdout(&output)
    };
    for (file, has) in [
        ("schbench.txt", ["schbench_request", "requests"]),
        ("hyperfine.json", ["sleep 0.01", "sleep 0.02"]),
        ("requests.hlog", ["read", "write"]),
        ("wrk.txt", ["http://127.0.0.1:8080/", "wrk"]),
        ("runqlat.txt", ["runqlat", "Results of another program"]),
        ("bpftrace.txt", ["bash", "rustc"]),
    ] {
        let text = names(file);
        assert!(has.iter().all(|word| text.contains(word)), "{file}: {text}");
        assert!(
            !text.contains("wake-up latency of") && (file == "runqlat.txt" || !text.contains("thread 0")),
            "{text}"
        );
    }
}
