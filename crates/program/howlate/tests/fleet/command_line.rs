//! The command line, checked before any node is contacted.

use std::process::Command;

use crate::common::{howlate, stderr, stdout};
use crate::{folder, with_plan};

#[test]
fn what_cannot_be_started_is_refused_before_any_node_is_bothered() {
    let folder = folder();
    std::fs::write(folder.path().join("two.toml"), "include = [\"plan.toml\"]\n").unwrap();
    std::fs::write(folder.path().join("empty.txt"), "# nobody\n").unwrap();
    for (arguments, says) in [
        (&["run", "plan.toml", "--on", "pbs"][..], "is none of slurm"),
        (&["run", "plan.toml", "--on", "ssh:-oProxyCommand=x"], "is no host"),
        (&["run", "plan.toml", "--on", "ssh:n1,n2,n1"], "`n1` is there twice"),
        (&["run", "plan.toml", "--on", "ssh:@none.txt"], "none.txt"),
        (&["run", "plan.toml", "--on", "ssh:@empty.txt"], "has no node"),
        (&["run", "two.toml", "--on", "ssh:n1"], "includes another"),
        (&["run", "plan.toml", "--on", "ssh:n1", "--program", "plan.toml"], "is no program"),
        (&["run", "plan.toml", "--on", "ssh:n1", "--", "--out", "x"], "`--out`"),
        (&["run", "plan.toml", "--on", "ssh:n1", "--", "--no-such"], "`howlate run` does not take"),
        (&["run", "record", "--on", "ssh:n1", "--", "--live"], "`--live`"),
        (&["run", "record", "--on", "ssh:n1", "--", "--samples", "3"], "`howlate record` does not take"),
        (&["run", "record", "--on", "kubernetes", "--nodes", "2"], "`record` is not for `--on kubernetes`"),
        (&["run", "plan.toml", "--on", "ssh:n1", "--", "--start-at", "10s"], "`howlate run` does not take"),
        (&["status", "nowhere"], "holds no fleet"),
        (&["run", "plan.toml", "--on", "ssh:n1", "--resume"], "holds no fleet"),
        (&["run", "plan.toml", "--on", "ssh:n1", "--every-node"], "`--every-node` is for `--on kubernetes`"),
        (&["run", "plan.toml", "--on", "slurm", "--image", "x"], "`--image` is for `--on kubernetes`"),
        (&["run", "plan.toml", "--on", "kubernetes"], "`--nodes` is missing"),
        (&["run", "plan.toml", "--on", "kubernetes", "--nodes", "0"], "0 is not in 1..="),
        (
            &["run", "plan.toml", "--on", "kubernetes", "--nodes", "2", "--program", "x"],
            "`--program` is not for Kubernetes",
        ),
    ] {
        let output = howlate(&[&["fleet"], arguments].concat()).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(says), "{arguments:?} says: {}", stderr(&output));
    }
    assert!(!folder.path().join("plan-fleet").exists());
}

#[test]
fn a_dry_run_prints_commands_that_a_shell_takes() {
    let folder = folder();
    std::fs::write(folder.path().join("lab.txt"), "n1 rack=7\nroot@n2\n").unwrap();
    let arguments =
        ["fleet", "run", "plan.toml", "--on", "ssh:@lab.txt", "--dry-run", "--", "--fail-above", "max>1h"];
    let output = howlate(&arguments).current_dir(folder.path()).output().unwrap();
    let printed = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in [
        "BatchMode=yes",
        "-- root@n2 ",
        "n1 --label rack=7",
        "--fail-above 'max>1h'",
        "sha256sum",
        "setsid sh",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let path = folder.path().join("dry.sh");
    std::fs::write(&path, printed).unwrap();
    assert!(Command::new("sh").arg("-n").arg(&path).status().unwrap().success());
    assert!(!folder.path().join("plan-fleet").exists());
}

#[test]
fn a_plan_that_comes_with_the_program_is_known_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let dry_run = |plan: &str| {
        let arguments = ["fleet", "run", plan, "--on", "ssh:n1", "--dry-run"];
        howlate(&arguments).current_dir(folder.path()).output().unwrap()
    };
    let output = dry_run("python-sleep");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let built_in = include_str!("../../../../../plans/python-sleep.toml");
    assert!(stdout(&output).contains(built_in.trim_end()) && stdout(&output).contains("python-sleep-fleet"));
    let unknown = dry_run("python-slep");
    assert!(
        unknown.status.code() == Some(2) && stderr(&unknown).contains("python-sleep"),
        "{}",
        stderr(&unknown)
    );
}

#[test]
fn what_kubernetes_would_be_told_is_for_kubectl_as_it_is() {
    let folder = with_plan("why = true\n[[cyclic]]\nthreads = 1\nsamples = 200\n");
    let arguments = ["fleet", "run", "plan.toml", "--on", "kubernetes", "--nodes", "2", "--dry-run"];
    let output = howlate(&arguments).current_dir(folder.path()).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let job = &list["items"][1];
    assert_eq!((&job["kind"], &job["spec"]["completions"]), (&"Job".into(), &2.into()));
    let pod = job["spec"]["template"]["spec"].to_string();
    assert!(
        pod.contains("\"PERFMON\"") && pod.contains("\"localhost/howlate\""),
        "the plan asks for causes: {pod}"
    );
    assert!(!folder.path().join("plan-fleet").exists());
}

#[test]
fn without_the_schedulers_client_it_is_said() {
    let folder = folder();
    for (on, arguments, client) in [("kubernetes", &["--nodes", "1"][..], "kubectl"), ("slurm", &[], "sinfo")]
    {
        let arguments = [&["fleet", "run", "plan.toml", "--on", on], arguments].concat();
        let output =
            howlate(&arguments).current_dir(folder.path()).env("PATH", folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{on}");
        assert!(stderr(&output).contains(&format!("there is no `{client}` here")), "{}", stderr(&output));
    }
}
