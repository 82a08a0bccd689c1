//! The published schemas, checked by validators of other languages.

use std::path::PathBuf;
use std::process::Command;

use crate::common::{howlate, stdout};
use crate::{packages, recordings, show};

const RECORDINGS: [&str; 8] =
    ["cyclic", "sleep", "notify", "languages", "guest", "stall", "killed", "policies"];

fn schema_path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs")).join(name)
}

fn one_line(text: &str) -> String {
    serde_json::from_str::<serde_json::Value>(text).unwrap().to_string() + "\n"
}

/// JSON of `howlate tune`: listings for several conditions, and the result of a scripted machine.
fn tune_documents() -> String {
    let listed = |arguments: &[&str]| {
        let output = howlate(&[&["tune"], arguments, &["--dry-run", "--json"]].concat()).output().unwrap();
        one_line(&stdout(&output))
    };
    let of_all: [&[&str]; 5] = [
        &[],
        &["--knobs", "all"],
        &["cyclic", "--policy", "fifo:80"],
        &["sleep", "--for", "1ms", "--knobs", "machine"],
        &["notify", "--mechanism", "futex", "--after", "1ms"],
    ];
    let golden = "../../measuring/tune/src/snapshots/howlate_tune__scripted_tests__tune-json.snap";
    let golden = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(golden)).unwrap();
    let (_, result) = golden.split_once("\n---\n").unwrap();
    of_all.into_iter().map(listed).chain([one_line(result)]).collect()
}

/// Files with one document per line: all lines of all recordings, and all results.
fn documents(folder: &std::path::Path) -> [(PathBuf, PathBuf); 3] {
    let [lines, results, settings] =
        ["lines.jsonl", "results.jsonl", "tune.jsonl"].map(|name| folder.join(name));
    let read = |name: &&str| std::fs::read_to_string(recordings().join(format!("{name}.jsonl"))).unwrap();
    std::fs::write(&lines, RECORDINGS.iter().map(read).collect::<String>().replace("\n\n", "\n")).unwrap();
    let mut all: String = RECORDINGS.iter().map(|name| one_line(&show(name, "json", &[], 0))).collect();
    let many =
        howlate(&["show", "--format=json", "cyclic.jsonl", "sleep.jsonl"]).current_dir(recordings()).output();
    all.push_str(&one_line(&stdout(&many.unwrap())));
    std::fs::write(&results, all).unwrap();
    std::fs::write(&settings, tune_documents()).unwrap();
    [
        (schema_path("recording.schema.json"), lines),
        (schema_path("result.schema.json"), results),
        (schema_path("tune.schema.json"), settings),
    ]
}

/// Valid plans, and one with mistakes, all of which must be found.
#[test]
fn check_jsonschema_accepts_every_plan_and_finds_mistakes() {
    let Some(mut python) = packages::python("check-jsonschema", &["check-jsonschema==0.33.0"]) else {
        return;
    };
    let plans = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../plans");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(plans).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    assert!(files.len() >= 6, "{files:?}");
    let folder = tempfile::tempdir().unwrap();
    // The plan in docs/plans.md.
    let page = std::fs::read_to_string(schema_path("plans.md")).unwrap();
    for (number, text) in page.split("```toml\n").skip(1).enumerate() {
        let path = folder.path().join(format!("page-{number}.toml"));
        std::fs::write(&path, text.split("```").next().unwrap()).unwrap();
        files.push(path);
    }
    let check = |python: &mut std::process::Command, files: &[PathBuf]| {
        python
            .args(["-m", "check_jsonschema", "--schemafile"])
            .arg(schema_path("plan.schema.json"))
            .args(files)
            .output()
            .unwrap()
    };
    let output = check(&mut python, &files);
    assert!(output.status.success(), "{}", stdout(&output));
    for wrong in [
        "[[sleep]]\nfro = \"1ms\"\n",
        "[[slep]]\nfor = \"1ms\"\n",
        "[[sleep]]\nfor = 1.5\n",
        "[[cyclic]]\nout = \"x.jsonl\"\n",
        "sead = 1\n[[cyclic]]\nthreads = 1\n",
        "[[tune.cyclic]]\nbudgett = \"3m\"\n",
        "[[cyclic]]\naligned = \"yes\"\n",
    ] {
        let path = folder.path().join("wrong.toml");
        std::fs::write(&path, wrong).unwrap();
        let mut python = packages::python("check-jsonschema", &["check-jsonschema==0.33.0"]).unwrap();
        assert_eq!(check(&mut python, std::slice::from_ref(&path)).status.code(), Some(1), "{wrong}");
        let output = howlate(&["run", "--dry-run"]).arg(&path).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(2),
            "what the schema refuses, the parser does as well: {wrong}"
        );
    }
}

