//! Every output format of one immutable recording of each kind and format version.
//! A change here changes what users' scripts parse: names are added, never renamed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{commands, is_installed, json, run, skip, stderr, stdout, values};
use serde_json::Value;

/// Shows `testdata/recordings/v1/NAME.jsonl` in its own folder, so that paths are the same everywhere.
fn show(name: &str, format: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    let file = format!("{name}.jsonl");
    let output =
        crate::common::howlate(&["show", "--format", format, &file]).current_dir(folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", crate::common::stderr(&output));
    stdout(&output)
}

fn usual_formats(name: &str) {
    for format in ["text", "json", "csv", "hlog"] {
        insta::assert_snapshot!(format!("{name}-{format}"), show(name, format));
    }
}

/// Formats that untraced periodic threads lack, one of `howlate record`, and one with a number per microsecond, which
/// `rt_datasets_are_what_their_plotter_reads` reads.
const OF_OTHERS: [&str; 5] = ["intervals", "trace", "perfetto", "folded", "osadl"];

#[test]
fn periodic_threads() {
    for format in values("show", "--format").iter().filter(|format| !OF_OTHERS.contains(&format.as_str())) {
        insta::assert_snapshot!(format!("cyclic-{format}"), show("cyclic", format));
    }
}

/// Commands that a result suggests work as they are.
#[test]
fn a_result_can_be_asked_again_as_it_says() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    for name in ["cyclic", "watch", "why", "stall"] {
        let text = show(name, "text");
        let suggestions = text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|command_line| command_line.starts_with("howlate show"));
        let suggestions: Vec<&str> = suggestions.collect();
        assert!(!suggestions.is_empty(), "{name}: {text}");
        for command_line in suggestions {
            let command_line: Vec<&str> = command_line.split_whitespace().skip(1).collect();
            let output = crate::common::howlate(&command_line).current_dir(folder).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{command_line:?}: {}", stderr(&output));
            assert_ne!(stdout(&output), text, "{command_line:?} says more");
        }
    }
}

#[test]
fn rt_datasets_are_what_their_plotter_reads() {
    let lines = show("cyclic", "osadl");
    let sets: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_show: Value = serde_json::from_str(&show("cyclic", "json")).unwrap();
    assert_eq!(sets.len(), 2, "one for each policy");
    let number = |value: &Value| value.as_u64().unwrap();
    let mut counted = 0;
    for set in &sets {
        assert_eq!(set["format"], serde_json::json!({ "name": "RT Dataset", "version": "1.0" }));
        for name in [
            "/system/hostname",
            "/processor/vendor",
            "/processor/type",
            "/processor/family",
            "/kernel/version",
            "/kernel/cmdline",
            "/condition/cyclictest",
            "/condition/load",
            "/timestamps/origin",
            "/timestamps/dataset",
        ] {
            assert!(set.pointer(name).is_some_and(Value::is_string), "{name}");
        }
        assert_eq!(set["condition"]["interval"], 1_000);
        let cores = set["latency"]["cores"].as_array().unwrap();
        let maxima = set["latency"]["maxima"].as_array().unwrap();
        assert_eq!((cores.len(), maxima.len()), (3, 2), "the classes, and two CPUs");
        let classes: Vec<u64> = cores[0].as_array().unwrap().iter().map(number).collect();
        assert!(classes.iter().copied().eq(0..classes.len() as u64));
        for (core, most) in cores[1..].iter().zip(maxima) {
            let counts: Vec<u64> = core.as_array().unwrap().iter().map(number).collect();
            assert_eq!(counts.len(), classes.len());
            assert_eq!(counts.iter().rposition(|count| *count > 0).unwrap() as u64, number(most));
            counted += counts.iter().sum::<u64>();
        }
        counted += set["latency"]["overflows"].as_array().unwrap().iter().map(number).sum::<u64>();
    }
    let all =
        of_show["results"].as_array().unwrap().iter().map(|result| number(&result["count"])).sum::<u64>();
    assert_eq!(counted, all, "every wake-up is somewhere");
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1/sleep.jsonl");
    let nothing = run(&["show", "--format", "osadl", recording]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(stderr(&nothing).contains("no periodic thread was measured"), "{}", stderr(&nothing));
}

#[test]
fn limits_are_held_against_a_saved_recording() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    let judged = |limits: &[&str], files: &[&str]| {
        let limits = limits.iter().flat_map(|limit| ["--fail-above", limit]);
        let command_line: Vec<&str> =
            ["show"].into_iter().chain(limits).chain(files.iter().copied()).collect();
        crate::common::howlate(&command_line).current_dir(folder).output().unwrap().status.code()
    };
    assert_eq!(judged(&["max>1h"], &["cyclic.jsonl"]), Some(0));
    assert_eq!(judged(&["max>1h", "p50>1ns"], &["cyclic.jsonl"]), Some(1));
    // Killed: incomplete, but an exceeded limit is certain.
    assert_eq!(judged(&["p50>1ns"], &["killed.jsonl", "cyclic.jsonl"]), Some(1));
}

