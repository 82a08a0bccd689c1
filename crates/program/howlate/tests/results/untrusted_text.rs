//! Text from untrusted recordings and files of the machine: it moves no cursor, forges no line and becomes no markup, in any field and
//! any format.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{howlate, values};
use howlate_model::Line;
use howlate_render::is_legible;
use serde_json::{Map, Value, json};

/// Sets the window title, hides text, clears the screen by C1, reverses the writing direction, imitates howlate's lines, and contains
/// markup.
const EVIL: &str = "\u{1b}]0;x\u{7}\u{1b}[8m\u{9b}2J\u{7f}\u{202e}\u{2028}\r\nnot ok 99 - forged\nhint: rm -rf /\n```\n<script>alert(1)</script>|`";

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata").join(name)
}

/// Valid texts of types that are not free text.
fn valid_text(name: &str) -> Option<Value> {
    let line = |key: &str| {
        let text = std::fs::read_to_string(testdata("recordings/v1/cyclic.jsonl")).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.find_map(|line| line.get(key).cloned()).unwrap()
    };
    let guest = || {
        let text = std::fs::read_to_string(testdata("recordings/v1/guest.jsonl")).unwrap();
        let boot = text.lines().find(|line| line.starts_with("{\"boot\"")).unwrap();
        serde_json::from_str::<Value>(boot).unwrap()["boot"]["emulator"].clone()
    };
    Some(match name {
        "HostThread" => guest(),
        "CpuSet" => json!("0"),
        "Until" => json!("p50 ±5%"),
        "Distribution" => a_latency(),
        "Load" => json!("idle"),
        "Condition" => line("header")["conditions"][0].clone(),
        "InForce" => line("started")["in_force"].clone(),
        _ => return None,
    })
}

/// Values that together contain everything in a schema.
fn samples(schema: &Value, all: &Value) -> Vec<Value> {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return valid_text(name).map_or_else(|| samples(&all["$defs"][name], all), |text| vec![text]);
    }
    if let Some(only) = schema.get("const") {
        return vec![only.clone()];
    }
    if let Some(some) = ["oneOf", "anyOf", "enum"].iter().find_map(|key| schema[*key].as_array()) {
        let of = |value: &Value| {
            if schema.get("enum").is_some() { vec![value.clone()] } else { samples(value, all) }
        };
        return some.iter().flat_map(of).collect();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind.unwrap_or("string") {
        "object" => objects(schema["properties"].as_object().unwrap_or(&Map::new()), all),
        "array" => vec![Value::Array(samples(&schema["items"], all))],
        // Some texts are policies, others are free.
        "string" => vec![json!("other")],
        "boolean" => vec![json!(true)],
        "null" => vec![],
        _ => vec![json!(1)],
    }
}

/// Objects with all properties, each sample of a property in one of them.
fn objects(properties: &Map<String, Value>, all: &Value) -> Vec<Value> {
    let each: Vec<(&String, Vec<Value>)> =
        properties.iter().map(|(name, schema)| (name, samples(schema, all))).collect();
    let count = each.iter().map(|(_, samples)| samples.len()).max().unwrap_or(0).max(1);
    let object = |number: usize| {
        let with = |(name, samples): &(&String, Vec<Value>)| {
            samples.get(number % samples.len().max(1)).map(|sample| ((*name).clone(), sample.clone()))
        };
        Value::Object(each.iter().filter_map(with).collect())
    };
    (0..count).map(object).collect()
}

