//! Command line, exit status, and intended differences from the original.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::common::{ForAnyone, skip};
use crate::{run, stdout_of};

#[track_caller]
fn check(arguments: &[&str], status: i32, says: &str) {
    let output = run(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
    assert!(message.contains(says), "{arguments:?}: {message}");
}

#[test]
fn a_link_named_cyclictest_is_cyclictest() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("cyclictest");
    symlink(env!("CARGO_BIN_EXE_howlate"), &link).unwrap();
    let output = Command::new(&link).args(["-q", "-l", "5"]).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("T: 0 ("));
    let help = Command::new(&link).arg("--help").output().unwrap();
    assert!(help.stdout.starts_with(b"cyclictest V 2.60\nUsage:\n"));
}

/// Precedence: `--compat`, the name of the link, the environment, the default.
#[test]
fn a_link_or_the_environment_says_the_dialect() {
    let folder = tempfile::tempdir().unwrap();
    let first_line = |link: &str, environment: Option<&str>, arguments: &[&str]| {
        let path = folder.path().join(link);
        drop(symlink(env!("CARGO_BIN_EXE_howlate"), &path));
        let mut command = Command::new(path);
        command.env_remove("HOWLATE_COMPAT").args(arguments).arg("--help");
        environment.map(|dialect| command.env("HOWLATE_COMPAT", dialect));
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
    };
    for (link, environment, arguments, version) in [
        ("cyclictest", None, &[][..], "2.60"),
        ("cyclictest", Some("2.4"), &[], "2.40"),
        ("cyclictest-2.10", Some("2.4"), &[], "2.10"),
        ("cyclictest-2.11", None, &[], "2.11"),
        ("cyclictest-2.4", None, &[], "2.40"),
        ("cyclictest-2.4", Some("2.10"), &["--compat=2.6"], "2.60"),
    ] {
        let expected = format!("cyclictest V {version}");
        assert_eq!(
            first_line(link, environment, arguments),
            expected,
            "{link} {environment:?} {arguments:?}"
        );
    }
    let output = crate::howlate(&["-q", "-l", "1"]).env("HOWLATE_COMPAT", "3").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("HOWLATE_COMPAT: `3` is no version"), "{message}");
}

/// Clocks by the numbers of cyclictest and of the kernel, and by name.
#[test]
fn a_clock_is_a_number_or_a_name() {
    for clock in ["0", "1", "tai", "CLOCK_BOOTTIME"] {
        check(&["-q", "-l", "5", "-c", clock], 0, "");
    }
    check(&["-q", "-l", "5", "-c", "7"], 1, "16 to 23 (CLOCK_AUX)");
    if !std::path::Path::new("/sys/kernel/time/aux_clocks").exists() {
        check(&["-q", "-l", "5", "-c", "23"], 1, "FATAL: CLOCK_AUX7 is not available: it needs Linux 6.17");
    }
}

