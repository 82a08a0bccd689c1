//! `howlate tune`: the list of settings, effects that are large enough to be found, and refused options.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::common::{
    OwnSettings, SETTING, assert_valid, children, howlate, is_root, json, pause, run, send, skip, stderr,
    stdout, tune_shortly, wait_until,
};
use rustix::process::Signal;
use serde_json::Value;

/// The row of a setting.
#[track_caller]
pub(crate) fn knob<'a>(result: &'a Value, name: &str) -> &'a Value {
    let rows = result["knobs"].as_array().unwrap();
    rows.iter().find(|row| row["knob"] == name).unwrap_or_else(|| panic!("no row of {name}: {result}"))
}

#[test]
fn every_setting_is_listed_with_its_state_and_nothing_is_measured() {
    let listed = json(&["tune", "--knobs", "all", "--dry-run", "--json"], 0);
    assert_valid(&listed, "tune");
    let rows = listed["knobs"].as_array().unwrap();
    assert!(rows.len() > 35, "{}", rows.len());
    for row in rows {
        let status = row["status"].as_str().unwrap();
        let statuses = ["ready", "in_force", "absent", "not_permitted", "boot_only", "not_tried"];
        assert!(statuses.contains(&status), "{row}");
        assert_eq!(status == "ready", row["reason"].is_null(), "{row}");
    }
    assert_eq!(knob(&listed, "mitigations")["scope"], "boot");
    let text = stdout(&run(&["tune", "sleep", "--for", "1ms", "--dry-run"]));
    assert!(text.contains("for 1 ms") && text.contains("nothing was changed"), "{text}");
    assert!(text.contains("not requested"), "settings of the machine are not asked for by default");
}

#[test]
fn what_would_be_written_is_what_the_machine_has_now() {
    let listed = json(&["tune", "--knobs", "machine", "--dry-run", "--json"], 0);
    let mut written = 0;
    for row in listed["knobs"].as_array().unwrap() {
        for write in row["writes"].as_array().unwrap().iter().filter(|_| row["scope"] == "machine") {
            written += 1;
            let path = write["path"].as_str().unwrap();
            // Some files list all choices, with brackets around the current one.
            let now = write["now"].as_str().unwrap();
            let holds = std::fs::read_to_string(path).is_ok_and(|text| text.contains(now));
            assert!(holds || path.starts_with("/dev/"), "{path}: {now}");
        }
    }
    if !is_root() {
        return skip("only root may write settings of the machine");
    }
    assert!(written > 0, "nothing would be written: {listed}");
}

/// An effect as large as the slack itself.
#[test]
fn timer_slack_is_found_and_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("tune.jsonl");
    let out = recording.to_str().unwrap();
    // 5 ms is more than a busy machine adds by chance.
    let options = [
        "tune",
        "sleep",
        "--for",
        "1ms",
        "--slack",
        "5ms",
        "--knobs",
        "timer_slack,nothing",
        "--goal",
        "p50",
    ];
    let more = ["--samples", "20", "--budget", "1m", "--quiet", "--json", "--out", out];
    let output = run(&[&options[..], &more[..]].concat());
    let result: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert_valid(&result, "tune");
    // A busy machine may be reported instead: no turns fit into the time, or an effect of that size would be invisible.
    if let Some(needed) = result["needs_budget_ns"].as_u64() {
        assert!(needed > 60_000_000_000, "{result}");
        return skip("the machine is too busy: turns would take longer than the budget");
    }
    let slack = &knob(&result, "timer_slack")["differences"]["p50"];
    assert!(slack["difference_ns"].as_f64().unwrap() < 0.0, "{result}");
    for of in [slack, &result["confirmed"]["p50"]] {
        if of["verdict"] != "better" {
            assert_eq!(of["verdict"], "not_distinguishable", "{result}");
            assert!(of["detectable_ns"].as_f64().is_none_or(|ns| ns > 4e6), "{result}");
            return skip("the machine is too busy to tell 5 ms of slack from chance");
        }
    }
    let recommended = result["recommended"].as_array().unwrap();
    assert!(recommended.contains(&Value::from("timer_slack")), "{result}");
    let answer = result["answer"].as_str().unwrap();
    assert!(answer.contains("timer_slack") && answer.contains("the median falls"), "{answer}");
    let output = run(&["compare", "--by", "knob", "--format", "json", out]);
    let compared: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Chance may make a number worse, but only `worse` makes it a regression.
    let pairs = compared["compared"].as_array().unwrap();
    let mut all = pairs.iter().flat_map(|pair| pair["statistics"].as_array().unwrap());
    let is_worse = all.any(|comparison| comparison["verdict"] == "worse");
    assert_eq!(output.status.code(), Some(i32::from(is_worse)), "{compared}");
    let sides: Vec<&str> = pairs.iter().map(|pair| pair["differs"][0]["new"].as_str().unwrap()).collect();
    assert_eq!(sides, ["nothing", "timer_slack"]);
    for format in ["text", "json"] {
        assert_eq!(run(&["show", "--format", format, out]).status.code(), Some(0));
    }
}

