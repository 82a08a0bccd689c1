//! Breaks commands into lines that can still be copied.

use crate::prose::{lines, text_width};
use crate::shell_words::{CONTINUES, split_words};

/// Programs with which remedies start; `#` precedes a comment.
const PROGRAMS: [&str; 53] = [
    "#",
    "apt",
    "cat",
    "chmod",
    "chrt",
    "cp",
    "curl",
    "dnf",
    "docker",
    "dockerd",
    "echo",
    "exec",
    "getcap",
    "grep",
    "grubby",
    "howlate",
    "ionice",
    "jackd",
    "journalctl",
    "kernelstub",
    "kubectl",
    "mkdir",
    "mount",
    "nice",
    "pacman",
    "podman",
    "printf",
    "pro",
    "prlimit",
    "ps",
    "python3",
    "renice",
    "rm",
    "rpm-ostree",
    "sed",
    "setcap",
    "setfacl",
    "sh",
    "ssh",
    "sudo",
    "swapoff",
    "swapon",
    "sysctl",
    "systemctl",
    "systemd-run",
    "taskset",
    "tee",
    "transactional-update",
    "ulimit",
    "umount",
    "update-grub",
    "virsh",
    "zypper",
];

/// Words that stay on a line with the next one: redirections and `sudo tee`.
const BELONG_TO_NEXT: [&str; 9] = ["|", "||", "&&", ">", ">>", "<", "sudo", "tee", "-a"];

/// Whether a step is a command, not a sentence.
pub(crate) fn is_command(step: &str) -> bool {
    let first = step.split_whitespace().next().unwrap_or_default();
    // A loop; sentences may start with the same words.
    PROGRAMS.contains(&first) || ["for", "while"].contains(&first) && step.contains("; do ")
}

/// A step in lines of at most `width`, if it has blanks to break at. Lines of a command end with backslashes.
pub(crate) fn step_lines(step: &str, width: usize) -> Vec<String> {
    if text_width(step) <= width {
        return vec![step.to_owned()];
    }
    if !is_command(step) || step.starts_with('#') {
        return lines(step, width);
    }
    let (command, comment) = step.split_once("   # ").unwrap_or((step, ""));
    let about = if comment.is_empty() { Vec::new() } else { lines(comment, width.saturating_sub(2)) };
    let about = about.into_iter().map(|line| format!("# {line}"));
    let command = continued(command, width);
    // Comments on what to do afterwards come last.
    if comment.starts_with("then ") {
        command.into_iter().chain(about).collect()
    } else {
        about.chain(command).collect()
    }
}

/// A command over several lines, each but the last ending with a backslash; never broken within quotes, and between a pipe and its file only
/// where that is wider than a line.
fn continued(command: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let units = units(command, width);
    for (number, unit) in units.iter().enumerate() {
        let backslash = if number + 1 == units.len() { 0 } else { CONTINUES.len() };
        let indent = indent(&lines, &line, width);
        if !line.is_empty() && indent + text_width(&line) + 1 + text_width(unit) + backslash > width {
            lines.push(format!("{:indent$}{line}{CONTINUES}", ""));
            line.clear();
        }
        let blank = if line.is_empty() { "" } else { " " };
        line.push_str(blank);
        line.push_str(unit);
    }
    let indent = indent(&lines, &line, width);
    lines.push(format!("{:indent$}{line}", ""));
    lines
}

/// Columns before a line: fewer if it fits then.
fn indent(before: &[String], line: &str, width: usize) -> usize {
    let room = width.checked_sub(text_width(line) + CONTINUES.len());
    if before.is_empty() { 0 } else { room.map_or(INDENT, |room| INDENT.min(room)) }
}

/// Columns before each line but the first.
const INDENT: usize = 2;