/// Lines of all kinds except blocks, which have no texts, with every text of the schema.
fn every_line() -> Vec<Value> {
    let text = std::fs::read_to_string(testdata("../docs/recording.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let is_block = |line: &Value| line["properties"].get("block").is_some();
    let kinds = schema["oneOf"].as_array().unwrap().iter().filter(|line| !is_block(line));
    let mut lines: Vec<Value> = kinds.flat_map(|kind| samples(kind, &schema)).collect();
    // The numbers of a ledger must be consistent; its names come from a real one, see below.
    let loops = ["turns", "event_loop", "timer_loop"].map(|of_loop| format!("/watched/{of_loop}/ledger"));
    for place in ["/why/ledger".to_owned()].iter().chain(&loops) {
        for ledger in lines.iter_mut().filter_map(|line| line.pointer_mut(place)) {
            ledger["late"] = json!([]);
        }
    }
    lines
}

/// A distribution in the format of recordings.
fn a_latency() -> Value {
    let text = std::fs::read_to_string(testdata("recordings/v1/cyclic.jsonl")).unwrap();
    let line = text.lines().find(|line| line.starts_with("{\"block\"")).unwrap();
    serde_json::from_str::<Value>(line).unwrap()["block"]["latency"].clone()
}

/// JSON pointers of all texts in `value`.
fn texts(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(n, value)| texts(value, &format!("{at}/{n}"), found));
        }
        Value::Object(map) => map.iter().for_each(|(key, child)| texts(child, &format!("{at}/{key}"), found)),
        _ => {}
    }
}

fn is_line(value: &Value) -> bool {
    serde_json::from_str::<Line>(&value.to_string()).is_ok()
}

/// Why the line cannot be read, without the place: what the parser says of texts of one type is the same.
fn refusal(line: &Value) -> String {
    let error = serde_json::from_str::<Line>(&line.to_string()).unwrap_err().to_string();
    error.rsplit_once(" at line ").map_or(error.clone(), |(reason, _)| reason.to_owned())
}

/// `line` with the hostile text in every free text. Lines with it in a text that is not free go to `refused`, one text at a time.
fn poison(line: &Value, refused: &mut impl FnMut(Value)) -> Value {
    let mut places = Vec::new();
    texts(line, "", &mut places);
    let mut poisoned = line.clone();
    for place in places {
        let old = line.pointer(&place).and_then(Value::as_str).unwrap();
        let choices = [format!("{old}{EVIL}"), format!("cmd:'{EVIL}'"), format!("./x{EVIL}")];
        let with = |choice: &String| {
            let mut changed = poisoned.clone();
            *changed.pointer_mut(&place).unwrap() = json!(choice);
            changed
        };
        match choices.iter().map(with).find(is_line) {
            Some(changed) => poisoned = changed,
            None => refused(with(&choices[0])),
        }
    }
    poisoned
}

/// Runs the command with colours, and checks its output.
fn run_checked(arguments: &[&str]) -> (Output, String) {
    let output = howlate(arguments).env("CLICOLOR_FORCE", "1").env("LC_ALL", "C.UTF-8").output().unwrap();
    let message = String::from_utf8([output.stdout.clone(), output.stderr.clone()].concat()).unwrap();
    assert!(matches!(output.status.code(), Some(0..=3)), "{arguments:?}: {message}");
    let styles = regex::Regex::new("\x1b\\[[0-9;]*m").unwrap();
    assert!(!message.contains("\x1b[8m"), "{arguments:?}: {message:?}");
    for line in styles.replace_all(&message, "").lines() {
        let wrong = line.chars().find(|letter| !is_legible(*letter) && *letter != '\t');
        assert_eq!(wrong, None, "{arguments:?}: {line:?}");
        assert!(!line.starts_with("not ok 99") && !line.starts_with("hint: rm"), "{arguments:?}: {message}");
    }
    (output, message)
}

/// Checks the parsed Markdown: no HTML, headings or links from recordings.
fn check_markdown(text: &str) {
    use pulldown_cmark::{Event, Options, Parser, Tag};
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        let is_foreign = match &event {
            Event::Html(html) | Event::InlineHtml(html) => html.contains("script"),
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => true,
            _ => false,
        };
        assert!(!is_foreign, "{event:?} in {text}");
    }
}

