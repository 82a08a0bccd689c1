//! CPUs outside the inherited affinity mask, as on machines with isolated CPUs: the kernel decides.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{has_caveat, skip, stderr};
use howlate_linux::sched;
use serde_json::Value;

/// Two usable CPUs: one to measure on, and the only one in the mask; `None` on a machine with one CPU, with the reason printed.
fn two_cpus() -> Option<(String, String)> {
    let cpus: Vec<u32> = sched::bindable_cpus().unwrap().iter().collect();
    let [first, .., last] = cpus.as_slice() else {
        skip("needs two CPUs");
        return None;
    };
    Some((first.to_string(), last.to_string()))
}

/// The program, started by `taskset` on one CPU.
fn on(cpu: &str, arguments: &[&str]) -> Command {
    let mut taskset = Command::new("taskset");
    taskset.args(["-c", cpu, env!("CARGO_BIN_EXE_howlate")]).args(arguments).env("COLUMNS", "100");
    taskset
}

fn run_on(cpu: &str, arguments: &[&str]) -> Output {
    on(cpu, arguments).output().unwrap()
}

#[track_caller]
fn measure(cpu: &str, arguments: &[&str]) -> Value {
    let output = run_on(cpu, &[arguments, &["--json", "--quiet"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// CPUs of the threads of a recording.
fn ran_on(recording: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(recording).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| Some(line.pointer("/started/in_force/cpus")?.as_str()?.to_owned())).collect()
}

#[test]
fn cyclictest_runs_where_it_is_told() {
    let Some((outside, inside)) = two_cpus() else { return };
    let both = format!("-a{outside},{inside}");
    let outside_only = format!("-a{outside}");
    for (arguments, cpus) in
        [(["-t1", &outside_only], vec![&outside]), (["-t2", &both], vec![&outside, &inside])]
    {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run.jsonl");
        let file = ["cyclictest", "-q", "-l", "20", "--howlate-out", out.to_str().unwrap()];
        let output = run_on(&inside, &[file.as_slice(), &arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(!stderr(&output).contains("WARN"), "{}", stderr(&output));
        assert_eq!(ran_on(&out).iter().collect::<Vec<_>>(), cpus, "{arguments:?}");
    }
}

#[test]
fn cyclictests_main_thread_goes_where_it_is_told() {
    let Some((outside, inside)) = two_cpus() else { return };
    let main = format!("--mainaffinity={outside}");
    let arguments = ["cyclictest", "-t1", &format!("-a{inside}"), &main, "-i", "10000", "-D", "30"];
    let mut child = on(&inside, &arguments).stdout(Stdio::null()).spawn().unwrap();
    let found = (0..500).any(|_| {
        crate::common::pause(10);
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        status.contains(&format!("Cpus_allowed_list:\t{outside}\n"))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found, "the main thread never was on CPU {outside}");
}

#[test]
fn every_command_takes_cpus_outside_the_mask() {
    let Some((outside, inside)) = two_cpus() else { return };
    let pair = format!("{inside},{outside}");
    let rows: [&[&str]; 4] = [
        &["cyclic", "--cpus", &outside, "--samples", "20"],
        &["sleep", "--cpus", &outside, "--for", "1ms", "--samples", "20"],
        &["sleep", "--cpus", &outside, "--for", "1ms", "--samples", "5", "--call", "shell"],
        &["notify", "--pair", &pair, "--mechanism", "futex", "--samples", "20", "--rounds", "1"],
    ];
    for arguments in rows {
        let result = measure(&inside, arguments);
        assert_eq!(result["results"][0]["in_force"]["cpus"], outside.as_str(), "{arguments:?}");
        assert!(!has_caveat(&result, "affinity_differs") && !has_caveat(&result, "cpus_not_measured"));
    }
    let load = ["cyclic", "--samples", "300", "--threads", "1", "--load", "cpu", "--load-cpus", &outside];
    let result = measure(&inside, &load);
    assert_eq!(result["results"][0]["load_effect"]["parts"][0]["cpus"], outside.as_str(), "{result}");
}

#[test]
fn one_thread_per_cpu_follows_the_mask_and_says_so() {
    let Some((outside, inside)) = two_cpus() else { return };
    let result = measure(&inside, &["cyclic", "--samples", "20"]);
    assert_eq!(result["results"].as_array().unwrap().len(), 1);
    assert_eq!(result["results"][0]["condition"]["cpu"].to_string(), inside);
    assert!(has_caveat(&result, "cpus_not_measured"), "{}", result["caveats"]);
    let all = sched::bindable_cpus().unwrap().to_string();
    let everywhere = measure(&inside, &["cyclic", "--samples", "20", "--cpus", &all]);
    assert!(
        everywhere["results"]
            .as_array()
            .unwrap()
            .iter()
            .any(|result| result["condition"]["cpu"].as_u64() == outside.parse().ok())
    );
}

#[test]
fn a_cpu_that_the_kernel_refuses_is_refused_with_those_that_it_allows() {
    let Some((_, inside)) = two_cpus() else { return };
    let all = sched::bindable_cpus().unwrap().to_string();
    for (arguments, option) in [
        (["cyclic", "--cpus", "4095"], format!("`--cpus {all}`")),
        (["notify", "--pair", "0,4095"], format!("`--cpus {all}`")),
        (["cyclic", "--load=cpu", "--load-cpus=4095"], format!("`--load-cpus {all}`")),
    ] {
        let output = run_on(&inside, &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(&option), "{arguments:?}: {}", stderr(&output));
    }
    let output = run_on(&inside, &["cyclictest", "-q", "-l", "1", "-a", "4095"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(&format!("use {all}")), "{}", stderr(&output));
}