/// The GitHub action and the GitLab template, by the vendors' schemas that the checker contains.
#[test]
fn check_jsonschema_accepts_what_ci_systems_read() {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."));
    for (schema, file) in
        [("vendor.github-actions", "action.yml"), ("vendor.gitlab-ci", "integrations/gitlab/howlate.yml")]
    {
        let Some(mut python) = packages::python("check-jsonschema", &["check-jsonschema==0.33.0"]) else {
            return;
        };
        let output =
            python.args(["-m", "check_jsonschema", "--builtin-schema", schema]).arg(root.join(file)).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{file}: {}", stdout(&output));
    }
}

/// The strict parser of Prometheus' Python library.
#[test]
fn prometheus_client_reads_openmetrics() {
    let Some(mut python) = packages::python("prometheus-client", &["prometheus-client==0.23.1"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.prom");
    let output =
        howlate(&["show", "cyclic.jsonl", "--prometheus"]).arg(&file).current_dir(recordings()).output();
    assert!(output.unwrap().status.success());
    let open = howlate_render::openmetrics(&std::fs::read_to_string(&file).unwrap());
    let (path, script) = (
        folder.path().join("a.om"),
        "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read
families = {family.name: family for family in read(open(sys.argv[1]).read())}
histogram = families['howlate_wakeup_latency_seconds']
assert histogram.type == 'histogram' and any(sample.labels.get('le') == '1e-06' for sample in histogram.samples)
assert families['howlate_run_trustworthy'].samples[0].value == 1
",
    );
    std::fs::write(&path, &open).unwrap();
    let output = python.args(["-c", script]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{open}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a snippet of docs/exports.md with the address of a test server, followed by `after`; returns the output.
fn beside_a_server(mut python: Command, number: usize, after: &str) -> String {
    use std::io::BufRead as _;
    let mut server = howlate(&["serve", "--listen", "127.0.0.1:0", "cyclic.jsonl"]);
    let mut server = server.current_dir(recordings()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("page     ").unwrap().trim_end_matches('/');
    let page = std::fs::read_to_string(schema_path("exports.md")).unwrap();
    let lines = page.split("```python\n").nth(number).unwrap().split("```").next().unwrap();
    let is_line = |line: &&str| !line.is_empty();
    assert!(
        lines.contains("http://127.0.0.1:9840/") && lines.lines().filter(is_line).count() <= 10,
        "{lines}"
    );
    let script = lines.replace("http://127.0.0.1:9840", address) + after;
    let output = python.args(["-c", &script]).output().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    stdout(&output)
}

const GENERATE: &str = "
from prometheus_client import Counter, generate_latest
Counter('own', 'One of its own.').inc()
print(generate_latest().decode())
";

#[test]
fn prometheus_client_shows_served_metrics_among_its_own() {
    let Some(python) = packages::python("prometheus-client", &["prometheus-client==0.23.1"]) else {
        return;
    };
    let text = beside_a_server(python, 1, GENERATE);
    for has in ["own_total 1.0", "howlate_wakeup_latency_seconds_bucket{", "howlate_run_trustworthy{"] {
        assert!(text.contains(has), "{has}: {text}");
    }
}

/// An in-memory reader collects the observations, like an exporter.
const COLLECT: &str = "
import sys
from opentelemetry.metrics import set_meter_provider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
reader = InMemoryMetricReader()
set_meter_provider(MeterProvider([reader]))
[metric] = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
for point in metric.data.data_points:
    print(metric.name, metric.unit, point.value > 0, point.attributes['q'], point.attributes['policy'])
";

#[test]
fn opentelemetry_observes_served_metrics() {
    let packages = ["prometheus-client==0.23.1", "opentelemetry-sdk==1.45.2"];
    let Some(python) = packages::python("opentelemetry", &packages) else { return };
    let text = beside_a_server(python, 2, COLLECT);
    for quantile in ["0.5", "0.99"] {
        assert!(text.contains(&format!("howlate.wakeup.latency s True {quantile} ")), "{text}");
    }
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
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {message}", schema.display());
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
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {message}", schema.display());
    }
}
