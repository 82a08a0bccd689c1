//! CI integrations: the script of the action, in the environment of a runner.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{stderr, stdout};
use tempfile::TempDir;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}

/// A sleeper program that sleeps longer than requested.
fn probe(late: &str) -> String {
    format!(
        "#!/usr/bin/env python3\nimport sys, time\nlength, count = int(sys.argv[1]), int(sys.argv[2])\n\
         print('howlate-probe 1 monotonic Python: sleeps too long on purpose', flush=True)\n\
         for _ in range(count):\n    begin = time.monotonic_ns()\n    time.sleep(length / 1e9 + {late})\n    \
         print(begin, time.monotonic_ns(), flush=True)\nprint('end', flush=True)\n"
    )
}

/// A repository with two commits: base and head.
struct Checkout(TempDir);

impl Checkout {
    fn new(base: &str, head: &str) -> Self {
        let checkout = Self(tempfile::tempdir().unwrap());
        checkout.git(&["init", "--quiet"]);
        for text in [base, head] {
            let path = checkout.path("probe");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            checkout.git(&["add", "."]);
            let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
            checkout.git(
                &[&identity[..], &["commit", "--quiet", "--allow-empty", "--message", "a change"]].concat(),
            );
        }
        checkout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn git(&self, arguments: &[&str]) -> Output {
        let output = Command::new("git").args(arguments).current_dir(self.0.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        output
    }

    /// Runs the script like GitHub's runner, with these settings.
    fn compare(&self, settings: &[(&str, &str)]) -> Output {
        let mut script = Command::new(repository().join("integrations/compare.sh"));
        script.current_dir(self.0.path()).env("GITHUB_ACTIONS", "true");
        script.env("GITHUB_STEP_SUMMARY", self.path("summary")).env("GITHUB_OUTPUT", self.path("output"));
        script.env("HOWLATE", env!("CARGO_BIN_EXE_howlate")).env("HOWLATE_PROBE", "probe");
        script.env("HOWLATE_OPTIONS", "--warm-up 0").env("HOWLATE_SAMPLES", "2");
        script.envs(settings.iter().copied()).output().unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }
}

const ON_TIME: &str = "0";

#[test]
fn a_change_that_is_later_is_red() {
    let checkout = Checkout::new(&probe(ON_TIME), &probe("0.1"));
    let output = checkout.compare(&[("HOWLATE_ROUNDS", "8"), ("HOWLATE_JUNIT", "howlate.xml")]);
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("::error title=howlate::Wake-ups became later"), "{}", stdout(&output));
    let summary = checkout.read("summary");
    assert!(
        summary.starts_with("### howlate compare\n\n**Worse") && summary.contains("head-probe"),
        "{summary}"
    );
    assert!(checkout.read("output").starts_with("verdict=worse\nrecording="), "{}", checkout.read("output"));
    assert!(checkout.read("howlate.xml").contains("type=\"worse\""));
    assert!(checkout.path("howlate.jsonl").exists(), "the recording is kept for an artefact");
    let trees = stdout(&checkout.git(&["worktree", "list"]));
    assert_eq!(trees.lines().count(), 1, "nothing of the two checkouts is left: {trees}");
}

#[test]
fn a_change_that_makes_no_difference_is_green() {
    let checkout = Checkout::new(&probe(ON_TIME), &probe(ON_TIME));
    let output = checkout.compare(&[("HOWLATE_ROUNDS", "12"), ("HOWLATE_MARGIN", "1h")]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(checkout.read("output").starts_with("verdict=equivalent\n"), "{}", checkout.read("summary"));
    assert!(!stdout(&output).contains("::warning"), "{}", stdout(&output));
}

#[test]
fn what_is_inconclusive_is_neither() {
    let checkout = Checkout::new(&probe(ON_TIME), &probe(ON_TIME));
    let output = checkout.compare(&[("HOWLATE_ROUNDS", "2")]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("::warning title=howlate::Inconclusive"), "{}", stdout(&output));
    assert!(checkout.read("output").starts_with("verdict=inconclusive\n"));
}

/// Not neutral: a gate that measures nothing must fail.
#[test]
fn what_cannot_be_measured_fails_and_says_why() {
    let broken = "#!/bin/sh\necho nonsense\n";
    for (head, settings, says) in [
        (broken, ("HOWLATE_ROUNDS", "2"), "nothing was measured that could be compared"),
        ("", ("HOWLATE_PROBE", "no-probe"), "has no executable file no-probe"),
        ("", ("HOWLATE_BASE", "0123456789"), "fetch-depth: 0"),
        ("", ("HOWLATE_BUILD", "false"), "cannot be built"),
        ("", ("HOWLATE_MARGIN", "much"), "`much` is no margin"),
        ("", ("HOWLATE_MARGIN", "5.%.us"), "is no margin"),
        ("", ("HOWLATE_SAMPLES", "many"), "is no number of rounds or samples"),
        ("", ("HOWLATE_OPTIONS", "--no-such-option"), "measuring ended with status 2"),
        ("", ("HOWLATE", "/nowhere/howlate"), "cannot be run"),
    ] {
        let on_time = probe(ON_TIME);
        let head = if head.is_empty() { &on_time } else { head };
        let checkout = Checkout::new(&on_time, head);
        let output = checkout.compare(&[("HOWLATE_ROUNDS", "1"), settings]);
        assert_eq!(output.status.code(), Some(2), "{settings:?}: {}{}", stdout(&output), stderr(&output));
        assert!(stderr(&output).contains(says), "{settings:?}: {}", stderr(&output));
        assert!(stdout(&output).contains("::error title=howlate::"), "{settings:?}");
    }
}

/// The inputs of the action are the variables that the script reads.
#[test]
fn the_action_and_the_template_set_what_the_script_reads() {
    let script = fs::read_to_string(repository().join("integrations/compare.sh")).unwrap();
    for (file, indent) in [("action.yml", "        "), ("integrations/gitlab/howlate.yml", "    ")] {
        let text = fs::read_to_string(repository().join(file)).unwrap();
        let set = text.lines().filter_map(|line| line.strip_prefix(indent)?.split_once(':'));
        let names: Vec<&str> = set.map(|(name, _)| name).filter(|name| name.starts_with("HOWLATE")).collect();
        assert!(names.len() >= 4, "{file}: {names:?}");
        for name in names {
            assert!(
                script.contains(&format!("{name}:-"))
                    || script.contains(&format!("{name}:="))
                    || script.contains(&format!("{name}:?")),
                "{file}: {name}"
            );
        }
    }
}
