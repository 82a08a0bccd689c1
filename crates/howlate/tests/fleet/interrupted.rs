//! A fleet that is not waited for any longer. What is called `ssh` here says nothing, or never stops.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::Signal;

use crate::common::{children, howlate, send, stderr, wait_until};
use crate::folder_for_hours;

/// A fleet of one node that is waited for, and the process that is to reach it, which does `what`.
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
        // A node that is not waited for takes none of its minutes.
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