#[test]
fn a_budget_that_is_too_short_says_how_long_it_has_to_be() {
    let options = tune_shortly("nothing", &["--goal", "p50", "--budget", "1us", "--quiet"]);
    let output = run(&options);
    assert_eq!(output.status.code(), Some(3));
    let text = stdout(&output);
    assert_eq!(text.matches("write `--budget ").count(), 1, "{text}");
    assert!(text.contains("The budget is too short to tell anything: write `--budget "), "{text}");
    // Reported before anything is measured, and in the listing as well.
    let result = json(&[&options[..], &["--json"]].concat(), 3);
    assert!(result["self_test"].is_null() && result["needs_budget_ns"].is_u64(), "{result}");
    let listed = stdout(&run(&[&options[..], &["--dry-run"]].concat()));
    assert!(listed.contains("too short to try 1 setting: write `--budget "), "{listed}");
}

/// Lines of a recording with this key, in order.
fn lines(recording: &Path, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(recording).unwrap_or_default();
    let whole = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    whole.filter_map(|mut line| Some(line.get_mut(name)?.take())).collect()
}

#[test]
fn an_interrupted_run_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("tune.jsonl");
    let options = ["tune", "sleep", "--for", "1ms", "--policy", "other", "--knobs", "nothing,timer_slack"];
    let more = ["--goal", "p50", "--samples", "10", "--out", recording.to_str().unwrap()];
    let arguments = [&options[..], &more[..], &["--budget", "20s"]].concat();
    let mut first = howlate(&arguments);
    let first = first.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("some turns", || lines(&recording, "finished").len() > 5);
    send(first.id(), Signal::INT);
    let first = first.wait_with_output().unwrap();
    assert_eq!(first.status.code(), Some(3), "{}", stderr(&first));
    let to_go_on = format!("To go on: howlate {} --resume", arguments.join(" "));
    assert!(stderr(&first).contains(&to_go_on), "{}", stderr(&first));
    let taken = lines(&recording, "block");

    // Another goal or another budget would lead to other decisions.
    for other in [&["--budget", "30s"], &["--goal", "max"]] {
        let arguments: Vec<&str> = options.iter().chain(&more[2..]).chain(other).copied().collect();
        let refused = run(&[&arguments[..], &["--resume"]].concat());
        assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
        assert!(stderr(&refused).contains("holds other conditions"), "{}", stderr(&refused));
    }

    let output = run(&[&arguments[..], &["--resume", "--json", "--quiet"]].concat());
    let result: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert_valid(&result, "tune");
    assert!(result["self_test"]["differences"]["p50"].is_object(), "{result}");
    assert_eq!((lines(&recording, "resumed").len(), lines(&recording, "end").len()), (1, 1));
    assert_eq!(lines(&recording, "end")[0]["how"], "done");
    let turn = |line: &Value| (line["condition"].as_u64().unwrap(), line["round"].as_u64().unwrap());
    let mut turns: Vec<(u64, u64)> = lines(&recording, "finished").iter().map(turn).collect();
    let taken_again = turns.len();
    turns.sort_unstable();
    turns.dedup();
    assert_eq!(turns.len(), taken_again, "no turn was taken twice");
    // The baseline is compared with itself for ten rounds in any case.
    let of_self_test: Vec<u64> =
        turns.iter().filter(|turn| turn.0 == 1 && turn.1 < 20).map(|turn| turn.1).collect();
    assert_eq!(of_self_test[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    // All finished turns are still in the recording.
    let whole = lines(&recording, "block");
    let remaining = taken.iter().filter(|block| whole.contains(block)).count();
    assert!(remaining + 1 >= taken.len() && remaining > 4, "{remaining} of {}", taken.len());
}

/// Turns with the same load share one instance, which settles once.
#[test]
fn a_load_goes_on_from_turn_to_turn() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("tune.jsonl");
    let options = ["tune", "cyclic", "--threads", "1", "--load", "cpu:20%", "--samples", "2"];
    let more = ["--knobs", "nothing", "--budget", "2s", "--quiet", "--out", out.to_str().unwrap()];
    let output = run(&[&options[..], &more[..]].concat());
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let lines = std::fs::read_to_string(out).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let turns: Vec<&Value> = lines.iter().filter_map(|line| Some(&line.get("finished")?["load"])).collect();
    let nanos = |turn: &Value, name: &str| turn[name].as_u64().unwrap();
    let (first, later) = turns.split_first().unwrap();
    assert!(later.len() >= 19, "the baseline against itself has 10 rounds: {}", later.len());
    assert!(0 < nanos(first, "settled_ns") && nanos(first, "settled_ns") < nanos(first, "elapsed_ns"));
    for turn in later {
        assert_eq!(nanos(turn, "settled_ns"), 0, "{turn}");
    }
    // The reported work of a turn excludes the time before it.
    let elapsed: u64 = turns.iter().map(|turn| nanos(turn, "elapsed_ns")).sum();
    let at = |line: Option<&Value>| line.unwrap()["at_ns"].as_u64().unwrap();
    let lasted = at(lines.last().unwrap().get("end")) - at(lines[0].get("header"));
    assert!(elapsed < lasted, "{elapsed} in {lasted}");
}