#[test]
fn results_keep_the_published_schema() {
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/result.schema.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(published).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for name in ["cyclic", "guest", "sleep", "notify", "languages", "stall", "killed", "why", "watch"] {
        let document = serde_json::from_str(&show(name, "json")).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "format": 1, "results": [] })));
}

#[test]
fn plots_in_a_terminal() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    let plot = |more: &[&str], locale: &str| {
        let mut command = crate::common::howlate(&[&["show", "--plot"], more, &["cyclic.jsonl"]].concat());
        let output = command.env("LC_ALL", locale).current_dir(folder).output().unwrap();
        let text = stdout(&output);
        text.split_once("\nWake-ups by latency").unwrap().1.to_owned()
    };
    insta::assert_snapshot!("cyclic-plot", plot(&[], "en_GB.UTF-8"));
    let ascii = plot(&["--ascii"], "en_GB.UTF-8");
    assert!(ascii.is_ascii(), "{ascii}");
    assert_eq!(ascii, plot(&[], "POSIX"), "a locale without UTF-8 has ASCII");
    insta::assert_snapshot!("cyclic-plot-ascii", ascii);
}

#[test]
fn guests() {
    usual_formats("guest");
}

#[test]
fn sleeps() {
    usual_formats("sleep");
    insta::assert_snapshot!("sleep-intervals", show("sleep", "intervals"));
}

#[test]
fn notifications() {
    usual_formats("notify");
}

#[test]
fn sleeps_of_languages() {
    usual_formats("languages");
}

#[test]
fn reasons() {
    usual_formats("why");
    let trace = show("why", "trace");
    insta::assert_snapshot!("why-trace", trace);
    assert_slices_nest(&serde_json::from_str(&trace).unwrap());
    let untraced = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1/cyclic.jsonl");
    let refused = run(&["show", "--format", "trace", untraced]);
    assert_eq!((refused.status.code(), stdout(&refused)), (Some(2), String::new()));
    assert!(crate::common::stderr(&refused).contains("record again, such as with `howlate cyclic --why"));
}

/// Each part lies within its wake-up, on the lane of its CPU, and they adjoin without gaps.
#[track_caller]
fn assert_slices_nest(trace: &serde_json::Value) {
    #[allow(clippy::cast_possible_truncation, reason = "whole nanoseconds")]
    let nanos = |value: &serde_json::Value, key: &str| (value[key].as_f64().unwrap() * 1e3).round() as i64;
    let slices: Vec<_> =
        trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X").collect();
    let (mut end, mut at, mut parts) = (0, 0, 0);
    for slice in slices {
        let (from, length) = (nanos(slice, "ts"), nanos(slice, "dur"));
        if slice["cat"] == "wake-up" {
            assert_eq!(at, end, "the parts are all of it");
            (at, end) = (from, from + length);
        } else {
            assert!(from == at && from + length <= end, "{slice}");
            assert!(slice["args"]["kind"].is_string(), "{slice}");
            at = from + length;
            parts += 1;
        }
    }
    assert!(at == end && parts > 20);
}