#[test]
fn counting_smis_without_bound_threads_is_one_fatal_line() {
    let output = run(&["--smi", "-t1", "-q", "-l", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.starts_with("FATAL: SMI counter relies on thread affinity") && message.lines().count() == 1,
        "{message}"
    );
}

/// Without the permission for real-time priority: the original's message; without need of it, a measurement.
#[test]
fn a_policy_that_cannot_be_had_is_refused_in_the_known_words() {
    let place = ForAnyone::new();
    let unprivileged = |arguments: &[&str]| {
        place.howlate(&[&["cyclictest", "-q", "-l", "1"], arguments].concat()).output().unwrap()
    };
    let output = unprivileged(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("T: 0 ("));
    let output = unprivileged(&["-p", "80"]);
    if output.status.success() {
        return skip("this user may use real-time priorities");
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let original_message = "Unable to change scheduling policy!\nProbably missing capabilities, \
                 either run as root or increase RLIMIT_RTPRIO limits.\n";
    assert!(message.starts_with(original_message), "{message}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_would_never_end_is_refused() {
    check(&["-q", "-l", "5", "-i", "0"], 1, "-i 0 is out of range");
    check(&["-q", "-l", "5", "-i", "-5"], 1, "-i -5 is out of range");
    check(&["-q", "-l", "5", "-c", "2"], 1, "-c 2 is out of range");
    check(&["-q", "-l", "5", "-t", "3", "-d", "-400"], 0, "");
    check(&["-q", "-l", "5", "-t", "3", "-d", "-600"], 1, "-d -600 is out of range");
}

#[test]
fn slips_are_pointed_out() {
    check(&["-q", "-l", "1", "-n"], 0, "-n was retired");
    check(&["-q", "-l", "1", "-Pfw", "-T", "function"], 0, "-T was retired");
    check(&["-q", "-l", "1", "-y", "other"], 0, "-y was retired from cyclictest and is taken as --policy");
    check(&["-q", "-l", "1", "--policy=fast"], 0, "`fast` is no policy");
    check(
        &["-q", "-l", "1", "-h", "9", "-d", "5"],
        0,
        "distance is ignored and set to 0, if histogram enabled",
    );
    check(&["-q", "-l", "1", "-S", "-a", "0"], 0, "WARN: -a ignored due to smp mode");
    check(&["-q", "-l", "1", "-a", "9999"], 1, "names a CPU that there is not");
    check(&["-q", "-l", "1", "--compat=3"], 1, "write 2.4, 2.6, 2.10 or 2.11");
    check(&["-q", "-l", "1", "-v", "-i", "-p", "1"], 1, "-i took `-p` as its value");
    check(&["-q", "-l", "1", "-s", "-x"], 0, "WARN: Using clock_nanosleep");
    check(&["-q", "-l", "1", "--laptop"], 0, "WARN: not setting cpu_dma_latency to save battery power");
    check(&["-q", "-l", "1", "--default-system"], 0, "WARN: not setting cpu_dma_latency from cyclictest");
}

#[test]
fn results_are_kept_when_files_cannot_be_written() {
    let output = run(&["-q", "-l", "5", "--json=/nonexistent/x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("T: 0 ("));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Failed to open '/nonexistent/x'"));
    let text = stdout_of(&["-q", "-l", "5", "-h", "5", "--histfile=/nonexistent/x"]);
    assert!(text.contains("# Histogram\n"));
}

#[test]
fn every_way_to_wait_gives_its_wake_ups() {
    for arguments in [
        &["-r"][..],
        &["-s"],
        &["-x"],
        &["-c", "1"],
        &["-c", "1", "-r"],
        &["-c", "1", "-s"],
        &["-c", "1", "-x"],
        &["-A", "50", "-t", "2"],
        &["--secaligned", "-t", "2"],
        &["--policy=batch"],
        &["--policy=idle"],
    ] {
        let text = stdout_of(&[&["-q", "-l", "20", "-d", "0"], arguments].concat());
        assert!(text.contains(" C:     20 "), "{arguments:?}: {text}");
    }
}

/// Policies batch and idle are in force, where the original only prints them.
#[test]
fn the_policy_is_applied() {
    let folder = tempfile::tempdir().unwrap();
    for policy in ["batch", "idle"] {
        let out = folder.path().join(policy);
        stdout_of(&["-q", "-l", "5", "--policy", policy, "--howlate-out", out.to_str().unwrap()]);
        let recording = std::fs::read_to_string(&out).unwrap();
        let started = recording.lines().find(|line| line.contains("\"started\":{")).unwrap();
        assert!(started.contains(&format!("\"policy\":\"{policy}\"")), "{started}");
    }
}

#[test]
fn the_first_thread_to_finish_ends_the_run() {
    let text = stdout_of(&["-q", "-l", "20", "-t", "2", "-d", "9000000"]);
    let counts: Vec<u64> = text
        .lines()
        .filter_map(|line| line.split("C:").nth(1)?.split_whitespace().next()?.parse().ok())
        .collect();
    assert_eq!(counts[0], 20);
    assert!(counts[1] < 20, "{text}");
}

#[test]
fn spikes_are_listed_up_to_a_number() {
    let text = stdout_of(&["-q", "-N", "-l", "20", "--spike=1", "--spike-nodes=3"]);
    assert_eq!(text.matches(" Spike:").count(), 3);
    assert!(text.contains("\nspikes = 20\n\n"), "{text}");
}

#[test]
fn a_break_names_thread_and_value() {
    let text = stdout_of(&["-q", "-N", "-b", "1", "-l", "20"]);
    let behind = |label: &str| text.lines().find_map(|line| line.strip_prefix(label)).unwrap().to_owned();
    assert_eq!(behind("# Thread Ids: ").trim_start_matches('0'), behind("# Break thread: "));
    assert!(behind("# Break value: ").parse::<u64>().unwrap() > 1);
    assert!(text.contains(" C:      1 "));
    let unbroken = stdout_of(&["-q", "-b", "100000000", "-l", "5"]);
    assert!(unbroken.contains("# Thread Ids: ") && !unbroken.contains("# Break"));
}