/// All outputs of a recording.
fn show_everywhere(path: &str) {
    let (_, shown) = run_checked(&["show", path]);
    assert!(shown.contains("\\u{1b}]0;x"), "nothing of it arrived: {shown}");
    for format in values("show", "--format") {
        let (_, message) = run_checked(&["show", path, "--format", &format]);
        assert!(format != "junit" || !message.contains("<script>"), "{message}");
    }
    run_checked(&["show", path, path, "--plot"]);
    for format in values("compare", "--format") {
        let (output, message) = run_checked(&["compare", path, path, "--format", &format]);
        assert!(format != "junit" || !message.contains("<script>"), "{message}");
        if format == "md" {
            check_markdown(str::from_utf8(&output.stdout).unwrap());
        }
        if format == "junit" && !output.stdout.is_empty() {
            roxmltree::Document::parse(str::from_utf8(&output.stdout).unwrap()).unwrap();
        }
    }
    // Pictures are tested with names of their own, see below.
    for format in
        values("report", "--format").iter().filter(|format| !["svg", "png"].contains(&format.as_str()))
    {
        let (output, message) = run_checked(&["report", path, "--format", format, "--output", "-"]);
        assert!(format != "html" || !message.contains("<script>alert"), "{message}");
        if format == "md" {
            check_markdown(str::from_utf8(&output.stdout).unwrap());
        }
    }
    for chart in values("report", "--chart") {
        let (output, _) =
            run_checked(&["report", path, "--format", "svg", "--chart", &chart, "--output", "-"]);
        if output.status.success() {
            roxmltree::Document::parse(str::from_utf8(&output.stdout).unwrap()).unwrap();
        }
    }
}

#[test]
fn no_field_of_a_recording_is_more_than_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("evil.jsonl");
    let name = path.to_str().unwrap();
    let every = every_line();
    assert!(every.len() > 30, "{}", every.len());
    for line in &every {
        let read = serde_json::from_str::<Line>(&line.to_string());
        assert!(read.is_ok(), "{}: {line}", read.unwrap_err());
    }
    let (header, lines) = every.split_first().unwrap();
    let (mut refused, mut tail, mut tried) = (Vec::new(), String::new(), BTreeSet::new());
    for line in lines {
        tail += &format!("{}\n", poison(line, &mut |line| refused.push(line)));
    }
    for recording in ["cyclic", "sleep", "notify", "guest", "languages", "why", "watch"] {
        let text = std::fs::read_to_string(testdata(&format!("recordings/v1/{recording}.jsonl"))).unwrap();
        let mut lines = text.lines();
        let mut head: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        for (key, value) in header["header"].as_object().unwrap() {
            // The header determines format and conditions of the lines that follow.
            if !matches!(key.as_str(), "format" | "conditions" | "command") {
                head["header"][key] = value.clone();
            }
        }
        let mut refused_heads = Vec::new();
        let head = poison(&head, &mut |line| refused_heads.push(line));
        let mut content = format!("{head}\n");
        for line in lines.filter(|line| !line.starts_with("{\"end\"")) {
            let ledger = line.starts_with("{\"why\"").then(|| serde_json::from_str::<Value>(line).unwrap());
            let poisoned = ledger.map(|line| poison(&line, &mut |line| refused.push(line)).to_string());
            content += &format!("{}\n", poisoned.as_deref().unwrap_or(line));
        }
        std::fs::write(&path, content + &tail).unwrap();
        show_everywhere(name);
        let lines = refused.drain(..).map(|line| (refusal(&line), format!("{head}\n{line}\n")));
        let heads = refused_heads.into_iter().map(|head| (refusal(&head), format!("{head}\n")));
        for (_, content) in lines.chain(heads).filter(|(reason, _)| tried.insert(reason.clone())) {
            std::fs::write(&path, content).unwrap();
            let (output, message) = run_checked(&["show", name]);
            assert_eq!(output.status.code(), Some(2), "{message}");
        }
    }
    assert!(tried.len() > 20, "{tried:?}");
}

/// Texts of other programs' files with the hostile text; those that are parsed line by line.
fn evil_of_others() -> Vec<String> {
    let mut evil = Vec::new();
    for file in ["cyclictest-2.4.json", "jitterdebugger.json", "oslat.json", "rt-dataset.json"] {
        let text = std::fs::read_to_string(testdata("foreign").join(file)).unwrap();
        let whole: Value = serde_json::from_str(&text).unwrap();
        let mut places = Vec::new();
        texts(&whole, "", &mut places);
        for place in places {
            let mut changed = whole.clone();
            let old = whole.pointer(&place).and_then(Value::as_str).unwrap();
            *changed.pointer_mut(&place).unwrap() = json!(format!("{old}{EVIL}"));
            evil.push(changed.to_string());
        }
    }
    let one_line = EVIL.replace(['\r', '\n'], "").replace(',', "");
    let log = std::fs::read_to_string(testdata("foreign/hiccups.hlog")).unwrap();
    evil.push(log.replace("\n0.0", &format!("\nTag={one_line},0.0")));
    let rtla = std::fs::read_to_string(testdata("foreign/rtla-timerlat.txt")).unwrap();
    evil.push(rtla.replace("RTLA timerlat", &format!("RTLA time{one_line}lat")));
    evil.push(rtla.replace("IRQ-000", &format!("IRQ{one_line}-000")));
    evil.push(format!("# Histogram\n1 2{one_line}\n# Max Latencies: 1\n"));
    evil
}