#[test]
fn programs_that_were_watched() {
    usual_formats("watch");
}

#[test]
fn a_stall() {
    usual_formats("stall");
}

#[test]
fn a_killed_run() {
    usual_formats("killed");
}

#[test]
fn help_of_every_command() {
    let page = |arguments: &[&str]| stdout(&run(arguments));
    insta::assert_snapshot!("help", page(&["--help"]));
    for command in commands() {
        let mut help = page(&[&command, "--help"]);
        if command == "fleet" {
            help += &page(&["fleet", "run", "--help"]);
        }
        insta::assert_snapshot!(format!("help-{command}"), help);
        assert!(page(&["man", &command]).contains(".TH"), "{command} has a manual page");
    }
    assert!(page(&["man", "fleet-run"]).contains("at\\-once"), "what is in a command has a manual page");
}

#[test]
fn short_help_fits_a_screen() {
    const SCREEN: usize = 24;
    // It names every command.
    const ALONE: usize = 36;
    // Theirs is that of the program that they replace.
    const REPLACEMENTS: [&str; 4] = ["cyclictest", "oslat", "hwlatdetect", "cyclicdeadline"];
    let lines = |command_line: &[&str]| {
        let output = crate::common::howlate(command_line).env("COLUMNS", "80").output().unwrap();
        stdout(&output).lines().count()
    };
    let commands = commands();
    assert!(commands.len() > 15 && commands.iter().any(|name| name == "cyclic"), "{commands:?}");
    let too_long: Vec<(&String, usize)> = commands
        .iter()
        .filter(|name| !REPLACEMENTS.contains(&name.as_str()))
        .map(|name| (name, lines(&[name, "-h"])))
        .filter(|(_, lines)| *lines > SCREEN)
        .collect();
    for command_line in [&["tune", "cyclic", "-h"], &["tune", "sleep", "-h"], &["tune", "notify", "-h"]] {
        assert!(lines(command_line) <= SCREEN, "{command_line:?}: {}", lines(command_line));
    }
    assert!(too_long.is_empty() && lines(&["-h"]) <= ALONE, "{too_long:?}, alone {}", lines(&["-h"]));
}

#[test]
fn manual_pages_have_examples_and_the_exit_status() {
    // The examples of `fleet` are on the pages of its subcommands.
    const WITHOUT_EXAMPLES: [&str; 2] = ["cyclictest", "fleet"];
    for name in commands() {
        let page = stdout(&run(&["man", &name]));
        let has_examples = page.contains("\n.SH EXAMPLES\n");
        assert!(has_examples || WITHOUT_EXAMPLES.contains(&name.as_str()), "{name}: {page}");
        assert_eq!(page.matches(".SH \"EXIT STATUS\"").count(), 1, "{name}: {page}");
        assert_eq!(page.matches(".ds Aq '").count(), 1, "{name}: {page}");
        assert!(!page.contains(".SH EXTRA") && page.contains(".SH OPTIONS"), "{name}: {page}");
    }
}

/// Shell completions contain values, also within lists.
#[test]
fn completions_know_values() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&run(&["completions", shell]));
        assert!(script.contains("howlate"), "{shell}");
        for value in [
            "fifo:80",
            "hackbench",
            "epoll_pwait2",
            "java_park",
            "socketpair_dgram",
            "python-sleep",
            "percentiles",
            "switches",
            "debian:rt",
            "host-load",
        ] {
            let is_there = script.contains(value) || script.contains(&value.replace(':', "\\:"));
            assert!(is_there, "{shell}: {value}");
        }
    }
}