#[test]
fn what_cannot_be_tried_is_refused_with_what_to_type() {
    for (arguments, expected) in [
        (&["tune", "sleep"][..], "settings are tried on one condition"),
        (&["tune", "--knobs", "timerslack"], "did you mean `timer_slack`?"),
        (&["tune", "--why"], "--why is not for `howlate tune`"),
        (&["tune", "sleep", "--for", "1ms", "--rounds", "3"], "`--budget` limits how long they may take"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn real_time_threads_have_no_slack_to_try() {
    let listed = json(&["tune", "cyclic", "--policy", "fifo:80", "--dry-run", "--json"], 0);
    let slack = knob(&listed, "timer_slack");
    let statuses = ["absent", "in_force"];
    assert!(statuses.contains(&slack["status"].as_str().unwrap()), "{slack}");
    assert_eq!(knob(&listed, "slice")["status"], "absent");
    assert_ne!(knob(&listed, "fifo")["status"], "ready");
}

const NO_ROOT: &str = "trying settings of the machine needs root";

/// Arguments that tune the private setting in the shortest turns.
fn try_own<'a>(more: &[&'a str]) -> Vec<&'a str> {
    tune_shortly("stat_interval", &[&["--goal", "p50", "--quiet", "--json"], more].concat())
}

/// Tuning daemons of the test machine do not change the private setting.
const ANYWAY: &str = "--beside-tuners";

#[track_caller]
fn result_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

#[test]
fn a_setting_of_the_machine_holds_for_its_turns_and_is_put_back() {
    let Some(own) = OwnSettings::new() else { return skip(NO_ROOT) };
    let out = own.run().join("tune.jsonl");
    let arguments = try_own(&["--budget", "20s", ANYWAY, "--out", out.to_str().unwrap()]);
    let child = own.howlate(&arguments).spawn().unwrap();
    own.wait_for("120");
    own.wait_for("1");
    let result = result_of(&child.wait_with_output().unwrap());
    assert_eq!(own.value(), "1");
    assert_eq!(result["restored"], true);
    let row = knob(&result, "stat_interval");
    assert_eq!((&row["from"], &row["to"]), (&Value::from("1"), &Value::from("120")));
    assert_eq!(row["status"], "tried", "{row}");
    let header = howlate_recording::Reader::open(&out).unwrap().header().clone();
    let writes: Vec<_> = header
        .conditions
        .iter()
        .flat_map(|condition| &condition.tuned)
        .flat_map(|condition| &condition.writes)
        .collect();
    let [write] = &writes[..] else { panic!("{writes:?}") };
    assert_eq!((&*write.path, &*write.now, &*write.value), (SETTING, "1", "120"));
}

#[test]
fn what_somebody_else_sets_meanwhile_is_left_and_named() {
    let Some(own) = OwnSettings::new() else { return skip(NO_ROOT) };
    let mut child = own.howlate(&try_own(&["--budget", "1h", ANYWAY])).spawn().unwrap();
    stopped_at(&own, &mut child, "120");
    std::fs::write(own.file(), "9\n").unwrap();
    send(child.id(), Signal::CONT);
    let output = child.wait_with_output().unwrap();
    let result = result_of(&output);
    assert_eq!((own.value().as_str(), output.status.code()), ("9", Some(3)));
    let row = knob(&result, "stat_interval");
    assert_eq!(row["status"], "failed");
    assert!(row["reason"].as_str().unwrap().contains("something else"), "{row}");
    assert_eq!((&result["restored"], &result["left"][0]["now"]), (&Value::from(false), &Value::from("9")));
}