#[test]
fn no_field_of_another_programs_file_is_more_than_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("evil");
    let name = path.to_str().unwrap();
    let (evil, formats, mut arrived) = (evil_of_others(), values("show", "--format"), 0);
    for text in &evil {
        std::fs::write(&path, text).unwrap();
        let (_, message) = run_checked(&["show", name]);
        arrived += usize::from(message.contains("\\u{1b}]0;x"));
        for format in &formats {
            run_checked(&["show", name, "--format", format]);
        }
        run_checked(&["compare", name, name]);
        let (page, _) = run_checked(&["report", name, "--output", "-"]);
        let page = String::from_utf8_lossy(&page.stdout).into_owned();
        assert!(!page.contains("<script>alert"), "{page}");
    }
    assert!(arrived > 10, "of {} only {arrived} were shown", evil.len());
}

#[test]
fn json_says_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("evil.jsonl");
    let text = std::fs::read_to_string(testdata("recordings/v1/cyclic.jsonl")).unwrap();
    let (head, rest) = text.split_once('\n').unwrap();
    let mut head: Value = serde_json::from_str(head).unwrap();
    head["header"]["arguments"] = json!([EVIL]);
    std::fs::write(&path, format!("{head}\n{rest}")).unwrap();
    let (output, _) = run_checked(&["show", path.to_str().unwrap(), "--format", "json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["arguments"], json!([EVIL]));
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        match kind.is_dir() {
            true => files(&entry.path(), found),
            false if kind.is_file() => found.push(entry.path()),
            false => {}
        }
    }
}

#[test]
fn no_file_of_a_tree_is_more_than_text() {
    for tree in ["container", "raspberry-pi"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        let copied = std::process::Command::new("cp")
            .arg("-r")
            .arg(testdata("systems").join(tree))
            .arg(&root)
            .status();
        assert!(copied.unwrap().success());
        let mut all = Vec::new();
        files(&root, &mut all);
        let name = root.to_str().unwrap();
        for file in all {
            let before = std::fs::read(&file).unwrap();
            let text = String::from_utf8_lossy(&before);
            // After the valid content, and instead of it.
            for evil in [format!("{}{EVIL}", text.trim_end()), EVIL.to_owned()] {
                std::fs::write(&file, evil).unwrap();
                run_checked(&["doctor", "--details", "--root", name]);
            }
            std::fs::write(&file, before).unwrap();
        }
    }
}

#[test]
fn no_argument_is_more_than_text() {
    let evil = EVIL.trim_start_matches('\n');
    let option = format!("--{evil}");
    run_checked(&[evil]);
    run_checked(&[&option]);
    for command in ["show", "compare", "report", "run"] {
        run_checked(&[command, evil, evil]);
    }
    run_checked(&["doctor", "--root", evil]);
    run_checked(&["cyclic", "--policy", evil]);
    run_checked(&["cyclic", "--load", evil]);
    run_checked(&[
        "cyclic",
        "--samples",
        "3",
        "--period",
        "1ms",
        "--threads",
        "1",
        "-q",
        "--load",
        "idle",
        "--out",
        evil,
    ]);
    run_checked(&["sleep", "--call", evil, "--for", evil]);
    run_checked(&["load", evil]);
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("a.toml");
    for text in
        [format!("include = {evil:?}\n"), format!("[[sleep]]\nfor = {}\n", json!(evil)), evil.to_owned()]
    {
        std::fs::write(&plan, text).unwrap();
        run_checked(&["run", plan.to_str().unwrap(), "--dry-run"]);
    }
}