#[test]
fn results_for_prometheus() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("howlate.prom");
    let has_promtool = is_installed("promtool");
    if !has_promtool {
        skip("promtool is not installed");
    }
    let folder_of = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    let recording = |name: &str| format!("{folder_of}/{name}.jsonl");
    for name in ["cyclic", "sleep", "notify", "languages", "guest", "watch", "stall", "killed", "why"] {
        let recording = recording(name);
        // An existing file is replaced.
        std::fs::write(&file, "nothing\n").unwrap();
        let result =
            json(&["show", &recording, "--format", "json", "--prometheus", file.to_str().unwrap()], 0);
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o644,
            "for any collector"
        );
        let number = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
        let worst =
            text.lines().filter(|line| line.starts_with("howlate_wakeup_latency_max_seconds{")).map(number);
        let expected = result["results"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|result| result["latency_ns"]["max"].as_f64());
        let (worst, expected) = (worst.fold(0.0, f64::max), expected.fold(0.0, f64::max));
        assert!((worst * 1e9 - expected).abs() < 0.5, "{name}: {worst} s and {expected} ns");
        let counted = |end: &str| -> f64 { text.lines().filter(|line| line.contains(end)).map(number).sum() };
        assert!(counted("le=\"+Inf\"}") > 0.0, "{name}");
        assert_eq!(counted("le=\"+Inf\"}").to_bits(), counted("_seconds_count{").to_bits(), "{name}");
        let whole = text.lines().find(|line| line.starts_with("howlate_run_trustworthy{")).unwrap();
        assert!(name != "killed" || whole.ends_with(" 0"), "{whole}");
        if has_promtool {
            let mut promtool = Command::new("promtool");
            let checked = promtool
                .args(["check", "metrics"])
                .stdin(std::fs::File::open(&file).unwrap())
                .output()
                .unwrap();
            assert!(checked.status.success(), "{name}: {}{}", stdout(&checked), stderr(&checked));
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    let nowhere = run(&["show", &recording("cyclic"), "--prometheus", "/proc/none/x.prom"]);
    assert_eq!(nowhere.status.code(), Some(2), "{}", stderr(&nowhere));
}

/// Names of howlate's metrics in `text`.
fn metrics(text: &str) -> std::collections::BTreeSet<String> {
    let parts = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    parts.filter(|part| part.starts_with("howlate_")).map(str::to_owned).collect()
}

/// Queries of a dashboard as rules; `$instance` is replaced by a value.
fn rules_of(dashboard: &Value) -> String {
    let targets =
        dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let rule = |(number, target): (usize, &Value)| {
        let expression = target["expr"].as_str().unwrap().replace('$', "");
        format!("      - {{record: \"panel:{number}\", expr: {}}}\n", Value::from(expression))
    };
    let rules: String = targets.enumerate().map(rule).collect();
    format!("groups:\n  - name: dashboard\n    rules:\n{rules}")
}

#[test]
fn alerts_and_dashboard_ask_for_what_there_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let folder = tempfile::tempdir().unwrap();
    let (results, rules) = (folder.path().join("a.prom"), folder.path().join("dashboard.yml"));
    let recording = root.join("testdata/recordings/v1/cyclic.jsonl");
    run(&["show", recording.to_str().unwrap(), "--prometheus", results.to_str().unwrap()]);
    let written = std::fs::read_to_string(&results).unwrap() + &crate::recorder::metrics();
    let written = metrics(&written);
    let [alerts, dashboard] = ["docs/alerts.yml", "docs/grafana-dashboard.json"].map(|name| root.join(name));
    for path in [&alerts, &dashboard] {
        let queried = metrics(&std::fs::read_to_string(path).unwrap());
        assert!(!queried.is_empty() && queried.is_subset(&written), "{}: {queried:?}", path.display());
    }
    let dashboard: Value = serde_json::from_slice(&std::fs::read(&dashboard).unwrap()).unwrap();
    std::fs::write(&rules, rules_of(&dashboard)).unwrap();
    if !is_installed("promtool") {
        return skip("promtool is not installed");
    }
    let tests = root.join("crates/program/howlate/tests/alerts.test.yml");
    for (command_line, path) in
        [(["check", "rules"], &alerts), (["check", "rules"], &rules), (["test", "rules"], &tests)]
    {
        let checked = Command::new("promtool").args(command_line).arg(path).output().unwrap();
        assert!(checked.status.success(), "{}: {}{}", path.display(), stdout(&checked), stderr(&checked));
    }
}