#[test]
fn what_cannot_be_put_back_ends_the_tuning() {
    let Some(own) = OwnSettings::new() else { return skip(NO_ROOT) };
    let mut child = own.howlate(&try_own(&["--budget", "1h", ANYWAY])).spawn().unwrap();
    stopped_at(&own, &mut child, "120");
    let read_only = ["mount", "-o", "remount,bind,ro", SETTING];
    let there = ["--mount", "--target", &child.id().to_string()].map(str::to_owned);
    assert!(Command::new("nsenter").args(there).args(read_only).status().unwrap().success());
    send(child.id(), Signal::CONT);
    let output = child.wait_with_output().unwrap();
    let result = result_of(&output);
    assert_eq!((own.value().as_str(), output.status.code()), ("120", Some(3)));
    assert!(result["answer"].as_str().unwrap().contains("could not be put back"), "{result}");
    let row = knob(&result, "stat_interval");
    assert_eq!(row["status"], "failed");
    assert!(row["reason"].as_str().unwrap().contains("Read-only"), "{row}");
    let left = &result["left"][0];
    assert_eq!((&left["path"], &left["now"]), (&Value::from(SETTING), &Value::from("120")));
    assert_eq!((&left["before"], &result["restored"]), (&Value::from("1"), &Value::from(false)));
}

/// Stops the process while the setting is `value` and no change is pending: the guardian, which continues, has recorded the change
/// and waits for orders.
fn stopped_at(own: &OwnSettings, child: &mut Child, value: &str) {
    let journal = || std::fs::read_to_string(own.run().join("howlate-journal/settings")).unwrap_or_default();
    let is_lent = || journal().lines().last().is_some_and(|entry| entry.starts_with("{\"Lent\""));
    loop {
        own.wait_for(value);
        send(child.id(), Signal::STOP);
        wait_until("a stopped process", || state(child.id()) == Some('T'));
        if let Some(guardian) = guardian_of(child.id()) {
            wait_until("a guardian without orders", || state(guardian) == Some('S'));
            if is_lent() && own.value() == value {
                return;
            }
        }
        send(child.id(), Signal::CONT);
        pause(1);
    }
}

/// State letter in `/proc/PID/stat`.
fn state(pid: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit(')').next().unwrap_or_default().trim_start().chars().next()
}

fn guardian_of(pid: u32) -> Option<u32> {
    children(pid).into_iter().find(|(_, role)| role == "__guardian").map(|(guardian, _)| guardian)
}

#[test]
fn what_two_killed_processes_left_is_put_back_when_asked() {
    let Some(own) = OwnSettings::new() else { return skip(NO_ROOT) };
    let mut child = own.howlate(&try_own(&["--budget", "1h", ANYWAY])).spawn().unwrap();
    stopped_at(&own, &mut child, "120");
    let restore = || own.howlate(&["tune", "--restore", "--json"]).output().unwrap();
    let busy = restore();
    assert_eq!(busy.status.code(), Some(2), "{}", stdout(&busy));
    assert!(stderr(&busy).contains("another howlate keeps settings changed"), "{}", stderr(&busy));
    let second = own.howlate(&try_own(&["--budget", "1us", ANYWAY])).output().unwrap();
    assert_eq!(second.status.code(), Some(2), "it is told before anything is measured: {}", stdout(&second));
    send(guardian_of(child.id()).unwrap(), Signal::KILL);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(own.value(), "120", "nobody is left to put it back");
    // The lock is held until both processes have ended, which the kernel may delay.
    let mut put_back = restore();
    wait_until("a journal that is free", || {
        let is_busy = put_back.status.code() == Some(2);
        is_busy.then(|| put_back = restore());
        !is_busy
    });
    let put_back = result_of(&put_back);
    assert_valid(&put_back, "tune");
    assert_eq!((&put_back["restored"], own.value().as_str()), (&Value::from(true), "1"));
    assert!(put_back["caveats"][0].as_str().unwrap().contains("was left at `120`"), "{put_back}");
    let text = stdout(&own.howlate(&["tune", "--restore"]).output().unwrap());
    assert_eq!(text, "No changed settings were left behind.\n");
}

#[test]
fn beside_another_tuner_nothing_of_the_machine_is_tried() {
    let Some(own) = OwnSettings::new() else { return skip(NO_ROOT) };
    let tuned = own.run().join("tuned");
    std::fs::copy(Path::new("/bin/sleep"), &tuned).unwrap();
    let mut tuner = Command::new(&tuned).arg("100").spawn().unwrap();
    let refused = own.howlate(&try_own(&["--budget", "1us"])).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
    let message = stderr(&refused);
    assert!(message.contains("running here: tuned"), "{message}");
    assert!(message.contains("--beside-tuners"), "{message}");
    // The recorder must report it; settings of threads alone disturb nothing.
    let of_threads = tune_shortly("nothing", &["--budget", "1us", "--json"]);
    for arguments in [try_own(&["--budget", "1us", ANYWAY]), of_threads] {
        let output = own.howlate(&arguments).output().unwrap();
        assert!(result_of(&output)["needs_budget_ns"].is_u64(), "{}", stderr(&output));
    }
    tuner.kill().unwrap();
    tuner.wait().unwrap();
}
