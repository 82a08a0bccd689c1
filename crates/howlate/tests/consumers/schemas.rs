//! The published schemas, by validators of other languages.

use std::path::PathBuf;

use crate::common::{howlate, stdout};
use crate::{packages, recordings, shown};

const RECORDINGS: [&str; 8] =
    ["cyclic", "sleep", "notify", "languages", "guest", "stall", "killed", "policies"];

fn published(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(name)
}

fn one_line(text: &str) -> String {
    serde_json::from_str::<serde_json::Value>(text).unwrap().to_string() + "\n"
}

/// What `howlate tune` prints: settings before they are tried, on several conditions, and the result of a scripted machine.
fn tuned() -> String {
    let listed = |words: &[&str]| {
        let output = howlate(&[&["tune"], words, &["--dry-run", "--json"]].concat()).output().unwrap();
        one_line(&stdout(&output))
    };
    let of_all: [&[&str]; 5] = [
        &[],
        &["--knobs", "all"],
        &["cyclic", "--policy", "fifo:80"],
        &["sleep", "--for", "1ms", "--knobs", "machine"],
        &["notify", "--by", "futex", "--after", "1ms"],
    ];
    let golden = "../tune/src/snapshots/howlate_tune__scripted__tune-json.snap";
    let golden = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(golden)).unwrap();
    let (_, result) = golden.split_once("\n---\n").unwrap();
    of_all.into_iter().map(listed).chain([one_line(result)]).collect()
}

/// Files of documents, one in each line: every recording's lines, and every result.
fn documents(folder: &std::path::Path) -> [(PathBuf, PathBuf); 3] {
    let [lines, results, settings] =
        ["lines.jsonl", "results.jsonl", "tune.jsonl"].map(|name| folder.join(name));
    let read = |name: &&str| std::fs::read_to_string(recordings().join(format!("{name}.jsonl"))).unwrap();
    std::fs::write(&lines, RECORDINGS.iter().map(read).collect::<String>().replace("\n\n", "\n")).unwrap();
    let mut all: String = RECORDINGS.iter().map(|name| one_line(&shown(name, "json", &[], 0))).collect();
    let many =
        howlate(&["show", "--format=json", "cyclic.jsonl", "sleep.jsonl"]).current_dir(recordings()).output();
    all.push_str(&one_line(&stdout(&many.unwrap())));
    std::fs::write(&results, all).unwrap();
    std::fs::write(&settings, tuned()).unwrap();
    [
        (published("recording.schema.json"), lines),
        (published("result.schema.json"), results),
        (published("tune.schema.json"), settings),
    ]
}

#[test]
fn ajv_in_strict_mode_accepts_every_document() {
    let Some(mut node) = packages::node("ajv", &["ajv@8.17.1"]) else { return };
    let script = "
const Ajv = require('ajv/dist/2020').default, fs = require('fs');
const [schema, documents] = process.argv.slice(1).map(path => fs.readFileSync(path, 'utf8'));
const ajv = new Ajv({ strict: true, allErrors: true });
const validate = ajv.compile(JSON.parse(schema));
if (validate({ block: { condition: 'first' } })) throw new Error('anything is valid');
let number = 0;
for (const line of documents.split('\\n').filter(Boolean)) {
    number++;
    if (!validate(JSON.parse(line))) throw new Error(number + ': ' + ajv.errorsText(validate.errors));
}
console.log(number);
";
    let folder = tempfile::tempdir().unwrap();
    for (schema, documents) in documents(folder.path()) {
        let mut again = std::process::Command::new("node");
        again.current_dir(node.get_current_dir().unwrap());
        let output = again.args(["-e", script]).arg(&schema).arg(documents).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", schema.display());
        assert!(stdout(&output).trim().parse::<u32>().unwrap() > 5);
    }
    drop(node.arg("--version").output());
}

#[test]
fn pythons_jsonschema_accepts_every_document() {
    let Some(python) = packages::python("jsonschema", &["jsonschema==4.26.0"]) else { return };
    let script = "
import json, sys
from jsonschema import Draft202012Validator as Validator
schema = json.load(open(sys.argv[1]))
Validator.check_schema(schema)
validator = Validator(schema)
assert not validator.is_valid({'block': {'condition': 'first'}})
number = 0
for line in open(sys.argv[2]):
    number += 1
    for error in validator.iter_errors(json.loads(line)):
        sys.exit(f'{number}: {error.message}')
print(number)
";
    let folder = tempfile::tempdir().unwrap();
    let path = python
        .get_envs()
        .find(|(key, _)| *key == "PYTHONPATH")
        .and_then(|(_, path)| path)
        .unwrap()
        .to_owned();
    for (schema, documents) in documents(folder.path()) {
        let mut python = std::process::Command::new("python3");
        python.env("PYTHONPATH", &path).args(["-c", script]).arg(&schema).arg(documents);
        let output = python.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", schema.display());
    }
}
