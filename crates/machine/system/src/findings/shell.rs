//! Where commands are typed into fish, which is no shell of POSIX: `$$` and loops are others there.

use howlate_model::Finding;
use howlate_procfs::{Root, SELF, Status};

use super::idle::{HOLD, HOLD_APART};

/// Shells of POSIX that may be between fish and this process.
const POSIX: [&str; 6] = ["sh", "bash", "dash", "zsh", "ash", "busybox"];
/// What may be between a shell and this process: `sudo`, which stands there twice, and `env`.
const ANCESTORS: usize = 4;
/// Source: <https://fishshell.com/docs/current/fish_for_bash_users.html>, "Special variables".
const OWN_ID: &str = "$fish_pid";

/// The names of what has started this process, the nearest first.
fn ancestors(root: &Root) -> impl Iterator<Item = String> {
    let parent = |status: &Status| status.parent().filter(|parent| *parent > 0);
    let above = move |pid: &u32| parent(&Status::read(root, *pid));
    let all = std::iter::successors(parent(&Status::read(root, SELF)), above).take(ANCESTORS);
    all.filter_map(|pid| root.read(&format!("/proc/{pid}/comm")).ok())
}

/// Whether this process was started from fish.
pub(super) fn is_fish(root: &Root) -> bool {
    let mut shells = ancestors(root).filter(|name| name == "fish" || POSIX.contains(&name.as_str()));
    shells.next().is_some_and(|name| name == "fish")
}

/// Whether it is root's by `sudo` alone: what is typed next is typed by somebody else.
pub(super) fn is_by_sudo(root: &Root) -> bool {
    ancestors(root).next().is_some_and(|name| name == "sudo")
}

/// The commands of a finding, for fish.
pub(super) fn for_fish(finding: &mut Finding) {
    let Some(remedy) = &mut finding.remedy else { return };
    let all = [&mut remedy.apply, &mut remedy.undo, &mut remedy.lasting];
    all.into_iter().flatten().for_each(|command| *command = typed_into_fish(command));
}

/// A loop goes to `sh` as a whole.
fn typed_into_fish(command: &str) -> String {
    if command.starts_with(HOLD) {
        return command.replacen(HOLD, HOLD_APART, 1);
    }
    let (loops, remark) = command.split_once("   #").unwrap_or((command, ""));
    let is_loop = loops.contains("; do ") && !loops.contains(['\'', '`']);
    match is_loop {
        true if remark.is_empty() => format!("sh -c '{loops}'"),
        true => format!("sh -c '{loops}'   #{remark}"),
        false => command.replace("$$", OWN_ID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_and_the_shells_own_id_are_others_in_fish() {
        let typed = typed_into_fish;
        assert_eq!(
            typed("for n in 2 3; do echo $n; done   # once"),
            "sh -c 'for n in 2 3; do echo $n; done'   # once"
        );
        assert_eq!(typed("echo $$ | sudo tee /x"), "echo $fish_pid | sudo tee /x");
        assert_eq!(typed("sudo swapoff -a"), "sudo swapoff -a");
    }

    #[test]
    fn the_nearest_shell_counts_whatever_lies_between() {
        let of = |names: [&str; 3]| {
            let [own, first, second] = ["PPid:\t3\n", "PPid:\t2\n", "PPid:\t1\n"];
            let status = [("proc/self/status", own), ("proc/3/status", first), ("proc/2/status", second)];
            let comm = [("proc/3/comm", names[0]), ("proc/2/comm", names[1]), ("proc/1/comm", names[2])];
            is_fish(&Root::at(howlate_testing::tree(&[&status[..], &comm].concat()).path()))
        };
        assert!(of(["fish\n", "sshd", "systemd"]) && of(["sudo", "fish\n", "sshd"]));
        assert!(!of(["bash\n", "fish\n", "sshd"]) && !of(["sudo", "sshd", "systemd"]));
        assert!(!is_fish(&Root::at(howlate_testing::tree(&[]).path())));
    }

    #[test]
    fn who_became_root_for_this_command_alone_is_an_ordinary_user_again() {
        let of = |parent: &str| {
            let files = [("proc/self/status", "PPid:\t3\n"), ("proc/3/comm", parent)];
            is_by_sudo(&Root::at(howlate_testing::tree(&files).path()))
        };
        assert!(of("sudo\n") && !of("bash\n"));
    }
}