/// Words of a command; those that belong together are joined if they fit a line.
fn units(command: &str, width: usize) -> Vec<String> {
    let mut units: Vec<Vec<&str>> = Vec::new();
    for word in split_words(command) {
        match units.last_mut() {
            Some(unit) if unit.last().is_some_and(|last| BELONG_TO_NEXT.contains(last)) => unit.push(word),
            _ => units.push(vec![word]),
        }
    }
    let fits = |unit: &[&str]| INDENT + text_width(&unit.join(" ")) + CONTINUES.len() <= width;
    let split = |unit: Vec<&str>| match fits(&unit) {
        true => vec![unit.join(" ")],
        false => unit.into_iter().map(str::to_owned).collect(),
    };
    units.into_iter().flat_map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_broken_can_be_copied() {
        let step = "echo 'a b c' | sudo tee /sys/kernel/file   # until the next start";
        assert_eq!(step_lines(step, 80), [step]);
        assert_eq!(
            step_lines(step, 32),
            ["# until the next start", "echo 'a b c' \\", "  | sudo tee /sys/kernel/file"]
        );
        assert_eq!(
            step_lines(step, 24),
            ["# until the next start", "echo 'a b c' | sudo \\", "  tee /sys/kernel/file"]
        );
        assert_eq!(
            step_lines("add this to the kernel's command line", 20),
            ["add this to the", "kernel's command", "line"]
        );
    }

    #[test]
    fn what_is_to_be_done_afterwards_stands_below() {
        let step = "echo 'a b c' | sudo tee /etc/security/limits.d/file   # then log out and in";
        let broken = step_lines(step, 60);
        assert_eq!(broken.last().map(String::as_str), Some("# then log out and in"), "{broken:?}");
    }

    #[test]
    fn quotes_stay_whole() {
        assert_eq!(
            step_lines("echo 'one two three' four", 14),
            ["echo \\", "  'one two three' \\", "  four"]
        );
    }
    /// Examples of commands in all forms.
    const COMMANDS: [&str; 14] = [
        "echo 1 > /proc/$$/timerslack_ns   # this shell and what it starts",
        "echo \"$(id -un) - rtprio 99\" | sudo tee /etc/security/limits.d/90-howlate.conf   # then log out and in",
        "printf '[Service]\\nLimitRTPRIO=99\\nLimitMEMLOCK=infinity\\n' | sudo tee /etc/systemd/system/audio.service.d/90-howlate.conf",
        "echo 0-3 | sudo tee /proc/irq/{8,16,24,25,26,27,28,29,30,31,32,33}/smp_affinity_list",
        "chrt --fifo 80 python3 -c 'import time; print(\"it is  late\")' --name 'it'\\''s mine'",
        "howlate tune --knobs fifo,nice,slice -- ./a\\ program 'one two' $'three\\' four' \"five \\\" six\"",
        "sudo mkdir -p /etc/howlate && echo '{\"a\": 1}' | sudo tee -a /etc/howlate/settings.json && sudo systemctl daemon-reload",
        "for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance | sudo tee $f; done",
        "sudo sh -c 'for f in /sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us; do echo 0 > $f; done'",
        "sudo systemd-run --scope -p CPUQuota=200% --uid \"$USER\" -- ./my-program --its-option 'a b'",
        "podman run --ulimit rtprio=99 --cap-add=SYS_NICE image   # the limit of the user who starts it must allow this",
        "docker update --cpu-quota=-1 CONTAINER   # started with --cpus? --cpus=$(nproc)",
        "howlate watch --fail-above 'p99.9>200us' -- ./my-program 'C:\\' --its-option",
        "echo 'ends in a backslash \\' \"and a \\\\\" more words that are wide enough",
    ];

    /// How bash parses each command, by printing a function with it; `None` without bash.
    fn parsed(commands: &[String]) -> Option<Vec<String>> {
        let functions = commands
            .iter()
            .enumerate()
            .map(|(n, command)| format!("f{n}() {{\n{command}\n}}\ndeclare -f f{n}; echo END\n"));
        let script: String = functions.collect();
        let folder = howlate_testing::tree(&[("script", &script)]);
        let output = std::process::Command::new("bash").arg(folder.path().join("script")).output().ok()?;
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let output = String::from_utf8(output.stdout).unwrap();
        let bodies = output.split("END\n").filter_map(|body| Some(body.split_once('\n')?.1.to_owned()));
        Some(bodies.collect())
    }

    #[test]
    fn whatever_the_width_a_shell_reads_the_same() {
        let mut commands = Vec::new();
        for step in COMMANDS {
            commands.push(step.to_owned());
            commands.extend((12..130).map(|width| step_lines(step, width).join("\n")));
        }
        let Some(read) = parsed(&commands) else {
            return howlate_testing::skip("bash is not here");
        };
        assert_eq!(read.len(), commands.len());
        for (chunk, command) in read.chunks(119).zip(commands.chunks(119)) {
            for (body, command) in chunk.iter().zip(command) {
                assert_eq!(body, &chunk[0], "{command}");
            }
        }
    }

    #[test]
    fn sudo_tee_keeps_its_file_where_that_fits() {
        for width in 60..130 {
            let broken = step_lines(COMMANDS[1], width);
            assert!(!broken.iter().any(|line| line.ends_with("tee \\")), "{width}: {broken:?}");
        }
    }
}
