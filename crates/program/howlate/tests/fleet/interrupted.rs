//! Interrupted fleets. `ssh` is replaced by a script that prints nothing or never ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::Signal;

use crate::common::{children, howlate, send, stderr, wait_until};
use crate::folder_for_hours;

/// A fleet of one node whose `ssh` runs the script `what`; returns it with the process of `ssh`.
fn waiting_for(folder: &Path, what: &str) -> (Child, u32) {
    let ssh = folder.join("ssh");
    fs::write(&ssh, format!("#!/bin/sh\nexec {what}\n")).unwrap();
    fs::set_permissions(&ssh, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    drop(fs::remove_dir_all(folder.join("plan-fleet")));
    let mut command = howlate(&["fleet", "run", "plan.toml", "--on", "ssh:n1", "--quiet"]);
    command.env("PATH", path).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    let waiting = command.spawn().unwrap();
    let mut ssh = None;
    wait_until("an ssh", || {
        let program = what.split(' ').next().unwrap();
        ssh = children(waiting.id()).into_iter().map(|child| child.0).find(|pid| is_called(*pid, program));
        ssh.is_some()
    });
    (waiting, ssh.unwrap())
}

fn is_called(pid: u32, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
}

#[test]
fn the_first_signal_ends_the_wait_for_a_node_and_leaves_nothing() {
    let folder = folder_for_hours();
    for (what, signal) in [("sleep 4000", Signal::INT), ("yes", Signal::TERM)] {
        let (mut waiting, ssh) = waiting_for(folder.path(), what);
        send(waiting.id(), signal);
        // A node is not waited for after the signal.
        wait_until("its end", || waiting.try_wait().unwrap().is_some());
        let left = waiting.wait_with_output().unwrap();
        assert_eq!(left.status.code(), Some(3), "{}", stderr(&left));
        assert!(stderr(&left).contains("howlate fleet cancel plan-fleet\n"), "{}", stderr(&left));
        wait_until("the end of its ssh", || !is_called(ssh, what.split(' ').next().unwrap()));
    }
}

#[test]
fn what_reaches_a_node_ends_with_a_fleet_that_is_killed() {
    let folder = folder_for_hours();
    let (mut waiting, ssh) = waiting_for(folder.path(), "sleep 4000");
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    wait_until("the end of its ssh", || !is_called(ssh, "sleep"));
}

/// A fleet on a scheduler whose programs are these scripts; they log their arguments to files of their names.
fn scheduled_by(folder: &Path, on: &str, programs: &[(&str, &str)]) -> Child {
    for (program, script) in programs {
        let path = folder.join(program);
        fs::write(
            &path,
            format!("#!/bin/sh\necho \"$*\" >> {}/{program}.told\n{script}\n", folder.display()),
        )
        .unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    drop(fs::remove_dir_all(folder.join("plan-fleet")));
    let mut command = howlate(&["fleet", "run", "plan.toml", "--on", on, "--quiet"]);
    if on.starts_with("kubernetes") {
        command.args(["--image", "howlate:here", "--nodes", "2"]);
    }
    command.env("PATH", path).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Logged arguments of a scheduler's program.
fn logged_arguments(folder: &Path, program: &str) -> String {
    fs::read_to_string(folder.join(format!("{program}.told"))).unwrap_or_default()
}

#[test]
fn a_job_that_slurm_holds_is_cancelled_at_the_first_signal() {
    const SILENT: &str = "exec sleep 4000";
    const NODES: (&str, &str) = ("sinfo", "echo 'all*|n1|idle|none'");
    // The program that hangs, and the job number: from sbatch, or from the queue only.
    let cases = [("sbatch", "9"), ("scontrol", "7")];
    for ((silent, job), signal) in cases.into_iter().zip([Signal::INT, Signal::TERM]) {
        let folder = folder_for_hours();
        let sbatch = if silent == "sbatch" { SILENT } else { "cat > /dev/null; echo 7" };
        let queue = "case \"$*\" in *PENDING*) echo '9|JobHeldUser'; echo '8|Resources';; esac";
        let programs = [NODES, ("sbatch", sbatch), ("scontrol", SILENT), ("squeue", queue), ("scancel", "")];
        let mut waiting = scheduled_by(folder.path(), "slurm", &programs);
        wait_until("a silent controller", || !logged_arguments(folder.path(), silent).is_empty());
        send(waiting.id(), signal);
        wait_until("its end", || waiting.try_wait().unwrap().is_some());
        let left = waiting.wait_with_output().unwrap();
        let cancelled = logged_arguments(folder.path(), "scancel");
        assert!(
            cancelled.lines().any(|line| line.split('_').next() == Some(job)),
            "{cancelled}{}",
            stderr(&left)
        );
        assert!(!cancelled.contains('8'), "another's is let alone: {cancelled}");
        assert!(!logged_arguments(folder.path(), "scontrol").contains("release 7\n") || silent == "scontrol");
    }
}

#[test]
fn a_cluster_that_does_not_answer_is_not_waited_for_after_a_signal() {
    let folder = folder_for_hours();
    let script = "case \"$*\" in *create*) exec sleep 4000;; esac";
    let mut waiting = scheduled_by(folder.path(), "kubernetes", &[("kubectl", script)]);
    wait_until("a silent cluster", || logged_arguments(folder.path(), "kubectl").contains("create"));
    send(waiting.id(), Signal::INT);
    wait_until("its end", || waiting.try_wait().unwrap().is_some());
    let left = waiting.wait_with_output().unwrap();
    // Objects that may have been created are deleted.
    let last = logged_arguments(folder.path(), "kubectl");
    assert!(last.lines().last().is_some_and(|line| line.starts_with("delete")), "{last}{}", stderr(&left));
}
