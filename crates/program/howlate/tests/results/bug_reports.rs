//! What a bug report needs: `--debug`, `HOWLATE_LOG` and `--debug-report`.

use serde_json::Value;

use crate::common::{howlate, run, stderr, stdout};

const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1/cyclic.jsonl");

#[test]
fn what_is_read_is_logged_where_that_is_wanted() {
    let is_logged = |text: &str| text.contains("recording::reader] reading ");
    let plain = run(&["show", RECORDING]);
    assert!(!is_logged(&stderr(&plain)), "{}", stderr(&plain));
    let debug = run(&["show", RECORDING, "--debug"]);
    assert!(is_logged(&stderr(&debug)), "{}", stderr(&debug));
    assert_eq!(stdout(&plain), stdout(&debug));
    let variable = howlate(&["show", RECORDING]).env("HOWLATE_LOG", "debug").output().unwrap();
    assert!(is_logged(&stderr(&variable)));
    let unknown = howlate(&["show", RECORDING]).env("HOWLATE_LOG", "loud").output().unwrap();
    assert!(
        stderr(&unknown).contains("HOWLATE_LOG=loud: a level is one of off, error, warn, info, debug, trace")
    );
}

/// What somebody pastes into a public page says nothing of who they are.
#[test]
fn a_debug_report_names_tracers_and_nobody() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("howlate");
    std::fs::create_dir(&folder).unwrap();
    let text = std::fs::read_to_string(RECORDING).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(first).unwrap();
    header["header"]["node"] = serde_json::json!({ "name": "secret-host" });
    header["header"]["arguments"] = serde_json::json!(["cyclic", "--out=/home/alice/x.jsonl", "--why"]);
    std::fs::write(folder.join("2026-11-28T00-00-00-cyclic.jsonl"), format!("{header}\n{rest}")).unwrap();

    let report = howlate(&["--debug-report"]).env("XDG_DATA_HOME", home.path()).output().unwrap();
    let text = stdout(&report);
    for tracer in ["tracer bpf: ", "tracer tracefs: ", "tracer switches: ", "waits by proc: "] {
        assert!(text.contains(tracer), "{text}");
    }
    assert!(!text.contains("secret-host") && !text.contains("alice"), "{text}");
    let json = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let document: Value = serde_json::from_str(json).unwrap();
    assert_eq!(document["last_run"]["arguments"], serde_json::json!(["…", "--out=…", "--why"]));
    assert!(document["findings"].is_array() && document["system"]["kernel"].is_string());
}
