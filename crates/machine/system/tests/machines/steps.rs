//! Parses the commands of all remedies on all machines with the common shells.

use std::io::Write;
use std::process::{Command, Stdio};

use howlate_testing::skip;

use crate::machine::Machine;
use crate::{boards, rented, servers, workstations};

fn machines() -> Vec<Machine> {
    vec![
        boards::pi_5(),
        boards::jetson(),
        boards::busybox(),
        boards::elkhart_lake(),
        workstations::hybrid(),
        workstations::audio_desktop(),
        workstations::limited_frequency(),
        workstations::with_sched_ext(),
        workstations::with_partition(),
        workstations::debug_kernel(),
        servers::two_nodes(),
        servers::off_on_the_first_cpu_only(),
        servers::many_cpus(),
        servers::in_unit(),
        servers::buster(),
        servers::slow_clock(),
        rented::pod_with_exclusive_cpus(),
        rented::pod_with_a_limit(),
        rented::docker_container(),
        rented::kvm_guest(),
        rented::vmware_guest(),
        rented::xen_dom0(),
        rented::rented_arm(),
        rented::wsl(),
        rented::pod_with_a_limit()
            .file("proc/swaps", "Filename Type Size Used Priority\n/a\\040b file 1 1 5\n"),
    ]
}

/// Whether a step is a command, not a sentence.
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
    let mut commands: Vec<String> = machines()
        .iter()
        .flat_map(|machine| machine.examine().steps().cloned().collect::<Vec<_>>())
        .collect();
    commands.sort_unstable();
    commands.dedup();
    commands.retain(|step| is_command(step));
    commands
}

#[test]
fn every_shell_can_parse_the_commands() {
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
            let output = parse(&format!("{command}\n")).unwrap();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && errors.is_empty(), "{shell:?}: {command}\n{errors}");
        }
    }
}

/// Brace expansion exists in bash and zsh only; other shells take braces literally.
#[test]
fn no_command_needs_a_particular_shell() {
    for command in commands() {
        let unquoted: String = command.split('\'').step_by(2).collect();
        let unquoted: String = unquoted.split('"').step_by(2).collect();
        assert!(!unquoted.contains('{') && !unquoted.contains('}'), "{command}");
    }
}
