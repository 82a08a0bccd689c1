//! Adapts commands to the fish shell, which has other loops and no `$$`.

use howlate_model::Finding;
use howlate_procfs::{Root, SELF, Status};

use super::idle::{HOLD, HOLD_IN_BACKGROUND};

/// POSIX shells, one of which may be between fish and this process.
const POSIX_SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ash", "busybox"];
/// The number of ancestors examined: `sudo`, which forks once more, and `env` may be between the shell and this process.
const ANCESTORS: usize = 4;
/// Source: <https://fishshell.com/docs/current/fish_for_bash_users.html>, "Special variables".
const FISH_PID: &str = "$fish_pid";

/// The names of the ancestors of this process, the nearest first.
fn ancestors(root: &Root) -> impl Iterator<Item = String> {
    let parent = |status: &Status| status.parent().filter(|parent| *parent > 0);
    let grandparent = move |pid: &u32| parent(&Status::read(root, *pid));
    let ancestors = std::iter::successors(parent(&Status::read(root, SELF)), grandparent).take(ANCESTORS);
    ancestors.filter_map(|pid| root.read(&format!("/proc/{pid}/comm")).ok())
}

/// Whether this process was started from fish.
pub(super) fn is_fish(root: &Root) -> bool {
    let mut shells = ancestors(root).filter(|name| name == "fish" || POSIX_SHELLS.contains(&name.as_str()));
    shells.next().is_some_and(|name| name == "fish")
}

/// Whether `sudo` started this process: the user of the shell, who types the commands, is not root.
pub(super) fn is_started_by_sudo(root: &Root) -> bool {
    ancestors(root).next().is_some_and(|name| name == "sudo")
}

/// Changes the commands of a finding for fish.
pub(super) fn adapt_to_fish(finding: &mut Finding) {
    let Some(remedy) = &mut finding.remedy else { return };
    let lists = [&mut remedy.apply, &mut remedy.undo, &mut remedy.lasting];
    lists.into_iter().flatten().for_each(|command| *command = fish_command(command));
}

/// One command for fish: loops are run by `sh`.
fn fish_command(command: &str) -> String {
    if command.starts_with(HOLD) {
        return command.replacen(HOLD, HOLD_IN_BACKGROUND, 1);
    }
    let (code, remark) = command.split_once("   #").unwrap_or((command, ""));
    let is_loop = code.contains("; do ") && !code.contains(['\'', '`']);
    match is_loop {
        true if remark.is_empty() => format!("sh -c '{code}'"),
        true => format!("sh -c '{code}'   #{remark}"),
        false => command.replace("$$", FISH_PID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_and_the_shells_own_id_are_others_in_fish() {
        assert_eq!(
            fish_command("for n in 2 3; do echo $n; done   # once"),
            "sh -c 'for n in 2 3; do echo $n; done'   # once"
        );
        assert_eq!(fish_command("echo $$ | sudo tee /x"), "echo $fish_pid | sudo tee /x");
        assert_eq!(fish_command("sudo swapoff -a"), "sudo swapoff -a");
    }

    #[test]
    fn the_nearest_shell_counts_whatever_lies_between() {
        let is_fish_above = |names: [&str; 3]| {
            let [own, first, second] = ["PPid:\t3\n", "PPid:\t2\n", "PPid:\t1\n"];
            let status = [("proc/self/status", own), ("proc/3/status", first), ("proc/2/status", second)];
            let comm = [("proc/3/comm", names[0]), ("proc/2/comm", names[1]), ("proc/1/comm", names[2])];
            is_fish(&Root::at(howlate_testing::tree(&[&status[..], &comm].concat()).path()))
        };
        assert!(is_fish_above(["fish\n", "sshd", "systemd"]) && is_fish_above(["sudo", "fish\n", "sshd"]));
        assert!(!is_fish_above(["bash\n", "fish\n", "sshd"]) && !is_fish_above(["sudo", "sshd", "systemd"]));
        assert!(!is_fish(&Root::at(howlate_testing::tree(&[]).path())));
    }

    #[test]
    fn a_process_started_by_sudo_is_recognised() {
        let is_sudo_above = |parent: &str| {
            let files = [("proc/self/status", "PPid:\t3\n"), ("proc/3/comm", parent)];
            is_started_by_sudo(&Root::at(howlate_testing::tree(&files).path()))
        };
        assert!(is_sudo_above("sudo\n") && !is_sudo_above("bash\n"));
    }
}
