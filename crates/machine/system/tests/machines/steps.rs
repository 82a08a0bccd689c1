//! Every command of every remedy on all of these machines, read by the shells that people have.

use std::io::Write;
use std::process::{Command, Stdio};

use howlate_testing::skip;

use crate::machine::Machine;
use crate::{boards, rented, servers, workstations};

fn all() -> Vec<Machine> {
    vec![
        boards::pi_5(),
        boards::jetson(),
        boards::busybox(),
        boards::elkhart_lake(),
        workstations::hybrid(),
        workstations::audio_desktop(),
        workstations::kept_low(),
        workstations::with_scheduler_of_bpf(),
        workstations::with_partition(),
        workstations::debug_kernel(),
        servers::two_nodes(),
        servers::off_on_the_first_cpu_only(),
        servers::many_cpus(),
        servers::of_a_unit(),
        servers::buster(),
        servers::slow_clock(),
        rented::pod_with_own_cpus(),
        rented::pod_with_a_limit(),
        rented::container_of_docker(),
        rented::guest_of_kvm(),
        rented::guest_of_vmware(),
        rented::xen_dom0(),
        rented::rented_arm(),
        rented::wsl(),
        rented::pod_with_a_limit()
            .file("proc/swaps", "Filename Type Size Used Priority\n/a\\040b file 1 1 5\n"),
    ]
}

/// What is typed, and no sentence.
fn is_command(step: &str) -> bool {
    let first = step.split(' ').next().unwrap_or_default();
    let programs = [
        "apt",
        "cat",
        "chrt",
        "dnf",
        "docker",
        "echo",
        "exec",
        "for",
        "grep",
        "grubby",
        "howlate",
        "mkdir",
        "mount",
        "nice",
        "printf",
        "pro",
        "rm",
        "rpm-ostree",
        "sed",
        "sudo",
        "systemctl",
        "swapon",
        "swapoff",
        "taskset",
        "umount",
        "while",
        "zypper",
    ];
    programs.contains(&first)
}

fn commands() -> Vec<String> {
    let mut all: Vec<String> =
        all().iter().flat_map(|one| one.examined().steps().cloned().collect::<Vec<_>>()).collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|step| is_command(step));
    all
}

#[test]
fn every_shell_can_read_what_is_to_be_typed() {
    let commands = commands();
    assert!(commands.len() > 60, "{}", commands.len());
    for shell in [&["bash"][..], &["dash"], &["busybox", "sh"]] {
        let parse = |script: &str| {
            let mut child = Command::new(shell[0])
                .args(&shell[1..])
                .arg("-n")
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            child.stdin.take().unwrap().write_all(script.as_bytes())?;
            child.wait_with_output()
        };
        if parse("").is_err() {
            skip(&format!("{} is not here", shell[0]));
            continue;
        }
        for command in &commands {
            let told = parse(&format!("{command}\n")).unwrap();
            let said = String::from_utf8_lossy(&told.stderr).into_owned();
            assert!(told.status.success() && said.is_empty(), "{shell:?}: {command}\n{said}");
        }
    }
}

/// Braces are lists in bash and zsh alone; elsewhere they are a part of a name.
#[test]
fn nothing_that_is_typed_needs_a_shell_of_its_own_kind() {
    for command in commands() {
        let unquoted: String = command.split('\'').step_by(2).collect();
        let unquoted: String = unquoted.split('"').step_by(2).collect();
        assert!(!unquoted.contains('{') && !unquoted.contains('}'), "{command}");
    }
}
